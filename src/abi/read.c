/* read.c: the ABI back from the `//tw ` comment lines at the head of PTX.
 *
 * The text may have been cut, edited or made up: every member's type and range
 * is checked, and what follows from other members (the arguments' order and
 * offsets) is computed again and compared.
 *
 * Vocabulary
 *   head    the comment lines before the first line of PTX proper
 *   joined  what stands behind `//tw ` in them, without line ends: the JSON
 *   where   the path of a JSON object, for messages: "tensors[2]"
 */
#include "abi/parts.h"

#include <jansson.h>

enum { MAX_LIST = 512, MAX_SHARED = 1 << 20, MAX_ALIGNMENT = 256, MAX_NAME = 200 };

/* Byte `joined` of the JSON stands at byte `source` of the PTX. */
typedef struct Piece {
    size_t joined, source;
} Piece;

typedef struct Reader {
    Arena *arena;
    Syms *syms;
    AffCtx *aff;
    Diags *diags;
    Span span; /* the first line of the comment: the place of what has none */
    Abi *abi;
    json_t *root; /* not the arena's */
    bool failed;
} Reader;

static void damaged(Reader *r, const char *fmt, ...) TW_PRINTF(2, 3);
static void damaged(Reader *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    diag_add(r->diags, TW0902, r->span, "%s", arena_vprintf(r->arena, fmt, args));
    va_end(args);
    r->failed = true;
}

/* ---- members ------------------------------------------------------------------------ */

static const json_t *member(Reader *r, const json_t *object, const char *where, const char *key,
                            json_type type, const char *type_text)
{
    const json_t *value = json_object_get(object, key);
    if (value && json_typeof(value) == type)
        return value;
    damaged(r, "%s%s is %s", where, key,
            value ? arena_printf(r->arena, "not %s", type_text) : "missing");
    return NULL;
}

static const char *get_text(Reader *r, const json_t *object, const char *where, const char *key)
{
    const json_t *value = member(r, object, where, key, JSON_STRING, "a string");
    return value ? arena_strdup(r->arena, json_string_value(value)) : "";
}

static bool is_identifier(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$0123456789";
    size_t len = strspn(text, letters);
    return len > 0 && len <= MAX_NAME && !text[len] && !(text[0] >= '0' && text[0] <= '9');
}

static const char *get_name(Reader *r, const json_t *object, const char *where, const char *key)
{
    const json_t *value = member(r, object, where, key, JSON_STRING, "a string");
    if (value && !is_identifier(json_string_value(value)))
        damaged(r, "%s%s is not a name", where, key);
    return value ? sym(r->syms, json_string_value(value)) : "";
}

static int64_t get_int(Reader *r, const json_t *object, const char *where, const char *key,
                       int64_t lo, int64_t hi)
{
    const json_t *value = member(r, object, where, key, JSON_INTEGER, "an integer");
    int64_t n = value ? json_integer_value(value) : lo;
    if (n >= lo && n <= hi)
        return n;
    damaged(r, "%s%s is %lld; it can be %lld to %lld", where, key, (long long)n, (long long)lo,
            (long long)hi);
    return lo;
}

static bool get_bool(Reader *r, const json_t *object, const char *where, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_boolean(value))
        damaged(r, "%s%s is neither true nor false", where, key);
    return json_is_true(value);
}

static DType get_dtype(Reader *r, const json_t *object, const char *where)
{
    DType dtype = DT_F32;
    const char *text = get_text(r, object, where, "dtype");
    if (!r->failed && !dtype_parse(text, &dtype))
        damaged(r, "%sdtype is '%s', which is no element type", where, text);
    return dtype;
}

static const Aff *to_expr(Reader *r, const char *text, const char *where, const char *key)
{
    const char *error;
    const Aff *a =
        r->failed ? NULL : abi_expr_parse(r->arena, r->syms, r->aff, r->abi, text, &error);
    if (!a && !r->failed)
        damaged(r, "%s%s: '%s': %s", where, key, text, error);
    return a ? a : aff_const(r->aff, 0);
}

static const Aff *get_expr(Reader *r, const json_t *object, const char *where, const char *key)
{
    return to_expr(r, get_text(r, object, where, key), where, key);
}

/* ---- lists -------------------------------------------------------------------------- */

