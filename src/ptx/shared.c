/* shared.c: addresses in shared memory.
 *
 * A swizzled address is base + row * panel + (chunk ^ f(row)) * 16. Accesses of
 * one lane differ by constant rows, which have no bit below 8 in common with the
 * lane's own (multiples of 8 leave f alone, others XOR bits of their own into it), and
 * by constant chunks: within a panel those are an XOR on the lane's own term, all
 * else is an immediate. So a lane needs one register for each distinct in-panel
 * chunk offset (at most 8) and stage, and no arithmetic an access. Where a buffer
 * begins is part of the immediate as well, so that buffers that are read in the
 * same pattern share those registers.
 */
#include "ptx/roles.h"

SharedTile sh_stage(const TileValue *buffer, const Aff *index)
{
    return (SharedTile){&buffer->type, buffer->def->offset, tile_place_bytes(buffer->def), index, 0, 0};
}

SharedTile sh_put(Emitter *e, const TileOp *op)
{
    const TileValue *buffer = op->args[1];
    const Aff *index = buffer->def->kind == TILE_RING ? rg_held(e, op, 1) : op->index;
    SharedTile tile = sh_stage(buffer, index);
    tile.row0 = op->row0;
    tile.chunk0 = op->col0 * dtype_bytes(buffer->type.dtype) / 16;
    return tile;
}

bool sh_view(const Emitter *e, const TileValue *v, SharedTile *tile)
{
    if (v->def && v->def->kind == TILE_SLICE && sh_view(e, v->def->args[0], tile)) {
        tile->row0 += v->def->row0;
        tile->chunk0 += v->def->col0 * dtype_bytes(v->type.dtype) / 16;
        return true;
    }
    if (v->def && v->def->kind == TILE_FILL && tile_is_storage(v->def)) {
        *tile = sh_stage(v, aff_const(e->program->aff, 0));
        return true;
    }
    if (!v->def || (v->def->kind != TILE_VIEW && v->def->kind != TILE_AWAIT)) return false;
    *tile = sh_stage(v->def->args[0], v->def->kind == TILE_AWAIT ? e->awaited[v->id] : v->def->index);
    return true;
}

/* The same number everywhere, so whatever the layout. The barrier behind which roles begin
 * lets others see it; to tensor cores it must be shown (PTX ISA, "Async proxy"). */
void sh_fill(Emitter *e, const TileOp *op)
{
    const TileType *t = &op->results[0]->type;
    int bytes = (int)tile_storage_bytes(op), threads = e->kernel->warps * 32;
    int label = em_label(e);
    uint8_t word[8] = {0};
    uint32_t value;
    for (int i = 0; i < 4; i += dtype_bytes(t->dtype)) dtype_store(t->dtype, word + i, op->number);
    memcpy(&value, word, sizeof value);
    const char *at = em_new(e, REG_R), *address = em_new(e, REG_R), *p = em_new(e, REG_P);
    em(e, "shl.b32 %s, %s, 2;", at, e->tid);
    em(e, "$fill%d:", label);
    em(e, "setp.lt.s32 %s, %s, %d;", p, at, bytes);
    em(e, "add.s32 %s, %s, %s;", address, e->smem, at);
    em(e, "@%s st.shared.b32 [%s+%lld], 0x%08x;", p, address, (long long)op->offset, value);
    em(e, "add.s32 %s, %s, %d;", at, at, 4 * threads);
    em(e, "setp.lt.s32 %s, %s, %d;", p, at, bytes);
    em(e, "@%s bra $fill%d;", p, label);
    if (e->target->has_wgmma) em(e, "fence.proxy.async.shared::cta;");
}

const char *sh_base(Emitter *e, const SharedTile *tile)
{
    const Aff *offset = aff_scale(e->program->aff, tile->index, tile->bytes);
    int level = ix_level(e, offset);
    const char *reg = em_new(e, REG_R), *value = ix_value(e, offset);
    em_at(e, level, "add.s32 %s, %s, %s;", reg, e->smem, value);
    return reg;
}

static int chunks_of(const SharedTile *tile)
{
    return tile->type->layout.panel / 16;
}

