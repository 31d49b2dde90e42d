/* sides.c: along which dimensions of its tensor a sketch's tile runs, where the Copy does not say.
 *
 * A tile covers its tensor's last two dimensions, and of the others a block has one entry. Where a
 * tensor has its dimensions in another order, what the tile meets tells which two are meant:
 *
 *   Output LSE (batch, len, heads)     a column along len is stored   Copy LSE (len, 1) from register to global
 *   Input  Bias (kv_len, heads)        added to (len, kv_len)         Copy Bias (1, kv_len) from global to register
 *   Input  K (batch, kv_len, heads, D) in a loop over kv_len,
 *                                      of which Q has one head        Copy K (kv_len, D) from global to shared
 *   Input  X (batch, len, heads * D)   blocks have one head            Copy X (len, D) in coordinate [heads] from global to shared
 *
 * Names alone are followed, from statement to statement, and the Copy is given the shape that it would
 * have said. Where names tell nothing, or fit as they stand, it stays as it is.
 */
#include "lang/tree.h"

enum { MOST_ROUNDS = 16, MOST_DEPTH = 64 };

/* The dimension that a side of a tile runs along; ONE: it has one element; NULL: not known. */
static const char ONE[] = "1";

typedef struct Sides {
    const char *row, *col;
} Sides;

typedef struct SidedTile {
    const char *name;
    Sides sides;
    Stmt *load; /* the Copy that brought it without saying a shape; NULL: none */
} SidedTile;

typedef struct Said {
    Stmt *copy;
    Sides sides;
} Said;

/* A dimension that some tensor has one entry of; instead: what its tiles cover; firm: no other could be meant. */
typedef struct Apart {
    const char *dim, *instead;
    bool firm;
} Apart;

typedef struct Sider {
    Arena *arena;
    const Unit *unit;
    const Stmt *grid;
    VEC(SidedTile) tiles;
    VEC(Said) said;            /* what Copies will say */
    VEC(const char *) entries; /* dimensions of the grid, and of loops, that no tile covers where a Copy says nothing else */
    VEC(const Stmt *) loops;   /* those at hand, over dimensions */
    VEC(Apart) apart;
    int settled, learnt;       /* entries known before this round; all that was learnt */
    bool guesses;              /* nothing firm is left to be learnt */
} Sider;

static bool same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static bool is_dim(const char *side)
{
    return side && side != ONE;
}

/* ---- dimensions of tensors ----------------------------------------------------------------- */

static const char *dim_side(const Expr *dim)
{
    return dim->kind == EXPR_NAME ? dim->name : dim->kind == EXPR_INT && dim->i == 1 ? ONE : NULL;
}

static int count_in_grid(const Sider *s, const char *dim)
{
    int n = 0;

    for (int i = 0; s->grid && dim && i < s->grid->n_coords; i++)
        n += same(s->grid->coords[i].name, dim);
    return n;
}

static bool is_looped(const Sider *s, const char *dim)
{
    for (int i = 0; i < s->loops.len; i++)
        if (same(s->loops.data[i]->over, dim))
            return true;
    return false;
}

static bool is_entry(const Sider *s, const char *dim)
{
    for (int i = 0; i < s->entries.len; i++)
        if (same(s->entries.data[i], dim))
            return true;
    return false;
}

static Apart *find_apart(const Sider *s, const char *dim)
{
    for (int i = 0; i < s->apart.len; i++)
        if (same(s->apart.data[i].dim, dim))
            return &s->apart.data[i];
    return NULL;
}

static int place_in_grid(const Sider *s, const char *dim)
{
    for (int i = 0; s->grid && i < s->grid->n_coords; i++)
        if (same(s->grid->coords[i].name, dim))
            return i;
    return -1;
}

