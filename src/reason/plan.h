/* plan.h: what the reasoner knows about a sketch; for this folder only.
 *
 * Vocabulary
 *   extent   how far a tile reaches along one of its two sides, and where it
 *            lies: a tile of a dimension that blocks share (ROWS, COLS) or that
 *            a loop streams (LOOP), a dimension kept WHOLE, a leading dimension
 *            of which a block has one entry (LEAD) or a loop takes one entry a
 *            turn (ENTRY), or ONE
 *   size     elements of an extent under a choice; padded to what the tensor
 *            cores need
 *   ragged   a tile of the extent may reach past the dimension's end
 *   choice   a size for every extent, warps, stages
 */
#ifndef TW_REASON_PLAN_H
#define TW_REASON_PLAN_H

#include "lang/eval.h"
#include "reason/reason.h"

/* Sizes that nobody knows, where something has to be thought of them. */
enum { PLAN_TYPICAL_LENGTH = 4096, PLAN_TYPICAL_ENTRIES = 32 };

typedef enum ExtentKind { EXT_ONE, EXT_LEAD, EXT_ENTRY, EXT_ROWS, EXT_COLS, EXT_LOOP, EXT_WHOLE } ExtentKind;

typedef struct Extent {
    ExtentKind kind;
    int id;
    const Expr *dim;       /* the dimension as declared */
    const char *dim_name;  /* NULL: not a plain name */
    const Aff *length;     /* of the dimension */
    int64_t known;         /* length where known when compiling, else 0 */
    int64_t expected;      /* that, or what the launch is said to give; 0: no one knows */
    const char *var;       /* LEAD, ENTRY, ROWS, COLS, LOOP: the coordinate */
    const char *tile;      /* ROWS, COLS, LOOP: name of the size ("BM") */
    int64_t fixed;         /* WHOLE: the size; ROWS, COLS, LOOP: forced with --set, else 0 */
    bool looked_up;        /* fixed since an element for each row is a coordinate */
    bool contracted;       /* a GEMM sums along it */
    bool part;             /* some tile lies in a part of a longer dimension, so tiles fill that exactly */
} Extent;

/* What a tile's elements are beyond the end of a ragged extent. */
typedef enum Pad { PAD_ZERO, PAD_NONZERO /* a number that may divide */, PAD_FINITE, PAD_LOWEST /* -inf */, PAD_ANY } Pad;

typedef struct PlanTensor {
    const Stmt *stmt;
    const char *name;
    DType dtype;
    int rank;
    int row, col; /* the dimensions that a tile's rows and columns cover, the last two if no Copy says others; -1: none */
    bool is_output;
} PlanTensor;

/* Likewise of one Copy. */
typedef struct Covered {
    int row, col;
} Covered;

/* A name in the sketch: what it is in each memory space. */
typedef struct Tile {
    const char *name;
    const Extent *row, *col;   /* NULL: not known yet */
    const char *part_of;       /* the tile in shared memory whose elements it has; NULL: it has its own */
    bool vector;               /* of a tensor with one dimension: shapes have one entry */
    bool shared, reg;
    DType shared_dtype, reg_dtype;
    bool loaded, computed;     /* register copy: from memory; by a Compute */
    bool put;                  /* shared copy: from registers */
    bool accumulated;          /* GEMM accumulates into it */
    bool first_operand;        /* GEMM reads it from registers */
    bool turned;               /* computed, and some GEMM's transposed first operand: through.c */
    bool multiplied;           /* GEMM reads the shared copy, */
    DType operand_dtype;       /* which has this type where it is computed in fp32 */
    bool prepared;             /* in registers only for second operands that may be made apart: prepared.c */
    bool addend;               /* a product that is only added to another: prepared.c */
    Pad pad_row, pad_col;      /* while walking: of the newest copy */
    bool product;              /* while writing: made of a GEMM's result, so an accumulator fragment */
    bool operand_form;         /* while writing: reshaped */
    const char *as_operand;    /* while writing: a copy of it that was reshaped */
} Tile;

/* Elements of a tensor that a statement reads at computed places: one for each of the
 * result's rows, of its columns, or both, or for so many of them. */
