/* verify.c: is a program well-formed, and does it keep what its facts promise?
 *
 * Checks, in this order: the head of the program; then each kernel, block by
 * block: every operation has the operands, results, regions and attributes of
 * its kind; values are defined once, before they are used, and not used outside
 * of the region that defines them; expressions use only symbols that are known
 * where they stand; regions end as they must; types and layouts (verify_ops.c);
 * buffers lie side by side in shared memory.
 *
 * After a structural fault an operation is not looked at further, so that a
 * broken program gives diagnostics and no crash.
 */
#include "tile/verify.h"

enum { VERIFY_DEPTH = 60, ROLE_MAX = 16, INSTANCE_MAX = 16 };

/* ---- reporting ---------------------------------------------------------------- */

bool verify_fail(Verifier *v, DiagCode code, const TileOp *op, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *what = arena_vprintf(v->arena, fmt, args);
    va_end(args);
    Diag *d = diag_add(v->diags, code, op ? op->loc : v->kernel ? v->kernel->loc : (Span){0, 0}, "%s", what);
    if (op)
        diag_note(v->diags, d, "kernel %s: %s", v->kernel->name, tile_op_line(v->arena, v->program, v->kernel, op));
    else if (v->kernel)
        diag_note(v->diags, d, "kernel %s", v->kernel->name);
    return false;
}

/* ---- structure: numbers of things -------------------------------------------------- */

enum {
    PLACE = 1,  /* tensor and coords */
    COND = 2,
    INDEX = 4,
    LOOP = 8,   /* var, lo, hi */
    MEET = 16,  /* none: but all warps make it, or others see it, so it is not revised */
    MANY = 1000 /* as many as one likes */
};

/* One row an operation: least and most operands, results, regions; attributes
 * that must be there. */
typedef struct Form {
    int args[2], results[2], regions[2];
    unsigned attributes;
} Form;

static const Form FORMS[TILE_OP_COUNT] = {
    [TILE_LOAD] = {{0, 0}, {1, 1}, {0, 0}, PLACE},
    [TILE_STORE] = {{1, 2}, {0, 0}, {0, 0}, PLACE | MEET},
    [TILE_MOVE] = {{1, 1}, {1, 1}, {0, 0}, 0},
    [TILE_FILL] = {{0, 0}, {1, 1}, {0, 0}, 0},
    [TILE_INDEX] = {{0, 0}, {1, 1}, {0, 0}, INDEX},
    [TILE_GATHER] = {{0, 1}, {1, 1}, {0, 0}, PLACE},
    [TILE_ELEMENT] = {{1, 3}, {1, 1}, {0, 0}, 0},
    [TILE_MASK] = {{1, 1}, {1, 1}, {0, 0}, COND},
    [TILE_REDUCE] = {{1, 2}, {1, 1}, {0, 0}, 0},
    [TILE_CAST] = {{1, 1}, {1, 1}, {0, 0}, 0},
    [TILE_RESHAPE] = {{1, 1}, {1, 1}, {0, 0}, 0},
    [TILE_SLICE] = {{1, 1}, {1, 1}, {0, 0}, 0},
    [TILE_PATCH] = {{2, 2}, {1, 1}, {0, 0}, 0},
    [TILE_SCALAR] = {{1, 1}, {0, 0}, {0, 0}, 0},
    [TILE_GEMM] = {{2, 3}, {1, 1}, {0, 0}, 0},
    [TILE_SOFTMAX] = {{3, 3}, {4, 4}, {0, 0}, 0},
    [TILE_FOR] = {{0, MANY}, {0, MANY}, {1, 1}, LOOP},
    [TILE_IF] = {{0, 0}, {0, MANY}, {1, 2}, COND},
    [TILE_PREPARE] = {{0, 0}, {1, MANY}, {1, 1}, 0},
    [TILE_YIELD] = {{0, MANY}, {0, 0}, {0, 0}, 0},
    [TILE_BUFFER] = {{0, 0}, {1, 1}, {0, 0}, 0},
    [TILE_VIEW] = {{1, 1}, {1, 1}, {0, 0}, INDEX},
    [TILE_PUT] = {{2, 2}, {0, 0}, {0, 0}, MEET},
    [TILE_COPY_ASYNC] = {{1, 1}, {0, 0}, {0, 0}, PLACE | MEET},
    [TILE_COMMIT] = {{0, 0}, {0, 0}, {0, 0}, MEET},
    [TILE_WAIT] = {{0, 0}, {0, 0}, {0, 0}, MEET},
    [TILE_BARRIER] = {{0, 0}, {0, 0}, {0, 0}, MEET},
    [TILE_ROLES] = {{0, 0}, {0, 0}, {1, ROLE_MAX}, MEET},
    [TILE_RING] = {{0, 0}, {1, 1}, {0, 0}, 0},
    [TILE_ACQUIRE] = {{1, 1}, {0, 0}, {0, 0}, MEET},
    [TILE_FILLED] = {{1, 1}, {0, 0}, {0, 0}, MEET},
    [TILE_AWAIT] = {{1, 1}, {1, 1}, {0, 0}, MEET},
    [TILE_RELEASE] = {{1, 1}, {0, 0}, {0, 0}, MEET},
    [TILE_ISSUE] = {{2, 3}, {1, 1}, {0, 0}, MEET},
    [TILE_FINISH] = {{1, 1}, {1, 1}, {0, 0}, 0},
    [TILE_REVISE] = {{2, MANY}, {1, MANY}, {1, 1}, 0},
    [TILE_TAKE_TURN] = {{0, 0}, {0, 0}, {0, 0}, MEET},
    [TILE_GIVE_TURN] = {{0, 0}, {0, 0}, {0, 0}, MEET},
};

