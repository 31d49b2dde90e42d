/* copier.c: coordinates of boxes in turns of a role that copies.
 *
 * A role that copies has few registers (target.c). What a loop does not change would stand ahead of it. So where a
 * turn copies several tiles, it makes their places itself; and where their boxes have many coordinates between them, of
 * sums with a 0 that ptxas does not know (anew.c), which otherwise keeps what it finds to be the same in every turn or in two copies.
 */
#include "ptx/roles.h"

enum {
    MORE_REGISTERS = 32, /* than the fewest that a warpgroup that copies has (target.c) */
    FEW_COPIES = 2,      /* in the turns of its loops, for whose places those are enough; */
    OWN_REGISTERS = 17   /* beside coordinates of boxes that ptxas would keep */
};

/* In turns of the block's loops. */
static int count_copies(const TileBlock *block)
{
    int n = 0;
    for (int i = 0; i < block->ops.len; i++)
        if (block->ops.data[i]->kind == TILE_FOR) n += tile_count(block->ops.data[i]->regions[0], TILE_COPY_ASYNC);
    return n;
}

static void note_coordinates(Emitter *e, const TileBlock *block, const AffSym *turn, Coordinates *c)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_COPY_ASYNC) tm_note_coordinates(e, op, turn, c);
        for (int r = 0; r < op->n_regions; r++) note_coordinates(e, op->regions[r], turn, c);
    }
}

CopierTurn co_enter(Emitter *e, const TileOp *loop)
{
    CopierTurn kept = {.floor = e->floor, .maps = e->maps, .zero = e->zero};
    if (!e->role || e->role->regs == 0 || !tile_has(loop->regions[0], TILE_COPY_ASYNC)) return kept;
    Coordinates coordinates = {0};
    note_coordinates(e, loop->regions[0], loop->var, &coordinates);
    bool many = coordinates.kept.len > e->role->regs - OWN_REGISTERS;
    if (!many && (e->role->regs >= MORE_REGISTERS || count_copies(e->block) <= FEW_COPIES)) return kept;
    kept.late = true;
    e->floor = em_level(e);
    e->maps = tm_maps_here(e); /* what is made here is not known behind, where no turn may have been */
    if (many) e->zero = "0";
    return kept;
}

void co_take_anew(Emitter *e)
{
    const char *sum = em_new(e, REG_R), *turn = an_zero(e, e->turn);
    e->part.number++;
    em(e, "add.s32 %s, %s, %s;", sum, turn, an_zero_of_part(e));
    e->zero = sum;
}

void co_leave(Emitter *e, const CopierTurn *kept)
{
    if (!kept->late) return;
    e->floor = kept->floor;
    e->maps = kept->maps;
    e->zero = kept->zero;
}