typedef struct Read {
    int64_t rows, cols; /* that have one in common; 0: all */
    bool apart;         /* addresses do not differ by constants */
    bool stepped;       /* a quotient or a power is made of it */
    bool tile;          /* what is read lies as the tile does, and no read before it is the same: bulk copies may bring it */
    bool below;         /* what rows below each other read lies side by side in memory, as of a matrix that is transposed */
    bool place;         /* it is of the coordinates of another */
    int bytes;          /* of an element */
    const Expr *element; /* NULL: a quotient by what only the launch knows */
    bool between;       /* what is read lies as the tile does, but begins where no bulk copy may */
} Read;

typedef VEC(Read) Reads;

/* Who brings a tile from global to shared memory where warpgroups multiply (lanes.c). */
typedef enum BringStep {
    BRING_NONE,  /* there is no such tile */
    BRING_BULK,  /* bulk copies, ... */
    BRING_SIZED, /* ... unless its size makes them slow */
    BRING_LANES  /* lanes, which look up where each row lies */
} BringStep;

/* A copy that loops beside each other make in the same turns, which shared memory may keep (Schedule, `kept`). */
typedef enum AgainStep { AGAIN_NONE, AGAIN_FIRST, AGAIN_LATER } AgainStep;

/* What the value or the condition of a statement is made of, but for coordinates (made.c). */
typedef struct MadeOf {
    OpId ops[16];          /* functions that cost more than plain arithmetic, and quotients: the first of them */
    int n, quotients;
    bool read, parted;     /* elements of tensors are, too, and quotients of them, or by them */
    int terms, most_terms; /* comparisons, extremes and quotients; of the condition that has most of them among those that `and` joins */
    bool divides_places;   /* quotients of what each element has its own of */
} MadeOf;

/* A statement and what its names stand for. */
typedef struct Step Step;

typedef struct Steps {
    Step *data;
    int len;
} Steps;

/* What doubt.c counts of steps, which is the same for all choices. */
typedef struct StepCounts {
    int products, copies, rows, lookups; /* in the loop that has most: products, tiles to shared memory, rows to registers, tiles that
                                          * lie where elements say */
    int all_products;                    /* in all loops */
    int behind;                          /* rows and columns to registers, behind a loop */
    bool blocks;                         /* a mask reads a table of blocks (left.c) */
    bool again;                          /* loops copy what others do, of kernels without products */
    bool unaligned;                      /* rows of a tensor that tiles come from are no multiple of 16 bytes (groups.c) */
    bool only_adds;                      /* loops add products, and nothing else, */
    bool only_sums;                      /* to tiles of which rows are reduced later */
} StepCounts;

struct Step {
    const Stmt *stmt;
    const Tile **args, **with;   /* the tiles that they name, or NULL */
    bool prepared;               /* it makes such a tile */
    bool known, gemm;            /* COMPUTE: of the table, so that it has a class */
    OpClass class;
    const Tile *result;          /* COMPUTE */
    const Tile *dest, *copied;   /* COPY: where it goes; the tile that a tensor's elements are of */
    const Tile *from;            /* COPY out of registers */
    const PlanTensor *tensor;    /* COPY */
    BringStep bring;             /* COPY: who brings its tile to shared memory */
    AgainStep again;             /* COPY: the first that brings it, or a later one */
    const Extent *extent, *parts; /* FOR */
    Reads reads;                 /* COMPUTE: for the result */
    const MadeOf *made;          /* COMPUTE of places; NULL: it is not */
    Steps body, orelse;
};

/* Register tiles that are live at a statement. */
typedef struct LiveTile {
    const Tile *tile;
    int bytes; /* an element */
} LiveTile;

typedef struct LivePoint {
    VEC(LiveTile) tiles;
    const Tile *loaded; /* into shared memory */
    bool in_loop;
} LivePoint;

enum { PLAN_MAX_EXTENTS = 64, PLAN_DEPTH = 64, PLAN_REPLACED = 2000 };

/* Lengths of rows, known at launch alone, that one of several kernels is for. */
typedef struct RowRange {
    int64_t from, to; /* to 0: no end */
    int64_t typical;  /* 0: there is one kernel for all */
    int warps_n;      /* that share a row */
    int lanes;        /* of a warp, side by side along a row: the others have other rows; 0: these numbers are to be chosen */
    int64_t kept;     /* how long those are that shared memory keeps; 0: it keeps none */
    int cluster;      /* blocks that keep one together */
    int beside, down; /* warps beside each other, each with rows of its own, of which a lane has so many */
} RowRange;

