/* output.c: every output is written, once.
 *
 * Blocks run in any order and know nothing of each other: where two of them, or
 * two iterations of a loop, write the same tile, the last one wins by chance.
 */
#include "check/walk.h"

static bool exclusive(const Store *a, const Store *b)
{
    for (int i = 0; i < a->n_arms && i < b->n_arms && a->arms[i].stmt == b->arms[i].stmt; i++)
        if (a->arms[i].orelse != b->arms[i].orelse)
            return true;
    return false;
}

static bool same_place(const Stmt *a, const Stmt *b)
{
    if (a->n_coords != b->n_coords || a->target || b->target || a->where || b->where)
        return false;
    for (int i = 0; i < a->n_coords; i++)
        if (!expr_equal(a->coords[i].value, b->coords[i].value))
            return false;
    return true;
}

static void check_twice(Checker *c, const Store *store)
{
    for (int i = 0; i < c->stores.len; i++) {
        const Store *other = &c->stores.data[i];
        if (other->tensor != store->tensor || exclusive(other, store) ||
            !same_place(other->stmt, store->stmt))
            continue;
        int line, column;
        Diag *d = diag_add(c->diags, TW0451, store->stmt->span,
                           "this tile of '%s' is written twice", store->tensor->name);
        source_place(c->program->source, other->stmt->span.start, &line, &column);
        diag_note(c->diags, d, "first in line %d", line);
        return;
    }
}

/* Of one kernel, some blocks would add to what others are still to write. */
static bool check_mixed(Checker *c, const Store *store)
{
    for (int i = 0; i < c->stores.len; i++) {
        const Store *other = &c->stores.data[i];
        if (other->tensor != store->tensor || other->stmt->result == store->stmt->result) continue;
        int line, column;
        Diag *d = diag_add(c->diags, TW0451, store->stmt->span, "'%s' is written and added to in one kernel", store->tensor->name);
        source_place(c->program->source, other->stmt->span.start, &line, &column);
        diag_note(c->diags, d, "line %d does the other: what is only added to begins as 0; else write it in a kernel before", line);
        return false;
    }
    return true;
}

/* Blocks add as atomic operations do: in fp32, the same on all targets. */
static void check_added_dtype(Checker *c, const Stmt *s, const Named *t)
{
    const Stmt *decl = block_find(&c->unit->body, STMT_OUTPUT, t->name);
    if (s->result != RESULT_ACCUMULATE || !decl) return;
    if (!decl->has_dtype && !c->options->settings) return;
    DType dtype = decl->has_dtype ? decl->dtype : stmt_dtype(decl, &c->unit->body, c->options->settings->dtype);
    if (dtype == DT_F32) return;
    Diag *d = diag_add(c->diags, TW0431, s->span, "'%s' is %s: blocks add in fp32", t->name, dtype_name(dtype));
    Span end = {decl->span.end, decl->span.end};
    diag_fix(c->diags, d, decl->has_dtype ? decl->dtype_span : end, decl->has_dtype ? "fp32" : " fp32", "accumulate in fp32");
}

static bool depends_on(const Checker *c, const Stmt *s, const Aff *const *coords, int n,
                       const AffSym *sym)
{
    (void)c;
    for (int i = 0; i < n; i++)
        if (coords[i] && (aff_uses(coords[i], sym) || aff_uses_kind(coords[i], AFF_SCALAR)))
            return true;
    return s->where != NULL;
}

/* The offset of a tensor that `Allocate ... in global` gives a block its part of. */
static bool offset_depends_on(Checker *c, const Named *t, const AffSym *sym)
{
    const Stmt *decl = t->places[SPACE_GLOBAL].decl;
    const Aff *offset = decl && decl->offset ? eval_aff(&c->env, decl->offset, NULL) : NULL;
    return offset && aff_uses(offset, sym);
}

