/* print.c: tile programs as text that parse.c reads back.
 *
 *   program softmax_gemm
 *   dim b in 1..
 *   dim len in 0..
 *   param scale
 *   tensor K (b, len, D = 128) bf16 in
 *   require len mod 64 == 0, "the length must be a multiple of 64"
 *
 *   kernel main grid(m: ceil(len / 64) reversed, z: b) warps 4 facts(expanded) {
 *     %k = load K[z, m * 64 : rows, 0 : cols] : shared bf16<64x128>
 *     ...
 *   }
 *
 * Coordinates name the tile's corner; `: rows` and `: cols` mark the tensor's
 * dimensions that the tile's rows and columns lie along. Values are named after
 * their hints, made unique by numbers in order of appearance: %S, %S.1, and %0,
 * %1 where there is no hint. What a reader can infer is left out: a final
 * `yield` of nothing, types of carried values, ranges of counters that follow
 * from their bounds.
 */
#include "tile/text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

typedef struct NameCount {
    const char *base; /* "" for values without a hint */
    int used;
} NameCount;

typedef struct Printer {
    Str *out;
    Arena *arena;
    const TileKernel *kernel;
    const char **names;  /* of values, by id; NULL: not seen yet */
    VEC(NameCount) counts;
    VEC(const AffSym *) symbols; /* known here, in order of declaration */
    int indent;
    const TileOp *wanted; /* tile_op_line: the operation whose line is wanted */
    const char *line;
} Printer;

/* ---- tables and small texts ------------------------------------------------- */

const KernelNumber tile_kernel_numbers[KERNEL_NUMBERS] = {
#define NUMBER(name, least, most, usual, unsaid) {#name, offsetof(TileKernel, name), unsaid},
#include "lang/schedule_numbers.def"
#undef NUMBER
    {"persistent", offsetof(TileKernel, persistent), 0},
    {"specialized", offsetof(TileKernel, specialized), 0},
};

const char *const tile_fact_names[TILE_FACTS] = {
    "expanded", "masked", "staged", "assigned", "allocated", "synced",
};

void tile_default_range(const Aff *lo, const Aff *hi, int64_t *least, int64_t *most)
{
    int64_t ignored;
    aff_bounds(lo, least, &ignored);
    aff_bounds(hi, &ignored, most);
    if (*most != INT64_MAX && *most != INT64_MIN)
        *most -= 1;
}