static bool check_count(Verifier *v, const TileOp *op, const char *what, int n, const int range[2])
{
    if (n >= range[0] && n <= range[1])
        return true;
    return verify_fail(v, TW0750, op, "%d %s, wanted %d%s", n, what, range[0],
                       range[1] > range[0] ? " or more" : "");
}

static bool check_attributes(Verifier *v, const TileOp *op, unsigned wanted)
{
    bool place = op->tensor && op->coords, loop = op->var && op->lo && op->hi;
    for (int i = 0; place && i < op->tensor->rank; i++)
        place = op->coords[i] != NULL;
    if (((wanted & PLACE) && !place) || ((wanted & COND) && !op->cond) ||
        ((wanted & INDEX) && !op->index) || ((wanted & LOOP) && !loop))
        return verify_fail(v, TW0750, op, "a tensor, coordinate, condition, index or bound is missing");
    return true;
}

static bool check_form(Verifier *v, const TileOp *op)
{
    const Form *form = &FORMS[op->kind];
    if (!check_count(v, op, "operands", op->n_args, form->args) ||
        !check_count(v, op, "results", op->n_results, form->results) ||
        !check_count(v, op, "regions", op->n_regions, form->regions))
        return false;
    for (int i = 0; i < op->n_regions; i++)
        if (!op->regions[i])
            return verify_fail(v, TW0750, op, "region %d is missing", i + 1);
    return check_attributes(v, op, form->attributes);
}

/* ---- values ---------------------------------------------------------------------- */

static bool has_id(const Verifier *v, const TileValue *value)
{
    return value && value->id >= 0 && value->id < v->kernel->next_value;
}

static bool may_give_pending(const TileOp *op)
{
    return op->kind == TILE_ISSUE || op->kind == TILE_FOR || op->kind == TILE_IF || op->kind == TILE_REVISE;
}

static bool define(Verifier *v, const TileOp *op, const TileValue *value)
{
    if (!has_id(v, value))
        return verify_fail(v, TW0752, op, "a value without an id of this kernel");
    if (v->defined[value->id])
        return verify_fail(v, TW0752, op, "a value is defined twice");
    if (value->type.kind != TT_TILE && !(op && tile_is_storage(op)))
        return verify_fail(v, TW0755, op, "the value is not a tile");
    if (value->type.pending && !may_give_pending(op))
        return verify_fail(v, TW0755, op, "the result is pending, but nothing was issued");
    v->defined[value->id] = value;
    v->in_scope[value->id] = true;
    vec_push(v->arena, &v->scope, value->id);
    return verify_value_type(v, op, value);
}