static void check_loops(Checker *c, const Stmt *s, const Named *t, const Aff *const *coords, int n)
{
    for (int i = c->n_loops - 1; i >= 0; i--) {
        const Loop *loop = &c->loops[i];
        if (!loop->sym || depends_on(c, s, coords, n, loop->sym) ||
            offset_depends_on(c, t, loop->sym))
            continue;
        Diag *d = diag_add(c->diags, TW0451, s->span,
                           "each iteration of '%s' writes the same tile of '%s'", loop->stmt->name,
                           t->name);
        diag_note(c->diags, d, "write it after the loop, use '%s' in a coordinate, or add to it with `and accumulate`",
                  loop->stmt->name);
        return;
    }
}

/* Whether the loops that a store's coordinates count run over other turns in
 * each block along an axis: `for j = s * n:min((s + 1) * n, end)`. A turn that is
 * the only one is one block's, and a number in coordinates. */
static bool turns_apart(Checker *c, const Stmt *s, const Aff *const *coords, int n, const AffSym *axis)
{
    for (int i = 0; i < c->n_loops; i++) {
        const Loop *loop = &c->loops[i];
        if (!loop->lo || !loop->end || (loop->sym && !depends_on(c, s, coords, n, loop->sym)))
            continue;
        const Aff *next = aff_offset(c->aff, aff_of(c->aff, axis), 1);
        if (aff_uses(loop->lo, axis) &&
            aff_always(c->aff, aff_le(c->aff, loop->end, aff_subst(c->aff, loop->lo, axis, next))))
            return true;
    }
    return false;
}

static void check_grid(Checker *c, const Stmt *s, const Named *t, const Aff *const *coords, int n)
{
    for (int i = 0; i < c->grid.len; i++) {
        const Axis *axis = &c->grid.data[i];
        bool one = axis->extent && aff_always(c->aff, aff_le(c->aff, axis->extent, aff_const(c->aff, 1)));
        if (!axis->sym || one || depends_on(c, s, coords, n, axis->sym) || turns_apart(c, s, coords, n, axis->sym) ||
            offset_depends_on(c, t, axis->sym))
            continue;
        Diag *d =
            diag_add(c->diags, TW0452, s->span, "all blocks along '%s' write the same tile of '%s'",
                     axis->name, t->name);
        diag_note(c->diags, d, "use '%s' in a coordinate; parts of one sum are added by `and accumulate`, or go to a tensor with that "
                  "dimension, which a second kernel adds up", axis->name);
        return;
    }
}

/* Whether a condition that some blocks along an axis fail is failed by all that are tried: where the store's coordinates
 * do not say which of them it is, one that comes here writes for the others. */
static const Aff *missed_by_all(Checker *c, const Aff *missed, const Axis *axis)
{
    enum { MOST_BLOCKS = 16, SOME_BLOCKS = 4 };
    int64_t extent, tried = SOME_BLOCKS;
    const Aff *last = aff_offset(c->aff, axis->extent, -1), *all = aff_subst(c->aff, missed, axis->sym, last);
    if (aff_is_const(axis->extent, &extent))
        tried = extent < MOST_BLOCKS ? extent : MOST_BLOCKS;
    for (int64_t i = 0; i < tried; i++) {
        const Aff *beyond = aff_le(c->aff, axis->extent, aff_const(c->aff, i));
        all = aff_and(c->aff, all, aff_or(c->aff, beyond, aff_subst(c->aff, missed, axis->sym, aff_const(c->aff, i))));
    }
    return all;
}

static bool is_placed_along(Checker *c, const Stmt *s, const Named *t, const Aff *const *coords, int n, const AffSym *sym)
{
    return s->target || depends_on(c, s, coords, n, sym) || offset_depends_on(c, t, sym);
}

