/* chain.h: the stages from a definition to PTX, each timed, each starting from
 * the text that the one before it wrote, so that each may start from an edited
 * one as well.
 *
 *   definition ─► sketch ─► code ─► tile IR ─► passes ─► PTX
 *
 * Every function returns false when it could not go on; then diagnostics were
 * recorded, or chain->failure is a sentence.
 */
#ifndef TW_CHAIN_H
#define TW_CHAIN_H

#include "abi/abi.h"
#include "pass/pass.h"
#include "reason/reason.h"
#include "ref/ref.h"

typedef struct Stage {
    const char *name;
    double seconds;
} Stage;

/* The program after a pass, kept when somebody wants to execute it. */
typedef struct Snapshot {
    const char *name; /* "lower", or the pass */
    bool exact;       /* the pass must not change a bit of the result */
    TileProgram *program;
} Snapshot;

typedef struct TensorType {
    const char *name;
    DType dtype;
} TensorType;

typedef struct Chain {
    Arena *arena;
    Syms *syms;
    AffCtx *aff;
    Diags *diags;
    const Target *target;
    Settings settings;      /* all that were given, and the dtype */
    Settings own;           /* without the reasoner's choices that were forced */
    Schedule schedule;      /* choices of the passes that are forced */
    Settings run_with;      /* sizes left to the launch that it is meant for, ... */
    bool only_tried;        /* ... or no more than a shape to try it at: nothing is chosen for them */
    bool in_stages;         /* the definition at hand is one of several that the operator is fused as, ... */
    int ahead;              /* ... behind so many kernels */
    const char *name;       /* of the definition or the kernel */
    const char *failure;    /* NULL, or why the last function failed without a diagnostic */
    bool keep_snapshots;
    bool edits;             /* edits for what is wrong are looked for, and tried (suggest.h) */
    bool executed;          /* Kernels and the definition beside them were, on small shapes (agree.h) */
    bool met_several;       /* there, with several tiles or entries along each dimension */
    bool proves;            /* it is of an edit: executed on more shapes before it is suggested */
    bool keeps_witness;     /* where they differ, ... */
    struct Witness *witness; /* ... of it, in the chain's arena; NULL: they do not, or it was not asked for */
    double *work_left;      /* that other texts of a program may take to be executed, in multiply-adds; NULL: any */

    VEC(TensorType) types;  /* of tensors of which the definition says none: as they were compiled */
    Def *def;               /* NULL: code without a definition */
    const char *definition; /* its text */
    const Source *defined;  /* where it was read from, and what was read */
    const Program *parsed;
    Program *beside;        /* the Kernels that stand beside it; NULL: none */
    Source *sketch, *code, *ptx, *cute;
    bool derived;           /* the code is of what the fuser found */
    ReasonResult *reasoned;
    TileProgram *tile;
    const Source *dump;     /* that it was read from; NULL: it was lowered */
    const Source *lowered;  /* the code that it was lowered from; NULL: it was read */
    Abi *abi;
    VEC(Stage) stages;
    VEC(Snapshot) snapshots;
} Chain;

Chain *chain_new(Arena *arena, Syms *syms, AffCtx *aff, Diags *diags, const Target *target,
                 DType dtype);
/* One with the same settings that has done nothing yet, with names of its own. */
Chain *chain_like(Arena *arena, const Chain *like, Diags *diags);
/* NAME=VALUE: a dimension or parameter to compile in, or a choice of the
 * reasoner or of a pass (lang/schedule.def) to force. NULL, or a sentence on failure. */
const char *chain_set(Chain *chain, const char *text);
void chain_unset(Chain *chain, const char *name); /* as if it had not been set */
/* NAME=VALUE: the size that a dimension left to the launch will have, mostly.
 * What is written runs with any; choices are made for this one. */
const char *chain_run_with(Chain *chain, const char *text);

