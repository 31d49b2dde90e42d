/* generate.h: random programs, all well-formed and all from a seed and a number.
 *
 *   generate.c          text, declarations, variables, statements
 *   generate_values.c   operations within their domains, predicates
 *   generate_memory.c   tensors, and copies of tiles of them
 *   generate_kernels.c  code: what kernels are made of these
 *   generate_ops.c      definitions: those of ops and variants of them
 *   generate_whole.c    definitions: whatever can be said of whole tensors
 *
 * Vocabulary
 *   variable  a name of the program with a register value: its shape, and an
 *             interval of what its elements may be, so that no operation leaves
 *             its domain and nothing grows without bound
 *   axis      a dimension of the operator and the tile of it at hand
 *   passed    a tensor that the first of two kernels writes and the second may read
 */
#ifndef TW_TESTS_GENERATE_H
#define TW_TESTS_GENERATE_H

#include "levels.h"

/* Families of cases; case number n belongs to family n mod FAMILIES. */
typedef enum Family {
    FAMILY_ATTENTION, FAMILY_ELEMENTWISE, FAMILY_GEMM, FAMILY_GEMM_GEMM, FAMILY_STREAM,
    FAMILY_PRODUCT, /* definitions of GEMMs with epilogues */
    FAMILY_WHOLE,   /* definitions of anything */
    FAMILY_CHAIN,   /* two kernels, of which one reads what the other left */
    FAMILIES
} Family;

/* The case, in the arena. */
LevelCase generate_case(Arena *arena, uint64_t seed, uint64_t number);

/* shrink.c: a case that differs at a level, made smaller, in the arena. */
LevelCase shrink_case(Arena *arena, const LevelCase *c, const char *level);

/* ---- for the files that generate ------------------------------------------------------ */

enum { MAX_VARS = 64, MAX_COUNTERS = 8 };

typedef struct Axis {
    const char *dim;   /* "N" */
    const char *at;    /* coordinate of the tile: "j" */
    const char *size;  /* name of the tile's extent: "BN" */
    int tile;          /* the extent */
} Axis;

typedef struct Var {
    const char *name;
    int rows, cols;
    double lo, hi;
    bool minus_inf;    /* some elements may be -inf as well */
    bool taken;        /* an Input or Output has this name */
    bool exact;        /* as loaded: no executor rounds it */
    bool frozen;       /* made outside of the loop at hand: only accumulated to */
} Var;

enum { MAX_PASSED = 8 };

typedef struct Passed {
    Var var;
    const char *row_dim, *col_dim; /* NULL: none */
    DType dtype;
    bool batch, read;
} Passed;

typedef struct Gen {
    Arena *arena;
    LevelCase *c;
    Rng rng;
    Str head, allocs, body;
    int depth;         /* of nesting */
    int next;          /* number of the next name */
    Var vars[MAX_VARS];
    int n_vars;
    const char *counters[MAX_COUNTERS]; /* grid coordinates and loop counters in scope */
    int n_counters;
    const char *dims[MAX_COUNTERS];     /* dimensions left to the launch */
    int n_dims;
    const char *grid;  /* "m = ceil(M / BM), n = ..." */
    bool batch;        /* tensors have a dimension Z, the grid a coordinate z */
    bool middle;       /* of matrices Z is the dimension between the other two */
    int z;             /* its extent */
    int warps, warps_n, stages, kept, cluster;
    const char *last_copy; /* of a matrix */
    bool whole;        /* a definition: tensors, not tiles */
    const char *cols;  /* name of the dimension that a grid's columns run along */
    bool chained;      /* one of two kernels */
    Passed passed[MAX_PASSED];
    int n_passed;
    bool has_alpha;    /* a Param left to the launch was declared */
    bool has_count;    /* integers that are read from data were declared */
} Gen;

int gen_pick(Gen *g, int low, int high);            /* inclusive */
bool gen_chance(Gen *g, int percent);
double gen_pick_number(Gen *g, double low, double high); /* a few digits */
int gen_pick_extent(Gen *g, int tile);              /* a length: round a tile's multiples, or any */
#define gen_one_of(g, ...) \
    ((const int[]){__VA_ARGS__}[rng_below(&(g)->rng, (int)TW_COUNT(((const int[]){__VA_ARGS__})))])

bool gen_of_8_bits(const Gen *g);                   /* what is multiplied */
DType gen_narrow(Gen *g);                           /* of 16 bits, that the target has */
DType gen_operand(Gen *g);                          /* that goes with what is multiplied */
int gen_columns(const Gen *g);                      /* of which a tile has a multiple */
int gen_step(const Gen *g);                         /* of what a product runs along */
const char *gen_count(Gen *g);                      /* an integer from data, 0 to 3 */

const char *gen_text(Gen *g, const char *fmt, ...) TW_PRINTF(2, 3);
void gen_line(Gen *g, const char *fmt, ...) TW_PRINTF(2, 3); /* a statement */
void gen_head(Gen *g, const char *fmt, ...) TW_PRINTF(2, 3); /* a declaration */
void gen_allocate(Gen *g, const char *fmt, ...) TW_PRINTF(2, 3);
void gen_open_block(Gen *g, const char *fmt, ...) TW_PRINTF(2, 3);
void gen_close_block(Gen *g);                       /* writes `end` */
const char *gen_fresh(Gen *g, const char *prefix);

/* A dimension cut into tiles: left to the launch, or now and then compiled in,
 * where it has two tiles or more so that none is known to be outside of it. Its
 * length: that of an earlier kernel, if that has it. */
int gen_declare_dim(Gen *g, const char *name, int value, int tile);
void gen_assign_size(Gen *g, const char *name, int value);

Var *gen_add_var(Gen *g, const char *name, int rows, int cols, double lo, double hi);
/* Allocates a register tile of that shape in fp32. */
Var *gen_new_var(Gen *g, const char *prefix, int rows, int cols, double lo, double hi);
/* A random operation's result, or a random change of v in place. */
Var *gen_make_value(Gen *g, int rows, int cols);
void gen_change(Gen *g, Var *v, Axis r, Axis c);
void gen_update(Gen *g, Var *v);
Var *gen_some_var(Gen *g, int rows, int cols);      /* of exactly this shape; NULL: none */
void gen_squash(Gen *g, Var *v, double limit);      /* scales into [-limit, limit] */
void gen_make_finite(Gen *g, Var *v);               /* without -inf */
void gen_mask(Gen *g, Var *v, Axis r, Axis c);
const char *gen_predicate(Gen *g, const char *tile, Axis r, Axis c); /* tile NULL: without row and col */

Var *gen_load_matrix(Gen *g, Axis r, Axis c, DType dtype, Space space);
/* The same again that such a load said, of the tensor of this name. */
void gen_load_again(Gen *g, const char *name, const char *copy, Axis r, Axis c);
Var *gen_load_row(Gen *g, Axis c);
Var *gen_load_column(Gen *g, Axis r);
void gen_store(Gen *g, Var *v, Axis r, Axis c);
/* A sum over blocks, of such a tile or of its rows or columns. */
void gen_sum(Gen *g, Axis r, Axis c);
/* A few statements on tiles of r x c. */
void gen_some_statements(Gen *g, Axis r, Axis c, int n);

void generate_code(Arena *arena, LevelCase *c, Family family, Rng *rng);
void generate_whole(Arena *arena, LevelCase *c, Rng *rng);

#endif