/* The bits of the row that the chunk is XORed with (lay.h). */
static const char *swizzle_term(Emitter *e, const SharedTile *tile, const LanePlace *place)
{
    int chunks = chunks_of(tile), shift = chunks == 8 ? 0 : chunks == 4 ? 1 : 2;
    if (chunks == 1) return NULL;
    const char *s = em_new(e, REG_R);
    if (shift > 0) em_at(e, place->level, "shr.u32 %s, %s, %d;", s, place->row, shift);
    em_at(e, place->level, "and.b32 %s, %s, %d;", s, shift > 0 ? s : place->row, chunks - 1);
    return s;
}

/* Offset of the lane's own place from the stage's first byte. */
static const char *lane_offset(Emitter *e, const SharedTile *tile, const LanePlace *place)
{
    int chunks = chunks_of(tile), panel = tile->type->layout.panel, level = place->level;
    const char *inner = em_new(e, REG_R), *outer = em_new(e, REG_R), *offset = em_new(e, REG_R);
    em_at(e, level, "and.b32 %s, %s, %d;", inner, place->chunk, chunks - 1);
    const char *swizzle = swizzle_term(e, tile, place);
    if (swizzle) em_at(e, level, "xor.b32 %s, %s, %s;", inner, inner, swizzle);
    ix_divide(e, level, outer, place->chunk, chunks);
    em_at(e, level, "mul.lo.s32 %s, %s, %d;", outer, outer, tile->type->rows * panel);
    em_at(e, level, "mad.lo.s32 %s, %s, %d, %s;", offset, place->row, panel, outer);
    em_at(e, level, "mad.lo.s32 %s, %s, 16, %s;", offset, inner, offset);
    if (place->byte) em_at(e, level, "add.s32 %s, %s, %s;", offset, offset, place->byte);
    return offset;
}

/* A loop's addresses are all the same in each of its turns, so that ptxas keeps them in
 * registers. Where those are short, only the lane's own is kept: a 0 is added to it that
 * ptxas takes for another in each turn (the sign of the loop's counter), and the others
 * are made of the sum. */
static void move_into_turn(Emitter *e, LanePlace *place)
{
    const char *zero = em_new(e, REG_R), *origin = em_new(e, REG_R);
    em_at(e, e->turn_level, "and.b32 %s, %s, -2147483648;", zero, e->turn);
    em_at(e, e->turn_level, "add.s32 %s, %s, %s;", origin, place->origin, zero);
    place->origin = origin;
    place->origin_level = e->turn_level;
}

/* Register with the lane's own place. */
static void find_origin(Emitter *e, const SharedTile *tile, LanePlace *place)
{
    int stage_level = ix_level(e, tile->index);
    const char *offset = lane_offset(e, tile, place), *base = sh_base(e, tile);
    place->origin_level = stage_level > place->level ? stage_level : place->level;
    if (place->origin_level < e->floor) place->origin_level = e->floor;
    place->origin = em_new(e, REG_R);
    em_at(e, place->origin_level, "add.s32 %s, %s, %s;", place->origin, base, offset);
    if (e->room != ROOM_ENOUGH && place->origin_level < e->turn_level) move_into_turn(e, place);
}

/* Register for the lane's place with an in-panel chunk offset. Stages begin at
 * multiples of a panel, so that the XOR may as well come last: then a ring takes one
 * register outside of its loop. */
static const char *lane_address(Emitter *e, const SharedTile *tile, LanePlace *place, int inner)
{
    for (int i = 0; i < place->count; i++)
        if (place->key[i] == inner) return place->address[i];
    if (!place->origin) find_origin(e, tile, place);
    const char *address = place->origin;
    if (inner) {
        address = em_new(e, REG_R);
        em_at(e, place->origin_level, "xor.b32 %s, %s, %d;", address, place->origin, inner * 16);
    }
    place->key[place->count] = inner;
    place->address[place->count++] = address;
    return address;
}

const char *sh_address(Emitter *e, const SharedTile *tile, LanePlace *place, int rows, int chunks)
{
    return sh_address_in(e, tile, place, rows, chunks, 0);
}

const char *sh_address_in(Emitter *e, const SharedTile *tile, LanePlace *place, int rows, int chunks, int byte)
{
    int per_panel = chunks_of(tile), panel = tile->type->layout.panel;
    rows += tile->row0;
    chunks += tile->chunk0;
    const char *address = lane_address(e, tile, place, chunks % per_panel ^ lay_swizzle(panel, rows));
    int64_t immediate = (int64_t)(chunks / per_panel) * tile->type->rows * panel + (int64_t)rows * panel + byte;
    immediate += tile->offset;
    return arena_printf(e->arena, "[%s+%lld]", address, (long long)immediate);
}