static void read_dim(Reader *r, const json_t *item, const char *where)
{
    const char *name = get_name(r, item, where, "name");
    int64_t lo = get_int(r, item, where, "min", 0, ABI_MAX_DIM);
    int64_t hi = get_int(r, item, where, "max", lo, ABI_MAX_DIM);
    const AffSym *sym = aff_sym_new(r->aff, name, AFF_DIM, lo, hi);
    vec_push(r->arena, &r->abi->dims, sym);
}

static void read_param(Reader *r, const json_t *item, const char *where)
{
    const char *name = json_string_value(item);
    if (!name || !is_identifier(name)) {
        damaged(r, "%.*s is not a name", (int)strlen(where) - 1, where);
        return;
    }
    vec_push(r->arena, &r->abi->params, sym(r->syms, name));
}

static void read_shape(Reader *r, const json_t *dims, const char *where, AbiTensor *t)
{
    if (json_array_size(dims) > TENSOR_MAX_RANK) {
        damaged(r, "%sdims has more than %d dimensions", where, TENSOR_MAX_RANK);
        return;
    }
    t->rank = (int)json_array_size(dims);
    for (int axis = 0; axis < t->rank; axis++) {
        const char *text = json_string_value(json_array_get(dims, (size_t)axis));
        if (!text)
            damaged(r, "%sdims[%d] is not a string", where, axis);
        t->dims[axis] = to_expr(r, text ? text : "0", where, "dims");
    }
}

static void read_tensor(Reader *r, const json_t *item, const char *where)
{
    AbiTensor t = {.name = get_name(r, item, where, "name"), .dtype = get_dtype(r, item, where)};
    read_shape(r, member(r, item, where, "dims", JSON_ARRAY, "a list"), where, &t);
    t.read = get_bool(r, item, where, "read");
    t.written = get_bool(r, item, where, "written");
    t.workspace = get_bool(r, item, where, "workspace");
    t.alignment = (int)get_int(r, item, where, "alignment", 1, MAX_ALIGNMENT);
    vec_push(r->arena, &r->abi->tensors, t);
}

static AbiEntry read_entry(Reader *r, const json_t *item, const char *where)
{
    return (AbiEntry){
        .blocks = get_expr(r, item, where, "blocks"),
        .persistent = (int)get_int(r, item, where, "persistent", 0, ABI_MAX_PERSISTENT),
        .threads = (int)get_int(r, item, where, "threads", 1, ABI_MAX_THREADS),
        .shared_bytes = get_int(r, item, where, "shared_bytes", 0, MAX_SHARED)};
}

static void read_kernel(Reader *r, const json_t *item, const char *where)
{
    AbiKernel k = {.fast = read_entry(r, item, where)};
    k.any = k.fast;
    if (json_object_get(item, "any"))
        k.any = read_entry(r, member(r, item, where, "any", JSON_OBJECT, "an object"),
                           arena_printf(r->arena, "%sany.", where));
    k.fast.name = get_name(r, item, where, "entry");
    if (json_object_get(item, "entry_any"))
        k.any.name = get_name(r, item, where, "entry_any");
    vec_push(r->arena, &r->abi->kernels, k);
}

static int find_tensor(const Reader *r, const char *name)
{
    for (int i = 0; i < r->abi->tensors.len; i++)
        if (strcmp(r->abi->tensors.data[i].name, name) == 0)
            return i;
    return -1;
}

static void read_box(Reader *r, const json_t *sizes, const char *where, AbiMap *map)
{
    int rank = r->abi->tensors.data[map->tensor].rank;
    if (json_array_size(sizes) != (size_t)rank) {
        damaged(r, "%sbox has not one size a dimension of its tensor", where);
        return;
    }
    for (int d = 0; d < rank; d++) {
        const json_t *size = json_array_get(sizes, (size_t)d);
        json_int_t n = json_is_integer(size) ? json_integer_value(size) : 0;
        map->box[d] = n > 0 && n <= ABI_BOX_MOST ? (int)n : 0;
    }
}

