/* agree.c: whether Kernels compute what the Operator beside them says, tried on a small shape.
 *
 * The checker knows shapes, memory and states; whether a factor is missing, an entry is taken of another
 * head or a mean is not divided shows when both are executed. So they are, on seven shapes that are as small
 * as the tiles allow. Of a sketch, code with small tiles is worked out.
 *
 *   shape     what blocks share        what loops stream         all else
 *   entries   a part of a tile         a tile and some more      counts unlike each other, as 4 and 2
 *   tiles     a tile and some more     a tile and some more      few
 *   turns     a part of a tile         five tiles and some more, or two, few
 *   part      two, three, ...          a part of a tile         two of each
 *   more      one tile and some more, two, three, ...   a part of a tile   one
 *   less      the same, but three first     a tile and some more     one
 *   bounds    two, three, ...          five tiles and some more, or one more than a loop has turns that a number says; few
 *
 * For bounds only what a coordinate in a loop moves along is streamed, not what its bound alone names; and of what one tile
 * is copied of there is more.
 *
 * Then on few entries again, of numbers with a mean, scores far below 0, and numbers as small as an epsilon. And on some where each
 * dimension has a form of its own, so that none is always the larger one of two: more of what there are few of than a tile has elements, as well.
 * Where conditions compare with numbers, as of a window, some blocks beyond these, on numbers that are mostly 0, so that each key shows.
 * An edit is tried on more of these before it is suggested.
 *
 * So there is a turn behind the first, and a last one that is not full; more where the definition says numbers, as
 * of a block's size, and that is little work; and whole tiles where it takes no such sizes.
 *
 * Of code that names its sizes the same with smaller tiles is executed first, where that is no less sure (narrow.c); what differs
 * there is looked for in the code as it stands, which is what counts.
 *
 * Sizes that are compiled in may be too large for all of these. Params are then tried with smaller numbers, and other sizes
 * once as they are, with as few entries of all else as can be.
 *
 * The judge is that of `tw verify`: random inputs, errors measured by those of plain implementations. What
 * cannot be executed, or takes more work than a check may, is passed over, which is said, and why.
 */
#include "chain/agree.h"

#include "chain/sketched.h"
#include "chain/small.h"
#include "check/check.h"

#include <math.h>

enum { MOST_DRAWS = 100, MOST_NUMBER = 1 << 20, SPREAD = 7919, PROBE = 16, OPEN_PARAM = 5, MOST_BLOCK = 256, LEAST_TILE = 16, MOST_TURNS = 32, MIXED = 2, MIXED_OF_EDITS = 10 };

/* The work that a comparison may take. */
typedef struct Limits {
    double work;     /* of the program, in multiply-adds, ... */
    double flops;    /* ... multiply-adds of the definition, ... */
    double elements; /* ... elements of its tensors, ... */
    double values;   /* ... and of all that it computes */
    int64_t steps;   /* operations */
} Limits;

static const Limits LITTLE = {6e7, 6e6, 2e5, 4e5, 100000};
static const Limits MORE = {2e8, 2e7, 4e6, 6e6, 300000}; /* where some size alone is beyond that */
static const Limits MUCH = {1.5e9, 1e8, 2e7, 3e7, 1000000}; /* once, where sizes are compiled in: less than a second */
static const Limits FAR = {6e8, 2e7, 4e6, 6e6, 300000}; /* of some blocks of a large shape */
static const double BOUND = 4;           /* twice that of verification: what is wrong is so by more, ... */
static const double LEAST = 1e-3;        /* ... and by so much of the largest element, at least */

/* How far tiles reach along a dimension. */
typedef struct Reach {
    const AffSym *dim;
    int extent;
    bool moved;    /* there are several tiles along it */
    bool streamed; /* a loop moves along it, or has as many turns as it says */
    bool looped;   /* a loop moves along it */
    int blocks;    /* that a number says, which tiles lie along, or parts of which a loop goes over */
} Reach;

typedef struct Agree {
    Small on;
    VEC(Reach) reaches;
    int block; /* the largest number that the Operator says, as of a block's size or a window */
    int64_t far; /* the largest number that conditions compare with, as of a window, */
    int turns; /* the most that a loop has whose bound is a number */
    const Limits *most;
    int tiles; /* of a sketch */
    bool ran;   /* on some shape */
    bool heavy; /* some shape was too much work */
    double unlike;
    const char *error; /* why it was not executed, where nothing says that it is too much; NULL: that is not known */
    LaunchShape most_of; /* the largest size of each dimension on which it was executed */
} Agree;

/* ---- the program, and its definition ---------------------------------------------------------- */

/* A sketch has some of these sizes; the last choice is the reasoner's, and code's own. */
enum {
    SIZES = 4,
    CHOICES = 4,
    NARROW = CHOICES, /* code with smaller tiles */
    ASKED = 16,    /* for a size that has to be known */
    MOST_ASKED = 4 /* times that sizes are asked for */
};
static const char *const SMALL_TILES[CHOICES][SIZES] = {
    {"BM=16", "BN=16", "warps=1"}, {"BM=16", "BN=16", "BK=16", "warps=1"}, {"BM=16", "warps=1"}, {NULL}};

static bool lower(Chain *own, const Source *source, int tiles)
{
    const Source *narrow = tiles == NARROW ? narrow_tiles(own->arena, source) : NULL;

    for (int i = 0; tiles < CHOICES && i < SIZES && SMALL_TILES[tiles][i]; i++)
        if (chain_set(own, SMALL_TILES[tiles][i]))
            return false;
    source = narrow ? narrow : source;
    return chain_define(own, source) && chain_fuse(own) && chain_reason(own, own->sketch) && chain_lower(own, own->code);
}

/* The definition, with the sizes that the Kernels have. */
static bool define(Chain *own, const Source *source)
{
    own->def = NULL;
    own->diags->source = source;
    return chain_define_from_tile(own, own->tile, source);
}

static bool declares(const Program *program, const char *name)
{
    for (int i = 0; i < program->units.len; i++)
        for (int k = 0; k < program->units.data[i]->body.len; k++) {
            const Stmt *s = program->units.data[i]->body.data[k];
            bool found = s->name && strcmp(s->name, name) == 0;

            for (int d = 0; d < s->n_shape; d++)
                found |= expr_mentions(s->shape[d], name);
            if (found)
                return true;
        }
    return false;
}

/* Whether some size is called as one that the reasoner chooses. */
static bool names_sizes(const Program *program)
{
    return declares(program, "BM") || declares(program, "BN") || declares(program, "BK") || declares(program, "warps");
}

/* With some number for each size that has to be known and that nobody has given; NULL: there is none. */
static Chain *with_asked(Arena *arena, const Chain *chain, const Source *source)
{
    Chain *with = chain_like(arena, chain, diags_new(arena, source));
    bool any = false;

    for (int i = 0; i < chain->diags->list.len; i++) {
        const char *size = sketch_asked_size(arena, &chain->diags->list.data[i]);

        any |= size && !chain_set(with, arena_printf(arena, "%s=%d", size, ASKED));
    }
    return any ? with : NULL;
}