/* Of `heads * D` the factor that the grid has, of which a block has one, or the other; NULL: no such product. */
static const char *factor(const Sider *s, const Expr *dim, bool in_grid)
{
    bool product = dim->kind == EXPR_BINARY && dim->op == EO_MUL && dim->a->kind == EXPR_NAME && dim->b->kind == EXPR_NAME;
    int a = product ? count_in_grid(s, dim->a->name) : 0, b = product ? count_in_grid(s, dim->b->name) : 0;

    if (!product || a + b != 1)
        return NULL;
    return (a == 1) == in_grid ? dim->a->name : dim->b->name;
}

/* What tiles run along where they cover a dimension of a tensor. */
static const char *side_of(const Sider *s, const Stmt *tensor, int d)
{
    const char *whole = dim_side(tensor->shape[d]);

    return whole || d < tensor->n_shape - 1 ? whole : factor(s, tensor->shape[d], false);
}

static int find_dim(const Sider *s, const Stmt *tensor, const char *name)
{
    for (int d = 0; d < tensor->n_shape; d++)
        if (same(side_of(s, tensor, d), name))
            return d;
    return -1;
}

/* The last two dimensions that are no entries. */
static Sides own_sides(const Sider *s, const Stmt *tensor)
{
    Sides sides = {ONE, ONE};
    int n = 0;

    for (int d = tensor->n_shape - 1; d >= 0 && n < 2; d--) {
        const char *side = side_of(s, tensor, d);

        if (is_dim(side) && is_entry(s, side))
            continue;
        *(n++ ? &sides.row : &sides.col) = side;
    }
    return sides;
}

/* What a shape says in names; false: it says sizes. */
static bool shape_sides(const Sider *s, const Stmt *copy, const Stmt *tensor, Sides *sides)
{
    int n = 0;

    *sides = (Sides){ONE, ONE};
    for (int i = 0; i < copy->n_shape; i++) {
        const char *side = dim_side(copy->shape[i]);

        if (!side || (side != ONE && find_dim(s, tensor, side) < 0) || (side != ONE && n == 2))
            return false;
        if (side != ONE)
            *(n++ ? &sides->col : &sides->row) = side;
    }
    if (n == 1 && (copy->n_shape == 1 || dim_side(copy->shape[copy->n_shape - 1]) != ONE))
        *sides = (Sides){ONE, sides->row};
    return n > 0;
}

static Said *find_said(const Sider *s, const Stmt *copy)
{
    for (int i = 0; i < s->said.len; i++)
        if (s->said.data[i].copy == copy)
            return &s->said.data[i];
    return NULL;
}

/* A Copy that leaves open which dimensions are meant. */
static bool is_open(const Stmt *copy)
{
    return !copy->has_shape && !copy->target && !copy->stage && !copy_by_rows(copy);
}

/* `(len)`: whether a row or a column, what it meets says. */
static bool is_vector(const Sider *s, const Stmt *copy, const Stmt *tensor)
{
    return copy->n_shape == 1 && !copy->target && !copy->stage && !copy_by_rows(copy) && find_dim(s, tensor, dim_side(copy->shape[0])) >= 0;
}

static Sides copy_sides(const Sider *s, const Stmt *copy, const Stmt *tensor)
{
    const Said *said = find_said(s, copy);
    Sides sides = {NULL, NULL};

    if (said)
        return said->sides;
    if (is_open(copy))
        return own_sides(s, tensor);
    if (!copy->has_shape || copy_by_rows(copy) || !shape_sides(s, copy, tensor, &sides))
        return (Sides){NULL, NULL};
    return sides;
}

/* What a coordinate counts tiles of: the dimension of a loop or of the grid; NULL: it says nothing of the kind. */
static const char *counted(const Sider *s, const Coord *coord)
{
    const char *name = coord->value && coord->value->kind == EXPR_NAME ? coord->value->name : NULL;

    for (int i = s->loops.len - 1; name && i >= 0; i--)
        if (same(s->loops.data[i]->name, name))
            return s->loops.data[i]->over;
    return count_in_grid(s, name) == 1 ? name : NULL;
}