static void leave_scope(Verifier *v, int mark)
{
    while (v->scope.len > mark)
        v->in_scope[v->scope.data[--v->scope.len]] = false;
}

/* What the tensor cores still write is only added to, passed on, or waited for. */
static bool may_be_pending(const TileOp *op, int arg)
{
    return op->kind == TILE_FINISH || op->kind == TILE_FOR || op->kind == TILE_YIELD ||
           (op->kind == TILE_ISSUE && arg == 2) || (op->kind == TILE_REVISE && arg < op->n_results);
}

static bool check_uses(Verifier *v, const TileOp *op)
{
    for (int i = 0; i < op->n_args; i++) {
        const TileValue *value = op->args[i];
        if (!has_id(v, value) || (v->defined[value->id] && v->defined[value->id] != value))
            return verify_fail(v, TW0752, op, "operand %d is not a value of this kernel", i + 1);
        if (!v->defined[value->id])
            return verify_fail(v, TW0752, op, "operand %d is used before it is defined", i + 1);
        if (!v->in_scope[value->id])
            return verify_fail(v, TW0752, op, "operand %d was defined in a region that has ended", i + 1);
        if (value->type.pending && !may_be_pending(op, i))
            return verify_fail(v, TW0755, op, "operand %d is pending: nothing has waited for it", i + 1);
    }
    return true;
}

static bool define_results(Verifier *v, const TileOp *op)
{
    bool ok = true;
    for (int i = 0; i < op->n_results; i++) {
        if (op->results[i] && op->results[i]->def != op)
            ok = verify_fail(v, TW0752, op, "result %d belongs to another operation", i + 1);
        ok = define(v, op, op->results[i]) && ok;
    }
    return ok;
}

/* ---- symbols ------------------------------------------------------------------------ */

/* Makes a symbol known. Names must differ where both are known, or text could
 * not say which is meant. */
static bool know(Verifier *v, const TileOp *op, const AffSym *sym)
{
    if (!sym || !sym->name)
        return verify_fail(v, TW0757, op, "a symbol without a name");
    for (int i = 0; i < v->symbols.len; i++)
        if (text_equal(v->symbols.data[i]->name, sym->name))
            return verify_fail(v, TW0757, op, "'%s' is the name of something else here", sym->name);
    v->symbol_known[sym->id] = true;
    vec_push(v->arena, &v->symbols, sym);
    return true;
}

static void forget_symbols(Verifier *v, int mark)
{
    while (v->symbols.len > mark)
        v->symbol_known[v->symbols.data[--v->symbols.len]->id] = false;
}

static bool check_aff(Verifier *v, const TileOp *op, const Aff *a);

/* Elements are read where a tile that comes from memory lies, and for those of an index or a mask: what flow and storage are made of
 * is read once (`scalar`). */
static bool check_read(Verifier *v, const TileOp *op, const Aff *a)
{
    const AffSym *sym;
    const Aff *coords[AFF_MAX_COORDS];
    int n = aff_coords(a, &sym, coords);
    const TileTensor *t = tile_table_of(v->program, sym);
    if (op->kind != TILE_LOAD && op->kind != TILE_COPY_ASYNC && op->kind != TILE_GATHER && op->kind != TILE_INDEX && op->kind != TILE_MASK)
        return verify_fail(v, TW0757, op, "elements of '%s' stand where no tile is brought from memory", sym->name);
    if (!t || !t->read || !tile_is_table(t) || t->rank != n)
        return verify_fail(v, TW0757, op, "'%s' is no tensor of integers of %d dimensions that is only read", sym->name, n);
    if (t->written && tile_stores_to(v->kernel->body, t))
        return verify_fail(v, TW0757, op, "elements of '%s' are read in the kernel that writes them", sym->name);
    for (int i = 0; i < n; i++)
        if (!check_aff(v, op, coords[i]))
            return false;
    return true;
}