Chain *agree_chain_with(Arena *arena, const Chain *chain, const Source *source, int tiles)
{
    Chain *own = chain_like(arena, chain, diags_new(arena, source));

    for (int i = 0; i < MOST_ASKED && own; i++, own = with_asked(arena, own, source))
        if (lower(own, source, tiles))
            return own;
    return tiles == NARROW ? agree_chain_with(arena, chain, source, CHOICES - 1) : NULL; /* the smaller ones lack registers, with fewer warps */
}

static Chain *chain_for(Arena *arena, const Chain *chain, const Source *source, const Program *program, int *tiles)
{
    bool small = check_has_sketch(program) && !names_sizes(program);
    Chain *own = NULL;

    for (*tiles = small ? 0 : CHOICES - 1; *tiles < CHOICES && !own; ++*tiles) {
        own = agree_chain_with(arena, chain, source, *tiles);
        own = own && define(own, source) ? own : NULL;
    }
    --*tiles;
    return own;
}

static int count_units(const Program *program, UnitKind kind)
{
    int n = 0;

    for (int i = 0; i < program->units.len; i++)
        n += program->units.data[i]->kind == kind;
    return n;
}

/* ---- shapes ---------------------------------------------------------------------------------------- */

static Reach *find_reach(const Agree *a, const char *dim)
{
    for (int i = 0; i < a->reaches.len; i++)
        if (strcmp(a->reaches.data[i].dim->name, dim) == 0)
            return &a->reaches.data[i];
    return NULL;
}

/* The one dimension that a size is made of, as `H div 2`, and how many elements of it there are to one of the size: that many
 * times as far tiles reach. NULL: it is made of several, or of none. */
static const AffSym *made_of(const Agree *a, const Aff *size, int *times)
{
    enum { MANY_ELEMENTS = 1 << 12 };
    const TileProgram *p = a->on.chain->tile;
    const AffSym *only = NULL;
    int64_t value;

    for (int i = 0; i < p->dims.len; i++)
        if (aff_uses(size, p->dims.data[i])) {
            if (only)
                return NULL;
            only = p->dims.data[i];
        }
    if (!only || !aff_is_const(aff_subst(p->aff, size, only, aff_const(p->aff, MANY_ELEMENTS)), &value) || value <= 0)
        return NULL;
    *times = value < MANY_ELEMENTS ? (int)(MANY_ELEMENTS / value) : 1;
    return value <= MANY_ELEMENTS ? only : NULL;
}

static void note_reach(Agree *a, const TileOp *op, int d, int extent)
{
    const Aff *size = op->tensor->dims[d];
    int times = 1;
    const AffSym *dim = size->kind == AFF_SYM ? size->sym : made_of(a, size, &times);
    int64_t place;
    bool streamed = aff_uses_kind(op->coords[d], AFF_LOOP), moved = !aff_is_const(op->coords[d], &place);
    Reach *reach = dim ? find_reach(a, dim->name) : NULL;

    extent *= times;
    if (dim && !reach) {
        vec_push(a->on.arena, &a->reaches, (Reach){.dim = dim, .extent = extent, .moved = moved, .streamed = streamed, .looped = streamed});
    } else if (dim) {
        reach->extent = reach->extent > extent ? reach->extent : extent;
        reach->moved |= moved;
        reach->streamed |= streamed;
        reach->looped |= streamed;
    }
}

/* There are several tiles along a dimension by which turns or blocks are counted, even where each copies the same one. */
static void note_counted(Agree *a, const Aff *count, bool streamed)
{
    for (int i = 0; i < a->reaches.len; i++)
        if (aff_uses(count, a->reaches.data[i].dim)) {
            a->reaches.data[i].moved = true;
            a->reaches.data[i].streamed |= streamed;
        }
}

/* Whether a bound is a number, or no more than that. */
static bool says_number(const Aff *bound, int64_t *n)
{
    return aff_is_const(bound, n) || (bound->kind == AFF_MIN && (aff_is_const(bound->a, n) || aff_is_const(bound->b, n)));
}

static void find_counted(Agree *a, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        int64_t turns;

        if (op->kind == TILE_FOR)
            note_counted(a, op->hi, true);
        if (op->kind == TILE_FOR && says_number(op->hi, &turns) && turns <= MOST_TURNS && turns > a->turns)
            a->turns = (int)turns;
        for (int k = 0; k < op->n_regions; k++)
            find_counted(a, op->regions[k]);
    }
}

/* Whether several rows in a row have the same place, and the next ones the next: a part of a tile's rows are along it. */
static bool goes_with_rows(const Aff *coord)
{
    if (coord->kind == AFF_ADD)
        return goes_with_rows(coord->a) || goes_with_rows(coord->b);
    return coord->kind == AFF_DIV && aff_uses_kind(coord, AFF_ROW) && !aff_uses_kind(coord, AFF_TABLE);
}

/* Of two dimensions that share the rows of a tile the one that goes on with the next tile. */
static void note_shared_rows(Agree *a, const TileOp *op, int rows)
{
    for (int d = 0; rows > 1 && d < op->tensor->rank; d++)
        if (d != op->col_dim && goes_with_rows(op->coords[d]))
            note_reach(a, op, d, rows);
}

static void find_reaches(Agree *a, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        bool load = op->kind == TILE_LOAD, store = op->kind == TILE_STORE;
        TileType type = load ? op->results[0]->type : store ? op->args[0]->type : (TileType){0};

        if ((load || store) && op->row_dim >= 0)
            note_reach(a, op, op->row_dim, type.rows);
        else if (load || store)
            note_shared_rows(a, op, type.rows);
        if ((load || store) && op->col_dim >= 0)
            note_reach(a, op, op->col_dim, type.cols);
        for (int k = 0; k < op->n_regions; k++)
            find_reaches(a, op->regions[k]);
    }
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* The last dimension of several that a length is a product of, as `most * page`. */
static const AffSym *last_factor(const Agree *a, const Aff *size)
{
    const Def *def = a->on.chain->def;
    const AffSym *last = NULL;
    int factors = 0;

    for (int i = 0; size && size->kind == AFF_MUL && i < def->dims.len; i++)
        if (def->dims.data[i].sym && aff_uses(size, def->dims.data[i].sym)) {
            last = def->dims.data[i].sym;
            factors++;
        }
    return factors > 1 ? last : NULL;
}

/* The rows of a tile that are told by elements of others, row by row; 0: there is none. */
static int rows_told(const TileBlock *block)
{
    int most = 0;

    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];

        if (op->kind == TILE_LOAD && op->row_dim < 0)
            most = larger(most, op->results[0]->type.rows);
        for (int k = 0; k < op->n_regions; k++)
            most = larger(most, rows_told(op->regions[k]));
    }
    return most;
}

