/* deepen.c: a product within a loop that sums along more than a tile should have, in a loop of its own.
 *
 *     Copy H from global to shared                 for j over V
 *     for j over V                                   Compute Fill S, 0
 *       Copy W from global to shared        ->       for k over D
 *       Compute GEMM H, W.T and get S                  Copy H from global to shared
 *       ...                                            Copy W from global to shared
 *     end                                              Compute GEMM H, W.T and accumulate S
 *                                                    end
 *                                                    ...
 *                                                  end
 *
 * What the loop streams is multiplied by what stays where it is, and both are as wide as the sum is long. Of 2,048 columns shared
 * memory holds but few rows, so that tiles are small, and every multiplication waits for its operands. In parts they are
 * copied more often, out of the L2 cache, and tiles are as large as those of any other product.
 *
 * A tile that anything else reads stays whole, as latents do that are keys and values at once.
 */
#include "fuse/flow.h"

enum { LONG_SUM = 512 }; /* tiles that hold shorter ones are large enough */

typedef struct Product {
    const Stmt *stmt;
    const Stmt *copies[2]; /* that bring its operands */
    const char *dim;       /* it sums along */
} Product;

typedef struct Deepen {
    Arena *arena;
    const Def *def;
    const Unit *unit;
    VEC(Product) products;
} Deepen;

/* ---- which products ------------------------------------------------------------------------- */

static int count_copies(const Block *block, const char *tile, const Stmt **copy)
{
    int n = 0;

    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (s->kind == STMT_COPY && strcmp(copy_tile(s), tile) == 0) {
            *copy = s;
            n++;
        }
        n += count_copies(&s->body, tile, copy) + count_copies(&s->orelse, tile, copy);
    }
    return n;
}

/* The Copy that brings a tile out of memory; NULL: that, or something else is done with it. */
static const Stmt *bringing(const Deepen *d, const char *tile)
{
    const Stmt *copy = NULL;
    bool once = tile && count_copies(&d->unit->body, tile, &copy) == 1;

    return once && copy->space == SPACE_GLOBAL && copy->to_space == SPACE_SHARED && !copy->where ? copy : NULL;
}

/* The dimension that an operand's rows, or columns, go along; NULL: it has no name, or the Copy says where they lie. */
static const char *dim_along(const Deepen *d, const Stmt *copy, bool rows)
{
    const Stmt *tensor = unit_tensor(d->unit, copy->name);
    int n = copy->n_shape == 2 ? 2 : tensor ? tensor->n_shape : 0;
    const Expr *dim = n < 2 ? NULL : (copy->n_shape == 2 ? copy->shape : tensor->shape)[rows ? n - 2 : n - 1];

    if (!dim || dim->kind != EXPR_NAME)
        return NULL;
    for (int i = 0; i < copy->n_coords; i++)
        if (!copy->coords[i].name || strcmp(copy->coords[i].name, dim->name) == 0 || expr_mentions(copy->coords[i].value, dim->name))
            return NULL;
    return dim->name;
}

static bool is_long(const Deepen *d, const char *dim)
{
    const DefDimSym *named = def_dim(d->def, dim);
    int64_t size;

    return named && aff_is_const(named->size, &size) && size > LONG_SUM;
}

static bool is_transposed(const Expr *operand)
{
    return operand->kind == EXPR_TRANSPOSE;
}

/* A product of two tiles that nothing else has been done with so far. */
static void see_product(Deepen *d, const Stmt *s)
{
    Product p = {.stmt = s};

    for (int i = 0; i < 2; i++) {
        const char *tile = sketch_operand(s->args[i]);
        p.copies[i] = bringing(d, tile);
        const char *dim = p.copies[i] ? dim_along(d, p.copies[i], (i == 0) == is_transposed(s->args[i])) : NULL;
        if (!dim || (p.dim && strcmp(p.dim, dim) != 0) || !is_long(d, dim))
            return;
        p.dim = dim;
    }
    if (s->result == RESULT_GET && s->dest && s->dest->kind == EXPR_NAME && strcmp(sketch_operand(s->args[0]), sketch_operand(s->args[1])) != 0)
        vec_push(d->arena, &d->products, p);
}