/* `Copy G in coordinate [c = c2, D = k]`: rows lie where the block is along c2, and are that dimension's to what they meet. */
static Sides placed_sides(const Sider *s, const Stmt *copy, Sides sides)
{
    Sides placed = sides;

    for (int i = 0; i < copy->n_coords; i++) {
        const Coord *coord = &copy->coords[i];
        const char *along = counted(s, coord);
        bool by_place = !coord->name && copy->n_coords == 2;

        if (along && is_dim(sides.row) && (by_place ? i == 0 : same(coord->name, sides.row)))
            placed.row = along;
        if (along && is_dim(sides.col) && (by_place ? i == 1 : same(coord->name, sides.col)))
            placed.col = along;
    }
    return placed;
}

/* Whether tiles with these sides can be said: rows before columns, and of all else one entry is known. */
static bool can_say(const Sider *s, const Stmt *copy, const Stmt *tensor, Sides sides)
{
    int row = is_dim(sides.row) ? find_dim(s, tensor, sides.row) : -1, col = is_dim(sides.col) ? find_dim(s, tensor, sides.col) : -1;

    if ((is_dim(sides.row) && row < 0) || (is_dim(sides.col) && col < 0) || (row >= 0 && col >= 0 && row >= col))
        return false;
    for (int d = 0; d < tensor->n_shape; d++) {
        const char *dim = side_of(s, tensor, d);
        bool given = false;

        for (int i = 0; i < copy->n_coords; i++)
            given |= same(copy->coords[i].name, dim);
        /* of grouped heads a block has the entry that it has of the tensors that are multiplied */
        if (d != row && d != col && dim != ONE && !given && count_in_grid(s, dim) != 1 && !is_looped(s, dim) && !find_apart(s, dim))
            return false;
    }
    return true;
}

static void say(Sider *s, Stmt *copy, Sides sides)
{
    vec_push(s->arena, &s->said, (Said){copy, sides});
    s->learnt++;
}

/* Dimensions that a factor has besides this one, single entries left out; -1: it does not have this one. */
static int others_of_factor(const Sider *s, const Expr *factor, const char *dim)
{
    const char *name = expr_base_name(factor);
    const Stmt *tensor = name ? unit_tensor(s->unit, name) : NULL;
    int others = 0;

    if (!tensor || tensor->kind != STMT_INPUT || find_dim(s, tensor, dim) < 0)
        return -1;
    for (int d = 0; d < tensor->n_shape; d++) {
        const char *side = side_of(s, tensor, d);
        others += !same(side, dim) && !(side && is_entry(s, side));
    }
    return others;
}

/* Whether products whose factors have the dimension have one with two others to run along: where blocks have one entry of it, no
 * column of one element is meant to be multiplied. */
static bool leaves_products(const Sider *s, const Block *block, const char *dim, int depth)
{
    for (int i = 0; i < block->len && depth < MOST_DEPTH; i++) {
        const Stmt *c = block->data[i];
        bool product = c->kind == STMT_COMPUTE && c->op_known && op_info(c->op)->class == OPC_GEMM;
        int most = -1;

        if (!leaves_products(s, &c->body, dim, depth + 1) || !leaves_products(s, &c->orelse, dim, depth + 1))
            return false;
        for (int k = 0; product && k < c->n_args; k++) {
            int others = others_of_factor(s, c->args[k], dim);
            most = others > most ? others : most;
        }
        if (most == 0 || most == 1)
            return false;
    }
    return true;
}

static void make_entry(Sider *s, const char *dim)
{
    if (!leaves_products(s, &s->unit->body, dim, 0) || (count_in_grid(s, dim) != 1 && !is_looped(s, dim)) || is_entry(s, dim) || s->entries.len > s->settled)
        return; /* one at a time: tiles are others then */
    vec_push(s->arena, &s->entries, dim);
    s->learnt++;
}

/* ---- tiles ------------------------------------------------------------------------------------ */

static SidedTile *find_tile(const Sider *s, const char *name)
{
    for (int i = 0; name && i < s->tiles.len; i++)
        if (text_equal(s->tiles.data[i].name, name))
            return &s->tiles.data[i];
    return NULL;
}

