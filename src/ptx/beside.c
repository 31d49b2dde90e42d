/* beside.c: elements at computed places that lie beside each other in memory.
 *
 * Each of a lane's values has coordinates of its own. Those of one line, which differ along the last dimension by
 * constants, come by accesses of up to 16 bytes, each of which begins at a multiple of its length; so do those of
 * operations that follow and read the same lines:
 *
 *   %a = gather W[n * 256 + col, 0]                ld.global.v2.b32 {%r1, %r2}, [%rd5];   W[c, 0 .. 3]
 *   %b = gather W[n * 256 + col, 1]         ->     ld.global.v2.b32 {%r3, %r4}, [%rd6];   W[c + 1, 0 .. 3]
 *   ...                                            ...
 *
 * Where each row of a tensor without gaps begins at such a multiple the entry for aligned tensors may ask for it
 * (tile_row_alignment), and an access is inside of the tensor as a whole or not at all. Kernels whose tiles lie as
 * memory does have registers for that.
 */
#include "ptx/gather.h"

#include "affine/sum.h"

enum { MOST_ELEMENTS = 64 }; /* of one lane, that come together */

typedef struct Element {
    const TileOp *op;
    const Aff **line;  /* coordinates, the last without its constant, */
    int64_t place;     /* which this is */
    int reg;           /* of fp32 */
    bool there;
} Element;

typedef struct Elements {
    VEC(Element) all;
    int widest; /* elements of an access */
} Elements;

static bool may_come_together(const Emitter *e, const TileOp *op)
{
    return e->aligned && !e->role && tile_reads_lines(op);
}

/* ---- elements ------------------------------------------------------------------------------- */

static void add_element(Emitter *e, Elements *b, const TileOp *op, const Lane *lane, int i)
{
    const TileTensor *t = op->tensor;
    Element element = {.op = op, .line = arena_array(e->arena, const Aff *, t->rank)};
    for (int d = 0; d < t->rank; d++) element.line[d] = el_at_lane(e, op->coords[d], lane, op->results[0], i);
    element.line[t->rank - 1] = ix_without_constant(e, element.line[t->rank - 1], &element.place);
    vec_push(e->arena, &b->all, element);
}

static void add_elements(Emitter *e, Elements *b, const TileOp *op)
{
    const TileType *t = &op->results[0]->type;
    Lane lane = {.row = ix_lane_row(e, t->layout, t->rows), .col = ix_lane_col(e, t->layout, t->cols)};
    if (t->cols > 1) lane.units = ix_lane_units(e, t->layout, t->cols);
    for (int i = 0, n = lay_fragment_values(t->layout, t->rows, t->cols); i < n; i++) add_element(e, b, op, &lane, i);
}

/* How many elements an access of the element's line may have. */
static int widest_of(const Elements *b, const Element *x)
{
    int64_t divisor = aff_divisor(x->line[x->op->tensor->rank - 1]);
    int n = b->widest;
    while (divisor % n) n /= 2;
    return n;
}

/* Which of the line's accesses of n elements an element is of. */
static int64_t access_of(const Element *x, int n)
{
    int64_t q = 0;
    floor_div(x->place, n, &q);
    return q;
}

static bool is_same_line(const Element *x, const Element *y)
{
    for (int d = 0; d < x->op->tensor->rank; d++)
        if (x->line[d] != y->line[d]) return false;
    return true;
}

/* How many elements the access has that brings x: the fewest that have all those which its widest one would bring. */
static int width_of(const Elements *b, const Element *x)
{
    int n = widest_of(b, x);
    int64_t lo = x->place, hi = x->place;
    for (int i = 0; i < b->all.len; i++) {
        const Element *y = &b->all.data[i];
        if (!is_same_line(x, y) || access_of(y, n) != access_of(x, n)) continue;
        lo = y->place < lo ? y->place : lo;
        hi = y->place > hi ? y->place : hi;
    }
    Element first = *x, last = *x;
    first.place = lo;
    last.place = hi;
    while (n > 1 && access_of(&first, n / 2) == access_of(&last, n / 2)) n /= 2;
    return n;
}

/* ---- operations that read the same lines ------------------------------------------------------- */

static bool meets(const Elements *b, const Element *x, int before)
{
    for (int i = 0; i < before; i++) {
        const Element *y = &b->all.data[i];
        int n = widest_of(b, x);
        if (n > 1 && is_same_line(x, y) && access_of(x, n) == access_of(y, n)) return true;
    }
    return false;
}

/* Its elements too, if some come with those that are there. */
static void join(Emitter *e, Elements *b, const TileOp *op)
{
    int before = b->all.len;
    bool met = false;
    add_elements(e, b, op);
    for (int i = before; i < b->all.len && !met; i++) met = meets(b, &b->all.data[i], before);
    if (!met || b->all.len > MOST_ELEMENTS) b->all.len = before;
}

/* Behind which nothing is brought ahead of. */
static bool is_between(const TileOp *op)
{
    bool reads = op->kind == TILE_GATHER || (op->kind == TILE_LOAD && op->results[0]->type.space == SPACE_REGISTER);
    return reads || op->kind == TILE_ELEMENT || op->kind == TILE_FILL || op->kind == TILE_INDEX || op->kind == TILE_CAST || op->kind == TILE_MASK;
}