static void read_map(Reader *r, const json_t *item, const char *where)
{
    AbiMap map = {.tensor = find_tensor(r, get_text(r, item, where, "tensor"))};
    if (map.tensor < 0) {
        damaged(r, "%stensor is none of the tensors", where);
        return;
    }
    read_box(r, member(r, item, where, "box", JSON_ARRAY, "a list"), where, &map);
    map.swizzle = (int)get_int(r, item, where, "swizzle", 0, 128);
    map.written = get_bool(r, item, where, "written");
    const char *misfit = r->failed ? NULL : abi_map_misfit(r->abi, &map);
    if (misfit)
        damaged(r, "%.*s: %s", (int)strlen(where) - 1, where, misfit);
    vec_push(r->arena, &r->abi->maps, map);
}

static void read_require(Reader *r, const json_t *item, const char *where)
{
    TileRequire require = {.cond = get_expr(r, item, where, "cond"),
                           .message = get_text(r, item, where, "message")};
    vec_push(r->arena, &r->abi->requires, require);
}

/* The argument at r->abi->args.data[at], which was computed, against the one written. */
static void check_arg(Reader *r, const json_t *item, const char *where, size_t at)
{
    int n = r->abi->args.len;
    const AbiArg *arg = at < (size_t)n ? &r->abi->args.data[at] : NULL;
    const char *kind = get_text(r, item, where, "kind");
    int64_t offset = get_int(r, item, where, "offset", 0, ABI_MAX_PARAM_BYTES);
    if (r->failed ||
        (arg && strcmp(kind, abi_arg_kind_name(arg->kind)) == 0 &&
         strcmp(get_text(r, item, where, "name"), arg->name) == 0 && offset == arg->offset))
        return;
    damaged(r, "%.*s is not what follows from the tensors, maps, kernels and dimensions", (int)strlen(where) - 1,
            where);
}

static void read_list(Reader *r, const json_t *root, const char *key, json_type type,
                      void (*read)(Reader *r, const json_t *item, const char *where))
{
    const json_t *list = member(r, root, "", key, JSON_ARRAY, "a list");
    size_t n = json_array_size(list);
    if (n > MAX_LIST) {
        damaged(r, "%s has %zu entries; at most %d can be", key, n, MAX_LIST);
        return;
    }
    for (size_t i = 0; i < n && !r->failed; i++) {
        const json_t *item = json_array_get(list, i);
        const char *where = arena_printf(r->arena, "%s[%zu].", key, i);
        if (json_typeof(item) != type)
            damaged(r, "%s[%zu] is not %s", key, i, type == JSON_OBJECT ? "an object" : "a string");
        else
            read(r, item, where);
    }
}

static void check_args(Reader *r, const json_t *root)
{
    const json_t *list = member(r, root, "", "args", JSON_ARRAY, "a list");
    abi_lay_out(r->abi);
    if (r->abi->param_bytes > ABI_MAX_PARAM_BYTES ||
        get_int(r, root, "", "param_bytes", 0, ABI_MAX_PARAM_BYTES) != r->abi->param_bytes ||
        json_array_size(list) != (size_t)r->abi->args.len)
        damaged(r, "args and param_bytes are not what follows from the tensors, maps, kernels and dimensions");
    for (size_t i = 0; i < json_array_size(list) && !r->failed; i++)
        check_arg(r, json_array_get(list, i), arena_printf(r->arena, "args[%zu].", i), i);
}

/* ---- the whole ---------------------------------------------------------------------- */

static void read_root(Reader *r, const json_t *root)
{
    Abi *abi = r->abi;
    abi->name = get_name(r, root, "", "name");
    abi->target = get_name(r, root, "", "target");
    abi->dtype = get_dtype(r, root, "");
    abi->settings = get_text(r, root, "", "settings");
    read_list(r, root, "dims", JSON_OBJECT, read_dim); /* first: expressions are over them */
    read_list(r, root, "params", JSON_STRING, read_param);
    read_list(r, root, "tensors", JSON_OBJECT, read_tensor);
    read_list(r, root, "maps", JSON_OBJECT, read_map);
    read_list(r, root, "kernels", JSON_OBJECT, read_kernel);
    read_list(r, root, "requires", JSON_OBJECT, read_require);
    abi->unordered = json_is_true(json_object_get(root, "unordered"));
    if (json_object_get(root, "definition"))
        abi->definition = get_text(r, root, "", "definition");
    if (!r->failed && abi->kernels.len == 0)
        damaged(r, "kernels is empty");
    if (!r->failed)
        check_args(r, root);
}