/* Where tables say which rows a tile has, no dimension of a tensor is as long as what loops go over, as of pages: then one that
 * its length is made of is. */
static void find_told(Agree *a, const TileKernel *kernel)
{
    const Def *def = a->on.chain->def;
    int rows = rows_told(kernel->body);

    for (int i = 0; rows > 1 && i < def->values.len; i++)
        for (int d = 0; d < def->values.data[i]->rank; d++) {
            const AffSym *dim = last_factor(a, def->values.data[i]->dims[d].size);

            if (dim && !find_reach(a, dim->name))
                vec_push(a->on.arena, &a->reaches, (Reach){.dim = dim, .extent = rows, .moved = true, .streamed = true, .looped = true});
        }
}

static void note_blocks(Agree *a, const TileOp *op, int d, const AffSym *axis, int blocks)
{
    const Aff *size = d >= 0 ? op->tensor->dims[d] : NULL;
    Reach *reach = size && size->kind == AFF_SYM && aff_uses(op->coords[d], axis) ? find_reach(a, size->sym->name) : NULL;

    if (reach && blocks > reach->blocks)
        reach->blocks = blocks;
}

/* Blocks of which a number says how many there are: where tiles lie along them, and loops whose parts they have. */
static void find_blocks(Agree *a, const TileBlock *block, const AffSym *axis, int blocks)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];

        if (op->kind == TILE_LOAD || op->kind == TILE_STORE) {
            note_blocks(a, op, op->row_dim, axis, blocks);
            note_blocks(a, op, op->col_dim, axis, blocks);
        }
        if (op->kind == TILE_FOR && blocks > a->turns && (aff_uses(op->lo, axis) || aff_uses(op->hi, axis)))
            a->turns = blocks;
        for (int k = 0; k < op->n_regions; k++)
            find_blocks(a, op->regions[k], axis, blocks);
    }
}

static void find_all_blocks(Agree *a, const TileKernel *kernel)
{
    for (int i = 0; i < kernel->grid.len; i++) {
        const AffSym *axis = kernel->grid.data[i].sym;
        int64_t blocks;

        if (axis && aff_is_const(kernel->grid.data[i].extent, &blocks) && blocks <= MOST_TURNS)
            find_blocks(a, kernel->body, axis, (int)blocks);
    }
}

/* Whether so much is counted along a dimension, and not only which of its parts a block has. */
static bool counts_along(const Aff *count, const AffSym *dim)
{
    if (count->kind == AFF_ADD || count->kind == AFF_MUL)
        return counts_along(count->a, dim) || counts_along(count->b, dim);
    return !aff_uses_kind(count, AFF_GRID) && aff_uses(count, dim);
}

/* Groups of so many tiles as a number says, as `min(tiles - first, 4)`: there are more along what is counted there. */
static void note_groups(Agree *a, const Aff *place)
{
    const Aff *limit = place && place->kind == AFF_MIN ? (place->a->kind == AFF_CONST ? place->a : place->b) : NULL;

    if (!place || place->kind == AFF_CONST || place->kind == AFF_SYM)
        return;
    for (int i = 0; limit && limit->kind == AFF_CONST && limit->value <= MOST_TURNS && i < a->reaches.len; i++)
        if (counts_along(place->a, a->reaches.data[i].dim) || counts_along(place->b, a->reaches.data[i].dim))
            a->reaches.data[i].blocks = larger(a->reaches.data[i].blocks, (int)limit->value);
    note_groups(a, place->a);
    note_groups(a, place->b);
}

/* `block % 4` among tiles of rows, or columns: of groups that are all full. */
static void note_places_in_groups(Agree *a, const TileOp *op, int d, const Aff *place)
{
    enum { MOST_IN_GROUP = 8 };
    const AffSym *dim = d >= 0 && op->tensor->dims[d]->kind == AFF_SYM ? op->tensor->dims[d]->sym : NULL;
    Reach *reach = dim ? find_reach(a, dim->name) : NULL;

    if (!reach || !place || place->kind == AFF_CONST || place->kind == AFF_SYM)
        return;
    if (place->kind == AFF_MOD && place->b->kind == AFF_CONST && place->b->value <= MOST_IN_GROUP && aff_uses_kind(place->a, AFF_GRID))
        reach->blocks = larger(reach->blocks, (int)place->b->value);
    note_places_in_groups(a, op, d, place->a);
    note_places_in_groups(a, op, d, place->b);
}

static void find_groups(Agree *a, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];

        for (int d = 0; (op->kind == TILE_LOAD || op->kind == TILE_STORE) && d < op->tensor->rank; d++)
            note_groups(a, op->coords[d]);
        if (op->kind == TILE_STORE) {
            note_places_in_groups(a, op, op->row_dim, op->row_dim >= 0 ? op->coords[op->row_dim] : NULL);
            note_places_in_groups(a, op, op->col_dim, op->col_dim >= 0 ? op->coords[op->col_dim] : NULL);
        }
        for (int k = 0; k < op->n_regions; k++)
            find_groups(a, op->regions[k]);
    }
}

static int largest_in(const Expr *e)
{
    int most = e && e->kind == EXPR_INT && e->i <= MOST_BLOCK ? (int)e->i : 0;

    if (!e)
        return 0;
    for (int i = 0; i < e->n_args; i++)
        most = larger(most, largest_in(e->args[i]));
    return larger(most, larger(largest_in(e->a), largest_in(e->b)));
}

static int largest_number(const Block *block)
{
    int most = 0;

    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        const Expr *said[] = {s->kind == STMT_PARAM ? NULL : s->value, s->where, s->by, s->step, s->to};

        for (size_t k = 0; k < TW_COUNT(said); k++)
            most = larger(most, largest_in(said[k]));
        for (int k = 0; k < s->n_shape; k++)
            most = larger(most, largest_in(s->shape[k]));
        most = larger(most, larger(largest_number(&s->body), largest_number(&s->orelse)));
    }
    return most;
}

/* The largest number that a Param has which is no length, as of a window: of a sketch with small tiles, no tile is as long. */
static int largest_param(const Def *def)
{
    int most = 0;

    for (int i = 0; i < def->unit->body.len; i++) {
        const Stmt *s = def->unit->body.data[i];

        if (s->kind == STMT_PARAM && s->value && s->value->kind == EXPR_INT && s->value->i <= MOST_BLOCK && !def_dim(def, s->name))
            most = larger(most, (int)s->value->i);
    }
    return most;
}

/* The largest number in a condition, by name or not. */
static int64_t largest_compared(const Def *def, const Expr *e)
{
    const Stmt *named = e && e->kind == EXPR_NAME ? block_find(&def->unit->body, STMT_PARAM, e->name) : NULL;
    int64_t most = e && e->kind == EXPR_INT ? e->i : 0;

    if (named && named->value && named->value->kind == EXPR_INT && !def_dim(def, e->name))
        most = named->value->i;
    for (int i = 0; e && i < (e->kind == EXPR_BINARY ? 2 : 0); i++) {
        int64_t of = largest_compared(def, i ? e->b : e->a);
        most = of > most ? of : most;
    }
    return most;
}

