/* doubt.c: registers that ptxas may take beyond the estimate.
 *
 * It starts loads long before what they are for, as far as a stretch of code without branches
 * reaches, and keeps addresses that it could make again. The estimate (model.c) is of what must be
 * kept; here is what it was found short of, by kinds of code. A choice that has no room for that
 * is taken only where nothing else fits.
 */
#include "reason/plan.h"

enum {
    STREAM_REGS = 8,   /* addresses of one tensor that a loop copies from */
    LOOKUP_REGS = 8,   /* addresses of a tile in a loop that lies where elements say, and of these */
    FEW_COPIES = 3,    /* of tiles and rows in a turn */
    ROW_REGS = 24,     /* addresses, predicates and elements of a row that a loop loads into registers */
    LOADED_REGS = 8,   /* of tiles that are loaded and put into shared memory at once: beside these */
    LOOKED_REGS = 40,  /* where a turn loads its tiles itself: what is fetched beside elements that a mask reads */
    CHAINED_REGS = 28, /* numbers between two special functions, beside widened operands or another that is computed */
    PRODUCT_REGS = 12, /* of a product more in a turn, what is fetched early */
    LITTLE_REGS = 3,   /* where tiles are loaded through registers that are half of a thread's */
    PLACES_REGS = 16,  /* of elements under way that are made of places in steps, beyond those of the estimate */
    STEPPED_REGS = 4,  /* of functions in steps, numbers beyond those of two elements */
    OUTPUT_REGS = 16,  /* addresses of an output beside another, kept over the loop */
    BEHIND_REGS = 24, /* the same, of outputs that another loop makes */
    SUM_REGS = 28,     /* addresses and fragments of a turn that does nothing but add products to whole rows, */
    SUM_HELD_REGS = 24, /* and where tiles are on their way through registers */
    FETCHED_REGS = 8,  /* of a second operand, as the estimate has them, */
    FETCHED_STEPS = 2, /* and steps of it that are there at once where tiles are on their way through registers, */
    SINGLE_REGS = 8,   /* with what is made ahead in a loop of one turn */
    BESIDE_REGS = 18,  /* of a sum beside another in a turn that does nothing else, where tiles are loaded through such registers */
    VECTORS_REGS = 8,  /* of rows and columns that are read behind a loop beside one another: addresses, where registers are half of a thread's */
    PANELS_BYTES = 256, /* rows of a tile that two panels of shared memory hold */
    WARP = 32
};

bool plan_fills_shared(const Stmt *stmt)
{
    return stmt->kind == STMT_COPY && stmt->space == SPACE_GLOBAL && stmt->to_space == SPACE_SHARED;
}

static bool is_product(const Step *step)
{
    return step->gemm;
}

/* A row in registers is loaded element by element, each by an address of its own. */
static bool loads_row(const Step *step)
{
    const Stmt *s = step->stmt;

    return s->kind == STMT_COPY && s->space == SPACE_GLOBAL && s->to_space == SPACE_REGISTER && step->dest &&
           step->dest->row->kind == EXT_ONE;
}

/* Rows and columns of numbers that go straight to registers behind a loop. */
static int vectors_behind(const Steps *steps)
{
    bool behind = false;
    int n = 0;

    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];
        const Stmt *s = step->stmt;
        bool loads = s->kind == STMT_COPY && s->space == SPACE_GLOBAL && s->to_space == SPACE_REGISTER && step->dest;

        behind |= s->kind == STMT_FOR;
        n += behind && loads && (step->dest->row->kind == EXT_ONE) != (step->dest->col->kind == EXT_ONE);
    }
    return n;
}

static bool fills_shared(const Step *step)
{
    return plan_fills_shared(step->stmt);
}

/* A tile lies where elements of a tensor say. */
static bool looks_up(const Step *step)
{
    bool looks = false;

    for (int i = 0; fills_shared(step) && i < step->stmt->n_coords; i++)
        looks |= expr_reads(step->stmt->coords[i].value, NULL);
    return looks;
}

/* Steps of a kind, in the loop that has most of them. */
static int most_in_loop(const Steps *steps, bool in_loop, bool (*is_one)(const Step *step))
{
    int here = 0, most = 0;

    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];
        int inner = most_in_loop(&step->body, in_loop || step->stmt->kind == STMT_FOR, is_one);

        here += in_loop && is_one(step);
        most = inner > most ? inner : most;
    }
    return here > most ? here : most;
}

