/* tile.h: the tile IR.
 *
 * A program is a few kernels over global tensors. A kernel is what one block
 * does: a list of operations on tiles (2-D values of one dtype), with
 * structured loops and ifs, in single assignment. Integers are never values:
 * coordinates, bounds, stages and conditions are Aff expressions over
 * dimensions, grid coordinates and loop counters, so that every pass can
 * reason about them.
 *
 * Two levels in one form:
 *   sequential  TL's meaning. Tiles have a space (shared or register) but no
 *               storage and no layout; a load is complete when it returns.
 *   scheduled   shared tiles are views of buffers (rings of stages) with a
 *               layout and an offset, copies are asynchronous, barriers and
 *               waits are explicit, register tiles have fragment layouts, warps
 *               may be split into roles.
 *
 *   kernel softmax_gemm grid(m: ceil(len / 64), b: batch) warps 4 {
 *     %q = load Q[b, m * 64, 0] : shared bf16<64x128>
 *     %o0 = fill 0 : fp32<64x128>
 *     %o = for j = 0:ceil(len / 64) carry (%o1 = %o0) {
 *       %k = load K[b, j * 64, 0] : shared bf16<64x128>
 *       %s = gemm %q, %k.T : fp32<64x64>
 *       ...
 *       yield %o2
 *     }
 *     store %o, O[b, m * 64, 0]
 *   }
 *
 * docs/tile.md is the prose specification. Both levels have a verifier and an
 * executor; dumps parse back.
 */
#ifndef TW_TILE_H
#define TW_TILE_H

#include "affine/aff.h"
#include "data/tensor.h"
#include "lang/lang.h"
#include "lang/schedule.h"
#include "layout/lay.h"

/* ---- types ----------------------------------------------------------------- */

typedef enum TileTypeKind {
    TT_TILE,   /* a value: rows x cols of dtype */
    TT_BUFFER, /* storage in shared memory: stages x rows x cols */
    TT_TOKEN   /* completion of asynchronous work */
} TileTypeKind;

typedef struct TileType {
    TileTypeKind kind;
    DType dtype;
    int rows, cols;  /* (R,1) column vector, (1,C) row vector, (1,1) scalar */
    Space space;     /* TT_TILE: SPACE_SHARED or SPACE_REGISTER */
    int stages;      /* TT_BUFFER */
    bool pending;    /* TT_TILE: an accumulator that the tensor cores still write */
    Layout layout;   /* LAY_NONE until `assign` */
} TileType;

typedef struct TileOp TileOp;

typedef struct TileValue {
    int id;            /* unique within the kernel */
    const char *name;  /* a hint for dumps, from TL; need not be unique; may be NULL */
    TileType type;
    TileOp *def;       /* NULL: a block parameter (loop-carried) */
} TileValue;

/* ---- programs ---------------------------------------------------------------- */

typedef struct TileTensor {
    const char *name;
    DType dtype;
    int rank;
    const Aff *dims[TENSOR_MAX_RANK];
    const char *dim_names[TENSOR_MAX_RANK]; /* NULL: none */
    bool read, written;   /* neither yet, input, output, both: workspace or in-out */
    bool workspace;       /* allocated by the host for this program alone */
    bool holds_places;    /* a workspace of integers, `least` to `most`, that kernels behind the one which writes it may read as a table */
    int64_t least, most;
    double numbers;       /* as large as that, of the program, kernels store to it (src/pass/range.c); 0: none that are large */
    int index;            /* position in program->tensors */
    const AffSym *table;  /* what expressions call it that read its elements; NULL: none does yet */
} TileTensor;

typedef struct TileBlock {
    VEC(TileValue *) params; /* loop-carried values */
    VEC(TileOp *) ops;       /* the last one of a loop or if region is YIELD */
} TileBlock;

/* One axis of the grid. Blocks are numbered linearly, first axis fastest. */
typedef struct TileAxis {
    const AffSym *sym;
    const Aff *extent;
    bool reversed;  /* the highest coordinate gets the lowest block number (heavy first) */
    bool within;    /* not blocks but instances of one block's role, a warpgroup each (constant extent) */
    bool cluster;   /* blocks that run at the same time and meet, first axis, constant extent (PTX ISA, "Cluster of Cooperative Thread Arrays") */
    const char *note; /* why a pass made it; NULL: none did */
} TileAxis;

/* Where the row of a block begins in memory: so many elements of `tensor`, at coordinates of which the last is 0, behind
 * a multiple of TILE_CHUNK bytes. It is known when the block starts, and any number of its range gives the same results
 * (src/pass/window.c). */