static int64_t largest_condition(const Def *def, const Block *block)
{
    int64_t most = 0;

    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        int64_t all[] = {s->kind == STMT_COMPUTE ? largest_compared(def, stmt_condition(s)) : 0, largest_condition(def, &s->body), largest_condition(def, &s->orelse)};

        for (size_t k = 0; k < TW_COUNT(all); k++)
            most = all[k] > most ? all[k] : most;
    }
    return most;
}

/* What is tried, the most telling first. */
typedef enum Form { BLOCKS, RAGGED, NEXT, WHOLE, PART, MANY, TURNS, THREE, LESS, FEW } Form;

typedef struct Attempt {
    Form shared, streamed;
    int counts; /* at most, of what tiles do not cover */
} Attempt;

/* Of each row the first that the definition takes, and that is little work. */
enum { ENTRIES, TILES, LOOPS, PARTS, MORE_TILES, LESS_TILES, BOUNDS, OPPOSED, TINY, TINY_FIRST, SHAPES };
enum { TRIES = 9 };
static const Attempt ATTEMPTS[SHAPES][TRIES] = {
    [ENTRIES] = {{PART, NEXT, 4}, {PART, NEXT, 3}, {PART, NEXT, 2}, {WHOLE, WHOLE, 4}, {PART, PART, 4}, {PART, PART, 2}, {PART, PART, 1}},
    [TILES] = {{BLOCKS, BLOCKS, 2}, {BLOCKS, BLOCKS, 1}, {RAGGED, RAGGED, 2}, {NEXT, NEXT, 2}, {NEXT, NEXT, 1}, {NEXT, PART, 1}, {WHOLE, WHOLE, 2}, {WHOLE, WHOLE, 1}},
    [LOOPS] = {{PART, MANY, 2}, {NEXT, MANY, 2}, {PART, MANY, 1}, {WHOLE, MANY, 1}, {PART, THREE, 1}, {WHOLE, THREE, 1}, {PART, NEXT, 1}, {WHOLE, WHOLE, 1}, {PART, PART, 1}},
    [PARTS] = {{FEW, PART, 2}, {FEW, PART, 1}},
    [MORE_TILES] = {{THREE, PART, 1}, {RAGGED, PART, 1}},
    [LESS_TILES] = {{LESS, NEXT, 1}, {LESS, PART, 1}},
    [BOUNDS] = {{FEW, TURNS, 2}, {FEW, TURNS, 1}, {PART, TURNS, 1}},
    [OPPOSED] = {{PART, NEXT, 1}, {PART, NEXT, 2}, {WHOLE, WHOLE, 1}, {WHOLE, WHOLE, 2}, {PART, PART, 1}, {PART, PART, 2}, {NEXT, NEXT, 1}},
    [TINY] = {{PART, NEXT, 1}, {PART, NEXT, 2}, {WHOLE, WHOLE, 1}, {WHOLE, WHOLE, 2}, {PART, PART, 1}, {PART, PART, 2}, {NEXT, NEXT, 1}},
    [TINY_FIRST] = {{PART, NEXT, 1}, {PART, NEXT, 2}, {WHOLE, WHOLE, 1}, {WHOLE, WHOLE, 2}, {PART, PART, 1}, {PART, PART, 2}, {NEXT, NEXT, 1}}};

/* Where sizes are compiled in that make each of these much work, the others are as small as can be. */
enum { LARGE_TRIES = 3 };
static const Attempt LARGE[LARGE_TRIES] = {{FEW, FEW, 2}, {FEW, FEW, 1}, {WHOLE, WHOLE, 1}};

/* What its tensors hold: means that are not 0, scores far below 0, and numbers beside which an epsilon counts, show what others do not;
 * those of the first input alone, where a bias hides what is as small as all of them. */
static const FillKind FILLS[SHAPES] = {
    [ENTRIES] = FILL_NORMAL, [TILES] = FILL_NORMAL, [LOOPS] = FILL_NORMAL, [PARTS] = FILL_NORMAL, [MORE_TILES] = FILL_NORMAL,
    [LESS_TILES] = FILL_NORMAL, [BOUNDS] = FILL_NORMAL, [OPPOSED] = FILL_OPPOSED, [TINY] = FILL_TINY, [TINY_FIRST] = FILL_SMALL_FIRST};

/* Of the k-th dimension that tiles cover; no two are equal, but for whole tiles. */
static int tiled_size(const Agree *a, Form form, const Reach *reach, int k)
{
    int extent = reach->extent;


    switch (form) {
    case BLOCKS: return extent + extent / 2 + 3 + 2 * k + a->block;
    case RAGGED: return extent + extent / 2 + 3 + 2 * k;
    case NEXT: return extent + 1 + k;
    case WHOLE: return 2 * extent;
    case PART: return extent / 2 + 1 + k;
    case THREE: return larger(1 + k % 3, reach->blocks) * extent + 1 + k; /* so many tiles that counts of them differ, too, what is declared first least */
    case LESS: return larger(3 - k % 3, reach->blocks) * extent + 1 + k;
    case MANY:
    case TURNS: return larger(4 + k % 3, form == TURNS ? a->turns + 1 : 0) * extent + extent / 2 + 1 + 2 * k;
    case FEW: return 2 + k;
    }
    return extent;
}

static void bind_params(Agree *a)
{
    const Def *def = a->on.chain->def;

    for (int i = 0; i < def->params.len; i++)
        if (!def->params.data[i].default_value)
            vec_push(a->on.arena, &a->on.shape, (RefBinding){def->params.data[i].name, OPEN_PARAM});
}

/* Dimensions of which each tile has one entry. */
static int count_entries(const Agree *a)
{
    const Def *def = a->on.chain->def;
    int n = 0;

    for (int i = 0; i < def->dims.len; i++) {
        const Reach *reach = find_reach(a, def->dims.data[i].name);

        n += def->dims.data[i].sym && (!reach || reach->extent == 1);
    }
    return n;
}

/* Such a dimension, as a batch, is seldom taken for another. */
static bool in_all_inputs(const Def *def, const AffSym *dim)
{
    for (int i = 0; i < def->inputs.len; i++) {
        const DefValue *v = def->inputs.data[i];
        bool has = false;

        for (int d = 0; d < v->rank; d++)
            has |= aff_uses(v->dims[d].size, dim);
        if (!has)
            return false;
    }
    return true;
}

/* Whether the bounds of loops and of the grid are the right ones. */
static bool asks_for_bounds(const Attempt *attempt)
{
    return attempt->streamed == TURNS;
}

static Form form_along(const Attempt *attempt, const Reach *reach)
{
    if (!asks_for_bounds(attempt))
        return reach->streamed ? attempt->streamed : attempt->shared;
    return reach->looped ? attempt->streamed : reach->moved ? attempt->shared : RAGGED;
}

