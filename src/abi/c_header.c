/* c_header.c: the generated C header NAME.TARGET.h, from which any host program
 * launches the kernels through the CUDA driver or runtime.
 *
 * Its struct of arguments has the arguments' names, types and order, and is the
 * parameter space byte for byte. It includes nothing but the C library, and
 * compiles as C99 and as C++ without a warning.
 */
#include "abi/c_header.h"

/* Shared by all generated headers. Saturation keeps products of hostile
 * dimensions from wrapping. */
static const char helpers[] =
    "#ifndef TW_ABI_HELPERS\n"
    "#define TW_ABI_HELPERS\n"
    "#define TW_ABI_MOST ((int64_t)1 << 61) /* results saturate here */\n"
    "static inline int64_t tw_abi_clamp(int64_t a)\n"
    "{\n"
    "    return a > TW_ABI_MOST ? TW_ABI_MOST : a < -TW_ABI_MOST ? -TW_ABI_MOST : a;\n"
    "}\n"
    "static inline int64_t tw_abi_add(int64_t a, int64_t b)\n"
    "{\n"
    "    return tw_abi_clamp(tw_abi_clamp(a) + tw_abi_clamp(b));\n"
    "}\n"
    "static inline int64_t tw_abi_mul(int64_t a, int64_t b)\n"
    "{\n"
    "    int64_t x = tw_abi_clamp(a), y = tw_abi_clamp(b);\n"
    "    int64_t u = x < 0 ? -x : x, v = y < 0 ? -y : y;\n"
    "    if (u != 0 && v > TW_ABI_MOST / u)\n"
    "        return (x < 0) == (y < 0) ? TW_ABI_MOST : -TW_ABI_MOST;\n"
    "    return x * y;\n"
    "}\n"
    "static inline int64_t tw_abi_div(int64_t a, int64_t b) /* floor */\n"
    "{\n"
    "    if (b == 0)\n"
    "        return 0;\n"
    "    return tw_abi_clamp(a) / b - (tw_abi_clamp(a) % b != 0 && (a < 0) != (b < 0));\n"
    "}\n"
    "static inline int64_t tw_abi_mod(int64_t a, int64_t b) /* has b's sign */\n"
    "{\n"
    "    return b == 0 ? 0 : tw_abi_clamp(a) - tw_abi_div(a, b) * b;\n"
    "}\n"
    "static inline int64_t tw_abi_min(int64_t a, int64_t b)\n"
    "{\n"
    "    return a < b ? a : b;\n"
    "}\n"
    "static inline int64_t tw_abi_max(int64_t a, int64_t b)\n"
    "{\n"
    "    return a > b ? a : b;\n"
    "}\n"
    "#endif\n\n";

static void name_fields(Header *h)
{
    const Abi *abi = h->abi;
    h->fields = arena_array(h->arena, const char *, abi->args.len + 1);
    h->dims = arena_array(h->arena, const char *, abi->dims.len + 1);
    for (int i = 0; i < abi->args.len; i++) {
        const AbiArg *arg = &abi->args.data[i];
        h->fields[i] = c_unique(h->arena, arg->name, h->fields, i);
        if (arg->kind == ABI_DIM)
            h->dims[arg->position] = h->fields[i];
    }
}

/* ---- the opening comment ------------------------------------------------------------ */

#define COUNTER_LINES                                                                      \
    " A counter is such\n * memory: a 32-bit word that is 0 before the first launch, and again " \
    "after each."

static const char *machine_lines(const Header *h)
{
    const Abi *abi = h->abi;
    Str s = str_new(h->arena);
    if (!ch_wants_machine(abi))
        return "";
    for (int i = 0; i < abi->args.len; i++)
        if (abi->args.data[i].kind == ABI_COUNTER)
            str_printf(&s, " *   args.%s = (uint64_t)zeroed_word;   of the stream, see below\n",
                       h->fields[i]);
    str_add(&s, " *   tw_abi_machine machine = {multiprocessors, (tw_abi_encode_tiled)encode};\n"
                " *       CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, and cuTensorMapEncodeTiled, which\n"
                " *       dlsym or cuGetProcAddress finds in the driver\n");
    return str_text(&s);
}