/* The shortest decimal text that reads back as the same number. */
static void print_number(Str *out, double value)
{
    char text[40];
    if (isnan(value)) {
        str_add(out, "nan");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    str_add(out, text);
}

void tile_print_type(Str *out, TileType type)
{
    if (type.kind == TT_TOKEN) {
        str_add(out, "token");
        return;
    }
    if (type.kind == TT_TILE && type.space != SPACE_REGISTER)
        str_printf(out, "%s ", type.space == SPACE_SHARED ? "shared"
                               : type.space == SPACE_GLOBAL ? "global" : "nowhere");
    if (type.pending)
        str_add(out, "pending ");
    str_printf(out, "%s<", dtype_name(type.dtype));
    if (type.kind == TT_BUFFER)
        str_printf(out, "%dx", type.stages);
    str_printf(out, "%dx%d>", type.rows, type.cols);
    if (type.layout.kind != LAY_NONE) {
        str_addc(out, ' ');
        lay_print(out, type.layout);
    }
}

/* ELEMENT and REDUCE take the name of their OpId: `rowmax`, `add`. */
static void print_op_name(Str *out, const TileOp *op)
{
    if (op->kind != TILE_ELEMENT && op->kind != TILE_REDUCE) {
        str_add(out, tile_op_text(op->kind));
        return;
    }
    for (const char *c = op_info(op->op)->name; *c; c++)
        str_addc(out, (char)tolower((unsigned char)*c));
}

static void print_aff(Printer *p, const Aff *a)
{
    if (a)
        str_add(p->out, tile_aff_text(p->arena, a, p->symbols.data, p->symbols.len));
    else
        str_addc(p->out, '?');
}

static void print_range(Printer *p, int64_t least, int64_t most)
{
    str_add(p->out, " in ");
    if (least != INT64_MIN)
        str_printf(p->out, "%lld", (long long)least);
    str_add(p->out, "..");
    if (most != INT64_MAX)
        str_printf(p->out, "%lld", (long long)most);
}

/* ---- names ---------------------------------------------------------------------- */

/* The part of a hint that numbers are added to: letters, digits and underscores,
 * without an earlier `.1`. A number alone is no hint. */
static const char *base_name(Printer *p, const char *hint)
{
    bool letters = false;
    char *base = arena_strdup(p->arena, hint ? hint : "");
    for (char *c = base; *c; c++) {
        if (*c == '.' && c != base && c[1] && c[strspn(c + 1, "0123456789") + 1] == '\0') {
            *c = '\0';
            break;
        }
        if (!isalnum((unsigned char)*c))
            *c = '_';
        letters |= !isdigit((unsigned char)*c);
    }
    return letters ? base : "";
}

static int count_name(Printer *p, const char *base)
{
    for (int i = 0; i < p->counts.len; i++)
        if (strcmp(p->counts.data[i].base, base) == 0)
            return p->counts.data[i].used++;
    vec_push(p->arena, &p->counts, (NameCount){base, 1});
    return 0;
}

static const char *make_name(Printer *p, const char *hint)
{
    const char *base = base_name(p, hint);
    int number = count_name(p, base);
    if (!*base)
        return arena_printf(p->arena, "%d", number);
    return number ? arena_printf(p->arena, "%s.%d", base, number) : base;
}

/* Values get their names where they are defined; a use of one that was not is
 * marked, for the printer must also show what the verifier complains about. */
static void print_definition(Printer *p, const TileValue *v)
{
    bool valid = v && v->id >= 0 && v->id < p->kernel->next_value;
    if (valid && !p->names[v->id])
        p->names[v->id] = make_name(p, v->name);
    str_printf(p->out, "%%%s", valid ? p->names[v->id] : "?");
}

static void print_use(Printer *p, const TileValue *v)
{
    if (!v || v->id < 0 || v->id >= p->kernel->next_value)
        str_add(p->out, "%?");
    else if (!p->names[v->id])
        str_printf(p->out, "%%?%d", v->id);
    else
        str_printf(p->out, "%%%s", p->names[v->id]);
}

static void print_arg(Printer *p, const TileOp *op, int i)
{
    print_use(p, i < op->n_args ? op->args[i] : NULL);
}

static void print_args(Printer *p, const TileOp *op, int from)
{
    for (int i = from; i < op->n_args; i++) {
        str_add(p->out, i == from ? " " : ", ");
        print_use(p, op->args[i]);
    }
}

/* ---- operations ------------------------------------------------------------------- */

/* ` T[z, m * 64 : rows, 0 : cols] where row < n` */
static void print_place(Printer *p, const TileOp *op)
{
    const TileTensor *t = op->tensor;
    str_printf(p->out, " %s[", t ? t->name : "?");
    for (int i = 0; t && op->coords && i < t->rank; i++) {
        if (i)
            str_add(p->out, ", ");
        print_aff(p, op->coords[i]);
        if (i == op->row_dim && op->kind != TILE_GATHER)
            str_add(p->out, " : rows");
        if (i == op->col_dim)
            str_add(p->out, " : cols");
        if (op->kind == TILE_GATHER && op->n_args && i == op->row_dim) {
            str_add(p->out, " at ");
            print_arg(p, op, 0);
        }
    }
    str_addc(p->out, ']');
    if (op->where) {
        str_add(p->out, " where ");
        print_aff(p, op->where);
    }
}

/* `%b[j mod 2]` */
static void print_stage(Printer *p, const TileOp *op, int arg)
{
    print_arg(p, op, arg);
    str_addc(p->out, '[');
    print_aff(p, op->index);
    str_addc(p->out, ']');
}

/* `%k` of a ring, or where it has copies `%q[w]` */
static void print_copy(Printer *p, const TileOp *op, int arg)
{
    if (op->index)
        print_stage(p, op, arg);
    else
        print_arg(p, op, arg);
}

static void print_unless(Printer *p, const TileOp *op)
{
    if (op->unless) {
        str_add(p->out, " unless ");
        print_aff(p, op->unless);
    }
}

/* What is put fills its stage. */
static bool is_whole(const TileOp *op)
{
    const TileType *tile = &op->args[0]->type, *stage = &op->args[1]->type;
    return tile->rows == stage->rows && tile->cols == stage->cols;
}

/* ` %a, %b where any %c >= 2` */
static void print_revise(Printer *p, const TileOp *op)
{
    for (int i = 0; i + 1 < op->n_args; i++) {
        str_add(p->out, i ? ", " : " ");
        print_arg(p, op, i);
    }
    str_add(p->out, " where any ");
    print_arg(p, op, op->n_args - 1);
    str_add(p->out, " >= ");
    print_number(p->out, op->number);
    print_unless(p, op);
}

static void print_mask(Printer *p, const TileOp *op)
{
    print_args(p, op, 0);
    str_add(p->out, " where ");
    print_aff(p, op->cond);
    str_add(p->out, " else ");
    print_number(p->out, op->number);
    print_unless(p, op);
}

static void print_gemm(Printer *p, const TileOp *op)
{
    str_addc(p->out, ' ');
    print_arg(p, op, 0);
    str_add(p->out, op->trans_a ? ".T, " : ", ");
    print_arg(p, op, 1);
    str_add(p->out, op->trans_b ? ".T" : "");
    if (op->n_args > 2) {
        str_add(p->out, ", ");
        print_arg(p, op, 2);
    }
}

static void print_fill(Printer *p, const TileOp *op)
{
    str_addc(p->out, ' ');
    if (op->param)
        str_add(p->out, op->param);
    else
        print_number(p->out, op->number);
}

static void print_copy_async(Printer *p, const TileOp *op)
{
    print_place(p, op);
    str_add(p->out, ", ");
    print_copy(p, op, 0);
    if (op->cond) {
        str_add(p->out, " if ");
        print_aff(p, op->cond);
    }
}

static void print_lanes(Printer *p, const TileOp *op)
{
    if (op->lanes)
        str_add(p->out, " by lanes");
}

static const TileValue *loop_param(const TileOp *op, int i)
{
    return op->n_regions && i < op->regions[0]->params.len ? op->regions[0]->params.data[i] : NULL;
}

/* ` j = 0:n in 0..7 carry (%a = %b, ...)`; types where they are not the initial
 * value's. */
static void print_for(Printer *p, const TileOp *op)
{
    int64_t least, most;
    str_printf(p->out, " %s = ", op->var ? op->var->name : "?");
    print_aff(p, op->lo);
    str_addc(p->out, ':');
    print_aff(p, op->hi);
    if (op->var && op->lo && op->hi) {
        tile_default_range(op->lo, op->hi, &least, &most);
        if (op->var->lo != least || op->var->hi != most)
            print_range(p, op->var->lo, op->var->hi);
    }
    if (op->until) {
        str_add(p->out, " until ");
        print_aff(p, op->until);
    }
    if (op->unroll)
        str_printf(p->out, " unroll %d", op->unroll);
    for (int i = 0; i < op->n_args; i++) {
        const TileValue *param = loop_param(op, i);
        str_add(p->out, i ? ", " : " carry (");
        print_definition(p, param);
        str_add(p->out, " = ");
        print_use(p, op->args[i]);
        if (param && op->args[i] && !tile_type_equal(param->type, op->args[i]->type)) {
            str_add(p->out, " : ");
            tile_print_type(p->out, param->type);
        }
    }
    str_add(p->out, op->n_args ? ")" : "");
}

/* ` len = %a in 0..7`; known from here to the end of the region */
static void print_scalar(Printer *p, const TileOp *op)
{
    str_printf(p->out, " %s = ", op->var ? op->var->name : "?");
    print_arg(p, op, 0);
    if (op->var && (op->var->lo != INT64_MIN || op->var->hi != INT64_MAX)) print_range(p, op->var->lo, op->var->hi);
    if (op->var) vec_push(p->arena, &p->symbols, op->var);
}

static void print_store(Printer *p, const TileOp *op)
{
    str_addc(p->out, ' ');
    print_arg(p, op, 0);
    str_add(p->out, op->onto ? " onto" : ",");
    print_place(p, op);
    if (op->n_args > 1) {
        str_add(p->out, " through ");
        print_arg(p, op, 1);
    }
}

static void print_element(Printer *p, const TileOp *op)
{
    print_args(p, op, 0);
    if (op->skip_ones)
        str_add(p->out, " skipping ones");
    if (op->polynomial)
        str_add(p->out, " by polynomial");
    if (op->has_else) {
        str_add(p->out, " else ");
        print_number(p->out, op->number);
    }
}

static void print_put(Printer *p, const TileOp *op)
{
    str_addc(p->out, ' ');
    print_arg(p, op, 0);
    str_add(p->out, ", ");
    print_copy(p, op, 1);
    if (op->row0 || op->col0 || !is_whole(op))
        str_printf(p->out, " at %d, %d", op->row0, op->col0);
}

static void print_operands(Printer *p, const TileOp *op)
{
    switch (op->kind) {
    case TILE_LOAD:
        print_place(p, op);
        print_lanes(p, op);
        break;
    case TILE_GATHER: print_place(p, op); break;
    case TILE_STORE: print_store(p, op); break;
    case TILE_FILL: print_fill(p, op); break;
    case TILE_INDEX:
        str_addc(p->out, ' ');
        print_aff(p, op->index);
        break;
    case TILE_ELEMENT: print_element(p, op); break;
    case TILE_MASK: print_mask(p, op); break;
    case TILE_REDUCE:
        print_args(p, op, 0);
        str_add(p->out, op->axis ? " along columns" : " along rows");
        str_add(p->out, op->across ? " across" : "");
        break;
    case TILE_SLICE:
    case TILE_PATCH:
        print_args(p, op, 0);
        str_printf(p->out, " at %d, %d", op->row0, op->col0);
        break;
    case TILE_SCALAR: print_scalar(p, op); break;
    case TILE_GEMM:
    case TILE_ISSUE: print_gemm(p, op); break;
    case TILE_FINISH:
        print_args(p, op, 0);
        str_printf(p->out, " leaving %d", op->count);
        break;
    case TILE_REVISE: print_revise(p, op); break;
    case TILE_RING:
        if (op->count != 1)
            str_printf(p->out, " %d", op->count);
        print_lanes(p, op);
        break;
    case TILE_FOR: print_for(p, op); break;
    case TILE_IF:
        str_addc(p->out, ' ');
        print_aff(p, op->cond);
        break;
    case TILE_PUT: print_put(p, op); break;
    case TILE_COPY_ASYNC: print_copy_async(p, op); break;
    case TILE_VIEW:
        str_addc(p->out, ' ');
        print_stage(p, op, 0);
        break;
    case TILE_ACQUIRE:
    case TILE_FILLED:
    case TILE_AWAIT:
    case TILE_RELEASE:
        str_addc(p->out, ' ');
        print_copy(p, op, 0);
        break;
    case TILE_WAIT: str_printf(p->out, " %d", op->count); break;
    case TILE_BARRIER:
        if (op->count)
            str_printf(p->out, " %d", op->count);
        str_add(p->out, op->across ? " across" : "");
        break;
    case TILE_MOVE:
    case TILE_CAST:
    case TILE_RESHAPE:
    case TILE_SOFTMAX:
    case TILE_YIELD: print_args(p, op, 0); break;
    case TILE_BUFFER:
    case TILE_COMMIT:
    case TILE_PREPARE:
    case TILE_ROLES:
    case TILE_TAKE_TURN:
    case TILE_GIVE_TURN:
    case TILE_OP_COUNT: break;
    }
}

/* Carried values have the types of the loop's parameters. */
static bool types_follow(const TileOp *op)
{
    if (op->kind != TILE_FOR)
        return false;
    for (int i = 0; i < op->n_results; i++) {
        const TileValue *param = loop_param(op, i);
        if (!param || !op->results[i] || !tile_type_equal(param->type, op->results[i]->type))
            return false;
    }
    return true;
}

static void print_result_types(Printer *p, const TileOp *op)
{
    if (types_follow(op))
        return;
    for (int i = 0; i < op->n_results; i++) {
        str_add(p->out, i ? ", " : " : ");
        if (op->results[i])
            tile_print_type(p->out, op->results[i]->type);
    }
    if (tile_is_storage(op) && (op->offset || p->kernel->facts & TF_ALLOCATED))
        str_printf(p->out, " at %lld", (long long)op->offset);
}

/* ---- blocks ------------------------------------------------------------------------- */

static void print_block(Printer *p, const TileBlock *block);

static void start_line(Printer *p)
{
    for (int i = 0; i < p->indent; i++)
        str_add(p->out, "  ");
}

static void print_note(Printer *p, const char *note)
{
    if (!note)
        return;
    str_add(p->out, "  # ");
    for (; *note; note++)
        str_addc(p->out, (unsigned char)*note < ' ' ? ' ' : *note);
}

static void print_region(Printer *p, const TileBlock *block)
{
    int known = p->symbols.len;
    p->indent++;
    print_block(p, block);
    p->indent--;
    p->symbols.len = known;
    start_line(p);
}

static void print_roles(Printer *p, const TileOp *op)
{
    p->indent++;
    for (int i = 0; i < op->n_regions; i++) {
        start_line(p);
        str_printf(p->out, "%s (warps %d", op->roles[i].name, op->roles[i].warps);
        if (op->roles[i].per)
            str_printf(p->out, " per %s", op->roles[i].per->name);
        if (op->roles[i].regs)
            str_printf(p->out, ", regs %d", op->roles[i].regs);
        str_add(p->out, ") {\n");
        print_region(p, op->regions[i]);
        str_add(p->out, "}\n");
    }
    p->indent--;
    start_line(p);
}

static void print_regions(Printer *p, const TileOp *op)
{
    int known = p->symbols.len;
    if (op->kind == TILE_FOR && op->var)
        vec_push(p->arena, &p->symbols, op->var);
    if (op->kind == TILE_ROLES) {
        print_roles(p, op);
        str_add(p->out, "}\n");
        return;
    }
    for (int i = 0; i < op->n_regions; i++) {
        if (i)
            str_add(p->out, "} else {\n");
        print_region(p, op->regions[i]);
    }
    p->symbols.len = known;
    str_add(p->out, "}\n");
}

static void print_head(Printer *p, const TileOp *op)
{
    for (int i = 0; i < op->n_results; i++) {
        str_add(p->out, i ? ", " : "");
        print_definition(p, op->results[i]);
    }
    str_add(p->out, op->n_results ? " = " : "");
    print_op_name(p->out, op);
    print_operands(p, op);
    print_result_types(p, op);
}

static void print_op(Printer *p, const TileOp *op)
{
    start_line(p);
    size_t start = p->out->len;
    print_head(p, op);
    if (op == p->wanted)
        p->line = arena_strndup(p->arena, p->out->data + start, p->out->len - start);
    str_add(p->out, op->n_regions ? " {" : "");
    print_note(p, op->note);
    str_addc(p->out, '\n');
    if (op->n_regions)
        print_regions(p, op);
}

static void print_block(Printer *p, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        bool implied = op->kind == TILE_YIELD && op->n_args == 0 && !op->note &&
                       i == block->ops.len - 1 && op != p->wanted;
        if (!implied)
            print_op(p, op);
    }
}