/* The counts are the digits of a number; probe: tiles of a few elements, to see whether the definition takes them. */
static void draw(Agree *a, const Attempt *attempt, uint64_t number, bool probe)
{
    const Def *def = a->on.chain->def;
    int tiled = 0;

    a->on.shape.len = 0;
    a->unlike = 0;
    for (int i = 0; i < def->dims.len; i++) {
        const DefDimSym *dim = &def->dims.data[i];
        const Reach *reach = find_reach(a, dim->name);
        int extent = reach ? reach->extent : 1, size;
        bool known = false;

        if (!dim->sym || strcmp(dim->sym->name, dim->name) != 0)
            continue;
        if (extent == 1) {
            size = 1 + (int)(number % (uint64_t)attempt->counts);
            number /= (uint64_t)attempt->counts;
        } else if (!reach->moved && !asks_for_bounds(attempt)) /* one tile is all that there is */
            size = probe && extent > PROBE ? PROBE : extent;
        else
            size = probe ? PROBE : tiled_size(a, form_along(attempt, reach), reach, tiled++);
        for (int k = 0; k < a->on.shape.len; k++)
            known |= a->on.shape.data[k].value == size;
        if (extent == 1)
            a->unlike += attempt->shared == FEW ? size : (size == 1 ? 0 : known ? 0.3 : in_all_inputs(def, dim->sym) ? 0.5 : 1) - (size == 3 ? 0.015 : 0.01 * size); /* of 2 a quotient is a remainder, too */
        vec_push(a->on.arena, &a->on.shape, (RefBinding){dim->name, size});
    }
    bind_params(a);
}

/* The k-th of some numbers that look drawn. */
static uint64_t drawn(uint64_t number, int k)
{
    uint64_t x = (number * 64 + (uint64_t)k) * 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 29);
}

/* Of what tiles have one entry of; many: more than any tile has elements along a dimension. */
static int mixed_count(const Agree *a, uint64_t number, bool many)
{
    static const int counts[] = {1, 1, 2, 2, 3, 4, 6};
    int most = 1;

    for (int i = 0; many && i < a->reaches.len; i++)
        most = larger(most, a->reaches.data[i].extent);
    return many ? most + 2 : counts[number % TW_COUNT(counts)];
}

/* Each dimension in a form of its own; the first numbers: many entries of one, and a part of a tile of all else. */
static void draw_mixed(Agree *a, int number)
{
    enum { PARAMS = 1 << 5 };
    static const Form forms[] = {FEW, PART, NEXT, RAGGED, THREE, LESS, MANY};
    static const int params[] = {1, 2, 7, 20, 40};
    const Def *def = a->on.chain->def;
    bool many = number < count_entries(a);
    int tiled = 0, counted = 0;

    a->on.shape.len = 0;
    for (int i = 0; i < def->dims.len; i++) {
        const DefDimSym *dim = &def->dims.data[i];
        const Reach *reach = find_reach(a, dim->name);
        uint64_t x = drawn((uint64_t)number, i);
        int size;

        if (!dim->sym || strcmp(dim->sym->name, dim->name) != 0)
            continue;
        if (!reach || reach->extent == 1)
            size = many && counted != number ? 1 : mixed_count(a, x, many), counted++;
        else if (!reach->moved)
            size = reach->extent;
        else
            size = tiled_size(a, many ? PART : forms[x % TW_COUNT(forms)], reach, tiled++);
        vec_push(a->on.arena, &a->on.shape, (RefBinding){dim->name, size});
    }
    for (int i = 0; i < def->params.len; i++)
        if (!def->params.data[i].default_value)
            vec_push(a->on.arena, &a->on.shape, (RefBinding){def->params.data[i].name, params[drawn((uint64_t)number, PARAMS + i) % TW_COUNT(params)]});
}

/* Several tiles, so many elements more, along dimensions that have them, one tile along others; nothing along the one that is empty, if
 * there is one. */
static void draw_alike(Agree *a, Form form, int64_t more, int empty)
{
    const Def *def = a->on.chain->def;
    int tiled = 0;

    a->on.shape.len = 0;
    for (int i = 0; i < def->dims.len; i++) {
        const DefDimSym *dim = &def->dims.data[i];
        const Reach *reach = find_reach(a, dim->name);
        int64_t size = 1;

        if (!dim->sym || strcmp(dim->sym->name, dim->name) != 0)
            continue;
        if (reach && reach->extent > 1)
            size = reach->moved ? more + tiled_size(a, form, reach, tiled++) : reach->extent;
        vec_push(a->on.arena, &a->on.shape, (RefBinding){dim->name, i == empty ? 0 : (double)size});
    }
    bind_params(a);
}

/* Nothing along one that a loop goes over, and little of all else; false: no loop goes over it. */
static bool draw_empty(Agree *a, int which)
{
    const DefDimSym *dim = &a->on.chain->def->dims.data[which];
    const Reach *reach = find_reach(a, dim->name);
    bool looped = reach && reach->looped && dim->sym && strcmp(dim->sym->name, dim->name) == 0;

    if (looped)
        draw_alike(a, PART, 0, which);
    return looped;
}

/* Dimensions along which there are several tiles reach beyond the largest number in a condition, all else has one entry. */
static void draw_far(Agree *a)
{
    draw_alike(a, RAGGED, a->far, -1);
}

/* Of Inputs and Outputs, or of all that is computed on the way as well; infinite: that is not known. */
static double count_elements(const Agree *a, bool all)
{
    const Def *def = a->on.chain->def;
    const AffSym **dims = arena_array(a->on.arena, const AffSym *, def->dims.len + 1);
    const char *error;
    int64_t *values, size;
    double total = 0;
    int n = 0;

    for (int i = 0; i < def->dims.len; i++)
        if (def->dims.data[i].sym)
            dims[n++] = def->dims.data[i].sym;
    if (!launch_symbols(a->on.arena, def->aff, &a->on.shape, def, dims, n, &values, &error))
        return INFINITY;
    for (int i = 0; i < def->values.len; i++) {
        const DefValue *v = def->values.data[i];
        double elements = all || v->is_input || v->is_output;

        for (int d = 0; d < v->rank; d++) {
            if (!aff_eval(v->dims[d].size, values, &size))
                return INFINITY;
            elements *= (double)size;
        }
        total += elements;
    }
    return total;
}

static double count_flops(const Agree *a)
{
    return ref_flops(a->on.arena, a->on.chain->def, a->on.shape.data, a->on.shape.len) / 2;
}

static bool is_little(Agree *a)
{
    double all = count_elements(a, true);
    bool little = count_elements(a, false) <= a->most->elements && all <= a->most->values && count_flops(a) <= a->most->flops;

    a->heavy |= !little && isfinite(all);
    return little;
}

