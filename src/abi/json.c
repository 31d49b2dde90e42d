/* json.c: the ABI as JSON, and as the `//tw ` comment lines at the head of PTX.
 *
 *   //tw {
 *   //tw   "tilewright": 2,
 *   //tw   "kernels": [
 *   //tw     {"entry": "gemm", "entry_any": "gemm_any", "blocks": "ceil(M / 128)", ...}
 *
 * A reader joins what stands behind the `//tw ` of successive lines, without
 * line ends, and parses the result. A line longer than the limit is continued
 * on the next; none ends in a space, which an editor might strip. All is ASCII,
 * for which PTX is specified.
 */
#include "abi/parts.h"

/* ---- writing ------------------------------------------------------------------------ */

static void put_text(Str *out, const char *key, const char *text)
{
    str_printf(out, "  \"%s\": ", key);
    str_json(out, text);
    str_add(out, ",\n");
}

static void put_expr(Str *out, const Abi *abi, const Aff *a)
{
    str_json(out, aff_text(abi->arena, a));
}

static void put_tensor(Str *out, const Abi *abi, int i)
{
    const AbiTensor *t = &abi->tensors.data[i];
    str_add(out, "{\"name\": ");
    str_json(out, t->name);
    str_printf(out, ", \"dtype\": \"%s\", \"dims\": [", dtype_name(t->dtype));
    for (int axis = 0; axis < t->rank; axis++) {
        str_add(out, axis ? ", " : "");
        put_expr(out, abi, t->dims[axis]);
    }
    str_printf(out, "], \"read\": %s, \"written\": %s, \"workspace\": %s, \"alignment\": %d}",
               t->read ? "true" : "false", t->written ? "true" : "false",
               t->workspace ? "true" : "false", t->alignment);
}

static void put_dim(Str *out, const Abi *abi, int i)
{
    const AffSym *sym = abi->dims.data[i];
    str_add(out, "{\"name\": ");
    str_json(out, sym->name);
    str_printf(out, ", \"min\": %lld, \"max\": %lld}", (long long)(sym->lo > 0 ? sym->lo : 0),
               (long long)(sym->hi < ABI_MAX_DIM ? sym->hi : ABI_MAX_DIM));
}

static void put_param(Str *out, const Abi *abi, int i)
{
    str_json(out, abi->params.data[i]);
}

static void put_arg(Str *out, const Abi *abi, int i)
{
    const AbiArg *arg = &abi->args.data[i];
    str_add(out, "{\"name\": ");
    str_json(out, arg->name);
    str_printf(out, ", \"kind\": \"%s\"", abi_arg_kind_name(arg->kind));
    if (arg->kind == ABI_MAP || arg->kind == ABI_ADDRESS || arg->kind == ABI_STRIDE) {
        str_add(out, ", \"tensor\": ");
        str_json(out, abi->tensors.data[arg->tensor].name);
    }
    if (arg->kind == ABI_STRIDE)
        str_printf(out, ", \"axis\": %d", arg->axis);
    if (arg->kind == ABI_MAP)
        str_printf(out, ", \"map\": %d", arg->position);
    if (arg->kind == ABI_COUNTER)
        str_printf(out, ", \"kernel\": %d", arg->position);
    str_printf(out, ", \"offset\": %d, \"bytes\": %d}", arg->offset, arg->bytes);
}

static void put_map(Str *out, const Abi *abi, int i)
{
    const AbiMap *map = &abi->maps.data[i];
    const AbiTensor *t = &abi->tensors.data[map->tensor];
    str_add(out, "{\"tensor\": ");
    str_json(out, t->name);
    str_add(out, ", \"box\": [");
    for (int d = 0; d < t->rank; d++)
        str_printf(out, "%s%d", d ? ", " : "", map->box[d]);
    str_printf(out, "], \"swizzle\": %d, \"written\": %s}", map->swizzle,
               map->written ? "true" : "false");
}

static void put_launch(Str *out, const Abi *abi, const AbiEntry *entry)
{
    str_add(out, "\"blocks\": ");
    put_expr(out, abi, entry->blocks);
    str_printf(out, ", \"persistent\": %d, \"threads\": %d, \"shared_bytes\": %lld}",
               entry->persistent, entry->threads, (long long)entry->shared_bytes);
}