static bool check_aff(Verifier *v, const TileOp *op, const Aff *a)
{
    if (!a || a->kind == AFF_CONST)
        return true;
    if (a->kind == AFF_POISON)
        return verify_fail(v, TW0757, op, "an expression overflowed when it was built");
    if (a->kind == AFF_AT)
        return check_read(v, op, a);
    if (a->sym && !v->symbol_known[a->sym->id])
        return verify_fail(v, TW0757, op, "'%s' is not known here", a->sym->name);
    return (!a->a || check_aff(v, op, a->a)) && (!a->b || a->b->kind == AFF_CONST || check_aff(v, op, a->b));
}

/* An expression of the element's place within the tile. */
static bool check_element_aff(Verifier *v, const TileOp *op, const Aff *a)
{
    int mark = v->symbols.len;
    bool ok = know(v, op, v->program->row) && know(v, op, v->program->col) && check_aff(v, op, a);
    forget_symbols(v, mark);
    return ok;
}

/* ... of its row alone. */
static bool check_row_aff(Verifier *v, const TileOp *op, const Aff *a)
{
    int mark = v->symbols.len;
    bool ok = know(v, op, v->program->row) && check_aff(v, op, a);
    forget_symbols(v, mark);
    return ok;
}

static bool check_expressions(Verifier *v, const TileOp *op)
{
    if (op->kind == TILE_MASK)
        return check_element_aff(v, op, op->cond) && check_aff(v, op, op->unless);
    if (op->kind == TILE_INDEX)
        return check_element_aff(v, op, op->index);
    for (int i = 0; op->tensor && op->coords && i < op->tensor->rank; i++)
        if (!(op->kind == TILE_GATHER ? check_element_aff : tile_by_rows(op) ? check_row_aff : check_aff)(v, op, op->coords[i]))
            return false;
    if (op->where && !check_element_aff(v, op, op->where))
        return false;
    return check_aff(v, op, op->cond) && check_aff(v, op, op->unless) && check_aff(v, op, op->index) && check_aff(v, op, op->lo) &&
           check_aff(v, op, op->hi) && check_aff(v, op, op->until);
}

/* ---- blocks --------------------------------------------------------------------------- */

static bool check_block(Verifier *v, const TileBlock *block);

static bool needs_yield(const TileOp *owner)
{
    return owner && (owner->kind == TILE_FOR || owner->kind == TILE_IF || owner->kind == TILE_REVISE || owner->kind == TILE_PREPARE);
}

static bool check_yield(Verifier *v, const TileOp *yield)
{
    const TileOp *owner = v->owner;
    if (yield->n_args != owner->n_results)
        return verify_fail(v, TW0753, yield, "%d values are yielded, wanted %d", yield->n_args,
                           owner->n_results);
    for (int i = 0; i < yield->n_args; i++) {
        TileType have = yield->args[i]->type, want = owner->results[i]->type;
        if (!verify_may_stand_for(have, want))
            return verify_fail(v, TW0753, yield, "value %d is %s, wanted %s", i + 1, verify_type_text(v, have),
                               verify_type_text(v, want));
    }
    return true;
}

static bool check_ending(Verifier *v, const TileBlock *block)
{
    const TileOp *last = block->ops.len ? block->ops.data[block->ops.len - 1] : NULL;
    bool ends = last && last->kind == TILE_YIELD;
    if (needs_yield(v->owner) && !ends)
        return verify_fail(v, TW0753, v->owner, "a region does not end with a yield");
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_YIELD && (i < block->ops.len - 1 || !needs_yield(v->owner)))
            return verify_fail(v, TW0753, op, "a yield that does not end the region of a loop or if");
    }
    return true;
}

/* In a kernel with roles an axis `within` numbers instances: only a role that has
 * an instance for each coordinate knows which it is. NULL: what is around roles. */
static void know_instances(Verifier *v, const TileRole *role)
{
    for (int i = 0; i < v->kernel->grid.len; i++) {
        const TileAxis *axis = &v->kernel->grid.data[i];
        if (axis->within)
            v->symbol_known[axis->sym->id] = role && role->per == axis->sym;
    }
}

/* A role has warps of its own. */
static void enter_role(Verifier *v, const TileOp *op, const TileBlock *region)
{
    for (int i = 0; i < op->n_regions; i++)
        if (op->regions[i] == region) {
            know_instances(v, &op->roles[i]);
            v->warps = op->roles[i].warps;
        }
    v->in_roles = true;
}