static void set_tile(Sider *s, const char *name, Sides sides, Stmt *load)
{
    SidedTile *tile = find_tile(s, name);

    if (!name)
        return;
    if (!tile) {
        vec_push(s->arena, &s->tiles, (SidedTile){.name = name});
        tile = &s->tiles.data[s->tiles.len - 1];
    }
    tile->sides = (Sides){sides.row ? sides.row : tile->sides.row, sides.col ? sides.col : tile->sides.col};
    tile->load = load;
}

/* The tile that an operand names; *turned: as X.T. */
static SidedTile *operand(const Sider *s, const Expr *e, bool *turned)
{
    *turned = false;
    for (; e && (e->kind == EXPR_TRANSPOSE || e->kind == EXPR_SPACE); e = e->a)
        *turned ^= e->kind == EXPR_TRANSPOSE;
    return e && e->kind == EXPR_NAME ? find_tile(s, e->name) : NULL;
}

static Sides operand_sides(const Sider *s, const Expr *e)
{
    bool turned;
    const SidedTile *tile = operand(s, e, &turned);
    Sides sides = tile ? tile->sides : (Sides){NULL, NULL};

    return turned ? (Sides){sides.col, sides.row} : sides;
}

/* ---- statements ---------------------------------------------------------------------------------- */

/* A block that has one entry of a dimension in one tensor has no tiles of it in another. Where either may be meant, the
 * grid's first dimension is that of tiles. */
static void keep_apart(Sider *s, const Stmt *tensor, Sides sides)
{
    const char *covered[] = {sides.row, sides.col};

    for (int i = 0; i < 2; i++) {
        const Apart *apart = find_apart(s, covered[i]);
        const char *other = apart && !apart->firm ? apart->instead : NULL;
        bool either = other && find_dim(s, tensor, other) >= 0 && !same(other, sides.row) && !same(other, sides.col);

        if (apart && (apart->firm || s->guesses))
            make_entry(s, either && place_in_grid(s, other) > place_in_grid(s, covered[i]) ? other : covered[i]);
    }
}

static void note(Sider *s, const char *dim, const char *instead, bool firm)
{
    Apart *apart = find_apart(s, dim);

    firm |= count_in_grid(s, instead) != 1;
    if (apart)
        apart->firm |= firm;
    else
        vec_push(s->arena, &s->apart, (Apart){dim, instead, firm});
}

static void note_apart(Sider *s, const Stmt *copy, const Stmt *tensor, Sides sides)
{
    for (int d = 0; d < tensor->n_shape && copy->n_coords == 0; d++) {
        const char *dim = dim_side(tensor->shape[d]), *part = d == tensor->n_shape - 1 ? factor(s, tensor->shape[d], true) : NULL;

        if (part)
            note(s, part, NULL, true);
        else if (is_dim(dim) && !same(dim, sides.row) && !same(dim, sides.col))
            note(s, dim, is_dim(sides.row) ? sides.row : sides.col, copy->has_shape);
    }
}

static void walk_load(Sider *s, Stmt *copy, const Stmt *tensor)
{
    Sides sides = copy_sides(s, copy, tensor);
    bool open = (is_open(copy) || is_vector(s, copy, tensor)) && !find_said(s, copy);

    note_apart(s, copy, tensor, sides);
    if (is_open(copy) && open)
        keep_apart(s, tensor, sides);
    set_tile(s, copy_dest(copy), placed_sides(s, copy, sides), open ? copy : NULL);
}

/* Whether the tensor's own sides that a tile does not have are dimensions that a block has one entry of. */
static bool leaves_entries(const Sider *s, Sides own, Sides sides)
{
    const char *covered[] = {own.row, own.col};

    for (int i = 0; i < 2; i++)
        if (is_dim(covered[i]) && !same(covered[i], sides.row) && !same(covered[i], sides.col) && !is_entry(s, covered[i]) &&
            !find_apart(s, covered[i]))
            return false;
    return true;
}

