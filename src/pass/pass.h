/* pass.h: the list of passes from sequential to fully scheduled tile IR. */
#ifndef TW_PASS_H
#define TW_PASS_H

#include "target/target.h"
#include "tile/tile.h"

typedef struct Pass {
    const char *name;          /* as in --dump=NAME */
    const char *summary;
    unsigned needs, gives, breaks; /* TileFact bits, asserted by the runner */
    bool exact;                /* bit-exact; else it may reassociate */
    bool (*run)(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
} Pass;

/* All passes in order. */
const Pass *pass_all(int *count);

/* Whether a bit-exact pass that the program went through last was so: not where sums come in another order than before. */
bool pass_was_exact(const Pass *pass, const TileProgram *program);

/* Runs all passes behind the one that the program went through last on every kernel, the
 * verifier after each; so an edited dump goes on where it was taken. `after`, if set, is
 * called with the program as it then is. False when diagnostics were recorded. */
bool pass_run(TileProgram *program, const Target *target, Diags *diags,
              bool (*after)(void *user, const Pass *pass, TileProgram *program), void *user);

/* Runs those passes that stay at the sequential level, for a translator that has a
 * schedule of its own: loops are tightened, masks guarded, composite operations
 * elementary, scales folded; tiles have no storage. The program is as it was lowered. */
bool pass_run_sequential(TileProgram *program, const Target *target, Diags *diags);

#endif