typedef struct TileWindow {
    const AffSym *sym; /* of kind AFF_WINDOW; NULL: there is no window */
    TileTensor *tensor;
    const Aff **coords;
} TileWindow;

typedef struct TileKernel {
    const char *name;
    Span loc;               /* its name in the source */
    VEC(TileAxis) grid;
    TileWindow window;
    int warps;              /* in all; arranged warps / warps_n x warps_n over register tiles */
    int warps_n;            /* at least 1 */
    int stages;             /* schedule: ring stages of streamed copies */
    int blocks_per_sm;      /* schedule: what the register budget aims at; 0: no aim */
    int kept;               /* schedule: turns of loops whose tiles stay in shared memory for other loops; 0: none */
    int cluster;            /* schedule: blocks that keep such turns together, each its part of them; 0: one */
    int spare;              /* schedule: registers of a thread that are left to the assembler, beside those that are counted */
    int persistent;         /* blocks a multiprocessor that take one place of the grid after the other; 0: a block a place */
    int specialized;        /* 1: its warps will split into roles, a warpgroup each for the rows that it computes */
    Schedule schedule;      /* what is asked of passes, */
    Schedule decided;       /* and what they decided */
    const char *because[SCHED_COUNT]; /* why, a sentence each */
    bool is_plain;          /* the `plain` of another kernel */
    bool gave_up_roles;     /* it was divided among warpgroups, and is again what it was before that */
    TileBlock *body;
    int next_value;         /* ids handed out */
    int64_t shared_bytes;   /* after `alloc` */
    unsigned facts;         /* TileFact bits that hold now */
    /* The kernel for any alignment of tensors, where this one takes only those that
     * tensor maps describe: its own body, warps, grid and storage; NULL: the same kernel. */
    struct TileKernel *plain;
} TileKernel;

/* What passes have established; a test holds needs against gives. */
typedef enum TileFact {
    TF_EXPANDED  = 1 << 0, /* no composite operations (SOFTMAX) */
    TF_MASKED    = 1 << 1, /* loop bounds tightened, masks guarded */
    TF_STAGED    = 1 << 2, /* shared tiles are views of buffers; copies asynchronous */
    TF_ASSIGNED  = 1 << 3, /* every tile has a layout */
    TF_ALLOCATED = 1 << 4, /* every buffer has an offset */
    TF_SYNCED    = 1 << 5  /* barriers are in place */
} TileFact;

/* A condition that must hold at launch, checked by the host. */
typedef struct TileRequire {
    const Aff *cond;
    const char *message;
} TileRequire;

typedef struct TileProgram {
    Arena *arena;
    AffCtx *aff;
    const Source *source;        /* the TL code that it came from; may be NULL */
    const char *name;
    const char *after;           /* the last pass that it went through; NULL: as it was lowered */
    VEC(TileTensor *) tensors;   /* inputs, outputs, workspaces: argument order */
    VEC(const AffSym *) dims;    /* dimension symbols: argument order */
    VEC(const char *) params;    /* float parameters: argument order */
    VEC(TileKernel *) kernels;   /* launched in order */
    VEC(TileRequire) requires;
    AffSym *row, *col;           /* the element's place within the tile at hand */
} TileProgram;

/* ---- operations ---------------------------------------------------------------- */

/* One row an operation: TILE_OP(id, text, level, help); semantics stand beside
 * each row in tile_ops.def. */
typedef enum TileOpKind {
#define TILE_OP(id, text, level, help) TILE_##id,
#include "tile/tile_ops.def"
#undef TILE_OP
    TILE_OP_COUNT
} TileOpKind;

typedef enum TileLevel { TL_SEQUENTIAL = 1, TL_SCHEDULED = 2, TL_BOTH = 3 } TileLevel;

typedef struct TileRole {  /* of a ROLES region */
    const char *name;
    int warps, regs;       /* of an instance; regs: setmaxnreg; 0: as launched */
    const AffSym *per;     /* an axis `within`: an instance for each of its coordinates; NULL: one */
} TileRole;

struct TileOp {
    TileOpKind kind;
    Span loc;              /* in program->source; {0,0}: none */
    const char *note;      /* one line for dumps: why a pass made it; may be NULL */

    TileValue **results; int n_results;
    TileValue **args;    int n_args;
    TileBlock **regions; int n_regions;