/* ---- kernels ------------------------------------------------------------------------- */

static void print_axis(Printer *p, const TileAxis *axis)
{
    int64_t least = 0, most, ignored;
    tile_default_range(axis->extent, axis->extent, &ignored, &most);
    str_printf(p->out, "%s: ", axis->sym->name);
    print_aff(p, axis->extent);
    if (axis->sym->lo != least || axis->sym->hi != most)
        print_range(p, axis->sym->lo, axis->sym->hi);
    if (axis->reversed)
        str_add(p->out, " reversed");
    if (axis->within)
        str_add(p->out, " within");
    if (axis->cluster)
        str_add(p->out, " cluster");
}

static void print_grid(Printer *p, const TileKernel *kernel)
{
    for (int i = 0; i < kernel->grid.len; i++) {
        str_add(p->out, i ? ", " : " grid(");
        print_axis(p, &kernel->grid.data[i]);
    }
    str_add(p->out, kernel->grid.len ? ")" : "");
}

/* " window(s: X[m, 0])" */
static void print_window(Printer *p, const TileWindow *window)
{
    if (!window->sym)
        return;
    str_printf(p->out, " window(%s: %s[", window->sym->name, window->tensor->name);
    for (int d = 0; d < window->tensor->rank; d++) {
        str_add(p->out, d ? ", " : "");
        print_aff(p, window->coords[d]);
    }
    str_add(p->out, "])");
    vec_push(p->arena, &p->symbols, window->sym);
}