typedef struct Plan {
    Arena *arena;
    Syms *syms;
    const Program *program;
    const Unit *unit;
    const ReasonOptions *options;
    Diags *diags;
    AffCtx *aff;
    EvalEnv env;
    VEC(PlanTensor) tensors;
    VEC(Extent *) extents;
    VEC(Extent *) grid;       /* in the grid's order */
    VEC(Extent *) scope;      /* loops that the walk is in */
    VEC(Tile) tiles;
    VEC(const Stmt *) decls;  /* Param, Let, Index, assignments */
    VEC(const char *) taken;  /* names that variables may not have */
    VEC(const char *) set;    /* dimensions that --set makes known */
    int contracted_step;      /* what contracted extents are multiples of: 16, or 32 where operands have 8 bits */
    Steps steps;              /* of the unit's body, once its tiles are known, */
    StepCounts counts;        /* and what is counted of them */
    VEC(LivePoint) live;      /* for every statement that touches registers */
    const char *kernel_name;  /* the unit's, or of one of several kernels for it */
    RowRange range;           /* of the kernel at hand: rows.c */
    const Unit *spread;       /* the same with blocks over the outputs' columns; NULL: there was no need */
    int parts;                /* into which loops would be cut (parts.c); 0: they stay as they are */
    bool in_words;            /* what is wrong with a choice is said in words */
    int daring;               /* registers that may be spilled are accepted, since all else does not fit */
    struct Ranking *ranking;  /* NULL: only the best choice is wanted */
    bool inferred;            /* read.c and infer.c have done their part */
    bool settled;             /* broadcasting operands decide what is still open */
    bool failed;
} Plan;

/* Why a choice is none. */
typedef enum Misfit {
    FITS,
    MISFIT_SHARE,     /* warps cannot share a tile, or products a sum */
    MISFIT_SHARED,    /* shared memory, which is as much for any number of warps; more stages need no less */
    MISFIT_ROOM,      /* for a next block's first tiles */
    MISFIT_REGISTERS,
    MISFIT_DOUBT      /* registers, if ptxas takes what it may */
} Misfit;

/* A choice of every parameter, with what the model thinks of it. */
typedef struct Choice {
    int64_t size[PLAN_MAX_EXTENTS]; /* by extent id */
    int warps, warps_n, stages, blocks_per_sm;
    int groups;        /* warpgroups that compute, each with rows of its own; 0: warps as such */
    int blocks_forced; /* with --set; 0: none */
    int blocks_aimed;  /* in rows: what ptxas is told; 0: nothing */
    bool in_rows;      /* tiles lie as memory does: rows.c */
    int kept;          /* turns whose tiles stay in shared memory; 0: none */
    int cluster;       /* in rows: blocks that keep a row together; 0: one */
    int spare;         /* registers that are left to the assembler: with --set; 0: none */
    /* the model's estimates */
    int64_t shared_bytes, resident_bytes, ring_bytes;
    int registers;
    int excess;        /* what may be spilled, where that is accepted */
    double mma, shared, alu, exps, traffic; /* cycles of one turn of the main loop */
    double turn;        /* cycles of one turn, at the occupancy reached */
    double cost;        /* ranks: cycles a unit of output */
    const char *limiter;
    Misfit misfit;
    const char *misfit_text; /* where the plan wants words */
} Choice;

/* Choices kept for a ranking, the cheapest first. */
enum { RANK_KEPT = 192 };

typedef struct Ranking {
    Choice best[RANK_KEPT];
    int n;
} Ranking;

/* reason.c */
bool plan_understand(Plan *plan); /* reads its sketch, unless that was done; false: it cannot be one */
/* The best choice for it by the model, its sketch not read yet; NULL: there is none. */
const Choice *plan_best(Plan *plan);
Plan plan_for(Arena *arena, Syms *syms, const Program *sketch, const Unit *unit, const ReasonOptions *options, Diags *diags);
/* ways.c: the sketch with one Kernel of each name, of several the first that is not much slower than another; result: where it
 * says why, or NULL. */
const Program *plan_ways(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options, ReasonResult *result);
/* rank.c: keeps a choice that fits, where a ranking is wanted. */
void plan_rank(Plan *plan, const Choice *choice);