/* A tile goes where its own sides are. */
static void walk_store(Sider *s, Stmt *copy, const Stmt *tensor)
{
    const SidedTile *tile = find_tile(s, copy->name);
    Sides own = copy_sides(s, copy, tensor), sides = tile ? tile->sides : (Sides){NULL, NULL};
    bool vector = is_vector(s, copy, tensor) && same(dim_side(copy->shape[0]), sides.row) && sides.col == ONE;

    note_apart(s, copy, tensor, own);
    if ((!is_open(copy) && !vector) || find_said(s, copy) || !sides.row || !sides.col || (!is_dim(sides.row) && !is_dim(sides.col)))
        return;
    bool fits = (same(own.row, sides.row) || !own.row) && (same(own.col, sides.col) || !own.col);

    if (!fits && leaves_entries(s, own, sides) && can_say(s, copy, tensor, sides))
        say(s, copy, sides);
}

static void walk_copy(Sider *s, Stmt *copy)
{
    const char *name = copy_tensor(copy);
    const Stmt *tensor = name ? unit_tensor(s->unit, name) : NULL;
    const SidedTile *from = find_tile(s, copy->name);

    if (tensor && copy->space == SPACE_GLOBAL)
        walk_load(s, copy, tensor);
    else if (tensor && copy->to_space == SPACE_GLOBAL)
        walk_store(s, copy, tensor);
    else if (from)
        set_tile(s, copy_dest(copy), from->sides, from->load);
}

/* Whether an operand with these sides fits elements of the whole. */
static bool meets(Sides sides, Sides whole)
{
    bool rows = !sides.row || sides.row == ONE || same(sides.row, whole.row);
    bool cols = !sides.col || sides.col == ONE || same(sides.col, whole.col);

    return rows && cols;
}

/* The part of a tensor that meets elements of the whole, if it is not the last two dimensions. */
static void fit_operand(Sider *s, const Expr *e, Sides whole)
{
    bool turned;
    SidedTile *tile = operand(s, e, &turned);

    if (!tile || !tile->load || turned || meets(tile->sides, whole))
        return;
    const Stmt *tensor = unit_tensor(s->unit, copy_tensor(tile->load));
    Sides sides = {find_dim(s, tensor, whole.row) >= 0 ? whole.row : ONE, find_dim(s, tensor, whole.col) >= 0 ? whole.col : ONE};

    bool single = sides.row == ONE && sides.col == ONE;
    if (single && is_dim(tile->sides.col) && !leaves_products(s, &s->unit->body, tile->sides.col, 0))
        return; /* it is another that meets these elements */
    if (can_say(s, tile->load, tensor, sides))
        say(s, tile->load, sides);
}

/* A side that operands share: the dimension that one of them runs along, else unknown if one's is. */
static const char *shared_side(const char *a, const char *b)
{
    return is_dim(a) ? a : is_dim(b) ? b : a && b ? ONE : NULL;
}

/* Of operands the one with rows and columns that is no tensor as it lies says what the others meet. */
static void walk_elements(Sider *s, const Stmt *c, Sides *result)
{
    Sides whole = {NULL, NULL};
    bool known = false, any = false;

    for (int i = 0; i < c->n_args; i++) {
        Sides sides = operand_sides(s, c->args[i]);
        bool turned;
        const SidedTile *tile = operand(s, c->args[i], &turned);

        if (tile && !tile->load && !known && is_dim(sides.row) && is_dim(sides.col)) {
            whole = sides;
            known = true;
        }
        if (tile)
            *result = any ? (Sides){shared_side(result->row, sides.row), shared_side(result->col, sides.col)} : sides;
        any |= tile != NULL;
    }
    if (!known)
        return;
    *result = whole;
    for (int i = 0; i < c->n_args; i++)
        fit_operand(s, c->args[i], whole);
}

/* No product of a tile by itself is meant where a loop goes over another dimension of the second operand: both are
 * entries of the dimension that they seem to share. */