/* Whether there is a part that no block comes here with: a condition of its coordinates and of sizes fails. */
static bool misses_blocks(Checker *c, const Stmt *store, const Named *t, const Aff *const *coords, int n)
{
    const Aff *missed = NULL;
    if (c->n_loops > 0)
        return false;
    for (int i = 0; i < c->path.n_arms; i++) {
        const Stmt *s = c->path.arms[i].stmt;
        const Aff *holds = s->where->kind == EXPR_WORDS ? NULL : eval_aff(&c->env, s->where, NULL);
        if (!holds || aff_uses_kind(holds, AFF_SCALAR) || aff_uses_kind(holds, AFF_TABLE))
            return false;
        holds = c->path.arms[i].orelse ? holds : aff_not(c->aff, holds);
        missed = missed ? aff_or(c->aff, missed, holds) : holds;
    }
    for (int i = 0; missed && i < c->grid.len; i++) {
        const Axis *axis = &c->grid.data[i];
        if (!axis->extent)
            return false;
        if (axis->sym && !is_placed_along(c, store, t, coords, n, axis->sym))
            missed = missed_by_all(c, missed, axis);
        else if (axis->sym)
            missed = aff_and(c->aff, missed, aff_lt(c->aff, aff_of(c->aff, axis->sym), axis->extent));
    }
    return missed && !aff_is_poison(missed) && !aff_never(c->aff, missed) && mask_holds_somewhere(c, missed);
}

void output_store(Checker *c, const Stmt *s, Named *tensor, const Aff *const *coords, int n)
{
    Place *global = &tensor->places[SPACE_GLOBAL];
    Store store = c->path;
    store.stmt = s;
    store.tensor = tensor;
    store.misses = misses_blocks(c, s, tensor, coords, n);
    if (global->is_input) {
        diag_add(c->diags, TW0236, s->as ? s->as_span : s->name_span, "'%s' is an Input", tensor->name);
        return;
    }
    global->was_copied_to = true;
    if (c->loose)
        return;
    check_added_dtype(c, s, tensor);
    if (check_mixed(c, &store) && s->result != RESULT_ACCUMULATE) {
        check_twice(c, &store);
        if (c->path.n_arms == 0) {
            check_loops(c, s, tensor, coords, n);
            check_grid(c, s, tensor, coords, n);
        }
    }
    vec_push(c->arena, &c->stores, store);
}

static const char *copy_back(Checker *c, const Named *t)
{
    const Place *reg = &t->places[SPACE_REGISTER];
    return reg->exists
               ? arena_printf(c->arena,
                              "add `Copy %s (...) in coordinate [...] from register to global`",
                              t->name)
               : NULL;
}

/* An output that one Copy writes, and not in all blocks. */
static void check_missed(Checker *c, const Named *t)
{
    const Store *only = NULL;
    int n = 0;
    for (int i = 0; i < c->stores.len; i++)
        if (c->stores.data[i].tensor == t) {
            only = &c->stores.data[i];
            n++;
        }
    if (n != 1 || !only->misses)
        return;
    Diag *d = diag_add(c->late, TW0453, only->stmt->span, "some blocks do not write their part of '%s'", t->name);
    diag_note(c->late, d, "the condition round it does not hold in all of them: write on the other side as well, if 0");
}

void output_finish(Checker *c)
{
    bool any = false;
    for (int i = 0; i < c->tensors.len; i++) {
        const Named *t = c->tensors.data[i];
        const Place *global = &t->places[SPACE_GLOBAL];
        any |= global->was_copied_to || global->is_output;
        if (global->is_output)
            check_missed(c, t);
        if (!global->is_output || global->was_copied_to)
            continue;
        Diag *d =
            diag_add(c->diags, TW0450, global->span, "the output '%s' is never written", t->name);
        const char *note = copy_back(c, t);
        if (note)
            diag_note(c->diags, d, "%s", note);
    }
    if (!any && !c->loose && c->unit->kind == UNIT_KERNEL)
        diag_add(c->diags, TW0450, c->unit->name_span,
                 "the kernel writes nothing to global memory");
}
