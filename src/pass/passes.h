/* passes.h: the passes, one file each; the order stands in pass.c. */
#ifndef TW_PASSES_H
#define TW_PASSES_H

#include "pass/pass.h"
#include "pass/rewrite.h"

bool pass_ends(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_split(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_backward(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_window(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_mask(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
/* Whether a turn of the loop changes something in which a choice between a value and a number, `where c, x, number`, leaves
 * the number everywhere (mask.c). */
bool mask_turns_count(TileProgram *program, TileKernel *kernel, const TileOp *loop, const TileOp *choice);
/* The loop's turns that masks on places leave, as far as is known before a launch, and the grid's axis along which there are
 * more of them; -1: none (mask.c). */
typedef struct MaskTurns {
    const Aff *lo, *hi;
    int more;
} MaskTurns;
MaskTurns mask_turns(TileProgram *program, TileKernel *kernel, const TileOp *loop);
bool pass_twice(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_expand(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_behind(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_simplify(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_near(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_pack(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_rotate(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_settle(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_specialize(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_direct(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_stage(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_cluster(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_keep(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_assign(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_alloc(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);
bool pass_sync(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags);

#endif
