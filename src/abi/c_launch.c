/* c_launch.c: the functions of the generated C header that prepare a launch: checks
 * of the arguments, tensor maps, the entry, the grid.
 */
#include "abi/c_header.h"

const char *ch_field(const Header *h, int tensor)
{
    return h->fields[h->abi->maps.len + tensor]; /* addresses come behind the maps, in order */
}

bool ch_wants_machine(const Abi *abi)
{
    return abi->maps.len > 0 || abi_has_counters(abi);
}

void ch_expr(const Header *h, const Aff *a)
{
    abi_c_expr(h->out, h->abi, a, h->dims);
}

void ch_open(const Header *h, const char *comment, const char *type, const char *name,
             const char *parameters)
{
    str_printf(h->out, "/* %s */\nstatic inline %s%s_%s(%s)\n{\n", comment, type, h->p, name,
               parameters);
}

/* ---- checks ------------------------------------------------------------------------- */

static void put_aligned(const Header *h)
{
    const Abi *abi = h->abi;
    ch_open(h,
            "Whether the fast entries may be used: addresses and strides are multiples of "
            "what they want.",
            "int ", "aligned", arena_printf(h->arena, "const %s_args *args", h->p));
    str_add(h->out, "    (void)args;\n    return 1");
    for (int i = 0; i < abi->args.len; i++) {
        const AbiArg *arg = &abi->args.data[i];
        if (arg->kind != ABI_ADDRESS && arg->kind != ABI_STRIDE)
            continue;
        const AbiTensor *t = &abi->tensors.data[arg->tensor];
        int unit = arg->kind == ABI_ADDRESS ? t->alignment : t->alignment / dtype_bytes(t->dtype);
        if (unit > 1)
            str_printf(h->out, " &&\n           args->%s %% %d == 0", h->fields[i], unit);
    }
    str_add(h->out, ";\n}\n\n");
}

static void put_refusal(const Header *h, const char *message)
{
    str_add(h->out, "        return ");
    c_string(h->out, message);
    str_add(h->out, ";\n");
}

static void put_arg_check(const Header *h, int i)
{
    const Abi *abi = h->abi;
    const AbiArg *arg = &abi->args.data[i];
    const char *field = h->fields[i];
    if (arg->kind == ABI_ADDRESS && dtype_bytes(abi->tensors.data[arg->tensor].dtype) > 1) {
        str_printf(h->out, "    if (args->%s %% %d != 0)\n", field,
                   dtype_bytes(abi->tensors.data[arg->tensor].dtype));
        put_refusal(h, arena_printf(h->arena,
                                    "the address of %s is not a multiple of its element's size",
                                    field));
    }
    if (arg->kind == ABI_COUNTER) {
        str_printf(h->out, "    if (args->%s == 0 || args->%s %% 4 != 0)\n", field, field);
        put_refusal(h, arena_printf(h->arena, "%s is not the address of a 32-bit word", field));
    }
    if (arg->kind == ABI_STRIDE) {
        str_printf(h->out, "    if (args->%s < 0)\n", field);
        put_refusal(h, arena_printf(h->arena, "%s is negative", field));
    }
    if (arg->kind != ABI_DIM)
        return;
    const AffSym *sym = abi->dims.data[arg->position];
    str_printf(h->out, "    if (args->%s < %lld", field, (long long)(sym->lo > 0 ? sym->lo : 0));
    if (sym->hi < ABI_MAX_DIM)
        str_printf(h->out, " || args->%s > %lld", field, (long long)sym->hi);
    str_add(h->out, ")\n");
    put_refusal(h, arena_printf(h->arena, "%s is out of its range", field));
}

static void put_check(const Header *h)
{
    const Abi *abi = h->abi;
    ch_open(h, "NULL, or why these arguments cannot be launched.", "const char *", "check",
                  arena_printf(h->arena, "const %s_args *args", h->p));
    str_add(h->out, "    (void)args;\n");
    for (int i = 0; i < abi->args.len; i++)
        put_arg_check(h, i);
    for (int i = 0; i < abi->requires.len; i++) {
        str_add(h->out, "    if (!(");
        ch_expr(h, abi->requires.data[i].cond);
        str_add(h->out, "))\n");
        put_refusal(h, abi->requires.data[i].message);
    }
    str_add(h->out, "    return NULL;\n}\n\n");
}

