/* emit.h: what the emitter's files share.
 *
 * Vocabulary
 *   scope    text under construction: the entry, then one more for each loop or
 *            branch that is open. Integer expressions are emitted into the
 *            outermost scope in which all their symbols are known, so that
 *            whatever a loop does not change is computed before it. A jump past a
 *            scope's text therefore stands inside of that text: nothing that was
 *            hoisted out of it may be jumped over.
 *   level    index of a scope; 0 is the entry
 *   operand  text: a register or an immediate
 *   frag     a lane's share of a register tile: fp32 registers (one a value) or
 *            packed 16-bit pairs (one a pair; of 8 bits: fp8.c), or one operand for all values
 */
#ifndef TW_EMIT_H
#define TW_EMIT_H

#include "ptx/ptx.h"

typedef enum RegClass { REG_R, REG_RD, REG_F, REG_P, REG_H, REG_CLASSES } RegClass;

enum { SPARE_FRAGS = 64 }; /* for values that a loop saves while it exchanges them */

typedef struct Texts {       /* storage of texts that were closed, for those that are opened: of all entries */
    Arena *arena;
    VEC(Str) spare;
} Texts;

typedef struct Edge {        /* global.c: a tile's corner and extent along a dimension, */
    const Aff *corner, *dim;
    int extent;
    bool before, behind;     /* and whether elements of it may lie there */
} Edge;

typedef struct Later Later; /* later.c */
typedef struct Walk Walk;   /* element.c: an operation whose values are made one by one */

typedef struct Frag {
    int n;                /* values a lane */
    int level;            /* scope that defined it */
    const char *uniform;  /* the same fp32 operand for all values; else NULL */
    int *f;               /* REG_F numbers; NULL: not materialised */
    int *packed;          /* REG_R numbers of pairs (2i, 2i+1); NULL: not materialised */
    const char *integer;  /* one number as it was read from a tensor of integers; NULL: it was not */
    bool shared;          /* another value is in the same registers */
    bool loaded;          /* as pairs, of which f, if there is one, was made */
    Later *later;         /* its values are loaded where fr_operand asks for them first; else NULL */
} Frag;

/* What an expression was made into: an s32, a predicate, an fp32, an s64, what it is divided by with. */
typedef enum MemoKind { MEMO_VALUE, MEMO_CONDITION, MEMO_FLOAT, MEMO_WIDE, MEMO_RECIPROCAL, MEMO_EXACT, MEMO_KINDS = 2 * MEMO_EXACT } MemoKind;

typedef struct Memo {     /* an integer expression already in a register */
    int reg;
    int level;
    bool valid;
    const Aff *of;        /* NULL: a symbol's */
    MemoKind kind;        /* from MEMO_EXACT on of what is exact */
} Memo;

typedef struct Memos {    /* memo.c: those of expressions, in the order in which they came */
    VEC(Memo) list;
    int *slots;           /* where in the list, and one; open addressing by expression and kind; 0: free */
    int n_slots;          /* a power of two, or 0 */
} Memos;

typedef struct Residue {  /* residue.c: what is left of a sum, and a symbol for it */
    const Aff *of;
    const AffSym *sym;
} Residue;

typedef struct LaneSym {  /* this lane's first row or column in fragments of an extent */
    Layout layout;
    bool is_row;
    int extent;
    const AffSym *sym;
    const Aff *units; /* a column as a multiple of those that lie side by side, a row as its warp's first and one of the warp's;
                       * NULL: not asked for yet */
} LaneSym;
typedef VEC(LaneSym) LaneSyms;

/* Registers that a loop's tiles leave for addresses, operand fragments and arithmetic (room.c). */
typedef enum Room { ROOM_ENOUGH, ROOM_SHORT, ROOM_SCARCE } Room;

typedef struct LaneNumbers { /* of the lane, while an operation has others (anew.c) */
    const char *tid, *lane, *warp;
    LaneSyms lanes;
    bool left;               /* it has others */
} LaneNumbers;

typedef struct Part {     /* of what a role does in a turn (anew.c) */
    int number;
    int tested;              /* elements of a lane that are read one by one, each tested against the tensor's sizes */
    bool of_places;          /* since the last put: elements that are made of places alone */
} Part;

typedef struct Known {    /* in registers, before a block */
    int part;
    Memo *syms;
    int n_syms;
    Memos *memos;
    LaneSyms lanes;
} Known;

