/* prepared.c: second operands that a warpgroup of its own will make.
 *
 * What is computed of loaded tiles alone and put into shared memory for products, as weights that are widened or keys
 * that are rotated, is made by a role that does nothing else, where the rows are divided among warpgroups
 * (src/pass/prepare.c). Its tiles are in that role's registers, and its arithmetic runs beside the products.
 */
#include "reason/plan.h"

typedef struct Finder {
    Plan *plan;
    bool *may;           /* by tile: as far as is known it is prepared */
    const Steps **block; /* by tile: where it is computed; NULL: nowhere yet */
    bool *put;           /* by tile: it goes to shared memory, and products read it there */
    bool changed;
} Finder;

static int number_of(const Finder *f, const Tile *tile)
{
    return (int)(tile - f->plan->tiles.data);
}

static void refuse(Finder *f, const Tile *tile)
{
    if (!tile || !f->may[number_of(f, tile)])
        return;
    f->may[number_of(f, tile)] = false;
    f->changed = true;
}

static bool may(const Finder *f, const Tile *tile)
{
    return tile && f->may[number_of(f, tile)];
}

/* A tile that is computed where another is used stands in that block. */
static bool stands_in(Finder *f, const Steps *steps, const Tile *tile)
{
    const Steps *block = f->block[number_of(f, tile)];

    return !block || block == steps;
}

/* Bits of words that are read for each element: those who multiply do that (src/pass/prepare.c). And a tile of neighbours is none that
 * a bulk copy brings, without which there are no roles (src/pass/split.c). */
static bool reads_each(const Step *step)
{
    for (int i = 0; i < step->reads.len; i++) {
        const Read *read = &step->reads.data[i];

        if (read->between || (read->stepped && read->rows && read->cols))
            return true;
    }
    return false;
}

static bool is_part(const Step *step)
{
    if (!step->known || step->stmt->result == RESULT_ACCUMULATE || step->stmt->n_with || reads_each(step))
        return false;
    return step->class == OPC_ELEMENT || step->class == OPC_MASK || step->class == OPC_DEFINE || step->class == OPC_CAST ||
           step->class == OPC_FILL || step->class == OPC_ROW_REDUCE;
}

static void note_compute(Finder *f, const Steps *steps, const Step *step)
{
    const Tile *r = step->result;
    bool part = is_part(step) && may(f, r);

    for (int i = 0; i < step->stmt->n_args; i++) {
        const Tile *a = step->args[i];
        bool operand = step->gemm && i == 1;

        if (!a)
            continue;
        if (part && (!may(f, a) || !stands_in(f, steps, a))) {
            refuse(f, r);
            part = false;
        }
        if (!part && !operand)
            refuse(f, a);
        if (operand && (!f->put[number_of(f, a)] || !stands_in(f, steps, a)))
            refuse(f, a);
    }
    for (int i = 0; i < step->stmt->n_with; i++)
        refuse(f, step->with[i]);
    if (!part)
        refuse(f, r);
    else if (f->block[number_of(f, r)] && f->block[number_of(f, r)] != steps)
        refuse(f, r);
    else
        f->block[number_of(f, r)] = steps;
}

static void note_copy(Finder *f, const Steps *steps, const Step *step)
{
    if (!step->from)
        return;
    if (step->stmt->to_space == SPACE_SHARED && step->from == step->dest && stands_in(f, steps, step->from))
        f->put[number_of(f, step->from)] = true;
    else
        refuse(f, step->from);
}

static void note_steps(Finder *f, const Steps *steps)
{
    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];

        if (step->stmt->kind == STMT_COMPUTE)
            note_compute(f, steps, step);
        if (step->stmt->kind == STMT_COPY)
            note_copy(f, steps, step);
        note_steps(f, &step->body);
        note_steps(f, &step->orelse);
    }
}

/* A tile that is only made, and for nothing. */
static bool is_read(const Steps *steps, const Tile *tile)
{
    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];

        for (int k = 0; k < step->stmt->n_args; k++)
            if (step->args[k] == tile)
                return true;
        if (step->from == tile || is_read(&step->body, tile) || is_read(&step->orelse, tile))
            return true;
    }
    return false;
}

/* ---- products that are added ---------------------------------------------------------------- */

/* Where a block's first product with this result stands; -1: it has none. */
static int product_of(const Steps *steps, int end, const Tile *tile)
{
    for (int i = 0; i < end; i++)
        if (steps->data[i].gemm && steps->data[i].result == tile && steps->data[i].stmt->result != RESULT_ACCUMULATE)
            return i;
    return -1;
}

static bool touches(const Step *step, const Tile *tile)
{
    bool touched = step->result == tile || step->from == tile || step->dest == tile;

    for (int k = 0; k < step->stmt->n_args; k++)
        touched |= step->args[k] == tile;
    for (int k = 0; k < step->stmt->n_with; k++)
        touched |= step->with[k] == tile;
    return touched;
}

static int count_touching(const Steps *steps, const Tile *tile)
{
    int n = 0;

    for (int i = 0; i < steps->len; i++)
        n += touches(&steps->data[i], tile) + count_touching(&steps->data[i].body, tile) + count_touching(&steps->data[i].orelse, tile);
    return n;
}

/* A product and a sum with another, which tensor cores do at once (src/pass/simplify.c). */
static void find_addends(Plan *plan, const Steps *steps)
{
    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];

        find_addends(plan, &step->body);
        find_addends(plan, &step->orelse);
        if (!step->known || step->stmt->op != OP_ADD || step->stmt->n_args != 2 || step->args[0] != step->result || !step->args[0] || !step->args[1])
            continue;
        Tile *added = &plan->tiles.data[step->args[1] - plan->tiles.data];
        if (product_of(steps, i, step->result) >= 0 && product_of(steps, i, added) >= 0 && count_touching(&plan->steps, added) == 2)
            added->addend = true;
    }
}

/* ---- marks --------------------------------------------------------------------------------------- */

static void mark_steps(const Finder *f, Steps *steps)
{
    for (int i = 0; i < steps->len; i++) {
        Step *step = &steps->data[i];
        bool made = step->stmt->kind == STMT_COMPUTE && may(f, step->result);

        step->prepared = made || (step->stmt->kind == STMT_COPY && step->stmt->to_space == SPACE_REGISTER && may(f, step->dest));
        mark_steps(f, &step->body);
        mark_steps(f, &step->orelse);
    }
}

void plan_find_prepared(Plan *plan)
{
    int n = plan->tiles.len;
    Finder f = {plan, arena_array(plan->arena, bool, n + 1), arena_array(plan->arena, const Steps *, n + 1), arena_array(plan->arena, bool, n + 1), true};

    for (int t = 0; t < n; t++)
        f.may[t] = plan->tiles.data[t].reg && !plan->tiles.data[t].accumulated && is_read(&plan->steps, &plan->tiles.data[t]);
    while (f.changed) {
        f.changed = false;
        note_steps(&f, &plan->steps);
    }
    for (int t = 0; t < n; t++)
        plan->tiles.data[t].prepared = f.may[t];
    mark_steps(&f, &plan->steps);
    find_addends(plan, &plan->steps);
}

bool plan_prepares(const Plan *plan, const Choice *choice)
{
    for (int t = 0; choice->groups && t < plan->tiles.len; t++)
        if (plan->tiles.data[t].prepared)
            return true;
    return false;
}