bool chain_define(Chain *chain, const Source *source);
/* Whether the target has the types of the definition. */
bool chain_has_types(Chain *chain);
/* The sketch: what stands beside the definition, else what the fuser finds. */
bool chain_fuse(Chain *chain);
bool chain_reason(Chain *chain, const Source *sketch);
/* The reasoner's best choices for the sketch at the sizes of the launch, best first. */
void chain_rank(Chain *chain, int most, ReasonRanking *ranking);
/* TL of any kind. What it approves of code, the later stages take: they are
 * asked as well. fragment: names that nothing declares are taken as given. */
bool chain_check(Chain *chain, const Source *source, bool fragment);
/* mend.c: suggests a change to code that failed for want of room, with which what is
 * made of it can be; where there is none, the error becomes a warning. */
typedef bool ChainMade(Chain *chain, const Source *code);
void chain_mend(Chain *chain, const Source *source, const Program *program, ChainMade *made);
bool chain_lower(Chain *chain, const Source *code); /* checks it first */
/* Whether tile IR is right as it stands. */
bool chain_check_tile(Chain *chain, const Source *dump);
/* Tile IR, as a dump has it: edited, or not. */
bool chain_read_tile(Chain *chain, const Source *dump);
bool chain_schedule(Chain *chain);  /* the passes that the program has not gone through yet */
bool chain_emit(Chain *chain);
/* All of them, from a definition to PTX, by the built-in authors. */
bool chain_make(Chain *chain, const Source *definition);
/* CuTe C++ instead, from the program as it was lowered: chain->cute, and its ABI. */
bool chain_translate(Chain *chain);
/* How blocks that somebody else writes are launched (cute.h): chain->abi. shared_bytes NULL:
 * not known yet. */
bool chain_frame(Chain *chain, const int64_t *shared_bytes);
/* How the function of a kernel's block begins in such a frame. */
const char *chain_head(Chain *chain, int kernel);
/* Our own blocks for such a frame, by kernel; of code that was lowered. NULL: it could not be done. */
const char *const *chain_blocks(Chain *chain);

/* signature.c: how a kernel that somebody else writes from the definition alone is launched: its
 * arguments; it has no kernels yet (abi_add_kernel). */
Abi *chain_signature(Chain *chain);
/* Its arguments as parameters of C++; the entry that calls what was written, NAME_block. */
void chain_cuda_params(Str *out, const Abi *abi);
void chain_cuda_entry(Str *out, const Abi *abi);
/* What is known of the program that its kernels must agree with. */
void chain_describe(Chain *chain, Abi *abi);

/* compiled.c: the definition that a program must agree with, of the sizes and types that it is for
 * where --set says nothing else; NULL: it says of none. */
bool chain_define_from_tile(Chain *chain, const TileProgram *tile, const Source *against);
/* The one that a PTX file must agree with, under the settings, sizes and types that were
 * compiled in: `against`, or where that is NULL the one within its ABI. */
bool chain_define_from_abi(Chain *chain, const Abi *abi, const Source *against);

/* beside.c: the program as later stages take it: its Kernels have those Params, Lets and positions that they use and only the
 * Operator declares, and no names of fractions that only the launch knows. */
Program *kernels_complete(Arena *arena, Program *program, const Settings *settings);
/* The definition with the types of `types`, and of the Kernels beside it, for tensors of which it says none itself. */
const Unit *definition_typed(Arena *arena, const Program *program, const Unit *def, const TensorType *types, int n);
/* The Kernels of a program that has a definition as well; NULL: none. */
Program *kernels_beside(Arena *arena, const Program *program);
/* Whether they read what the definition reads and write what it writes; else
 * diagnostics (TW0521) were recorded. */
bool kernels_fit(const Program *kernels, const Def *def, const Settings *settings, Diags *diags);
/* sized.c: whether numbers say that a tensor of the Kernel has as many elements as the Operator's; else TW0521 was recorded. */
bool sizes_fit(Arena *arena, const Unit *kernel, const Unit *definition, const Settings *settings, Diags *diags);

/* A source made of text that this program wrote. */
Source *chain_text(Chain *chain, const char *path, const Str *text);
/* The first unit of a kind; NULL: none. */
const Unit *program_unit(const Program *program, UnitKind kind);

#endif