typedef struct RingPlace RingPlace; /* roles.h */
typedef struct Ahead Ahead;         /* ahead.c */

typedef struct Again {    /* a jump back to a revision's code (again.c) */
    const TileOp *later;  /* the revision that jumps; NULL: none does */
    int label;
    const char *gone;     /* predicate: this turn has jumped */
} Again;

enum { RING_LATE = 2 }; /* stages of rings that a role's lanes fill while they go on, at most */

typedef struct Emitter {
    Arena *arena;
    const TileProgram *program;
    const TileKernel *kernel;
    const Abi *abi;
    const Target *target;
    Diags *diags;
    bool aligned;               /* this entry may use 16-byte accesses */
    bool failed;

    int next[REG_CLASSES];
    VEC(const char *) names[REG_CLASSES]; /* of registers, by number; NULL: not spelt yet */
    int labels;
    int spare;                  /* frags of saved values used */
    VEC(Str) scopes;
    Texts *texts;
    Memos *memos;
    Memo *syms;                 /* by AffSym id */
    int n_syms;
    Frag *frags;                /* by tile value id */
    const int *uses;            /* by tile value id: how many operands it is, in the kernel */
    int **reserved;             /* by tile value id: where its packed words are made; NULL: anywhere */

    int line, line_from;        /* of the operation before in the source, from 0, and where in the text that line begins */
    const TileBlock *block;     /* that is emitted, and which of its operations */
    int at;
    const TileOp *joined;       /* the product that was started with the one before */
    uint64_t groups;            /* a bit for each product started, the last one lowest: 1 where a group begins */

    const char **base;          /* by tensor: REG_RD text, global address */
    const char *(*stride)[TENSOR_MAX_RANK]; /* by tensor and dim: bytes, s64; innermost: immediate */
    const char *smem, *tid, *lane, *warp; /* in a role: of its instance */
    const char *turn;           /* in a loop: its counter, known at turn_level */
    int turn_level;
    Room room;                  /* of the loop that is open, */
    const Ahead *ahead;         /* and what it reads turns ahead, */
    int side;                   /* and which of its iterations that stand side by side is emitted */
    VEC(const TileOp *) beside; /* gathers of the block whose elements came with those of one before (beside.c) */
    Edge edges[2];              /* that were asked for last: of rows, of columns */
    LaneSyms lanes;
    VEC(Residue) residues;      /* some of them of scopes that are closed */
    int floor;                  /* no text goes to scopes further out */

    int loops;                  /* that are open */
    bool each;                  /* each of a lane's many elements has places of its own */
    bool exact;                 /* what elements of tensors are in is worked out in as many bits as it has: no coordinates */

    /* within a role (roles.c) */
    const TileRole *role;
    bool alone;                 /* one thread of it does all that it does */
    Part part;
    Str *before;                /* text of the role ahead of what it does for each place of the grid */
    const char *always, *never, *first_lane; /* predicates */
    const char **maps;          /* by map: REG_RD text, its address */
    const char *zero, *zero_here; /* 0, in each turn and in each copy another to ptxas: coordinates of boxes are sums with them
                                   (copier.c); NULL: as they are */
    RingPlace **rings;          /* by tile value id: its copies */
    const char *phases;         /* register with a bit for each that begins with 1; NULL: each has its own */
    int n_phases;
    const char *owed, *owed_at; /* predicate, register: a stage to give back once its store has read it; NULL: none ever */
    bool fenced;                /* nothing was emitted since lanes' accesses of shared memory were ordered before those of copies */
    bool stored;                /* the next release is of a stage that a store reads */
    const char *late[RING_LATE]; /* registers: full barriers of stages that lanes still fill, so many */
    int n_late;
    bool settled;               /* the text that gives back what was owed is there */
    const char **votes;         /* by tile value id, of the first that is revised: the vote's predicate, made ahead; or NULL */
    Again again;                /* of the revision before */
    bool cold;           /* in a region that is rarely executed */
    struct HandOut *hand_out;   /* in the work of the copier that hands places out (places.c) */
    const Aff **awaited;        /* by tile value id: the number of the stage that was awaited */
} Emitter;

