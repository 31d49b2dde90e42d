/* chain.h: the stages from a definition to PTX, each timed, each starting from
 * the text that the one before it wrote.
 *
 *   definition ─► sketch ─► code ─► tile IR ─► passes ─► PTX
 *
 * Every function returns false when it could not go on; then diagnostics were
 * recorded in the session, or the reason was printed (chain->told).
 */
#ifndef TW_CHAIN_H
#define TW_CHAIN_H

#include "abi/abi.h"
#include "cli/cli.h"
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

typedef struct Chain {
    Session *s;
    Settings settings;      /* all of --set, and --dtype */
    Settings own;           /* those that the definition knows by name */
    const char *name;
    bool told;              /* why it failed has been printed */
    bool keep_snapshots;

    Def *def;               /* NULL: code without a definition */
    const char *definition; /* its text */
    Source *sketch, *code, *ptx;
    ReasonResult *reasoned;
    TileProgram *tile;
    Abi *abi;
    VEC(Stage) stages;
    VEC(Snapshot) snapshots;
} Chain;

/* NULL: a --set that is not NAME=VALUE; a usage error was printed. */
Chain *chain_new(Session *s);
/* Failure's exit status: prints the diagnostics, or that there are none. */
int chain_failed(Chain *chain, const char *stage);

bool chain_define(Chain *chain, const Source *source);
bool chain_fuse(Chain *chain);
bool chain_reason(Chain *chain, const Source *sketch);
bool chain_lower(Chain *chain, const Source *code);
bool chain_schedule(Chain *chain);
bool chain_emit(Chain *chain);

/* The definition that a PTX file must agree with, under the settings that were
 * compiled in: `against`, or where that is NULL the one within its ABI. */
bool chain_define_from_abi(Chain *chain, const Abi *abi, const Source *against);

/* A source made of text that this program wrote. */
Source *chain_text(Chain *chain, const char *path, const Str *text);
/* The first unit of a kind; NULL: none. */
const Unit *program_unit(const Program *program, UnitKind kind);

#endif