    /* Attributes; which ones an operation has stands in tile_ops.def. */
    TileTensor *tensor;
    const Aff **coords;    /* tensor->rank element coordinates of the tile's corner; GATHER: of each element,
                            * over row and col; LOAD, COPY_ASYNC: of each row, where they are over row */
    int row_dim, col_dim;  /* tensor dimensions along the tile's rows and columns; -1: none (extent 1) */
    const Aff *where;      /* LOAD, STORE, COPY_ASYNC: elements (over row, col) outside of which all is
                            * as outside of the tensor; NULL: none */
    const AffSym *var;     /* FOR; SCALAR: of kind AFF_SCALAR */
    const Aff *lo, *hi;    /* FOR: half-open */
    const Aff *until;      /* FOR: iterations from there on change nothing that is used; NULL: not known of any */
    const Aff *cond;       /* IF; MASK (over row, col); guard of COPY_ASYNC (NULL: always) */
    const Aff *unless;     /* MASK: block-uniform condition under which it does nothing; REVISE: without which all do it;
                            * NULL: never, always */
    const Aff *index;      /* stage of a buffer: VIEW, COPY_ASYNC, PUT; copy of a ring (NULL: 0); INDEX: the value */
    OpId op;               /* ELEMENT, REDUCE */
    bool has_else;         /* ELEMENT DIVIDE: number where the divisor is 0 */
    bool skip_ones;        /* ELEMENT MULTIPLY: factors are likely 1; a warp all of whose are skips it */
    bool polynomial;       /* ELEMENT TANH: by polynomials, wrong by up to 2^-18; SIGMOID: by 2^-14 of itself */
    double number;         /* FILL, MASK's other value, has_else, REVISE's bound */
    const char *param;     /* FILL: a launch parameter instead of number */
    bool trans_a, trans_b; /* GEMM */
    bool lanes;            /* LOAD into shared memory, RING: lanes bring the tile, 16 bytes each, and no bulk copy does */
    bool onto;             /* STORE: added, element by element, to what the tensor holds */
    int axis;              /* REDUCE: 1 along columns (gives (R,1)), 0 along rows (gives (1,C)) */
    bool across;           /* REDUCE: over all blocks of a cluster; BARRIER: all of those have begun */
    int row0, col0;        /* SLICE, PATCH, PUT: the corner of the part */
    int count;             /* WAIT, FINISH: what may stay in flight; BARRIER: id; RING: copies */
    int unroll;            /* FOR: iterations side by side, so that values go round without moves; 0: 1 */
    int64_t offset;        /* BUFFER: bytes from the start of shared memory, after `alloc` */
    TileRole *roles;       /* ROLES: one a region */
};

/* Bytes of the widest access to global memory (PTX ISA: cp.async, ld.v4 and st.v4 of 32 bits). */
enum { TILE_CHUNK = 16 };

const char *tile_op_text(TileOpKind kind);
TileLevel tile_op_level(TileOpKind kind);

/* ---- building --------------------------------------------------------------------- */

TileProgram *tile_program_new(Arena *arena, AffCtx *aff, const char *name);
/* One dimension more. The places `row` and `col` are called `row_` where a dimension has their name. */
void tile_add_dim(TileProgram *program, const AffSym *dim);
TileKernel *tile_kernel_new(TileProgram *program, const char *name);
TileBlock *tile_block_new(TileProgram *program);
/* The symbol of a window over rows of the tensor: 0 to the elements of a chunk, less one. */
const AffSym *tile_window_symbol(TileProgram *program, const char *name, const TileTensor *tensor);
/* The element of a tensor of integers at these coordinates, as an expression; 0 outside of the tensor. Of
 * int64 it is known as one of 52 bits. No kernel of the program may write the tensor. */
const Aff *tile_element(TileProgram *program, TileTensor *tensor, const Aff *const *coords);
bool tile_is_table(const TileTensor *tensor); /* whether it may be read so */
TileTensor *tile_tensor(const TileProgram *program, const char *name); /* NULL: the program has none of this name */
/* The tensor that expressions read under this symbol; NULL: none of the program's. */
TileTensor *tile_table_of(const TileProgram *program, const AffSym *table);
TileType tile_type(DType dtype, int rows, int cols, Space space);
bool tile_type_equal(TileType a, TileType b); /* layouts included */
TileValue *tile_value_new(TileProgram *program, TileKernel *kernel, TileType type, const char *name);
/* A new operation with copied args and fresh result values (types as given). */
TileOp *tile_op_new(TileProgram *program, TileKernel *kernel, TileOpKind kind, int n_args,
                    TileValue *const *args, int n_results, const TileType *types);