static int index_in_block(const Emitter *e, const TileOp *op)
{
    int i = e->at;
    while (i < e->block->ops.len && e->block->ops.data[i] != op) i++;
    return i;
}

static void join_others(Emitter *e, Elements *b, const TileOp *op)
{
    for (int i = index_in_block(e, op) + 1; i < e->block->ops.len && is_between(e->block->ops.data[i]); i++) {
        const TileOp *other = e->block->ops.data[i];
        bool alike = other->kind == TILE_GATHER && other->tensor == op->tensor && may_come_together(e, other);
        if (alike && tile_type_equal(other->results[0]->type, op->results[0]->type)) join(e, b, other);
    }
}

/* ---- accesses ------------------------------------------------------------------------------------ */

/* An element's part of the words that came. */
static void take(Emitter *e, const Element *x, const char *const *words, int at)
{
    DType t = x->op->tensor->dtype;
    if (t == DT_F32) em(e, "mov.b32 %%f%d, %s;", x->reg, words[at]);
    else fr_half(e, t, words[at / 2], at % 2, x->reg);
}

static void load_words(Emitter *e, const char *guard, const char *address, const char **words, int n)
{
    Str list = str_new(e->arena);
    for (int k = 0; k < n; k++) {
        words[k] = em_new(e, REG_R);
        if (*guard) em(e, "mov.b32 %s, 0;", words[k]);
        str_printf(&list, "%s%s", k ? ", " : "", words[k]);
    }
    if (n == 1) em(e, "%sld.global.b32 %s, %s;", guard, words[0], address);
    else em(e, "%sld.global.v%d.b32 {%s}, %s;", guard, n, str_text(&list), address);
}

/* The place's coordinates on x's line. */
static const Aff **coords_at(Emitter *e, const Element *x, int64_t place)
{
    int rank = x->op->tensor->rank;
    const Aff **coords = arena_array(e->arena, const Aff *, rank);
    memcpy(coords, x->line, (size_t)rank * sizeof *coords);
    coords[rank - 1] = aff_offset(e->program->aff, coords[rank - 1], place);
    return coords;
}

static void load_one(Emitter *e, const Elements *b, Element *x, Bases *bases)
{
    const Aff **coords = coords_at(e, x, x->place);
    const char *address = ga_address(e, x->op, bases, coords), *guard = gl_guard(e, ga_inside(e, x->op, coords));
    gl_load_value(e, x->op->tensor->dtype, guard, address, x->reg);
    for (int i = 0; i < b->all.len; i++) {
        Element *y = &b->all.data[i];
        if (y != x && !y->there && y->place == x->place && is_same_line(x, y)) {
            em(e, "mov.f32 %%f%d, %%f%d;", y->reg, x->reg);
            y->there = true;
        }
    }
    x->there = true;
}

static void load_access(Emitter *e, const Elements *b, const Element *x, int n, Bases *bases)
{
    const char *words[TILE_CHUNK / 4];
    int64_t access = access_of(x, n);
    const Aff **coords = coords_at(e, x, access * n);
    const char *address = ga_address(e, x->op, bases, coords), *guard = gl_guard(e, ga_inside(e, x->op, coords));
    load_words(e, guard, address, words, n * dtype_bytes(x->op->tensor->dtype) / 4);
    Element first = *x;
    for (int i = 0; i < b->all.len; i++) {
        Element *y = &b->all.data[i];
        if (y->there || !is_same_line(&first, y) || access_of(y, n) != access) continue;
        take(e, y, words, (int)(y->place - access * n));
        y->there = true;
    }
}

/* Registers of all operations that come; those that follow are passed over then. */
static void begin_results(Emitter *e, Elements *b)
{
    for (int i = 0, value = 0; i < b->all.len; i++, value++) {
        Element *x = &b->all.data[i];
        const TileValue *v = x->op->results[0];
        if (i == 0 || x->op != b->all.data[i - 1].op) {
            fr_new_f32(e, v);
            if (i) vec_push(e->arena, &e->beside, x->op);
            value = 0;
        }
        x->reg = e->frags[v->id].f[value];
    }
}

bool bs_has_come(Emitter *e, const TileOp *op)
{
    for (int i = 0; i < e->beside.len; i++)
        if (e->beside.data[i] == op) {
            e->beside.data[i] = e->beside.data[--e->beside.len];
            return true;
        }
    return false;
}

bool bs_gather(Emitter *e, const TileOp *op)
{
    if (!may_come_together(e, op)) return false;
    Elements b = {.widest = tile_row_alignment(op->tensor) / dtype_bytes(op->tensor->dtype)};
    Bases bases = {.n = 0};
    bool some = false;
    add_elements(e, &b, op);
    join_others(e, &b, op);
    for (int i = 0; i < b.all.len && !some; i++) some = width_of(&b, &b.all.data[i]) > 1;
    if (!some) return false;
    begin_results(e, &b);
    for (int i = 0; i < b.all.len; i++) {
        Element *x = &b.all.data[i];
        int n = x->there ? 0 : width_of(&b, x);
        if (n == 1) load_one(e, &b, x, &bases);
        else if (n > 1) load_access(e, &b, x, n, &bases);
    }
    return true;
}
