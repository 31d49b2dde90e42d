/* tma.c: tiles of global tensors into rings, by the tensor memory accelerator.
 *
 * PTX ISA, cp.async.bulk.tensor: coordinates stand innermost first; elements
 * outside of the tensor arrive as 0 and count as bytes like all others. One
 * instruction brings one panel (lay.h) of the tile: the map's box is as wide.
 */
#include "ptx/roles.h"

void tm_prefetch(Emitter *e)
{
    for (int i = 0; i < e->abi->maps.len; i++) {
        const char *map = em_new(e, REG_RD);
        em(e, "mov.b64 %s, %s;", map, kn_param(e, ABI_MAP, 0, i));
        em(e, "prefetch.param.tensormap [%s];", map);
    }
}

static const char *coordinates(Emitter *e, const TileOp *op, int column)
{
    Str list = str_new(e->arena);
    for (int d = op->tensor->rank - 1; d >= 0; d--) {
        const Aff *at = op->coords[d];
        if (d == op->col_dim) at = aff_offset(e->program->aff, at, column);
        str_printf(&list, "%s%s", list.len ? ", " : "", ix_value(e, at));
    }
    return str_text(&list);
}

/* The map's address, made once in a role. */
static const char *map_address(Emitter *e, int map)
{
    if (!e->maps) e->maps = arena_array(e->arena, const char *, e->abi->maps.len);
    if (e->maps[map]) return e->maps[map];
    const char *param = em_new(e, REG_RD);
    e->maps[map] = em_new(e, REG_RD);
    em_at(e, 0, "mov.b64 %s, %s;", param, kn_param(e, ABI_MAP, 0, map));
    em_at(e, 0, "cvta.param.u64 %s, %s;", e->maps[map], param);
    return e->maps[map];
}

void tm_copy(Emitter *e, const TileOp *op)
{
    const TileType *t = &op->args[0]->type;
    const char *barrier = NULL;
    SharedTile tile = sh_stage(op->args[0], rg_acquired(e, op, &barrier));
    int map = abi_map_of(e->abi, op);
    if (map < 0 || e->failed) {
        em_fail(e, op->loc, TW0803, "a copy that no tensor map describes");
        return;
    }
    const char *base = sh_base(e, &tile), *address = map_address(e, map);
    int columns = t->layout.panel / dtype_bytes(t->dtype);
    for (int column = 0; column < t->cols; column += columns)
        em(e, "cp.async.bulk.tensor.%dd.shared::cluster.global.mbarrier::complete_tx::bytes [%s+%lld], [%s, {%s}], [%s];",
           op->tensor->rank, base, (long long)(tile.offset + (int64_t)column / columns * t->rows * t->layout.panel), address,
           coordinates(e, op, column), barrier);
}