/* ---- read.c: declarations and extents ------------------------------------------ */

bool plan_read(Plan *plan);
/* What a declaration or a Define says of dimensions; it has no element type yet. */
PlanTensor plan_shaped(const Stmt *s, const char *name);
bool plan_is_tile_size(const Plan *plan, const char *name); /* BM, ...: what tiles have along some extent */
const PlanTensor *plan_tensor(const Plan *plan, const char *name);
/* The tensor in global memory that a Copy names, or NULL. */
const PlanTensor *plan_copied(const Plan *plan, const Stmt *copy);
/* An extent with this kind and dimension; made when there is none. */
Extent *plan_extent(Plan *plan, ExtentKind kind, const Expr *dim);
Extent *plan_loop(Plan *plan, const Stmt *loop);
/* Which dimensions of its tensor a Copy's tiles cover; of the others they have an entry. */
Covered plan_sides(Plan *plan, const Stmt *copy, const PlanTensor *tensor);
bool plan_covers(Covered sides, int d);
/* The grid's dimension whose blocks do a part of the loop each; NULL: none. */
const Extent *plan_parts(const Plan *plan, const Stmt *loop);
const Expr *plan_let(const Plan *plan, const char *name);
const Stmt *plan_index(const Plan *plan, const char *name);
bool plan_is_param(const Plan *plan, const char *name);
/* A name like `wanted` that means nothing yet. */
const char *plan_fresh(Plan *plan, const char *wanted);
bool plan_setting(Plan *plan, const char *name, double *value);
bool plan_is_set(const Plan *plan, const char *name); /* which does not use it */
Diag *plan_fail(Plan *plan, DiagCode code, Span span, const char *fmt, ...) TW_PRINTF(4, 5);

/* ---- infer.c: the extents of every tile ------------------------------------------ */

bool plan_infer(Plan *plan);
Tile *plan_tile(Plan *plan, const char *name);
/* The tile that an operand names (through .T and .shared), or NULL. */
Tile *plan_operand(Plan *plan, const Expr *e);
bool plan_transposed(const Expr *e);
const char *plan_result(const Stmt *stmt);
/* Whether elements are read at coordinates that other elements give for each row. */
bool plan_looks_up(const Plan *plan);
/* What a Copy says for dimension d of its tensor, or NULL. */
const Coord *plan_coord(Plan *plan, const Stmt *copy, const PlanTensor *tensor, int d);
/* The loop at hand with this variable; the grid's dimension of this name; or NULL. */
Extent *plan_loop_var(const Plan *plan, const char *var);
Extent *plan_in_grid(const Plan *plan, const char *dim);
/* How much a Copy takes of a longer dimension d, one of the two that tiles cover: `Copy X (n, D) in
 * coordinate [cols = e]` takes the e-th D columns; NULL: all of it. */
const Expr *plan_part(Plan *plan, const Stmt *copy, const PlanTensor *tensor, int d);
/* Whether coordinates of a Copy name positions along what its shape names first, `Copy Kc (kv_len, D) as K in coordinate
 * [pages = Table[batch, kv_pos div page], page = kv_pos % page]`: each row of its tiles lies where they say of it. */
bool plan_by_rows(const Plan *plan, const Stmt *copy);
/* Whether a coordinate names positions along rows. */
bool plan_names_row(const Plan *plan, const Expr *e, const Expr *rows);

/* ---- doubt.c: what ptxas may take beyond the estimate of registers ------------------------ */

enum {
    PLAN_SPARE_REGS = 6, /* what the estimate may be short of */
    PLAN_HELD_REGS = 46, /* where tiles are on their way in registers between products: addresses,
                          * predicates, operand fragments that ptxas fetches meanwhile */
    PLAN_WIDE_REGS = 24  /* second operands of 8 bits that are widened ahead of their products */
};

/* What a choice's code does. */
typedef struct Habits {
    bool widened; /* operands of 8 bits, for instructions that take 16 */
    bool chained; /* two special functions one after the other */
    bool walked;  /* what is made of places, in steps */
    bool masked;  /* elements are, by quotients of their places */
    bool looked;  /* a mask reads elements */
    int steps;    /* numbers that functions in steps hold in between */
    int fetched;  /* registers of what a step of a product takes of its second operand, the largest */
    bool single;  /* a loop has one turn, so that what stands before and behind is one stretch of code with it */
} Habits;