static void walk_product(Sider *s, const Stmt *c, Sides *result)
{
    Sides a = operand_sides(s, c->args[0]), b = operand_sides(s, c->args[1]);
    bool turned;
    const SidedTile *second = operand(s, c->args[1], &turned);
    const Stmt *tensor = second && second->load ? unit_tensor(s->unit, copy_tensor(second->load)) : NULL;

    *result = (Sides){a.row, b.col};
    for (int d = 0; tensor && d < tensor->n_shape && is_dim(a.row) && same(a.row, b.col); d++) {
        const char *dim = side_of(s, tensor, d);

        if (is_looped(s, dim) && !same(dim, b.row) && !same(dim, b.col)) {
            make_entry(s, a.row);
            return;
        }
    }
}

static Sides defined_sides(const Stmt *c)
{
    int n = c->n_shape;

    return (Sides){n > 1 ? dim_side(c->shape[n - 2]) : ONE, n > 0 ? dim_side(c->shape[n - 1]) : NULL};
}

static const char *result_name(const Stmt *c)
{
    const Expr *e = compute_result(c);

    while (e && e->kind == EXPR_SPACE)
        e = e->a;
    return e && e->kind == EXPR_NAME ? e->name : NULL;
}

static void walk_compute(Sider *s, const Stmt *c)
{
    Sides first = c->n_args > 0 ? operand_sides(s, c->args[0]) : (Sides){NULL, NULL}, result = {NULL, NULL};

    if (!c->op_known)
        return;
    switch (op_info(c->op)->class) {
    case OPC_ELEMENT:
        walk_elements(s, c, &result);
        break;
    case OPC_ROW_REDUCE:
        result = (Sides){first.row, ONE};
        break;
    case OPC_COL_REDUCE:
        result = (Sides){ONE, first.col};
        break;
    case OPC_GEMM:
        if (c->n_args == 2)
            walk_product(s, c, &result);
        break;
    case OPC_SOFTMAX:
    case OPC_MASK:
    case OPC_CAST:
        result = first;
        break;
    case OPC_DEFINE:
        result = defined_sides(c);
        break;
    case OPC_FILL:
    case OPC_GROUP_REDUCE:
    case OPC_REARRANGE:
    case OPC_SELECT:
        break;
    }
    set_tile(s, result_name(c), result, NULL);
    for (int i = 0; i < c->n_with; i++)
        set_tile(s, c->with[i]->kind == EXPR_NAME ? c->with[i]->name : NULL, (Sides){first.row, ONE}, NULL);
}

static void walk(Sider *s, const Block *block, int depth)
{
    for (int i = 0; i < block->len && depth < MOST_DEPTH; i++) {
        Stmt *stmt = block->data[i];
        bool over = stmt->kind == STMT_FOR && stmt->over;

        if (stmt->kind == STMT_COPY)
            walk_copy(s, stmt);
        if (stmt->kind == STMT_COMPUTE)
            walk_compute(s, stmt);
        if (over)
            vec_push(s->arena, &s->loops, stmt);
        walk(s, &stmt->body, depth + 1);
        walk(s, &stmt->orelse, depth + 1);
        s->loops.len -= over;
    }
}

/* ---- what is said -------------------------------------------------------------------------------- */

static void write_shape(Sider *s, Stmt *copy, Sides sides)
{
    copy->shape = arena_array(s->arena, Expr *, 2);
    copy->shape[0] = is_dim(sides.row) ? expr_name(s->arena, sides.row) : expr_int(s->arena, 1);
    copy->shape[1] = is_dim(sides.col) ? expr_name(s->arena, sides.col) : expr_int(s->arena, 1);
    copy->shape[0]->span = copy->shape[1]->span = copy->name_span;
    copy->n_shape = 2;
    copy->has_shape = true;
}

/* Whether a Copy has tiles of D columns of the `heads * D` of its tensor, and does not say which. */
static bool is_part(const Sider *s, const Stmt *copy, const Stmt *tensor)
{
    int last = tensor->n_shape - 1;
    const char *side = last > 0 && copy->n_coords == 0 ? factor(s, tensor->shape[last], false) : NULL;

    return side && (is_open(copy) || (copy->n_shape == 2 && expr_is_name(copy->shape[1], side)));
}