void tile_append(TileProgram *program, TileBlock *block, TileOp *op);
void tile_insert(TileProgram *program, TileBlock *block, int at, TileOp *op);
void tile_remove(TileBlock *block, int at);
/* Every use of `from` in the block, nested regions included, becomes `to`. */
void tile_replace_uses(TileBlock *block, const TileValue *from, TileValue *to);
int tile_count_uses(const TileBlock *block, const TileValue *value);
void tile_count_all_uses(const TileBlock *block, int *uses); /* by value id, which begin at 0 */
/* Groups of values, as a forest by value id: each of n alone; the one that a group goes by. */
void tile_groups(int *parent, int n);
int tile_group_of(int *parent, int id);
/* Whether operations [begin, end) of the block use the value, their regions included. */
bool tile_used_in(const TileBlock *block, int begin, int end, const TileValue *value);
int tile_first_use(const TileBlock *block, int from, const TileValue *value); /* likewise; -1: none */
int tile_index_of(const TileBlock *block, const TileOp *op); /* -1: it does not stand in the block itself */
int tile_param_of(const TileBlock *block, const TileValue *value); /* -1: it is none of its parameters */
bool tile_op_uses(const TileOp *op, const TileValue *value); /* its regions included */
bool tile_has(const TileBlock *block, TileOpKind kind);       /* nested regions included */
bool tile_adds(const TileBlock *block);                       /* to memory, as other blocks may, in any order; nested regions included */
int tile_count(const TileBlock *block, TileOpKind kind);      /* likewise */
bool tile_stores_to(const TileBlock *block, const TileTensor *tensor); /* likewise */
/* Quotients of each element's place are in it, as of a hash of it. */
bool tile_has_steps(const TileProgram *program, const Aff *a);
/* Comparisons, extremes and quotients of places; so many are too many for a lane to keep a number for each. */
enum { TILE_TERMS = 16 };
int tile_terms(const Aff *a);
bool tile_decides_by_many(const Aff *cond);                   /* one of its conjuncts, or quotients in all of them: others are asked one by one */
bool tile_masks_in_steps(const TileProgram *program, const TileOp *op); /* such, or quotients of each element, decide what a mask keeps */
bool tile_is_storage(const TileOp *op);                       /* BUFFER, RING, and a FILL in shared memory */
/* Elements that are read each at an address of its own: where quotients of columns by numbers of the launch say, or a length of the
 * launch from each other. */
bool tile_is_scattered(const TileOp *op);
bool tile_is_strided(const TileOp *op);
int tile_places(const TileOp *storage);                       /* tiles that it has room for */
int64_t tile_place_bytes(const TileOp *storage);             /* from where one of them begins to where the next does */
int64_t tile_storage_bytes(const TileOp *storage);
/* Where it begins behind so many bytes of others (pass/alloc.c). */
int64_t tile_storage_begin(const TileOp *storage, int64_t at);
/* Whether an instance of a role may await or release the copy of a ring: which regions
 * it enters and which copy it chooses, as far as that follows from its coordinate. */
bool tile_consumes(const TileProgram *program, const TileOp *roles, int role, int instance, const TileValue *ring,
                   int copy);
/* Warps that share the rows of a register tile outside of roles: all of the block's, divided
 * among the coordinates of axes `within` it as long as those are none of roles. */
int tile_warps(const TileKernel *kernel);
/* Instances of a role: the extent of its axis; 1 without one. */
int tile_role_warps(const TileOp *roles); /* of the largest instance */
int tile_instances(const TileKernel *kernel, const AffSym *per);
/* The axis whose coordinates are instances within a block; NULL: none. */
const TileAxis *tile_within(const TileKernel *kernel);
/* The axis whose coordinates are blocks of a cluster; NULL: none. And how many those are, at least 1. */
/* Columns of the first row of a buffer of parts, behind those of all blocks, that take the mbarrier which counts them. */
enum { TILE_EXCHANGE_COLUMNS = 4 };
const TileAxis *tile_cluster(const TileKernel *kernel);
int tile_cluster_blocks(const TileKernel *kernel);
/* Words that roles are told of a place: the coordinates of its axes, and at least eight. */
int tile_place_words(const TileKernel *kernel);
/* Whether each row of a tile lies where coordinates over `row` say, and not behind the one before it. */
bool tile_by_rows(const TileOp *op);
/* The coordinate along a dimension of the row at `row`, from a tile's corner on. */
const Aff *tile_row_coord(const TileProgram *program, const TileOp *op, int d, const Aff *row);
/* Whether an operation on a tensor may move whole chunks of TILE_CHUNK bytes, if
 * addresses and strides are multiples of that, or the kernel's window makes up for what they are not: its columns are
 * neighbours in memory, begin between chunks, and fill at least one. */