static void see_loops(Deepen *d, const Block *block, bool inside)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (inside && sketch_is_product(s))
            see_product(d, s);
        see_loops(d, &s->body, inside || s->kind == STMT_FOR);
        see_loops(d, &s->orelse, inside);
    }
}

static const Product *product_at(const Deepen *d, const Stmt *s)
{
    for (int i = 0; i < d->products.len; i++)
        if (d->products.data[i].stmt == s)
            return &d->products.data[i];
    return NULL;
}

static bool brings(const Product *p, const Stmt *copy)
{
    return p->copies[0] == copy || p->copies[1] == copy;
}

/* Statements that read a tile, or say a part of what is in it. */
static bool is_read_beside(const Deepen *d, const Block *block, const char *tile)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        bool known = product_at(d, s) || (s->kind == STMT_COPY && s == bringing(d, tile));

        for (int k = 0; k < s->n_args && !known; k++)
            if (expr_mentions(s->args[k], tile))
                return true;
        for (int k = 0; k < s->n_with && !known; k++)
            if (expr_mentions(s->with[k], tile))
                return true;
        if ((!known && (expr_mentions(s->where, tile) || expr_mentions(s->value, tile) || expr_mentions(s->dest, tile))) ||
            is_read_beside(d, &s->body, tile) || is_read_beside(d, &s->orelse, tile))
            return true;
    }
    return false;
}

/* Leaves out products of tiles that something else reads, until there is none. */
static void leave_out(Deepen *d)
{
    for (int i = 0; i < d->products.len; i++) {
        const Stmt *s = d->products.data[i].stmt;

        if (is_read_beside(d, &d->unit->body, sketch_operand(s->args[0])) || is_read_beside(d, &d->unit->body, sketch_operand(s->args[1]))) {
            d->products.data[i] = d->products.data[--d->products.len];
            i = -1;
        }
    }
}

/* ---- their loops ------------------------------------------------------------------------------- */

static void put_loop(Deepen *d, Block *out, const Product *p)
{
    Stmt *fill = stmt_new(d->arena, STMT_COMPUTE), *loop = stmt_new(d->arena, STMT_FOR), *product = arena_new_of(d->arena, Stmt);

    fill->op = OP_FILL;
    fill->op_name = op_info(OP_FILL)->name;
    fill->op_known = true;
    fill->args = arena_array(d->arena, Expr *, 2);
    fill->args[fill->n_args++] = expr_copy(d->arena, p->stmt->dest);
    fill->args[fill->n_args++] = expr_int(d->arena, 0);
    loop->name = sketch_fresh(d->arena, d->def, d->unit, "k");
    loop->over = p->dim;
    *product = *p->stmt;
    product->result = RESULT_ACCUMULATE;
    for (int i = 0; i < 2; i++)
        vec_push(d->arena, &loop->body, (Stmt *)p->copies[i]);
    vec_push(d->arena, &loop->body, product);
    vec_push(d->arena, out, fill);
    vec_push(d->arena, out, loop);
}

static bool is_moved(const Deepen *d, const Stmt *s)
{
    for (int i = 0; i < d->products.len; i++)
        if (brings(&d->products.data[i], s))
            return true;
    return false;
}

static Block deepened(Deepen *d, const Block *block)
{
    Block out = {.comment = block->comment};

    for (int i = 0; i < block->len; i++) {
        Stmt *s = block->data[i];
        const Product *p = product_at(d, s);

        if (p) {
            put_loop(d, &out, p);
        } else if (!is_moved(d, s)) {
            Stmt *copy = arena_new_of(d->arena, Stmt);
            *copy = *s;
            copy->body = deepened(d, &s->body);
            copy->orelse = deepened(d, &s->orelse);
            vec_push(d->arena, &out, copy);
        }
    }
    return out;
}

/* NULL: it has no such product. */
static Unit *deepen_unit(Arena *arena, const Def *def, const Unit *unit)
{
    Deepen d = {.arena = arena, .def = def, .unit = unit};

    see_loops(&d, &unit->body, false);
    leave_out(&d);
    if (d.products.len == 0)
        return NULL;
    Unit *with = arena_new_of(arena, Unit);
    *with = *unit;
    with->body = deepened(&d, &unit->body);
    return with;
}

Program *fuse_deepen(Arena *arena, const Def *def, const Program *sketch)
{
    return sketch_rewritten(arena, def, sketch, deepen_unit);
}
