/* reads.c: registers of the elements that a Mask's condition or the value of a Define reads.
 *
 * ptxas starts as many loads as it can before the first is used: a number for each
 * element where the coordinates follow rows and columns, for each row or column,
 * not all of which are under way at once, where they follow one of the two.
 *
 *   Mask S where Keep[batch, q_pos, kv_pos]              as many as S has
 *   Define B (q_len, kv_len) as T[min(q_pos - kv_pos, 9)]  thrice as many: each has an address
 *   Mask S where Doc[batch, q_pos] == Doc[batch, kv_pos]  a column's and a row's
 *   Define S (N, K) as scale[row, col div 128]            a row's, if a tile's columns divide 128
 *
 * A quotient by what only the launch knows is a number likewise: i div chunk == j div chunk.
 */
#include "reason/plan.h"

#include <math.h>

enum { STEPPED_REGS = 32 }; /* of a mask of quotients and powers of what is read */

typedef struct Sides {
    int64_t rows, cols; /* every so many are told apart; 0: none */
    bool apart;         /* addresses do not differ by constants */
} Sides;

static bool follows(const Extent *extent, const char *dim)
{
    return extent->kind >= EXT_ROWS && extent->dim_name && strcmp(extent->dim_name, dim) == 0;
}

/* What is no sum: where it follows the tile's places, addresses do not differ by constants. */
static bool is_no_sum(const Expr *e)
{
    bool place = e->kind == EXPR_CALL && (strcmp(e->name, "row") == 0 || strcmp(e->name, "col") == 0);

    return (e->kind == EXPR_CALL && !place) || e->kind == EXPR_INDEX ||
           (e->kind == EXPR_BINARY && (e->op == EO_IDIV || e->op == EO_MOD));
}

static Sides sides_of(Plan *plan, const Tile *tile, const Expr *e, int depth);

static int64_t finer(int64_t a, int64_t b)
{
    return !a || !b ? a + b : a == b ? a : 1;
}

static Sides either(Sides a, Sides b)
{
    return (Sides){finer(a.rows, b.rows), finer(a.cols, b.cols), a.apart || b.apart};
}

/* `col div 128`: every 128 columns have the same. Tiles begin at multiples of their sizes, what has another origin does not; so
 * where the groups are a power of two they are constants apart. */
static Sides in_groups(Plan *plan, const Expr *e, Sides sides)
{
    const Expr *of = e->a;
    const Stmt *index = of->kind == EXPR_NAME ? plan_index(plan, of->name) : NULL;
    const Aff *by = eval_aff(&plan->env, e->b, NULL);
    int64_t group;
    bool place = (of->kind == EXPR_NAME && !plan_let(plan, of->name)) || (of->kind == EXPR_CALL && of->n_args <= 1);

    if (!place || (index && index->value) || !by || !aff_is_const(by, &group) || group < 1)
        return sides;
    return (Sides){sides.rows ? group : 0, sides.cols ? group : 0, (group & (group - 1)) != 0};
}

/* What of a tile's places a name stands for. */
static Sides sides_of_name(Plan *plan, const Tile *tile, const char *name, int depth)
{
    const Stmt *index = plan_index(plan, name);
    const Expr *let = plan_let(plan, name);
    const char *dim = index ? index->over : name;
    IndexSide side = index ? index_side(&plan->unit->body, name, index->over) : INDEX_UNSAID;

    if (let)
        return sides_of(plan, tile, let, depth);
    if (index && plan_along_entries(plan, tile, dim, side))
        return (Sides){0, 0, false};
    return (Sides){strcmp(name, "row") == 0 || (side != INDEX_COLS && follows(tile->row, dim)),
                   strcmp(name, "col") == 0 || (side != INDEX_ROWS && follows(tile->col, dim)), false};
}

static Sides sides_of(Plan *plan, const Tile *tile, const Expr *e, int depth)
{
    Sides sides = {0, 0, false};

    if (!e || depth >= PLAN_DEPTH)
        return sides;
    if (e->kind == EXPR_ELLIPSIS)
        return (Sides){1, 1, false};
    if (e->kind == EXPR_CALL) /* row(S) is the place itself */
        sides = sides_of_name(plan, tile, e->name, depth + 1);
    if (e->kind == EXPR_NAME)
        return sides_of_name(plan, tile, e->name, depth + 1);
    sides = either(sides, either(sides_of(plan, tile, e->a, depth + 1), sides_of(plan, tile, e->b, depth + 1)));
    for (int i = 0; i < e->n_args; i++)
        sides = either(sides, sides_of(plan, tile, e->args[i], depth + 1));
    sides.apart |= is_no_sum(e) && (sides.rows || sides.cols);
    if (e->kind == EXPR_BINARY && e->op == EO_IDIV)
        return in_groups(plan, e, sides);
    return sides;
}

/* Quotients and powers take steps, of which numbers of several elements are under way. */
static bool takes_steps(const Expr *e)
{
    return e->kind == EXPR_BINARY && (e->op == EO_IDIV || e->op == EO_MOD || e->op == EO_DIV || e->op == EO_POW);
}

/* A place over what only the launch knows, the same everywhere. */
static bool is_open_quotient(Plan *plan, const Tile *tile, const Expr *e)
{
    double by;

    if (e->kind != EXPR_BINARY || (e->op != EO_IDIV && e->op != EO_MOD) || eval_float(&plan->env, e->b, &by))
        return false;
    Sides sides = sides_of(plan, tile, e->b, 0);
    return !sides.rows && !sides.cols;
}

static bool is_read_before(const Reads *reads, const Expr *element)
{
    for (int i = 0; i < reads->len; i++)
        if (reads->data[i].element && expr_equal(reads->data[i].element, element))
            return true;
    return false;
}