/* writer.c: scopes and registers */
int em_level(const Emitter *e);
void em_at(Emitter *e, int level, const char *fmt, ...) TW_PRINTF(3, 4);
void em_before(Emitter *e, const char *fmt, ...) TW_PRINTF(2, 3); /* ahead of a role's work */
void em(Emitter *e, const char *fmt, ...) TW_PRINTF(2, 3); /* into the innermost scope */
Str *em_innermost(Emitter *e); /* its text, for who writes more than a line */
Str em_take(Emitter *e);       /* an empty text, */
void em_give(Emitter *e, Str text); /* and one that is not needed any more */
void em_open(Emitter *e);
void em_close(Emitter *e);
int em_reg(Emitter *e, RegClass c);
const char *em_name(Emitter *e, RegClass c, int reg);
const char *em_new(Emitter *e, RegClass c); /* a fresh register, as text */
int em_label(Emitter *e);
const char *em_f32(Emitter *e, double value); /* immediate 0fXXXXXXXX */
void em_need(Emitter *e, DType dtype); /* fails where the target lacks the type */
void em_fail(Emitter *e, Span loc, DiagCode code, const char *fmt, ...) TW_PRINTF(4, 5);

/* memo.c: NULL where there is none that counts */
Memo *mo_find(const Memos *memos, MemoKind kind, const Aff *a);
void mo_put(Arena *arena, Memos *memos, Memo memo);
Memos *mo_new(Arena *arena);
Memos *mo_copy(Arena *arena, const Memos *memos);
void mo_forget_above(Memos *memos, int level);

/* index.c: integer expressions */
void ix_bind(Emitter *e, const AffSym *sym, const char *reg, int level);
void ix_know(Emitter *e, const Aff *a, const char *reg, int level); /* a's value is in a register */
int ix_level(const Emitter *e, const Aff *a);
bool ix_is_known(Emitter *e, const Aff *a);          /* its value is in a register */
void ix_forget(Emitter *e, const Aff *a);            /* it is there no more; what was made of it is */
const char *ix_value(Emitter *e, const Aff *a);      /* s32 operand */
void ix_look_up(Emitter *e, const Aff *a);              /* reads what it is made of, but for each element of a tile */
const char *ix_wide(Emitter *e, const Aff *a);       /* s64 operand */
const char *ix_reciprocal(Emitter *e, const Aff *a); /* (2^32 - 1) / a */
/* quotient.c: a quotient or remainder by what others are divided by, too */
bool ix_is_shared_divisor(const Emitter *e, const Aff *y, int level);
void ix_emit_quotient(Emitter *e, int level, const Aff *a, const char *d);
/* wide.c: whether 32 bits may be too few, and the s64 otherwise */
bool ix_is_wide(const Emitter *e, const Aff *a);
/* Likewise of a part of such an expression: that may be a product of dimensions and counters. */
bool ix_is_wide_part(const Emitter *e, const Aff *a);
bool ix_is_signed_divisor(const Emitter *e, const Aff *b); /* of data, and may be negative */
/* Sets predicate p where a quotient was rounded up: its remainder r has not the sign of y; NULL: of what is positive. */
void ix_steps_down(Emitter *e, int level, const char *p, int bits, const char *r, const char *y);
void ix_emit_wide(Emitter *e, int level, const Aff *a, const char *d);
/* d = the expression as fp32. Values that differ by constants share one conversion,
 * so that beyond 2^24 the last place may be off by one. */
void ix_float(Emitter *e, const Aff *a, const char *d);
/* a = the result + constant */
const char *ix_condition(Emitter *e, const Aff *a);  /* predicate register */
const char *ix_condition_here(Emitter *e, const Aff *a); /* the same, not hoisted nor kept */
void ix_divide(Emitter *e, int level, const char *d, const char *x, int64_t n); /* 0 <= x, constant n > 0 */
void ix_remainder(Emitter *e, int level, const char *r, const char *x, const char *q, int64_t n);
const AffSym *ix_lane_row(Emitter *e, Layout layout, int rows); /* symbols of this lane's first */
const AffSym *ix_lane_col(Emitter *e, Layout layout, int cols); /* row and column in a fragment */
const Aff *ix_lane_units(Emitter *e, Layout layout, int cols); /* likewise, as a multiple of neighbours that a lane has */
const Aff *ix_lane_parts(Emitter *e, Layout layout, int rows); /* the row, as a multiple of a warp's and the lane's own */
const char *ix_lane_bit(Emitter *e, int level, int bit); /* predicate: this lane's number has it (1, 2, 4, ..) */
/* A symbol for a register that holds a value in [0, hi]. */
const AffSym *ix_symbol(Emitter *e, const char *name, const char *reg, int level, int64_t hi);