int plan_doubt(const Plan *plan, const Choice *choice, Habits habits);
/* The same where blocks that share a multiprocessor leave a thread fewer than it could have. */
int plan_doubt_shared(const Plan *plan, Habits habits, bool half);
bool plan_fills_shared(const Stmt *stmt); /* from global memory */
StepCounts plan_count_steps(const Steps *steps);

/* ---- choose.c, model.c, live.c: sizes ------------------------------------------------------ */

/* The best choice; NULL when none fits: a diagnostic was recorded. */
const Choice *plan_choose(Plan *plan, ReasonResult *result);
void plan_rate(Plan *plan, Choice *choice);
/* grid.c: what is known of the launch. Whether all sizes of the grid are, and if not, only what is compiled in is. */
bool plan_expects_launch(const Plan *plan);
void plan_settle_launch(Plan *plan);
/* A length under the sizes of the launch that the kernel is meant for; 0: they do not tell. */
int64_t plan_at_launch(Plan *plan, const Aff *length);
/* Tiles along an extent; of an unknown one, as many as it often has. */
double plan_turns(const Choice *choice, const Extent *extent);
/* Into how many parts the rating takes loops to be cut (plan->parts). */
double plan_parts_assumed(const Plan *plan);
/* Blocks of the grid, in those parts. */
double plan_blocks(const Plan *plan, const Choice *choice);
/* Cycles of a tile's copy, between L2 and a block of a grid of so many; 0: not known. */
double plan_copy_cycles(const Plan *plan, const Choice *choice, double blocks, const Step *step);
/* Turns of the longest of the loops that copy what others do, all of which might stay in shared memory; 0: that is not known, or too many. */
int plan_turns_again(const Plan *plan, const Choice *choice);
/* Registers a thread of fp32 values for rows and columns of a tile. */
double plan_registers(const Choice *choice, int64_t rows, int64_t cols);
/* reads.c: elements of tensors that a statement reads, for what it makes. */
void plan_find_reads(Plan *plan, const Stmt *s, const Tile *result, Reads *reads);
/* Whether it has quotients of places that differ by row and by column. */
bool plan_divides_places(Plan *plan, const Tile *tile, const Expr *e);
/* NULL: the statement computes nothing of elements' places. */
const MadeOf *plan_made_of(Plan *plan, const Step *step);
double plan_read_registers(const Choice *choice, const Step *step);
/* left.c: how much tiles of these sizes compute where a table says which blocks count, over what those as large as blocks do. */
double plan_left(const Choice *choice, const Steps *steps);
bool plan_masks_blocks(const Steps *steps);
bool plan_op_is_special(OpId op); /* it takes more than plain arithmetic */
/* Instructions an element: of plain arithmetic, and of the special function unit. */
void plan_op_cost(OpId op, double *plain, double *special);
/* groups.c: warpgroups among which the rows will be divided; 0: they will not. */
int plan_groups(Plan *plan, const Choice *choice);
/* Whether rows of a tensor that tiles come from are no multiple of 16 bytes, as far as sizes are known. */
bool plan_is_unaligned(Plan *plan, const Steps *steps);
BringStep plan_brings(Plan *plan, const Step *step); /* lanes.c: of a COPY */
/* Who is beside the warpgroups that compute (TargetBeside); and whether there may be such together. */
unsigned plan_beside(Plan *plan, const Choice *choice);
bool plan_comes(Plan *plan, const Choice *choice);
/* through.c: whether a product's first operand that is computed passes through shared memory, since warps share its rows;
 * and whether a kernel's rows can be shared like that. */
bool plan_passes_through(const Choice *choice, const Tile *tile);
bool plan_may_pass_through(const Plan *plan);
/* live.c: whether a tile has one row or one column. */
bool plan_is_vector(const Tile *tile);
/* steps.c: what statements name; before the first choice is rated. */
void plan_find_steps(Plan *plan);
/* prepared.c: what a warpgroup may make that does not multiply; behind plan_find_steps. */
void plan_find_prepared(Plan *plan);
/* Whether a choice has one. */
bool plan_prepares(const Plan *plan, const Choice *choice);
/* Which tiles are live where; behind plan_find_steps. */
void plan_find_live(Plan *plan);
/* Whether rows must lie whole in a warp. */
bool plan_whole_rows(const Plan *plan);
/* Whether columns must. */
bool plan_whole_cols(const Plan *plan);