static void print_facts(Printer *p, unsigned facts)
{
    bool first = true;
    for (int i = 0; i < TILE_FACTS; i++) {
        if (!(facts & 1u << i))
            continue;
        str_printf(p->out, "%s%s", first ? " facts(" : ", ", tile_fact_names[i]);
        first = false;
    }
    str_add(p->out, first ? "" : ")");
}

static void print_kernel(Printer *p, const TileKernel *kernel)
{
    p->kernel = kernel;
    p->names = arena_array(p->arena, const char *, kernel->next_value);
    p->counts.len = 0;
    str_printf(p->out, "kernel %s", kernel->name);
    print_grid(p, kernel);
    int known = p->symbols.len;
    for (int i = 0; i < kernel->grid.len; i++)
        vec_push(p->arena, &p->symbols, kernel->grid.data[i].sym);
    print_window(p, &kernel->window);
    for (int i = 0; i < KERNEL_NUMBERS; i++) {
        const KernelNumber *n = &tile_kernel_numbers[i];
        int value;
        memcpy(&value, (const char *)kernel + n->offset, sizeof value);
        if (value != n->omitted)
            str_printf(p->out, " %s %d", n->word, value);
    }
    for (int i = 0; i < SCHED_COUNT; i++)
        if (kernel->schedule.value[i] != SCHED_AUTO)
            str_printf(p->out, " %s %s", sched_info((SchedId)i)->name, sched_value_info(kernel->schedule.value[i])->name);
    if (kernel->shared_bytes)
        str_printf(p->out, " shared_bytes %lld", (long long)kernel->shared_bytes);
    print_facts(p, kernel->facts);
    str_add(p->out, " {\n");
    print_region(p, kernel->body);
    str_add(p->out, "}\n");
    p->symbols.len = known;
}