/* frag.c: register tiles */
Frag *fr_new(Emitter *e, const TileValue *v);          /* without registers */
void fr_new_f32(Emitter *e, const TileValue *v);       /* fresh fp32 registers */
const int *fr_f32(Emitter *e, const TileValue *v);     /* all values as fp32 registers */
const int *fr_packed(Emitter *e, const TileValue *v, DType dtype);
const char *fr_operand(Emitter *e, const TileValue *v, int i); /* fp32 operand */
void fr_alias(Emitter *e, const TileValue *to, const TileValue *from); /* to is in from's registers */
void fr_take(Emitter *e, const TileValue *to, const TileValue *from); /* to = from, to be changed in place */
void fr_pack(Emitter *e, DType dtype, const char *pair, const char *high, const char *low);
void fr_half(Emitter *e, DType dtype, const char *pair, bool high, int f); /* one of a pair as fp32 */
int *fr_fresh(Emitter *e, RegClass c, int n);
int fr_words(const TileValue *v); /* registers of 32 bits that its values fill */

/* fp8.c: numbers of 8 bits */
bool f8_is(DType dtype);
void f8_pair(Emitter *e, DType dtype, const char *pair, const char *high, const char *low); /* pair: b16 */
void f8_unpair(Emitter *e, DType dtype, const char *pair, int low, int high); /* fp32 registers */
int *f8_operand(Emitter *e, const TileValue *v, DType dtype); /* packed, as an operand fragment */
int *f8_unpack(Emitter *e, const Frag *frag, DType dtype);    /* of an operand fragment */
void f8_widen(Emitter *e, DType dtype, const int *bytes, int n, int *wide); /* to 2 n f16x2 */
int *f8_round(Emitter *e, const TileValue *v, DType dtype);
void f8_load(Emitter *e, DType dtype, const char *guard, const char *address, int reg);
void f8_store(Emitter *e, DType dtype, const char *guard, const char *address, const char *value);

void fr_place(const TileValue *v, int i, int *row, int *col); /* offsets from the lane's first */

/* element.c */
void el_fill(Emitter *e, const TileOp *op);
void el_index(Emitter *e, const TileOp *op);
void el_element(Emitter *e, const TileOp *op);
/* The same value by value. */
bool el_is_plain(const Emitter *e, const TileOp *op);        /* arithmetic alone */
bool el_is_walked(const TileOp *op);                         /* the same, or with indices that are made in place */
bool el_is_place(const Emitter *e, const TileOp *op);        /* such an index, for which nothing is to be done */
Walk *el_begin(Emitter *e, const TileOp *op);
void el_value(Emitter *e, const Walk *walk, int i);
const char *el_never(Emitter *e);                            /* a predicate that is false, which ptxas does not know */
/* Values from here on wait for an fp32 register; their places of many terms are made by value. */
void el_wait(Emitter *e, Walk *walk, bool many, const char *never, int after);

/* A lane's first row and column in a fragment. */
typedef struct Lane {
    const AffSym *row, *col;
    const Aff *units, *parts; /* the column and the row where words that several share are read; NULL: none are */
} Lane;
Lane el_lane(Emitter *e, const TileValue *v);
Lane el_lane_here(Emitter *e, const TileValue *v); /* the same, but in code that is rarely executed one of its own */
/* after.c: known when 32 bits are; of many terms the place is one with where the tile begins, as `terms` says, else NULL */
const AffSym *el_number_after(Emitter *e, const AffSym *sym, const char *never, const char *bits);
Lane el_lane_after(Emitter *e, const TileValue *v, const Aff *terms, const char *never, const char *bits);
const Aff *el_at_lane(Emitter *e, const Aff *a, const Lane *lane, const TileValue *v, int i); /* of row and col, at value i of v */
void el_unary(Emitter *e, const char *text, const char *d, const char *a); /* a template: $d, $a, $0 to $3, $p */
void el_polynomial(Emitter *e, const TileOp *op); /* polynomial.c */
void el_mask(Emitter *e, const TileOp *op); /* mask.c */
bool el_masks_in_steps(const Emitter *e, const TileOp *op); /* quotients of each element decide, or many terms */
void el_reduce(Emitter *e, const TileOp *op);
const char *el_combine(OpId op);  /* the instruction that takes two of what the reduction takes into one, */
int el_reduce_tree(Emitter *e, const char *instruction, int *regs, int n); /* and the register of all */
void el_cast(Emitter *e, const TileOp *op);
/* What meets value i of the result of an operand that may be a row, a column or one number. */
const char *el_operand(Emitter *e, const TileValue *operand, const TileValue *result, int i);
const Aff *el_at(Emitter *e, const Aff *a, const TileValue *v, int i); /* of row and col, at value i of v */
void el_reshape(Emitter *e, const TileOp *op); /* reshape.c */