static void leave_role(Verifier *v)
{
    know_instances(v, NULL);
    v->warps = v->kernel->warps;
    v->in_roles = false;
}

/* What prepares a tile, which other warps may do, has no values but its own. */
static void hide_values(Verifier *v, const TileOp *op, int n, bool hidden)
{
    for (int i = 0; op->kind == TILE_PREPARE && i < n; i++)
        v->in_scope[v->scope.data[i]] = !hidden;
}

/* Whether a condition may hold in some blocks of a cluster and not in others. */
static bool parts_blocks(const Verifier *v, const Aff *cond)
{
    const TileAxis *axis = tile_cluster(v->kernel);
    return !cond || (axis && aff_uses(cond, axis->sym)) || aff_uses_kind(cond, AFF_SCALAR);
}

/* A region sees what is around it; what it defines ends with it. */
static bool check_region(Verifier *v, const TileOp *op, const TileBlock *region)
{
    const TileOp *owner = v->owner;
    bool in_revise = v->in_revise, alone = v->alone, met = v->met, ok = true;
    int values = v->scope.len, symbols = v->symbols.len;
    if (v->depth == VERIFY_DEPTH)
        return verify_fail(v, TW0750, op, "more than %d regions within each other", VERIFY_DEPTH);
    v->owner = op;
    v->in_revise |= op->kind == TILE_REVISE;
    v->alone |= op->kind != TILE_IF || parts_blocks(v, op->cond);
    if (op->kind == TILE_ROLES)
        enter_role(v, op, region);
    v->depth++;
    hide_values(v, op, values, true);
    if (op->kind == TILE_FOR)
        ok = know(v, op, op->var);
    for (int i = 0; i < region->params.len; i++)
        ok = define(v, op, region->params.data[i]) && ok;
    ok = ok && check_block(v, region);
    v->depth--;
    if (op->kind == TILE_ROLES)
        leave_role(v);
    v->in_revise = in_revise;
    v->alone = alone;
    v->met = met;
    v->owner = owner;
    leave_scope(v, values);
    hide_values(v, op, values, false);
    forget_symbols(v, symbols);
    return ok;
}

static bool check_level(Verifier *v, const TileOp *op)
{
    bool staged = (v->kernel->facts & TF_STAGED) != 0;
    if (tile_op_level(op->kind) == TL_SCHEDULED && !staged)
        return verify_fail(v, TW0754, op, "an operation of the scheduled level before `stage`");
    if (tile_is_storage(op) && v->owner)
        return verify_fail(v, TW0759, op, "a buffer must be declared in the kernel's own block");
    return true;
}

/* A region that only some warps may execute leaves the others alone. */
static bool check_revised(Verifier *v, const TileOp *op)
{
    bool meets = FORMS[op->kind].attributes & MEET;
    if (op->kind == TILE_REDUCE)
        meets = op->axis == 0 || op->n_args > 1;
    return !v->in_revise || !meets ||
           verify_fail(v, TW0754, op, "only some warps execute what revises a value; this concerns others too");
}

/* All blocks of a cluster make it together; what one leaves with another, that one has to be there for. */
static bool check_across(Verifier *v, const TileOp *op)
{
    if (!op->across)
        return true;
    if (!tile_cluster(v->kernel) || v->alone || v->in_roles)
        return verify_fail(v, TW0754, op, tile_cluster(v->kernel) ? "not all blocks of a cluster come here, or more than once"
                                                                  : "the kernel has no clusters");
    if (op->kind == TILE_REDUCE && op->n_args > 1 && !v->met)
        return verify_fail(v, TW0754, op, "the blocks of the cluster did not meet before, so some may not have begun");
    if (op->kind == TILE_REDUCE && op->n_args > 1 && tile_count_uses(v->kernel->body, op->args[1]) != 1)
        return verify_fail(v, TW0754, op, "other blocks leave numbers in its buffer at any time, so the buffer has no other use");
    if (op->kind == TILE_BARRIER && v->met)
        return verify_fail(v, TW0754, op, "the blocks of the cluster have met before");
    v->met |= op->kind == TILE_BARRIER;
    return true;
}