static void put_opening(const Header *h)
{
    Str *out = h->out;
    const Abi *abi = h->abi;
    str_add(out, "/* ");
    c_comment(out, abi->name);
    str_printf(out, ".%s.h: launching ", abi->target);
    c_comment(out, abi->name);
    str_printf(out, " (%s, %s) from C or C++.\n *\n", abi->target, dtype_name(abi->dtype));
    if (abi->settings && abi->settings[0]) {
        str_add(out, " * Compiled in: ");
        c_comment(out, abi->settings);
        str_add(out, "\n *\n");
    }
    str_printf(
        out,
        " *   %s_args args;\n"
        " *   %s_launch launch;\n"
        " *   memset(&args, 0, sizeof args);\n"
        " *   args.%s = (uint64_t)pointer;      and the other tensors, dimensions and parameters\n"
        " *   %s_contiguous(&args);  or set the strides one by one\n"
        "%s"
        " *   for (int k = 0; k < %s_KERNELS; k++) {\n"
        " *       const char *error = %s_prepare(k, &args, %s&launch);\n"
        " *       if (error) ...                 a sentence; launch nothing\n"
        " *       cuModuleGetFunction(&function, module, launch.entry);\n"
        " *       cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,\n"
        " *                          (int)launch.shared_bytes);\n"
        " *       if (launch.grid)               0: there is nothing to do\n"
        " *           cuLaunchKernel(function, launch.grid, 1, 1, launch.threads, 1, 1,\n"
        " *                          launch.shared_bytes, stream, launch.params, NULL);\n"
        " *   }\n"
        " *\n"
        " * The kernels run in this order on one stream, may be captured in a graph, and keep\n"
        " * no state: launches that write different memory may overlap.%s\n"
        " */\n",
        h->p, h->p, abi->tensors.len ? ch_field(h, 0) : "tensor", h->p, machine_lines(h), h->upper,
        h->p, ch_wants_machine(abi) ? "&machine, " : "", abi_has_counters(abi) ? COUNTER_LINES : "");
}

/* ---- the arguments ------------------------------------------------------------------ */

static const char *role_of(const AbiTensor *t)
{
    if (t->workspace)
        return "workspace: memory of the program's own while it runs";
    if (t->read && t->written)
        return "read and written";
    return t->written ? "written" : "read";
}

static void put_tensor_comment(const Header *h, const AbiTensor *t)
{
    Str text = str_new(h->arena);
    str_printf(&text, "%s %s (", t->name, dtype_name(t->dtype));
    for (int axis = 0; axis < t->rank; axis++)
        str_printf(&text, "%s%s", axis ? ", " : "", aff_text(h->arena, t->dims[axis]));
    str_printf(&text, "), %s; device address of its first element", role_of(t));
    str_add(h->out, "    /* ");
    c_comment(h->out, str_text(&text));
    str_add(h->out, " */\n");
}

static void put_arg_comment(const Header *h, const AbiArg *arg)
{
    const Abi *abi = h->abi;
    switch (arg->kind) {
    case ABI_MAP:
        str_add(h->out, "    /* tensor map, filled in by ");
        str_printf(h->out, "%s_prepare */\n", h->p);
        break;
    case ABI_COUNTER:
        str_add(h->out, "    /* device address of a 32-bit word, 0 before and after every launch, that no\n"
                        "     * launch at the same time uses */\n");
        break;
    case ABI_ADDRESS: put_tensor_comment(h, &abi->tensors.data[arg->tensor]); break;
    case ABI_STRIDE:
        if (arg->axis == 0) {
            str_add(h->out, "    /* strides of ");
            c_comment(h->out, abi->tensors.data[arg->tensor].name);
            str_add(h->out, " in elements, outermost first; the innermost is 1 */\n");
        }
        break;
    case ABI_DIM:
        str_printf(h->out, "    /* dimension, %lld to %lld */\n",
                   (long long)(abi->dims.data[arg->position]->lo > 0
                                   ? abi->dims.data[arg->position]->lo
                                   : 0),
                   (long long)(abi->dims.data[arg->position]->hi < ABI_MAX_DIM
                                   ? abi->dims.data[arg->position]->hi
                                   : ABI_MAX_DIM));
        break;
    case ABI_PARAM: str_add(h->out, "    /* parameter */\n"); break;
    }
}

static const char *c_type(AbiArgKind kind)
{
    static const char *const types[] = {[ABI_MAP] = "unsigned char",
                                        [ABI_ADDRESS] = "uint64_t",
                                        [ABI_COUNTER] = "uint64_t",
                                        [ABI_STRIDE] = "int64_t",
                                        [ABI_DIM] = "int32_t",
                                        [ABI_PARAM] = "float"};
    return types[kind];
}