/* residue.c: an expression at a row and a column, of whose remainders parts are made once for all elements */
const Aff *rs_at(Emitter *e, const Aff *a, const Aff *row, const Aff *col);

/* chain.c: operations from `at` on that are made value by value; their number, 0 where there are none */
int ch_length(const Emitter *e, const TileBlock *block, int at);
bool ch_is_in(const Emitter *e, const TileBlock *block); /* where registers are short for what is made of places, or of tiles */
void ch_emit(Emitter *e, const TileBlock *block, int at, int n);

/* part.c */
void el_slice(Emitter *e, const TileOp *op);
void el_patch(Emitter *e, const TileOp *op);
void el_scalar(Emitter *e, const TileOp *op);

/* shared.c: addresses in shared memory */
typedef struct SharedTile {  /* a stage of a buffer */
    const TileType *type;
    int64_t offset, bytes;     /* of the first stage; from one stage to the next */
    const Aff *index;
    int row0, chunk0;          /* where a slice begins: a multiple of 8 rows, of 2 chunks */
} SharedTile;
SharedTile sh_stage(const TileValue *buffer, const Aff *index);
SharedTile sh_put(Emitter *e, const TileOp *op);       /* where a tile is put */
bool sh_view(const Emitter *e, const TileValue *v, SharedTile *tile);
void sh_fill(Emitter *e, const TileOp *op);            /* a constant in shared memory, written by all threads */
/* Register with the address of the stage's first byte, less the buffer's offset. */
const char *sh_base(Emitter *e, const SharedTile *tile);
/* A per-lane place: this lane's row and 16-byte chunk, as registers; addresses
 * differ from it by constant chunks and rows (without a bit below 8 in common with
 * its own). */
typedef struct LanePlace {
    const char *row, *chunk;
    const char *byte;        /* within the chunk; NULL: 0 */
    int level;               /* where row and chunk are known */
    const char *origin;      /* address, made when first needed */
    int origin_level;
    int count;               /* distinct in-panel chunk offsets so far */
    int key[8];
    const char *address[8];
} LanePlace;
/* "[%r7+1234]" for the lane's place moved by rows and chunks. */
const char *sh_address(Emitter *e, const SharedTile *tile, LanePlace *place, int rows, int chunks);
/* The same and a byte further within the chunk that the lane's own byte is in. */
const char *sh_address_in(Emitter *e, const SharedTile *tile, LanePlace *place, int rows, int chunks, int byte);

/* copy.c */
void cp_async(Emitter *e, const TileOp *op);
void cp_load(Emitter *e, const TileOp *op);
void cp_store(Emitter *e, const TileOp *op);
void cp_put(Emitter *e, const TileOp *op);

/* later.c: rows of numbers from memory, where registers are short */
bool lr_can(const Emitter *e, const TileOp *load);
void lr_begin(Emitter *e, const TileOp *load);
void lr_value(Emitter *e, const TileValue *v, int i); /* loads it, unless that was done */

/* pairs.c: fragments to and from shared memory */
void pr_put(Emitter *e, const TileOp *op);
void pr_move(Emitter *e, const TileOp *op);

/* gather.c */
void ga_gather(Emitter *e, const TileOp *op);
/* Reads the elements that values [from, to) of an index are made of. */
void ga_elements(Emitter *e, const TileOp *index, int from, int to);

/* ahead.c: integers that a loop reads for each element, a turn ahead */
const Ahead *ah_begin(Emitter *e, const TileOp *loop); /* ahead of the loop: reads those of its first turns */
int ah_turns(const Ahead *ahead);                   /* which stand side by side; 0: nothing is read ahead */
int ah_registers(const Ahead *ahead);               /* of all that is read ahead */
void ah_take(Emitter *e, const TileOp *index);      /* ahead of the values of an index: knows its words */
void ah_next(Emitter *e, const TileOp *index);      /* behind them: reads those of a later turn */
bool ah_has(const Emitter *e, const TileOp *gather); /* whether its elements are there, */
void ah_gather(Emitter *e, const TileOp *gather);    /* and to take them and read those of a later turn */