/* With one of all that there are few of. */
static bool may_be_little(Agree *a, const Attempt *attempt)
{
    draw(a, attempt, 0, false);
    return is_little(a);
}

/* Tensors with counts that are as unlike each other as the definition takes them. */
static bool make(Agree *a, const Attempt *attempt, FillKind fill)
{
    uint64_t best = 0, all = 1;
    double most = -INFINITY;
    const char *error;
    bool found = false;

    if (!may_be_little(a, attempt))
        return false;
    a->on.fill = FILL_ONES;
    for (int i = 0; i < count_entries(a) && all < MOST_NUMBER; i++)
        all *= (uint64_t)attempt->counts;
    for (uint64_t k = 0; k < all && k < MOST_DRAWS; k++) {
        uint64_t number = all <= MOST_DRAWS ? k : (k * SPREAD) % all;

        draw(a, attempt, number, false);
        double unlike = a->unlike;
        if (unlike <= most || !is_little(a))
            continue;
        draw(a, attempt, number, true);
        if (!small_make(&a->on, &error))
            continue;
        most = unlike;
        best = number;
        found = true;
    }
    if (!found && attempt->shared != WHOLE)
        return false;
    a->on.fill = fill;
    draw(a, attempt, best, false);
    return (found || is_little(a)) && small_make(&a->on, &error);
}

/* ---- what is said ------------------------------------------------------------------------------------ */

static const Stmt *find_store(const Block *block, const char *output)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i], *within = find_store(&s->body, output);

        if (s->kind == STMT_COPY && s->to_space == SPACE_GLOBAL && strcmp(copy_tensor(s), output) == 0)
            return s;
        within = within ? within : find_store(&s->orelse, output);
        if (within)
            return within;
    }
    return NULL;
}

static void say(Chain *chain, const Program *program, const char *output, const SmallFinding *f)
{
    const Stmt *store = NULL;
    Span where = program->units.data[0]->name_span;

    for (int i = 0; i < program->units.len && !store; i++)
        if (program->units.data[i]->kind == UNIT_KERNEL) {
            where = program->units.data[i]->name_span;
            store = find_store(&program->units.data[i]->body, output);
        }
    diag_note(chain->diags, diag_add(chain->diags, TW0523, store ? store->span : where, "%s", arena_strdup(chain->arena, f->message)), "%s", f->note);
}

/* smaller: what was found with other sizes, or NULL. */
static void say_passed_over(Chain *chain, const Program *program, const SmallFinding *smaller)
{
    const Unit *kernel = kernels_beside(chain->arena, program)->units.data[0];
    Diag *d = diag_add(chain->diags, TW0524, kernel->name_span, "this was not compared with the Operator: executing both takes too much work");

    if (smaller)
        diag_note(chain->diags, d, "with smaller Params %s, %s: that may be for want of a number that goes with these", smaller->message, smaller->note);
    else
        diag_note(chain->diags, d, "a Param for a size that is compiled in, as `Param K = 4096`, lets both be tried with a smaller one; `tw gen --trial` tries them as they are");
}

/* What cannot be executed at all is no proof of anything either. */
static void say_not_executed(Chain *chain, const Program *program, const char *error)
{
    const Unit *kernel = kernels_beside(chain->arena, program)->units.data[0];

    diag_add(chain->diags, TW0524, kernel->name_span, "this was not compared with the Operator: %s", arena_strdup(chain->arena, error));
}

/* What was executed, and then the definition, in fp64, of a large shape for no more rows than the blocks have; of a shape that no
 * tensors were made for, looking for them alone. */
static void spend(const Agree *a)
{
    enum { OF_DEFINITION = 3, OF_BEGIN = 1 << 20 };
    double defined = a->on.work > 0 ? a->on.some ? a->on.work : count_flops(a) : 0;

    if (a->on.chain->work_left)
        *a->on.chain->work_left -= a->on.work + OF_DEFINITION * defined + OF_BEGIN;
}

static void note_sizes(Agree *a)
{
    for (int i = 0; i < a->on.shape.len; i++) {
        const RefBinding *size = &a->on.shape.data[i];
        RefBinding *most = NULL;

        for (int k = 0; k < a->most_of.len; k++)
            if (strcmp(a->most_of.data[k].name, size->name) == 0)
                most = &a->most_of.data[k];
        if (!most)
            vec_push(a->on.arena, &a->most_of, *size);
        else if (size->value > most->value)
            most->value = size->value;
    }
}

/* Whether there were several tiles, or entries, along each dimension on some shape that was executed. */
static bool met_several(const Agree *a)
{
    const Def *def = a->on.chain->def;

    for (int i = 0; i < def->dims.len; i++) {
        const DefDimSym *dim = &def->dims.data[i];
        const Reach *reach = find_reach(a, dim->name);
        double most;

        if (dim->sym && strcmp(dim->sym->name, dim->name) == 0 && launch_find(&a->most_of, dim->name, &most) && most <= (reach ? reach->extent : 1))
            return false;
    }
    return true;
}

static bool has_no_value(const Agree *a)
{
    return a->error && strstr(a->error, TILE_NO_VALUE);
}

/* The definition takes the shape, but an integer of the Kernels has no value there. */
static void say_no_value(Agree *a, SmallFinding *f)
{
    static const double allowed = 0.02; /* of what is tried instead */
    const char *at = strstr(a->error, TILE_NO_VALUE);
    const char *which = at + strlen(TILE_NO_VALUE);

    *f = (SmallFinding){.worst = INFINITY, .allowed = allowed, .note = arena_printf(a->on.arena, "executed at %s", launch_text(a->on.arena, &a->on.shape))};
    f->message = arena_printf(a->on.arena, "an integer of the Kernel has no value there, for a division by 0 or overflow%s", which);
}

/* Whether the Kernels could be executed, with the tensors that were made, or not. */
static bool runs(Agree *a, bool made)
{
    const char *error;
    bool ran;

    a->on.work = 0;
    ran = made && small_run(&a->on, a->most->work, a->most->steps, &error);
    spend(a);
    a->heavy |= made && !ran && a->on.work > 0; /* it began */
    a->error = made && !ran ? error : a->error;
    a->ran |= ran;
    if (ran)
        note_sizes(a);
    return ran;
}

/* Whether what was executed gives what the definition says. */
static bool is_as_defined(Agree *a, bool ran, SmallFinding *f)
{
    if (!ran && has_no_value(a)) {
        say_no_value(a, f);
        return false;
    }
    return !ran || small_agrees(&a->on, a->on.arena, f) || f->worst < LEAST || /* integers may all be wrong by one */
           (f->wrong == 0 && dtype_is_float(a->on.outputs[f->output]->dtype));
}

/* On the first of the shapes that can be executed; false: the outputs differ. */
static bool agrees_on(Agree *a, const Attempt *attempts, int n, FillKind fill, SmallFinding *f)
{
    bool ran = false;

    for (int i = 0; i < n && !ran && attempts[i].counts && !has_no_value(a); i++)
        ran = runs(a, make(a, &attempts[i], fill));
    return is_as_defined(a, ran, f);
}