/* Products in all loops. */
static int all_products(const Steps *steps, bool in_loop)
{
    int n = 0;

    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];

        n += (in_loop && step->gemm) + all_products(&step->orelse, in_loop);
        n += all_products(&step->body, in_loop || step->stmt->kind == STMT_FOR);
    }
    return n;
}

static int outputs_of(const Plan *plan)
{
    int n = 0;

    for (int i = 0; i < plan->tensors.len; i++)
        n += plan->tensors.data[i].is_output;
    return n;
}

static int64_t row_bytes(const Choice *c, const Tile *tile)
{
    return c->size[tile->col->id] * dtype_bytes(tile->shared_dtype);
}

static int64_t tile_bytes(const Choice *c, const Tile *tile)
{
    return c->size[tile->row->id] * row_bytes(c, tile);
}

/* Of a loop's copies into shared memory, the one that has most bytes in a row, or in all. */
static int64_t most_copied(const Choice *c, const Steps *steps, bool in_loop, int64_t (*bytes)(const Choice *c, const Tile *tile))
{
    int64_t most = 0;

    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];
        const Tile *to = in_loop && step->dest && plan_fills_shared(step->stmt) ? step->dest : NULL;
        int64_t here = to ? bytes(c, to) : 0;
        int64_t inner = step->body.len ? most_copied(c, &step->body, in_loop || step->stmt->kind == STMT_FOR, bytes) : 0;

        most = here > most ? here : most;
        most = inner > most ? inner : most;
    }
    return most;
}

/* Where a thread loads what it copies, in the turn that uses it: of a large tile, more than the
 * estimate has room for stand beside what the products before have made. */
static int loaded_registers(const Plan *plan, const Choice *c)
{
    int loaded = (int)(most_copied(c, &plan->steps, false, tile_bytes) / (4 * WARP * c->warps));

    return c->stages == 1 && loaded > LOADED_REGS ? loaded - LOADED_REGS : 0;
}

/* Where operands of 8 bits are converted: an output beside another has addresses of its own, and of
 * functions in two steps many numbers are under way at once. */
static int bytes_registers(const Plan *plan, Habits habits)
{
    if (!habits.widened)
        return 0;
    return habits.chained ? CHAINED_REGS : outputs_of(plan) > 1 ? PLAN_WIDE_REGS : 0;
}

/* Of four products and more in a turn, fragments of the next are fetched early, beside what several outputs
 * keep. Where copies are not asynchronous, loads for later products stand early among many: those of one
 * loop, of another one behind it, or beside several outputs; and so do those of elements that a mask reads. */
static int early_registers(const Plan *plan, const Choice *c, Habits habits)
{
    int products = plan->counts.products, loaded = loaded_registers(plan, c);
    bool many = plan->counts.all_products > products || (loaded > 0 && outputs_of(plan) > 1);

    if (plan->options->target->has_cp_async)
        return products > 3 ? (outputs_of(plan) > 1 ? products - 2 : 1) * PRODUCT_REGS : 0;
    if (products > 2)
        return PLAN_HELD_REGS + PLAN_SPARE_REGS;
    if (many)
        return PLAN_HELD_REGS + PLAN_SPARE_REGS + loaded;
    return products < 2 ? 0 : loaded + (habits.looked && c->stages == 1 ? LOOKED_REGS : 0);
}

/* Beside addresses in three panels and more, those of a second output find no room. */
static int output_registers(const Plan *plan, const Choice *c)
{
    if (!plan->options->target->has_cp_async || outputs_of(plan) < 2)
        return 0;
    return most_copied(c, &plan->steps, false, row_bytes) > PANELS_BYTES ? OUTPUT_REGS : 0;
}

/* Of three products in a turn and as many outputs, one is made behind that loop, with addresses that ptxas keeps over it. */
static int behind_registers(const Plan *plan)
{
    int products = plan->counts.products;

    return plan->options->target->has_cp_async && outputs_of(plan) > 2 && products > 2 && plan->counts.all_products > products ? BEHIND_REGS : 0;
}

/* Operands that a loop computes, each once. */
static int computed_operands(const Steps *steps, bool in_loop)
{
    int here = 0, most = 0;

    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];
        int inner = computed_operands(&step->body, in_loop || step->stmt->kind == STMT_FOR), before = 0;

        while (before < i && (!steps->data[before].gemm || steps->data[before].args[0] != step->args[0]))
            before++;
        here += in_loop && step->gemm && step->args[0]->computed && before == i;
        most = inner > most ? inner : most;
    }
    return here > most ? here : most;
}

/* Of two, one by functions in two steps, ptxas makes the one beside the other; and of one it makes a part beside products
 * that the other part is made of. */