static bool check_op(Verifier *v, const TileOp *op)
{
    if ((int)op->kind < 0 || op->kind >= TILE_OP_COUNT)
        return verify_fail(v, TW0750, NULL, "an operation of no kind");
    if (!check_form(v, op) || !check_level(v, op) || !check_revised(v, op) || !check_across(v, op) || !check_uses(v, op) ||
        !check_expressions(v, op))
        return false;
    for (int i = 0; i < op->n_results; i++)
        if (!op->results[i])
            return verify_fail(v, TW0752, op, "result %d is missing", i + 1);
    bool ok = verify_types(v, op);
    for (int i = 0; ok && i < op->n_regions; i++)
        ok = check_region(v, op, op->regions[i]);
    if (ok && op->kind == TILE_ROLES)
        ok = verify_rings(v, op);
    if (op->kind == TILE_YIELD && needs_yield(v->owner))
        ok = check_yield(v, op);
    ok = define_results(v, op) && ok;
    if (ok && op->kind == TILE_SCALAR)
        ok = know(v, op, op->var);
    if (ok && v->kernel->facts & TF_ASSIGNED)
        ok = verify_layouts(v, op);
    return ok;
}

static bool check_block(Verifier *v, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++)
        if (!block->ops.data[i])
            return verify_fail(v, TW0750, v->owner, "operation %d is missing", i + 1);
    if (!check_ending(v, block))
        return false;
    bool ok = true;
    for (int i = 0; i < block->ops.len && !v->diags->full; i++)
        ok = check_op(v, block->ops.data[i]) && ok;
    return ok;
}

/* ---- storage --------------------------------------------------------------------------- */

static bool overlap(const TileOp *a, const TileOp *b)
{
    return a->offset < b->offset + tile_storage_bytes(b) && b->offset < a->offset + tile_storage_bytes(a);
}

static bool check_buffer(Verifier *v, const TileBlock *body, int at)
{
    const TileOp *op = body->ops.data[at];
    if (op->offset < 0 || op->offset % 16 || op->offset > v->kernel->shared_bytes - tile_storage_bytes(op))
        return verify_fail(v, TW0759, op, "%lld bytes from %lld on do not fit into %lld of shared memory",
                           (long long)tile_storage_bytes(op), (long long)op->offset,
                           (long long)v->kernel->shared_bytes);
    for (int i = 0; i < at; i++)
        if (tile_is_storage(body->ops.data[i]) && overlap(body->ops.data[i], op))
            return verify_fail(v, TW0759, op, "the buffer overlaps an earlier one");
    return true;
}

static bool check_storage(Verifier *v)
{
    const TileBlock *body = v->kernel->body;
    bool ok = true;
    for (int i = 0; i < body->ops.len; i++)
        if (tile_is_storage(body->ops.data[i]))
            ok = check_buffer(v, body, i) && ok;
    return ok;
}

/* ---- kernels and programs ----------------------------------------------------------------- */

static bool check_within(Verifier *v, const TileAxis *axis)
{
    int64_t extent = 0;
    if (!axis->within || (aff_is_const(axis->extent, &extent) && extent >= 1 && extent <= INSTANCE_MAX))
        return true;
    return verify_fail(v, TW0750, NULL, "axis %s is within a block: its extent is a number from 1 to %d",
                       axis->sym->name, INSTANCE_MAX);
}

static bool check_cluster(Verifier *v, int at)
{
    const TileAxis *axis = &v->kernel->grid.data[at];
    int64_t extent = 0;
    if (axis->cluster && v->kernel->persistent)
        return verify_fail(v, TW0750, NULL, "blocks of a cluster, which run at the same time, take one place each: persistent ones take many");
    if (!axis->cluster || (at == 0 && !axis->within && !axis->reversed && aff_is_const(axis->extent, &extent) && extent >= 2 && extent <= SCHED_CLUSTER_MOST))
        return true;
    return verify_fail(v, TW0750, NULL, "axis %s is of clusters: it is the first, and its extent a number from 2 to %d", axis->sym->name,
                       SCHED_CLUSTER_MOST);
}