/* On those of many entries, and on so many where each dimension has a form of its own. */
static bool agrees_on_mixed(Agree *a, int most, SmallFinding *f)
{
    enum { MOST_NUMBERS = 60 };
    bool right = true;

    a->on.fill = FILL_NORMAL;
    for (int number = 0, done = 0; a->ran && right && done < most && number < MOST_NUMBERS; number++) {
        const char *error;

        draw_mixed(a, number);
        if (!is_little(a) || !small_make(&a->on, &error))
            continue;
        right = is_as_defined(a, runs(a, true), f);
        done += number >= count_entries(a);
    }
    return right;
}

/* Warnings that leave open whether the result is another; what else was said is the cause of what would be found. */
static bool is_beside_the_point(DiagCode code)
{
    static const DiagCode codes[] = {TW0109, TW0241, TW0248, TW0442, TW0522, TW0736, TW0778};

    for (size_t i = 0; i < TW_COUNT(codes); i++)
        if (codes[i] == code)
            return true;
    return false;
}

static bool says_a_cause(const Diags *diags)
{
    for (int i = 0; i < diags->list.len; i++)
        if (!is_beside_the_point(diags->list.data[i].code))
            return true;
    return false;
}

/* What is chosen by its rank hangs on ties, which numbers that are not spread about 0 have more of. */
static bool chooses(const Def *def)
{
    for (int i = 0; i < def->ops.len; i++)
        if (op_info(def->ops.data[i]->op)->class == OPC_SELECT)
            return true;
    return false;
}

/* To execute what was worked out; false: nothing was. */
static bool begin_with(Agree *a, Arena *arena, Chain *own)
{
    static const SmallOptions options = {.seed = 1, .bound = BOUND};

    if (!own || !own->def)
        return false;
    a->most = &LITTLE;
    a->on = (Small){.chain = own, .arena = arena, .options = &options, .fill = FILL_NORMAL};
    a->block = largest_number(&own->def->unit->body);
    a->far = largest_condition(own->def, &own->def->unit->body);
    if (a->tiles < CHOICES - 1)
        a->block = larger(a->block, largest_param(own->def));
    for (int i = 0; i < own->tile->kernels.len; i++)
        find_reaches(a, own->tile->kernels.data[i]->body);
    for (int i = 0; i < own->tile->kernels.len; i++) {
        const TileKernel *kernel = own->tile->kernels.data[i];

        for (int k = 0; k < kernel->grid.len; k++)
            note_counted(a, kernel->grid.data[k].extent, false);
        find_counted(a, kernel->body);
        find_all_blocks(a, kernel);
        find_groups(a, kernel->body);
        find_told(a, kernel);
    }
    return true;
}

static bool begin(Agree *a, Arena *arena, const Chain *with, const Source *source, const Program *program)
{
    return begin_with(a, arena, chain_for(arena, with, source, program, &a->tiles));
}

static bool begin_narrow(Agree *a, Arena *arena, const Chain *with, const Source *source)
{
    Chain *own = narrow_tiles(arena, source) ? agree_chain_with(arena, with, source, NARROW) : NULL;

    a->tiles = NARROW;
    return own && define(own, source) && begin_with(a, arena, own);
}

/* Whether there was no shape that asks for the bounds, as of parts of a dimension that are many. */
static bool lacks_bounds(const Agree *a, const Attempt *attempts)
{
    double most;

    for (int i = 0; asks_for_bounds(&attempts[0]) && i < a->reaches.len; i++) {
        const Reach *reach = &a->reaches.data[i];
        if (reach->looped && a->turns > 1 && launch_find(&a->most_of, reach->dim->name, &most) && most < (double)a->turns * reach->extent)
            return true;
    }
    return false;
}

/* Whether a few rows of what the definition says take more than those rows of what it computes: columns of it, or all as an operand. */
static bool needs_all_rows(const Def *def)
{
    for (int i = 0; i < def->ops.len; i++) {
        const DefOp *op = def->ops.data[i];
        OpClass class = op_info(op->op)->class;

        for (int k = 0; k < op->n_args; k++) {
            bool computed = op->args[k].value && op->args[k].value->op;
            if (computed && (class == OPC_COL_REDUCE || (class == OPC_GEMM ? k > 0 || op->args[k].transposed : op->args[k].transposed)))
                return true;
        }
        for (int k = 0; k < op->reads.len; k++)
            if (op->reads.data[k].value->op)
                return true;
    }
    return false;
}

/* On numbers that are mostly 0, of which sums show each term, beyond the largest number that conditions compare with: of a large
 * shape some blocks. */
static bool agrees_far(Agree *a, SmallFinding *f)
{
    enum { MOST_FAR = 1 << 16 };
    const Limits *most = a->most;
    const char *error;
    bool right;

    if (!a->ran || a->far < LEAST_TILE || a->far > MOST_FAR || !small_may_run_some(a->on.chain))
        return true;
    draw_far(a);
    a->most = &FAR;
    a->on.fill = FILL_SPARSE;
    a->on.some = true;
    right = count_elements(a, false) > a->most->elements || (needs_all_rows(a->on.chain->def) && !is_little(a)) || !small_make(&a->on, &error) ||
            is_as_defined(a, runs(a, true), f);
    a->on.some = !right; /* what differs is looked at again */
    a->most = most;
    return right;
}

/* What is no number, as 0 / 0 of sums of nothing or what no turn stores, is as good as what the definition says; and so is anything
 * where that says 0 or no number, as of nothing. */
static void take_as_defined(Small *on)
{
    const char *error;
    Ref *ref = ref_new(on->arena, on->chain->def, on->shape.data, on->shape.len, on->inputs, REF_EXACT, &error);

    for (int i = 0; ref && i < on->chain->def->outputs.len; i++) {
        Tensor *t = on->outputs[i];
        int64_t at[TENSOR_MAX_RANK] = {0}, all = tensor_count(t), cols = t->dims[t->rank - 1];
        const double *want = NULL;

        for (int64_t k = 0; k < all; k++, tensor_step(t, t->rank, at)) {
            double defined;

            want = k % cols == 0 ? ref_row(ref, i, at) : want;
            defined = want[k % cols];
            if (!isfinite(tensor_get(t, at)) || !isfinite(defined) || defined == 0)
                tensor_set(t, at, defined);
        }
    }
}

/* Where a loop has no turn: what is set in its last one is not. */
static bool agrees_empty(Agree *a, SmallFinding *f)
{
    const char *before = a->error, *error;
    bool right = true;

    a->on.fill = FILL_NORMAL;
    for (int i = 0; a->ran && right && i < a->on.chain->def->dims.len; i++) {
        if (!draw_empty(a, i) || !is_little(a) || !small_make(&a->on, &error) || !runs(a, true))
            continue;
        take_as_defined(&a->on);
        right = is_as_defined(a, true, f);
    }
    a->error = before;
    return right;
}

