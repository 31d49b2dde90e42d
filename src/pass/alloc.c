/* alloc.c: where buffers lie in a block's shared memory.
 *
 * One after the other, in order of declaration. Every buffer starts at a
 * multiple of 1024 bytes when it is that large, which keeps the swizzle of its
 * panels a function of the row alone; smaller ones at a multiple of 128.
 */
#include "pass/passes.h"

/* Barriers of rings and the places that a persistent block goes to, in two slots with two
 * barriers each, aligned (ptx/ring.c, places.c). */
enum { BARRIERS_OF_STAGE = 16, BARRIERS_OF_SLOTS = 64, BYTES_OF_WORD = 2 * 4 };

static int64_t barrier_bytes(const TileKernel *kernel)
{
    int64_t bytes = kernel->persistent ? BARRIERS_OF_SLOTS + (int64_t)tile_place_words(kernel) * BYTES_OF_WORD : 0;
    for (int i = 0; i < kernel->body->ops.len; i++) {
        const TileOp *op = kernel->body->ops.data[i];
        if (op->kind == TILE_RING) bytes += (int64_t)tile_places(op) * BARRIERS_OF_STAGE;
    }
    return bytes;
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

bool pass_alloc(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    (void)program;
    int64_t at = 0;
    for (int i = 0; i < kernel->body->ops.len; i++) {
        TileOp *op = kernel->body->ops.data[i];
        if (!tile_is_storage(op)) continue;
        op->offset = tile_storage_begin(op, at);
        at = op->offset + tile_storage_bytes(op);
    }
    at = round_up(at, 16) + barrier_bytes(kernel);
    kernel->shared_bytes = round_up(at, 16);
    if (at > target->shared_per_block) {
        Diag *d = diag_add(diags, TW0771, kernel->loc,
                           "kernel '%s' needs %lld bytes of shared memory; %s has %d for a block",
                           kernel->name, (long long)at, target->name, target->shared_per_block);
        diag_note(diags, d, "smaller tiles or fewer stages fit");
        return false;
    }
    return true;
}