/* mma.c */
const char *mm_type(DType dtype); /* as instructions of tensor cores call it */
int mm_step_k(DType dtype); /* columns of A that a step takes: 16, or 32 of 8 bits */
/* d = c + a b for a step: 4 accumulators, 4 registers of A, 2 of B. */
void mm_step(Emitter *e, DType ta, DType tb, const int *d, const int *c, const int *a, const int *b);
void mm_gemm(Emitter *e, const TileOp *op);

/* anew.c: lanes' numbers and blocks' that ptxas takes for others */
LaneNumbers an_enter(Emitter *e);                         /* for an operation: where registers are short */
void an_leave(Emitter *e, const LaneNumbers *kept);
const char *an_zero(Emitter *e, const char *counter);     /* 0, which ptxas does not know */
const char *an_zero_of_part(Emitter *e);                  /* 0: bits of a small address in shared memory, others for each part */
void an_stop(Emitter *e);                                 /* a trap that never happens, over which ptxas moves nothing */
void an_stop_at(Emitter *e, const char *count);           /* likewise, of a register that is never negative */
void an_stop_of_grid(Emitter *e);                         /* likewise, anywhere */
void an_part(Emitter *e);                                 /* what comes in the block follows from no test before */
Known an_known(const Emitter *e);                         /* at a block's begin, */
void an_forget(Emitter *e, const Known *known);           /* and at its end: what parts brought */
void an_behind_loop(Emitter *e, const char *counter);     /* for all that comes behind it */

/* room.c */
Room rm_of(const Emitter *e, const TileOp *loop);
Room rm_of_role(const TileBlock *body);                  /* that prepares tiles: elements each at an address of its own take more than it has */
bool rm_anew_behind(const Emitter *e, const TileOp *loop); /* whether what comes behind it is to follow from nothing ahead of it */
bool rm_rows_are_long(const Emitter *e); /* whether rows from memory leave tiles of the block too few registers */
/* Where ptxas is kept from mixing the arithmetic between two products with either of them. */
typedef enum Parted { PARTED_NOT, PARTED_FROM_FIRST, PARTED_FROM_BOTH } Parted;
Parted rm_parted(const Emitter *e);
int rm_left(const Emitter *e, const TileBlock *block); /* registers beside the tiles of the block that is emitted */
bool rm_apart(const Emitter *e, const TileOp *last); /* whether ptxas is kept from mixing a product with the last one */
/* Notes `behind` as the last place that uses its operands, by value id, those within its regions as well. */
void rm_note_uses(const TileOp *op, int behind, int *used);
int rm_stretch(const Emitter *e); /* units of a product whose operands may be under way at once; 0: any */

/* aim.c */
int ai_blocks(const Emitter *e); /* of a kernel of rows, side by side; 0: ptxas is told nothing */
/* The most of which a thread has registers for what it holds of tiles that shared memory keeps. */
int ai_most(const Emitter *e);

/* kernel.c */
void kn_lanes(Emitter *e, const char *zero);          /* this lane's numbers, with a 0 added; NULL: as they are */
const char *kn_param(Emitter *e, AbiArgKind kind, int tensor, int axis_or_position); /* its name */
void kn_block(Emitter *e, const TileBlock *block);
bool kn_used_behind(const Emitter *e, const TileValue *v); /* by what the block still has to do */
const char *kn_base(Emitter *e, int tensor);            /* REG_RD: global address */
const char *kn_stride(Emitter *e, int tensor, int dim); /* REG_RD: bytes */
void kn_arguments(Emitter *e);                        /* tensors and dimensions, known in this scope */
void kn_dimensions(Emitter *e);                       /* dimensions alone */
void kn_decode_grid(Emitter *e, const char *place);   /* number of a block to coordinates, known in this scope */

/* flow.c */
void fl_for(Emitter *e, const TileOp *op);
void fl_if(Emitter *e, const TileOp *op);
/* Registers of values that control flow merges. */
bool fl_packed(const TileValue *v);                   /* in packed words, not in fp32 */
void fl_declare(Emitter *e, const TileValue *v);
void fl_move(Emitter *e, const TileValue *to, const TileValue *from);
void fl_move_all(Emitter *e, TileValue *const *to, TileValue *const *from, int n); /* at once */

#endif