static bool agrees(Agree *a, SmallFinding *f)
{
    bool right = true;

    for (int i = 0; i < SHAPES && right; i++) {
        if (FILLS[i] != FILL_NORMAL && chooses(a->on.chain->def))
            continue;
        right = agrees_on(a, ATTEMPTS[i], TRIES, FILLS[i], f);
        if (right && a->ran && lacks_bounds(a, ATTEMPTS[i])) {
            a->most = &MORE;
            right = agrees_on(a, ATTEMPTS[i], TRIES, FILLS[i], f);
            a->most = &LITTLE;
        }
    }
    return right && agrees_far(a, f) && agrees_on_mixed(a, a->on.chain->proves ? MIXED_OF_EDITS : MIXED, f) && agrees_empty(a, f);
}

/* ---- less work --------------------------------------------------------------------------------------------- */

/* The same program with smaller sizes, and what was found of it. */
typedef struct Less {
    Agree of;
    const Chain *with;
    SmallFinding found;
    bool differs;
} Less;

static bool is_right(const Less *less)
{
    return less->of.ran && !less->differs;
}

/* Numbers that the definition says, as of a group's size, may go with those of tiles, unless they are smaller than any. */
static void with_narrow_tiles(Less *less, Chain *chain, const Source *source, const Agree *whole)
{
    *less = (Less){.with = chain};
    if (whole->block < LEAST_TILE && begin_narrow(&less->of, whole->on.arena, chain, source))
        less->differs = !agrees(&less->of, &less->found);
}

/* A size that leaves as much beside tiles. */
static int64_t smaller(int64_t size)
{
    return MOST_BLOCK + size % MOST_BLOCK;
}

/* With smaller numbers for Params that are large sizes; NULL: there is none. */
static const Chain *shrunk(Arena *arena, const Chain *chain, const Source *source, const Def *def)
{
    Chain *less = chain_like(arena, chain, diags_new(arena, source));
    bool any = false;

    for (int i = 0; i < def->dims.len; i++) {
        const DefDimSym *dim = &def->dims.data[i];
        bool param = block_find(&def->unit->body, STMT_PARAM, dim->name) != NULL;
        int64_t size;

        if (param && aff_is_const(dim->size, &size) && size >= 2 * MOST_BLOCK)
            any |= !chain_set(less, arena_printf(arena, "%s=%lld", dim->name, (long long)smaller(size)));
    }
    return any ? less : NULL;
}

static void with_small_params(Less *less, const Chain *chain, const Source *source, const Program *program, const Agree *whole)
{
    Arena *arena = whole->on.arena;

    *less = (Less){.with = shrunk(arena, chain, source, whole->on.chain->def)};
    if (less->with && begin(&less->of, arena, less->with, source, program))
        less->differs = !agrees(&less->of, &less->found);
}

/* ---- sizes that are compiled in ------------------------------------------------------------------------ */

/* On the shape, and the numbers, on which another program of the same definition was found to differ. */
static bool agrees_there(Agree *a, const Agree *other, SmallFinding *f)
{
    const char *error;
    bool ran;

    a->most = other->on.some ? &FAR : &MORE;
    a->on.shape = (LaunchShape){0}; /* of its own, which later ones replace */
    for (int i = 0; i < other->on.shape.len; i++)
        vec_push(a->on.arena, &a->on.shape, other->on.shape.data[i]);
    a->on.fill = other->on.fill;
    a->on.some = other->on.some;
    ran = small_make(&a->on, &error) && small_run(&a->on, a->most->work, a->most->steps, &error);
    spend(a);
    a->most = &LITTLE;
    if (!ran || small_agrees(&a->on, a->on.arena, f)) {
        a->on.some = false;
        return true;
    }
    return false;
}

static bool agrees_with_more(Agree *a, SmallFinding *f)
{
    static const int telling[] = {ENTRIES, TILES, MORE_TILES, LESS_TILES};

    a->most = &MORE;
    for (size_t i = 0; i < TW_COUNT(telling); i++)
        if (!agrees_on(a, ATTEMPTS[telling[i]], TRIES, FILL_NORMAL, f))
            return false;
    a->most = &MUCH;
    return a->ran || agrees_on(a, LARGE, LARGE_TRIES, FILL_NORMAL, f);
}

/* ---- entry ---------------------------------------------------------------------------------------------- */

static Witness *agreeing(Chain *chain, const Agree *a)
{
    chain->executed = true;
    chain->met_several = met_several(a);
    return NULL;
}

/* What is found with smaller sizes may be for want of a number that goes with the larger ones: it counts where these
 * show it, too. But other texts are sooner tried with the smaller ones. */
static Witness *differing(Chain *chain, const Program *program, Agree *a, const Less *less, const SmallFinding *found)
{
    chain->executed = true;
    say(chain, program, a->on.chain->def->outputs.data[found->output]->name, found);
    return less->differs ? witness_new(less->with, &less->of.on, &less->found, less->of.tiles) : witness_new(chain, &a->on, found, a->tiles);
}

Witness *agree_check(Arena *arena, Chain *chain, const Source *source, const Program *program)
{
    Agree a = {.ran = false}, *more = &a;
    Less less;
    SmallFinding found;

    chain->executed = chain->met_several = false;
    if (!chain->target || says_a_cause(chain->diags) || count_units(program, UNIT_OPERATOR) != 1 || !count_units(program, UNIT_KERNEL))
        return NULL;
    if (!begin(&a, arena, chain, source, program)) {
        say_not_executed(chain, program, "no code of it could be worked out to be tried");
        return NULL;
    }
    with_narrow_tiles(&less, chain, source, &a);
    if (is_right(&less)) /* what is as large as a tile may go with the narrow one alone: once as it stands */
        return agrees_on(&a, ATTEMPTS[TILES], TRIES, FILL_NORMAL, &found) ? agreeing(chain, &less.of) : differing(chain, program, &a, &less, &found);
    if ((less.differs && !agrees_there(&a, &less.of, &found)) || !agrees(&a, &found))
        return differing(chain, program, &a, &less, &found);
    if (a.ran && !less.differs)
        return agreeing(chain, &a);
    if (!less.differs) {
        Agree *narrow = arena_new_of(arena, Agree);

        *narrow = less.of;
        with_small_params(&less, chain, source, program, &a);
        more = less.differs && narrow->most ? narrow : more; /* differs with large tiles, and small sizes: now with small tiles, and large sizes */
    }
    if (is_right(&less))
        return agreeing(chain, &less.of);
    if (!agrees_with_more(more, &found))
        return differing(chain, program, &a, &less, &found);
    if (more->ran)
        return agreeing(chain, more);
    if (!more->ran && more->heavy)
        say_passed_over(chain, program, less.differs ? &less.found : NULL);
    else if (!more->ran && more->error)
        say_not_executed(chain, program, more->error);
    return NULL;
}