static bool check_window(Verifier *v, const TileWindow *w)
{
    bool ok = true;
    int64_t last;
    if (!w->sym)
        return true;
    for (int d = 0; d < w->tensor->rank; d++)
        ok = ok && w->coords[d] && check_aff(v, NULL, w->coords[d]);
    if (!ok || w->tensor->rank == 0 || !aff_is_const(w->coords[w->tensor->rank - 1], &last) || last != 0)
        return verify_fail(v, TW0750, NULL, "a window that is not where a row of '%s' begins", w->tensor->name);
    return know(v, NULL, w->sym);
}

static bool check_kernel(Verifier *v, const TileKernel *kernel)
{
    int symbols = v->symbols.len;
    bool ok = true;
    v->kernel = kernel;
    v->defined = arena_array(v->arena, const TileValue *, kernel->next_value);
    v->in_scope = arena_array(v->arena, bool, kernel->next_value);
    v->scope.len = 0;
    v->alone = v->met = false;
    if (!kernel->body || kernel->warps < 1 || kernel->warps_n < 1 || kernel->warps % kernel->warps_n ||
        kernel->stages < 1)
        return verify_fail(v, TW0750, NULL, "%d warps, %d of them along columns, %d stages", kernel->warps,
                           kernel->warps_n, kernel->stages);
    v->warps = kernel->warps;
    for (int i = 0; i < kernel->grid.len; i++)
        ok = kernel->grid.data[i].extent && check_aff(v, NULL, kernel->grid.data[i].extent) && ok;
    for (int i = 0; i < kernel->grid.len; i++)
        ok = know(v, NULL, kernel->grid.data[i].sym) && check_within(v, &kernel->grid.data[i]) && check_cluster(v, i) && ok;
    ok = ok && check_window(v, &kernel->window);
    if (ok && tile_has(kernel->body, TILE_ROLES))
        know_instances(v, NULL);
    if (ok)
        v->warps = tile_warps(kernel);
    ok = ok && check_block(v, kernel->body);
    if (ok && kernel->facts & TF_ALLOCATED)
        ok = check_storage(v);
    forget_symbols(v, symbols);
    if (ok && kernel->plain)
        ok = check_kernel(v, kernel->plain);
    return ok;
}

static bool check_tensor(Verifier *v, const TileTensor *t, int index)
{
    if (!t->name || t->rank < 0 || t->rank > TENSOR_MAX_RANK || t->index != index ||
        (int)t->dtype < 0 || t->dtype >= DT_COUNT)
        return verify_fail(v, TW0758, NULL, "tensor %d has no name, dtype, rank or index of its own", index);
    if (tile_tensor(v->program, t->name) != t)
        return verify_fail(v, TW0758, NULL, "another tensor is called '%s' as well", t->name);
    for (int d = 0; d < t->rank; d++)
        if (!t->dims[d] || !check_aff(v, NULL, t->dims[d]))
            return false;
    return true;
}

static bool check_program_head(Verifier *v)
{
    const TileProgram *p = v->program;
    bool ok = true;
    for (int i = 0; i < p->dims.len; i++)
        ok = know(v, NULL, p->dims.data[i]) && ok;
    for (int i = 0; i < p->tensors.len; i++)
        ok = check_tensor(v, p->tensors.data[i], i) && ok;
    for (int i = 0; i < p->requires.len; i++)
        ok = check_aff(v, NULL, p->requires.data[i].cond) && ok;
    return ok;
}

static bool check_name(Verifier *v, int at)
{
    const char *name = v->program->kernels.data[at]->name;
    for (int i = 0; i < at; i++)
        if (strcmp(v->program->kernels.data[i]->name, name) == 0)
            return verify_fail(v, TW0750, NULL, "another kernel is called '%s' as well", name);
    return true;
}

bool tile_verify(const TileProgram *program, Diags *diags)
{
    Verifier v = {.program = program, .diags = diags, .arena = diags->arena};
    v.symbol_known = arena_array(v.arena, bool, aff_sym_count(program->aff));
    bool ok = check_program_head(&v);
    for (int i = 0; ok && i < program->kernels.len; i++)
        ok = check_name(&v, i) && check_kernel(&v, program->kernels.data[i]);
    return ok;
}