/* ---- tensor maps -------------------------------------------------------------------- */

/* Shared by all generated headers that want it. The driver takes a handle that is
 * aligned to 64 bytes, which a member of a struct need not be. */
static const char machine[] =
    "#ifndef TW_ABI_MACHINE\n"
    "#define TW_ABI_MACHINE\n"
    "#define TW_ABI_MAP_BYTES 128\n"
    "/* cuTensorMapEncodeTiled, with plain types for the driver API's enumerations. */\n"
    "typedef int (*tw_abi_encode_tiled)(void *map, int type, uint32_t rank, void *address,\n"
    "                                   const uint64_t *dims, const uint64_t *strides,\n"
    "                                   const uint32_t *box, const uint32_t *steps, int interleave,\n"
    "                                   int swizzle, int promotion, int fill);\n"
    "typedef struct tw_abi_machine {\n"
    "    int multiprocessors;\n"
    "    tw_abi_encode_tiled encode; /* NULL: the slower entries are launched */\n"
    "} tw_abi_machine;\n"
    "/* Whether the map could be encoded. Dimension 0 is the innermost. */\n"
    "static inline int tw_abi_map(unsigned char *map, const tw_abi_machine *machine, int type,\n"
    "                             uint32_t rank, uint64_t address, const int64_t *dims,\n"
    "                             const int64_t *strides, const uint32_t *box, int swizzle)\n"
    "{\n"
    "    static const uint32_t steps[5] = {1, 1, 1, 1, 1};\n"
    "    unsigned char raw[TW_ABI_MAP_BYTES + 64];\n"
    "    unsigned char *handle = raw + (64 - (uintptr_t)raw % 64) % 64;\n"
    "    uint64_t sizes[5] = {0, 0, 0, 0, 0}, pitches[5] = {0, 0, 0, 0, 0};\n"
    "    uint32_t i;\n"
    "    if (!machine->encode)\n"
    "        return 0;\n"
    "    for (i = 0; i < rank; i++) {\n"
    "        sizes[i] = (uint64_t)dims[i];\n"
    "        if (dims[i] < 1)\n"
    "            return 0;\n"
    "        if (i + 1 == rank)\n"
    "            break;\n"
    "        pitches[i] = (uint64_t)strides[i];\n"
    "        if (strides[i] < 0 || strides[i] % 16 != 0 || strides[i] >= (int64_t)1 << 40)\n"
    "            return 0;\n"
    "    }\n"
    "    if (machine->encode(handle, type, rank, (void *)(uintptr_t)address, sizes, pitches, box, steps,\n"
    "                        0, swizzle, 3, 0) != 0)\n"
    "        return 0;\n"
    "    for (i = 0; i < TW_ABI_MAP_BYTES; i++)\n"
    "        map[i] = handle[i];\n"
    "    return 1;\n"
    "}\n"
    "#endif\n\n";

void ch_put_machine(const Header *h)
{
    str_add(h->out, machine);
}

/* The field of a tensor's stride along a dimension but the innermost. */
static const char *stride_field(const Header *h, int tensor, int axis)
{
    for (int i = 0; i < h->abi->args.len; i++) {
        const AbiArg *arg = &h->abi->args.data[i];
        if (arg->kind == ABI_STRIDE && arg->tensor == tensor && arg->axis == axis)
            return h->fields[i];
    }
    return "";
}

static void put_map_shape(const Header *h, const AbiMap *map)
{
    const AbiTensor *t = &h->abi->tensors.data[map->tensor];
    str_add(h->out, "        const int64_t dims[] = {");
    for (int d = t->rank - 1; d >= 0; d--) {
        ch_expr(h, t->dims[d]);
        str_add(h->out, d ? ", " : "};\n        const int64_t strides[] = {");
    }
    for (int d = t->rank - 2; d >= 0; d--)
        str_printf(h->out, "tw_abi_mul(args->%s, %d), ", stride_field(h, map->tensor, d),
                   dtype_bytes(t->dtype));
    str_add(h->out, "0};\n        const uint32_t box[] = {");
    for (int d = t->rank - 1; d >= 0; d--)
        str_printf(h->out, "%d%s", map->box[d], d ? ", " : "};\n");
}