static void write_part(Sider *s, Stmt *copy, const Stmt *tensor)
{
    const char *at = factor(s, tensor->shape[tensor->n_shape - 1], true);

    copy->coords = arena_array(s->arena, Coord, 1);
    copy->coords[0] = (Coord){.span = copy->name_span, .value = expr_name(s->arena, at)};
    copy->coords[0].value->span = copy->name_span;
    copy->n_coords = 1;
}

/* `Copy X in coordinate [len = row + 1]`, whose rows lie where the coordinate says: along the tensor's own rows. */
static bool names_rows(const Stmt *copy, const Stmt *tensor)
{
    bool names = false;

    for (int i = 0; i < copy->n_coords; i++)
        names |= copy->coords[i].value && expr_mentions(copy->coords[i].value, "row");
    return names && copy->n_shape == 0 && tensor->n_shape >= 2 && tensor->shape[tensor->n_shape - 2]->kind == EXPR_NAME &&
           tensor->shape[tensor->n_shape - 1]->kind == EXPR_NAME;
}

/* Copies whose last two dimensions are not both tiles', or whose rows lie where coordinates say. */
static void write_block(Sider *s, const Block *block, int depth)
{
    for (int i = 0; i < block->len && depth < MOST_DEPTH; i++) {
        Stmt *copy = block->data[i];
        const Stmt *tensor = copy->kind == STMT_COPY && copy_tensor(copy) ? unit_tensor(s->unit, copy_tensor(copy)) : NULL;
        const Said *said = find_said(s, copy);
        bool entry = false;

        for (int d = tensor ? tensor->n_shape - 1 : -1; d >= 0 && d >= tensor->n_shape - 2; d--)
            entry |= is_dim(side_of(s, tensor, d)) && is_entry(s, side_of(s, tensor, d));
        bool part = tensor && is_part(s, copy, tensor);
        if (said || (tensor && (entry || part) && is_open(copy)))
            write_shape(s, copy, copy_sides(s, copy, tensor));
        if (part)
            write_part(s, copy, tensor);
        if (tensor && names_rows(copy, tensor))
            write_shape(s, copy, (Sides){tensor->shape[tensor->n_shape - 2]->name, tensor->shape[tensor->n_shape - 1]->name});
        write_block(s, &copy->body, depth + 1);
        write_block(s, &copy->orelse, depth + 1);
    }
}

/* A block has one part of a loop that is cut, `for j over kv_len by splits`. */
static void read_parts(Sider *s, const Block *block, int depth)
{
    for (int i = 0; i < block->len && depth < MOST_DEPTH; i++) {
        const Stmt *stmt = block->data[i];

        if (stmt->kind == STMT_FOR && stmt->by && stmt->by->kind == EXPR_NAME && count_in_grid(s, stmt->by->name) == 1)
            vec_push(s->arena, &s->entries, stmt->by->name);
        read_parts(s, &stmt->body, depth + 1);
        read_parts(s, &stmt->orelse, depth + 1);
    }
}

void unit_say_sides(Arena *arena, Unit *unit)
{
    Sider s = {.arena = arena, .unit = unit};

    unit_name_ones(arena, unit);
    for (int i = 0; i < unit->body.len; i++)
        if (unit->body.data[i]->kind == STMT_GRID)
            s.grid = unit->body.data[i];
    read_parts(&s, &unit->body, 0);
    for (int round = 0; round < MOST_ROUNDS; round++) {
        int before = s.learnt;

        s.settled = s.entries.len;
        s.tiles.len = s.apart.len = 0;
        walk(&s, &unit->body, 0);
        walk(&s, &unit->body, 0);
        if (s.entries.len > s.settled)
            s.said.len = 0;
        if (s.learnt == before && s.guesses)
            break;
        s.guesses = s.learnt == before;
    }
    write_block(&s, &unit->body, 0);
}