static void put_kernel(Str *out, const Abi *abi, int i)
{
    const AbiKernel *kernel = &abi->kernels.data[i];
    str_add(out, "{\"entry\": ");
    str_json(out, kernel->fast.name);
    str_add(out, ", ");
    if (kernel->any.name) {
        str_add(out, "\"entry_any\": ");
        str_json(out, kernel->any.name);
        str_add(out, ", ");
    }
    if (kernel->any.name && !abi_same_launch(&kernel->fast, &kernel->any)) {
        str_add(out, "\"any\": {");
        put_launch(out, abi, &kernel->any);
        str_add(out, ", ");
    }
    put_launch(out, abi, &kernel->fast);
}

static void put_require(Str *out, const Abi *abi, int i)
{
    str_add(out, "{\"cond\": ");
    put_expr(out, abi, abi->requires.data[i].cond);
    str_add(out, ", \"message\": ");
    str_json(out, abi->requires.data[i].message);
    str_add(out, "}");
}

static void put_list(Str *out, const Abi *abi, const char *key, int n,
                     void (*item)(Str *out, const Abi *abi, int i))
{
    str_printf(out, "  \"%s\": [%s", key, n ? "\n" : "");
    for (int i = 0; i < n; i++) {
        str_add(out, "    ");
        item(out, abi, i);
        str_add(out, i + 1 < n ? ",\n" : "\n  ");
    }
    str_add(out, "],\n");
}

void abi_json(Str *out, const Abi *abi)
{
    str_printf(out, "{\n  \"tilewright\": %d,\n", ABI_VERSION);
    put_text(out, "name", abi->name);
    put_text(out, "target", abi->target);
    put_text(out, "dtype", dtype_name(abi->dtype));
    put_text(out, "settings", abi->settings ? abi->settings : "");
    put_list(out, abi, "tensors", abi->tensors.len, put_tensor);
    put_list(out, abi, "dims", abi->dims.len, put_dim);
    put_list(out, abi, "params", abi->params.len, put_param);
    put_list(out, abi, "maps", abi->maps.len, put_map);
    put_list(out, abi, "args", abi->args.len, put_arg);
    put_list(out, abi, "kernels", abi->kernels.len, put_kernel);
    put_list(out, abi, "requires", abi->requires.len, put_require);
    if (abi->unordered)
        str_add(out, "  \"unordered\": true,\n");
    if (abi->definition)
        put_text(out, "definition", abi->definition);
    str_printf(out, "  \"param_bytes\": %d\n}\n", abi->param_bytes);
}

/* ---- comment lines ------------------------------------------------------------------ */

enum { COMMENT_WIDTH = 94 }; /* bytes behind `//tw ` */

/* The code point of the UTF-8 character at *at, which is advanced. str_json
 * wrote it, so it is well formed. */
static unsigned take_character(const unsigned char **at)
{
    unsigned first = *(*at)++, code = first;
    int more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    if (more)
        code = first & (0x3fu >> more);
    while (more--)
        code = code << 6 | (*(*at)++ & 0x3fu);
    return code;
}

/* One JSON text, line ends included, in ASCII. */
static void put_ascii(Str *out, const char *json)
{
    const unsigned char *at = (const unsigned char *)json;
    while (*at) {
        unsigned code = take_character(&at);
        if (code < 0x80)
            str_addc(out, (char)code);
        else if (code < 0x10000)
            str_printf(out, "\\u%04x", code);
        else
            str_printf(out, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
                       0xdc00 + ((code - 0x10000) & 0x3ff));
    }
}

/* How much of the line fits: up to a comma, where one comes late enough; never
 * ending in a space. */
static size_t cut_at(const char *line, size_t len)
{
    size_t cut = COMMENT_WIDTH;
    if (len <= cut)
        return len;
    while (cut > COMMENT_WIDTH / 2 && line[cut - 1] != ',')
        cut--;
    if (line[cut - 1] == ',')
        return cut;
    cut = COMMENT_WIDTH;
    while (cut > 1 && line[cut - 1] == ' ')
        cut--;
    return cut > 1 ? cut : COMMENT_WIDTH;
}

/* Of a line, as far as matters here: a text may be one line of megabytes. */
static size_t shown_length(const char *line)
{
    size_t len = 0;
    while (len <= COMMENT_WIDTH && line[len] && line[len] != '\n') len++;
    return len;
}

void abi_ptx_comment(Str *out, const Abi *abi)
{
    Str json = str_new(abi->arena), ascii = str_new(abi->arena);
    abi_json(&json, abi);
    put_ascii(&ascii, str_text(&json));
    for (const char *line = str_text(&ascii); *line;) {
        size_t len = shown_length(line), cut = cut_at(line, len);
        str_add(out, "//tw ");
        str_addn(out, line, cut);
        str_addc(out, '\n');
        line += cut + (cut == len && line[len] == '\n');
    }
}