/* What a sum adds that is the same for all elements, as 1 of `col + 1`. */
static int64_t offset_of(const Expr *e)
{
    if (e->kind == EXPR_BINARY && (e->op == EO_ADD || e->op == EO_SUB))
        return offset_of(e->a) + (e->op == EO_ADD ? offset_of(e->b) : -offset_of(e->b));
    return e->kind == EXPR_INT ? e->i : 0;
}

/* Whether columns begin where a bulk copy may. */
static bool begins_in_chunks(const Plan *plan, const Expr *read)
{
    enum { CHUNK = 16 };

    return offset_of(read->args[read->n_args - 1]) * dtype_bytes(plan_tensor(plan, read->a->name)->dtype) % CHUNK == 0;
}

/* Neighbouring columns lie side by side, rows along one other dimension. */
static bool lies_as_tile(Plan *plan, const Tile *tile, const Expr *read)
{
    Sides last = read->n_args > 0 ? sides_of(plan, tile, read->args[read->n_args - 1], 0) : (Sides){0, 0, false};
    int along = 0;

    for (int i = 0; i < read->n_args - 1; i++) {
        Sides sides = sides_of(plan, tile, read->args[i], 0);

        if (sides.cols || sides.apart || sides.rows > 1)
            return false;
        along += sides.rows == 1;
    }
    return along == 1 && last.cols == 1 && !last.rows && !last.apart;
}

/* place: of the coordinates of an element. */
static void find_in(Plan *plan, const Tile *tile, const Expr *e, bool stepped, bool place, Reads *reads)
{
    if (!e)
        return;
    stepped |= takes_steps(e);
    if (is_open_quotient(plan, tile, e)) {
        Sides sides = sides_of(plan, tile, e->a, 0);

        vec_push(plan->arena, reads, (Read){.rows = sides.rows, .cols = sides.cols, .place = place});
    }
    if (e->kind == EXPR_INDEX && e->a->kind == EXPR_NAME && plan_tensor(plan, e->a->name)) {
        Sides sides = {0, 0, false};
        int bytes = dtype_bytes(plan_tensor(plan, e->a->name)->dtype);

        Sides last = e->n_args > 0 ? sides_of(plan, tile, e->args[e->n_args - 1], 0) : sides;
        for (int i = 0; i < e->n_args; i++)
            sides = either(sides, sides_of(plan, tile, e->args[i], 0));
        bool below = last.rows == 1 && last.cols == 0 && !last.apart && sides.cols == 1;
        bool is_tile = lies_as_tile(plan, tile, e), lies = is_tile && !is_read_before(reads, e), between = is_tile && !begins_in_chunks(plan, e);
        vec_push(plan->arena, reads, (Read){sides.rows, sides.cols, sides.apart, stepped, lies, below, place, bytes, e, between});
        stepped = false; /* coordinates are integers */
    }
    place |= e->kind == EXPR_INDEX;
    find_in(plan, tile, e->a, stepped, place, reads);
    find_in(plan, tile, e->b, stepped, place, reads);
    for (int i = 0; i < e->n_args; i++)
        find_in(plan, tile, e->args[i], stepped, place, reads);
}

void plan_find_reads(Plan *plan, const Stmt *s, const Tile *result, Reads *reads)
{
    find_in(plan, result, s->where, false, false, reads);
    find_in(plan, result, s->value, false, false, reads);
    for (int i = 0; i < s->n_args; i++)
        find_in(plan, result, s->args[i], false, false, reads);
}

/* Whether a tile of this size has more than one along a side. */
static bool varies(int64_t every, int64_t size)
{
    return every == 1 || (every > 1 && every % size != 0);
}

bool plan_divides_places(Plan *plan, const Tile *tile, const Expr *e)
{
    if (!e || e->kind == EXPR_INDEX)
        return false;
    if (e->kind == EXPR_BINARY && (e->op == EO_IDIV || e->op == EO_MOD)) {
        Sides sides = sides_of(plan, tile, e->a, 0);

        if (sides.rows && sides.cols)
            return true;
    }
    return plan_divides_places(plan, tile, e->a) || plan_divides_places(plan, tile, e->b);
}

/* Columns of a lane for each of its numbers: it has neighbours of a row, which share some, where a tile of words lies as memory
 * does (src/pass/unpinned.c), and those of two turns (src/ptx/ahead.c). */
static double sharing(const Step *step, const Read *read)
{
    enum { NEIGHBOURS = 8, TURNS = 2 };
    return step->result->prepared && read->cols > 1 ? fmin((double)read->cols, NEIGHBOURS) / TURNS : 1;
}

double plan_read_registers(const Choice *c, const Step *step)
{
    double n = 0;
    bool stepped = false;

    for (int i = 0; i < step->reads.len; i++) {
        const Read *read = &step->reads.data[i];
        int64_t rows = c->size[step->result->row->id], cols = c->size[step->result->col->id];
        bool by_rows = varies(read->rows, rows), by_cols = varies(read->cols, cols);
        bool settled = by_rows != (read->rows > 0) || by_cols != (read->cols > 0);
        /* a vector's are used one after the other; quotients of a Define wait for nothing, so that all are made beside a product
         * of warpgroups */
        bool quotients = !read->element && !read->place && by_cols && c->groups && step->class == OPC_DEFINE;
        double weight = quotients ? 1.25 : read->apart && !settled ? 3 : by_rows && by_cols ? 1 : 0.5;

        n += weight * plan_registers(c, by_rows ? rows : 1, by_cols ? cols : 1) / (by_cols ? sharing(step, read) : 1);
        stepped |= read->stepped && step->class == OPC_MASK;
    }
    return n + (stepped ? STEPPED_REGS : 0);
}