static int computed_registers(const Plan *plan, Habits habits)
{
    int operands = habits.chained ? computed_operands(&plan->steps, false) : 0;

    bool apart = plan->options->target->has_cp_async && plan->counts.products > 2; /* else early_registers has room */

    return operands > 1 || (operands > 0 && apart) ? CHAINED_REGS : 0;
}

/* Where several tiles and rows are loaded in a turn, of the rows more are on their way than the estimate has. */
static int row_registers(const Plan *plan)
{
    const StepCounts *n = &plan->counts;

    return n->copies + n->rows > FEW_COPIES ? n->rows * ROW_REGS : 0;
}

/* Whether all that is multiplied is added, in loops that compute nothing else, to tiles of which rows are reduced later. */
static bool only_sums(const Steps *steps, bool in_loop, bool *multiplies, bool *reduces)
{
    bool only = true;

    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];
        bool computes = step->stmt->kind == STMT_COMPUTE;

        *multiplies |= computes && step->gemm;
        *reduces |= computes && step->known && (step->class == OPC_ROW_REDUCE || step->class == OPC_SOFTMAX);
        if (computes && in_loop != (step->gemm && step->stmt->result == RESULT_ACCUMULATE))
            return false;
        only &= only_sums(&step->body, in_loop || step->stmt->kind == STMT_FOR, multiplies, reduces);
        only &= only_sums(&step->orelse, in_loop, multiplies, reduces);
    }
    return only;
}

/* There a warp has whole rows, and so more of the second operand's fragments than others; and ptxas keeps the addresses
 * of all that is copied. */
static int sum_registers(const Plan *plan)
{
    return plan->counts.only_sums ? SUM_REGS + (plan->options->target->has_cp_async ? 0 : SUM_HELD_REGS) : 0;
}

/* A loop that does nothing but add one product to a sum is one stretch of code with the loads of the next turn's tiles, of which each
 * has an address: ptxas keeps those, and has the second operand of this step and the next. */
static int fetched_registers(const Plan *plan, const Choice *c, Habits habits)
{
    const StepCounts *n = &plan->counts;

    if (plan->options->target->has_cp_async || c->stages < 2 || n->all_products != 1 || !n->only_adds || n->only_sums)
        return 0; /* of more, early_registers has room */
    int more = FETCHED_STEPS * habits.fetched - FETCHED_REGS;

    return (more > 0 ? more : 0) + (habits.single ? SINGLE_REGS : 0);
}

StepCounts plan_count_steps(const Steps *steps)
{
    bool multiplies = false, reduces = false;
    StepCounts n = {.products = most_in_loop(steps, false, is_product), .all_products = all_products(steps, false),
                    .copies = most_in_loop(steps, false, fills_shared), .rows = most_in_loop(steps, false, loads_row),
                    .lookups = most_in_loop(steps, false, looks_up), .behind = vectors_behind(steps), .blocks = plan_masks_blocks(steps)};

    n.only_adds = only_sums(steps, false, &multiplies, &reduces) && multiplies;
    n.only_sums = n.only_adds && reduces;
    return n;
}

/* Blocks that share registers give each thread all that the estimate says, and no more. Of functions in
 * steps ptxas starts several, where it does not have many more anyway. */
int plan_doubt_shared(const Plan *plan, Habits habits, bool half)
{
    int stepped = habits.steps + STEPPED_REGS;
    bool through = !plan->options->target->has_cp_async;
    int beside = plan->counts.only_adds && plan->counts.products > 1 ? BESIDE_REGS : 0, behind = plan->counts.behind > 1 ? VECTORS_REGS : 0;
    int held = !half ? 0 : through ? LITTLE_REGS + beside : behind, sums = half || through ? sum_registers(plan) : 0;

    return row_registers(plan) + sums + behind_registers(plan) + computed_registers(plan, habits) + (habits.walked ? PLACES_REGS : 0) + (half && habits.steps ? stepped : held);
}

/* Each tensor that is streamed beside two has addresses of its own. */
int plan_doubt(const Plan *plan, const Choice *choice, Habits habits)
{
    int copies = plan->counts.copies;
    int places = habits.masked ? PLACES_REGS : 0;

    return places + (copies > 2 ? (copies - 2) * STREAM_REGS : 0) + plan->counts.lookups * LOOKUP_REGS + row_registers(plan) + sum_registers(plan) + bytes_registers(plan, habits) + computed_registers(plan, habits) + early_registers(plan, choice, habits) +
           output_registers(plan, choice) + behind_registers(plan) + fetched_registers(plan, choice, habits);
}