bool tile_in_chunks(const TileOp *op);
/* Bytes, at most TILE_CHUNK, at multiples of which all rows of a tensor without gaps begin. */
int tile_row_alignment(const TileTensor *t);
/* Whether a gather's elements may come several at once, by accesses of up to so many bytes, in a kernel whose tiles lie as
 * memory does: numbers of a tensor that is only read. */
bool tile_reads_lines(const TileOp *op);
/* Likewise an index's of tensors of words. */
bool tile_reads_words(const TileOp *op);
/* Whether its columns begin where the kernel's window does; and whether they begin at a multiple of n, or n less what the
 * window has before it. */
bool tile_in_window(const TileOp *op);
bool tile_begins_between(const TileOp *op, int n);

/* Boxes of a tensor, as TMA copies them (PTX ISA, "Tensor-size, Box-size and
 * traversal-stride"): elements along each of its dimensions. A stage of rows x cols is
 * one box or several, each a panel of the layout or, of more rows than a box may have,
 * a part of one; the stage must begin where the swizzle does, at 8 times its bytes. */
enum { TILE_BOX_MOST = 256 }; /* elements along a side */
enum { TILE_BOX_ALIGN = 128 }; /* where it begins in shared memory, in bytes (PTX ISA, "cp.async.bulk.tensor") */
typedef struct TileBox {
    int size[TENSOR_MAX_RANK];
    int swizzle; /* bytes; 0: none */
} TileBox;
/* Whether a tile that lies in a stage of this type may be copied by boxes: the
 * tensor's innermost dimension runs along the columns (or, of a column vector, the
 * rows), in whole chunks of TILE_CHUNK bytes; and its panels repeat their swizzle,
 * which is a matter of addresses to TMA, where rows repeat it. */
bool tile_box(const TileTensor *tensor, int row_dim, int col_dim, const TileType *stage, TileBox *box);
/* Whether boxes of an operation on a tensor begin at multiples of TILE_CHUNK bytes along its innermost dimension: hardware takes no
 * others that are swizzled (seen on an H200, as an illegal instruction). */
bool tile_boxes_begin(const TileOp *op);
/* Rows of a tile that follow one another along a dimension of its tensor, and are alike otherwise: so many, from
 * each multiple of that on. */
typedef struct TileStrip {
    int rows, dim; /* dim -1: a tile of one row, along none */
} TileStrip;
/* The longest strips that boxes may have, whose elements a condition keeps as a whole or not at all. False: there are none. */
bool tile_strips(const TileProgram *program, const TileOp *op, int rows, TileStrip *strip);
/* Deep copy, so that a pass can be validated against its input. The Aff context
 * (and so its symbols) is shared. */
TileKernel *tile_kernel_clone(TileProgram *program, const TileKernel *kernel); /* beside the program's own */
TileProgram *tile_clone(Arena *arena, const TileProgram *program);

/* ---- text, verification ----------------------------------------------------------- */

void tile_print(Str *out, const TileProgram *program);
/* One operation as its line in the dump, for messages. */
const char *tile_op_line(Arena *arena, const TileProgram *program, const TileKernel *kernel,
                         const TileOp *op);
/* Parses what tile_print wrote. NULL when diagnostics were recorded. */
TileProgram *tile_parse(Arena *arena, Syms *syms, AffCtx *aff, const Source *source, Diags *diags);
/* Structure, types, dominance, levels and facts. False: diagnostics were recorded. */
bool tile_verify(const TileProgram *program, Diags *diags);

/* ---- execution ---------------------------------------------------------------------- */

typedef struct TileRun {
    Tensor **tensors;            /* by tensor index; workspaces included */
    const int64_t *dims;         /* by position in program->dims */
    const double *params;        /* by position in program->params */
    /* NULL: all blocks; else only those it accepts. axis values by grid position. */
    bool (*want_block)(void *user, int kernel, const int64_t *axes, int n_axes);
    void *user;
    uint64_t seed;               /* draws when asynchronous copies land and which role runs */
    double most;                 /* work, in multiply-adds, of which an element takes some; 0: any */
    int64_t most_steps;          /* operations that may be executed; 0: any number */
    double *work;                /* NULL, or what was done */
} TileRun;

/* In the error where an integer of the program has no value on the shape at hand. */
#define TILE_NO_VALUE "(overflow or division by 0)"

/* Runs all kernels in order on the CPU. fp32 arithmetic, values rounded to their
 * dtype; loads outside a tensor give 0, stores outside write nothing. At the
 * scheduled level asynchronous data lands at a moment drawn between issue and
 * wait, and touching it earlier is an error. False with *error set on failure. */
bool tile_run(Arena *arena, const TileProgram *program, const TileRun *run, const char **error);

#endif