/* ---- programs --------------------------------------------------------------------------- */

/* A dimension that is a symbol bears the symbol's name unless another is given:
 * `len`, `rows = len`, `_ = len` (a symbol without a name), `128`, `D = 128`. */
static void print_dim(Printer *p, const Aff *dim, const char *name)
{
    bool symbol = dim && dim->kind == AFF_SYM;
    if (symbol && !name)
        str_add(p->out, "_ = ");
    else if (name && !(symbol && strcmp(name, dim->sym->name) == 0))
        str_printf(p->out, "%s = ", name);
    print_aff(p, dim);
}

static void print_tensor(Printer *p, const TileTensor *t)
{
    str_printf(p->out, "%s %s (", t->workspace ? "workspace" : "tensor", t->name);
    for (int i = 0; i < t->rank; i++) {
        str_add(p->out, i ? ", " : "");
        print_dim(p, t->dims[i], t->dim_names[i]);
    }
    str_printf(p->out, ") %s%s%s", dtype_name(t->dtype), t->read ? " in" : "", t->written ? " out" : "");
    if (t->holds_places)
        str_printf(p->out, " places %lld..%lld", (long long)t->least, (long long)t->most);
    str_addc(p->out, '\n');
}

static void print_symbols(Printer *p, const TileProgram *program)
{
    for (int i = 0; i < program->dims.len; i++) {
        const AffSym *sym = program->dims.data[i];
        str_printf(p->out, "dim %s", sym->name);
        if (sym->lo != INT64_MIN || sym->hi != INT64_MAX)
            print_range(p, sym->lo, sym->hi);
        str_addc(p->out, '\n');
    }
    for (int i = 0; i < program->params.len; i++)
        str_printf(p->out, "param %s\n", program->params.data[i]);
}