static void read_version(Reader *r, const json_t *root)
{
    int64_t version = get_int(r, root, "", "tilewright", 0, INT64_MAX);
    if (r->failed || version == ABI_VERSION)
        return;
    diag_add(r->diags, TW0903, r->span,
             "the launch ABI has version %lld; this program knows version %d", (long long)version,
             ABI_VERSION);
    r->failed = true;
}

static void read_json(void *reader)
{
    Reader *r = reader;
    if (!json_is_object(r->root))
        damaged(r, "the launch ABI is not a JSON object");
    if (!r->failed)
        read_version(r, r->root);
    if (!r->failed)
        read_root(r, r->root);
}

static void drop_json(void *reader)
{
    Reader *r = reader;
    json_decref(r->root);
}

/* ---- the comment -------------------------------------------------------------------- */

typedef struct Head {
    Str joined;
    VEC(Piece) pieces;
    Span first; /* the first line of it */
} Head;

static void join_line(Head *head, Arena *arena, const Source *ptx, size_t start, size_t end)
{
    static const char mark[] = "//tw ";
    size_t skip = sizeof mark - 1;
    if (end > start && ptx->text[end - 1] == '\r')
        end--;
    if (end - start < skip || memcmp(ptx->text + start, mark, skip) != 0)
        return;
    if (head->pieces.len == 0)
        head->first = (Span){(int)start, (int)end};
    vec_push(arena, &head->pieces, (Piece){.joined = head->joined.len, .source = start + skip});
    str_addn(&head->joined, ptx->text + start + skip, end - start - skip);
}

/* Joins the comment lines up to the first line that is neither comment nor empty. */
static void join(Head *head, Arena *arena, const Source *ptx)
{
    size_t at = 0;
    while (at < ptx->len) {
        const char *line_end = memchr(ptx->text + at, '\n', ptx->len - at);
        size_t end = line_end ? (size_t)(line_end - ptx->text) : ptx->len;
        size_t first = at;
        while (first < end &&
               (ptx->text[first] == ' ' || ptx->text[first] == '\t' || ptx->text[first] == '\r'))
            first++;
        if (first < end && (end - first < 2 || memcmp(ptx->text + first, "//", 2) != 0))
            return;
        join_line(head, arena, ptx, first, end);
        at = end + 1;
    }
}

static size_t source_offset(const Head *head, size_t joined)
{
    Piece piece = head->pieces.data[0];
    for (int i = 1; i < head->pieces.len && head->pieces.data[i].joined <= joined; i++)
        piece = head->pieces.data[i];
    return piece.source + (joined - piece.joined);
}

/* Of some failures to allocate Jansson says nothing at all. */
static bool lacks_memory(const json_error_t *error)
{
    return json_error_code(error) == json_error_out_of_memory || !error->text[0];
}

static void report_syntax(Diags *diags, const Head *head, const json_error_t *error)
{
    size_t position = error->position > 0 ? (size_t)error->position - 1 : 0;
    size_t at = source_offset(head, position < head->joined.len ? position : head->joined.len);
    Diag *diag =
        diag_add(diags, TW0902, (Span){(int)at, (int)at + 1}, "the launch ABI is not JSON");
    diag_note(diags, diag, "%s", error->text);
}

Abi *abi_from_ptx(Arena *arena, Syms *syms, AffCtx *aff, const Source *ptx, Diags *diags)
{
    Head head = {.joined = str_new(arena)};
    Abi *abi = arena_new_of(arena, Abi);
    json_error_t error;
    join(&head, arena, ptx);
    if (head.pieces.len == 0) {
        diag_add(diags, TW0901, (Span){0, 0}, "no `//tw` lines at the head of the PTX");
        return NULL;
    }
    json_t *root =
        json_loadb(str_text(&head.joined), head.joined.len, JSON_REJECT_DUPLICATES, &error);
    if (!root && lacks_memory(&error))
        heap_exhausted(arena_heap(arena));
    if (!root) {
        report_syntax(diags, &head, &error);
        return NULL;
    }
    abi->arena = arena;
    Reader r = {
        .arena = arena, .syms = syms, .aff = aff, .diags = diags, .span = head.first, .abi = abi, .root = root};
    heap_guard(arena_heap(arena), read_json, drop_json, &r);
    return r.failed ? NULL : abi;
}