/* ---- spread.c --------------------------------------------------------------------- */

/* The unit with one more dimension in its grid, the outputs' columns; NULL: something needs them whole. */
const Unit *plan_spread(Plan *plan);

/* ---- ranges.c: rows of any length --------------------------------------------------- */

/* The one loop along rows whose step is still to be chosen; NULL: there is none, or another beside it. */
const Extent *plan_one_loop(const Plan *plan);
/* The dimension of rows that a loop streams, or that tiles lie beside each other along, whose length is open; NULL: none, or several. */
const Extent *plan_open_row(const Plan *plan);
/* Range number i of those that kernels are made for; typical 0: there are no more. */
RowRange plan_row_range(Plan *plan, int i);
/* 1 where the row's length is in the range, else 0. */
Expr *plan_in_range(Plan *plan);
/* Whether some loop reads what another beside it does, which may be kept. */
bool plan_reads_again(Plan *plan);
/* Bytes of a column of what several loops over the row read; 0: each reads something else. */
int plan_kept_column(Plan *plan);
/* How rows of up to so many bytes are kept: by the warps of a block, or of each of several that are a cluster. Of short ones a block
 * has several: as many as `beside` warps have, of `32 / lanes` lanes, each of which has `down` one below the other. */
typedef struct KeptRow {
    int bytes, warps, lanes, blocks, beside, down;
} KeptRow;
/* For rows of so many bytes; and whether a block has room for so many of them. */
KeptRow plan_kept_row(const Target *t, int64_t bytes);
bool plan_can_keep(const Target *t, int64_t bytes);
/* Whether there is room for what the choice is to keep, or for one of several such tiles (src/pass/keep.c). */
bool plan_kept_fits(Plan *plan, const Choice *c);

/* ---- rows.c: sizes without products ------------------------------------------------------ */

/* Whether nothing in the sketch wants fragments of the tensor cores' instruction. */
bool plan_in_rows(const Plan *plan);
/* The best choice with what is forced (0: nothing); NULL when none fits. */
const Choice *plan_choose_rows(Plan *plan, const Choice *forced, ReasonResult *result);

/* ---- write.c: code ----------------------------------------------------------------- */

/* What the writer added that the sketch does not say. */
typedef struct Added {
    int bounds, reshapes, copies;
} Added;

Unit *plan_write(Plan *plan, const Choice *choice, Added *added);

/* ---- pads.c: elements beyond the end ---------------------------------------------------- */

typedef struct PadSide {
    Pad row, col;
} PadSide;

/* What the result of a Compute holds beyond the ends of its ragged sides. */
PadSide plan_pads(Plan *plan, const Stmt *s);
bool plan_is_number(Pad pad);
/* What the value of a Define is beyond the end of its tensor: beyond.c. */
Pad plan_beyond(Plan *plan, const Expr *value);

/* ---- place.c: coordinates and positions ---------------------------------------------- */

Expr *plan_shape(Plan *plan, const Choice *choice, const Extent *extent);
bool plan_ragged(const Choice *choice, const Extent *extent);
void plan_place(Plan *plan, const Choice *choice, const Stmt *from, const PlanTensor *tensor, const Tile *tile,
                Stmt *copy);
/* A condition or expression of positions, for the elements of a tile. */
Expr *plan_positions(Plan *plan, const Tile *tile, const Expr *e);
/* Whether a position along a dimension is the block's entry of it, or a loop's: no tile follows it,
 * or it is the first of two and one side of the tile follows it, which is the second's. */
bool plan_along_entries(Plan *plan, const Tile *tile, const char *dim, IndexSide side);
/* The value of a Define, for the elements of its tile. */
Expr *plan_defined(Plan *plan, const Tile *tile, const Stmt *define);
/* Lets replaced, nothing else. */
Expr *plan_plain(Plan *plan, const Expr *e);
/* `j * BN + col(S) < kv_len` */
Expr *plan_bound(Plan *plan, const Tile *tile, const Extent *extent, bool along_rows);

/* ---- explain.c ---------------------------------------------------------------------- */

void plan_explain(Plan *plan, const Choice *choice, const Added *added, ReasonResult *result);

#endif
