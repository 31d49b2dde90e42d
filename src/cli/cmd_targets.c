/* cmd_targets.c: what there is to generate kernels for. */
#include "cli/cli.h"

static void put_json(Str *out, const Target *t)
{
    str_add(out, "{\"name\":");
    str_json(out, t->name);
    str_add(out, ",\"summary\":");
    str_json(out, t->summary);
    str_printf(out,
               ",\"multiprocessors\":%d,\"shared_per_block\":%d,\"shared_per_sm\":%d,"
               "\"registers_per_sm\":%d,\"registers_per_thread\":%d,\"mma\":[%d,%d,%d],"
               "\"operands\":\"%s\",\"cp_async\":%s,\"ldmatrix\":%s,\"tma\":%s,\"wgmma\":%s,\"cluster_blocks\":%d}",
               t->sms, t->shared_per_block, t->shared_per_sm, t->regs_per_sm, t->regs_per_thread,
               t->mma_m, t->mma_n, t->mma_k, target_dtypes(out->arena, t),
               t->has_cp_async ? "true" : "false", t->has_ldmatrix ? "true" : "false",
               t->has_tma ? "true" : "false", t->has_wgmma ? "true" : "false", t->cluster_blocks);
}

static void put_row(Str *out, const Target *t)
{
    str_printf(out, "%-8s %5d KB  %-22s  m%dn%dk%-4d %-17s  %s\n", t->name, t->shared_per_block >> 10,
               target_dtypes(out->arena, t), t->mma_m, t->mma_n, t->mma_k,
               t->has_ldmatrix ? t->has_cp_async ? "ldmatrix cp.async" : "ldmatrix" : "", t->summary);
}

int cmd_targets(Session *s)
{
    const Target *const *all = target_all();
    bool json = s->options.json;
    Str out = str_new(s->arena);

    if (json)
        str_addc(&out, '[');
    else
        put_title(s, &out, "target     shared  operands                mma        moves              GPU");
    for (const Target *const *t = all; *t; t++) {
        if (json)
            str_add(&out, t == all ? "" : ",\n ");
        if (json)
            put_json(&out, *t);
        else
            put_row(&out, *t);
    }
    if (json)
        str_add(&out, "]\n");
    return session_write(s, out.data, out.len);
}