static void print_requires(Printer *p, const TileProgram *program)
{
    for (int i = 0; i < program->requires.len; i++) {
        str_add(p->out, "require ");
        print_aff(p, program->requires.data[i].cond);
        str_add(p->out, ", ");
        str_json(p->out, program->requires.data[i].message ? program->requires.data[i].message : "");
        str_addc(p->out, '\n');
    }
}

static void know_dims(Printer *p, const TileProgram *program)
{
    for (int i = 0; i < program->dims.len; i++)
        vec_push(p->arena, &p->symbols, program->dims.data[i]);
}

void tile_print(Str *out, const TileProgram *program)
{
    Printer p = {.out = out, .arena = out->arena};
    str_printf(out, program->after ? "program %s after %s\n" : "program %s\n", program->name, program->after);
    know_dims(&p, program);
    print_symbols(&p, program);
    for (int i = 0; i < program->tensors.len; i++)
        print_tensor(&p, program->tensors.data[i]);
    print_requires(&p, program);
    for (int i = 0; i < program->kernels.len; i++) {
        str_addc(out, '\n');
        print_kernel(&p, program->kernels.data[i]);
    }
}

const char *tile_op_line(Arena *arena, const TileProgram *program, const TileKernel *kernel,
                         const TileOp *op)
{
    Str out = str_new(arena);
    Printer p = {.out = &out, .arena = arena, .wanted = op};
    know_dims(&p, program);
    print_kernel(&p, kernel);
    return p.line ? p.line : tile_op_text(op->kind);
}