static void put_map(const Header *h, int field, const AbiMap *map)
{
    const AbiTensor *t = &h->abi->tensors.data[map->tensor];
    str_add(h->out, "    {\n");
    put_map_shape(h, map);
    str_printf(h->out,
               "        if (!tw_abi_map(args->%s, machine, %d, %d, args->%s, dims, strides, box, %d))\n"
               "            return 0;\n    }\n",
               h->fields[field], abi_driver_type(t->dtype), t->rank, ch_field(h, map->tensor),
               abi_driver_swizzle(map->swizzle));
}

static void put_maps(const Header *h)
{
    const Abi *abi = h->abi;
    ch_open(h, "Encodes the tensor maps. 0: these tensors have none; use the slower entries.", "int ",
            "maps",
            arena_printf(h->arena, "%s_args *args, const tw_abi_machine *machine", h->p));
    for (int i = 0; i < abi->args.len; i++)
        if (abi->args.data[i].kind == ABI_MAP)
            put_map(h, i, &abi->maps.data[abi->args.data[i].position]);
    str_add(h->out, "    return 1;\n}\n\n");
}

/* ---- launches ----------------------------------------------------------------------- */

static void put_entry(const Header *h, const AbiEntry *entry, const char *indent)
{
    str_printf(h->out, "%slaunch->entry = ", indent);
    c_string(h->out, entry->name);
    str_printf(h->out, ";\n%sblocks = ", indent);
    ch_expr(h, entry->blocks);
    str_printf(h->out, ";\n%sresident = ", indent);
    if (entry->persistent)
        str_printf(h->out, "tw_abi_mul(machine->multiprocessors, %d)", entry->persistent);
    else
        str_add(h->out, "0");
    str_printf(h->out, ";\n%slaunch->threads = %d;\n%slaunch->shared_bytes = %lld;\n", indent,
               entry->threads, indent, (long long)entry->shared_bytes);
}

static void put_kernel(const Header *h, int k)
{
    const AbiKernel *kernel = &h->abi->kernels.data[k];
    str_printf(h->out, "    case %d:\n", k);
    if (kernel->any.name) {
        str_add(h->out, "        if (!fast) {\n");
        put_entry(h, &kernel->any, "            ");
        str_add(h->out, "            break;\n        }\n");
    }
    put_entry(h, &kernel->fast, "        ");
    str_add(h->out, "        break;\n");
}

static void put_prepare(const Header *h)
{
    const Abi *abi = h->abi;
    bool told = ch_wants_machine(abi);
    ch_open(h, "All of one kernel's launch, from 0. NULL, or why it cannot be launched.",
            "const char *", "prepare",
            arena_printf(h->arena, "int kernel, %s_args *args, %s%s_launch *launch", h->p,
                         told ? "const tw_abi_machine *machine, " : "", h->p));
    str_printf(h->out,
               "    const char *error = %s_check(args);\n    int64_t blocks, resident;\n"
               "    int fast;\n    if (error)\n        return error;\n",
               h->p);
    if (abi_has_counters(abi))
        str_add(h->out, "    if (machine->multiprocessors < 1)\n"
                        "        return \"the machine has no multiprocessors\";\n");
    str_printf(h->out, "    fast = %s_aligned(args)", h->p);
    if (abi->maps.len)
        str_printf(h->out, " && %s_maps(args, machine)", h->p);
    str_printf(h->out, ";\n    (void)fast;\n%s    switch (kernel) {\n",
               told ? "    (void)machine;\n" : "");
    for (int k = 0; k < abi->kernels.len; k++)
        put_kernel(h, k);
    str_add(h->out, "    default:\n        return \"there is no such kernel\";\n    }\n"
                    "    if (blocks < 0 || blocks > 2147483647)\n"
                    "        return \"the grid has more than 2^31 - 1 blocks\";\n"
                    "    if (resident > 0 && blocks > resident)\n"
                    "        blocks = resident;\n"
                    "    launch->grid = (unsigned int)blocks;\n");
    for (int i = 0; i < abi->args.len; i++)
        str_printf(h->out, "    launch->params[%d] = (void *)&args->%s;\n", i, h->fields[i]);
    str_add(h->out, "    return NULL;\n}\n\n");
}

void ch_put_launching(const Header *h)
{
    put_aligned(h);
    put_check(h);
    if (h->abi->maps.len)
        put_maps(h);
    put_prepare(h);
}