static void put_args(const Header *h)
{
    const Abi *abi = h->abi;
    int last = abi->args.len - 1;
    str_printf(h->out,
               "/* Every entry's parameter space, byte for byte (without trailing padding). */\n"
               "typedef struct %s_args {\n",
               h->p);
    for (int i = 0; i <= last; i++) {
        put_arg_comment(h, &abi->args.data[i]);
        str_printf(h->out, "    %s %s%s;\n", c_type(abi->args.data[i].kind), h->fields[i],
                   abi->args.data[i].kind == ABI_MAP ? "[TW_ABI_MAP_BYTES]" : "");
    }
    if (last < 0)
        str_add(h->out, "    int32_t unused;\n");
    str_printf(h->out, "} %s_args;\n\n", h->p);
    str_printf(h->out, "enum { %s_KERNELS = %d, %s_ARGUMENTS = %d, %s_PARAM_BYTES = %d };\n\n",
               h->upper, abi->kernels.len, h->upper, abi->args.len, h->upper, abi->param_bytes);
    if (last >= 0)
        str_printf(h->out, "typedef char %s_is_packed[offsetof(%s_args, %s) == %d ? 1 : -1];\n\n",
                   h->p, h->p, h->fields[last], abi->args.data[last].offset);
    str_printf(h->out,
               "typedef struct %s_launch {\n"
               "    const char *entry;         /* name of the kernel in the PTX */\n"
               "    unsigned int grid, threads; /* gridDim.x and blockDim.x; their other extents "
               "are 1 */\n"
               "    unsigned int shared_bytes; /* dynamic shared memory */\n"
               "    void *params[%d];          /* kernelParams: they point into the %s_args */\n"
               "} %s_launch;\n\n",
               h->p, abi->args.len ? abi->args.len : 1, h->p, h->p);
}

/* ---- functions ---------------------------------------------------------------------- */

/* A row's elements; of a workspace with those that let the next one begin where fast entries want it. */
static void put_row(const Header *h, const AbiTensor *t)
{
    int each = t->workspace && t->rank > 1 ? t->alignment / dtype_bytes(t->dtype) : 1;
    if (each > 1)
        str_addc(h->out, '(');
    ch_expr(h, t->dims[t->rank - 1]);
    if (each > 1)
        str_printf(h->out, " + %d) / %d * %d", each - 1, each, each);
}

static void put_contiguous(const Header *h)
{
    const Abi *abi = h->abi;
    ch_open(h, "The strides of tensors without gaps, once the dimensions are set.", "void ",
                  "contiguous", arena_printf(h->arena, "%s_args *args", h->p));
    for (int i = abi->args.len - 1; i >= 0; i--) { /* innermost first */
        const AbiArg *arg = &abi->args.data[i];
        if (arg->kind != ABI_STRIDE)
            continue;
        const AbiTensor *t = &abi->tensors.data[arg->tensor];
        str_printf(h->out, "    args->%s = ", h->fields[i]);
        if (arg->axis == t->rank - 2) {
            put_row(h, t);
        } else {
            str_printf(h->out, "tw_abi_mul(args->%s, ", h->fields[i + 1]);
            ch_expr(h, t->dims[arg->axis + 1]);
            str_addc(h->out, ')');
        }
        str_add(h->out, ";\n");
    }
    str_add(h->out, "    (void)args;\n}\n\n");
}

static void put_bytes(const Header *h, int tensor)
{
    const AbiTensor *t = &h->abi->tensors.data[tensor];
    ch_open(h, arena_printf(h->arena, "Bytes of %s without gaps.", ch_field(h, tensor)),
                  "int64_t ", arena_printf(h->arena, "bytes_%s", ch_field(h, tensor)),
                  arena_printf(h->arena, "const %s_args *args", h->p));
    str_printf(h->out, "    int64_t bytes = %d;\n    (void)args;\n", dtype_bytes(t->dtype));
    for (int axis = 0; axis < t->rank; axis++) {
        str_add(h->out, "    bytes = tw_abi_mul(bytes, ");
        if (axis == t->rank - 1)
            put_row(h, t);
        else
            ch_expr(h, t->dims[axis]);
        str_add(h->out, ");\n");
    }
    str_add(h->out, "    return bytes;\n}\n\n");
}

void abi_c_header(Str *out, const Abi *abi)
{
    Header h = {.out = out, .abi = abi, .arena = abi->arena};
    h.p = c_identifier(h.arena, arena_printf(h.arena, "%s_%s", abi->name, abi->target));
    h.upper = c_upper(h.arena, h.p);
    name_fields(&h);
    put_opening(&h);
    str_printf(out, "#ifndef %s_H\n#define %s_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n",
               h.upper, h.upper);
    str_add(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    str_add(out, helpers);
    if (ch_wants_machine(abi))
        ch_put_machine(&h);
    put_args(&h);
    put_contiguous(&h);
    for (int i = 0; i < abi->tensors.len; i++)
        put_bytes(&h, i);
    ch_put_launching(&h);
    str_add(out, "#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}
