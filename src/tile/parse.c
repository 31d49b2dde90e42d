/* parse.c: reads back what print.c wrote: programs, kernels, operations.
 *
 * One line is one operation. Its head is read into a TileOp whose operands are
 * collected on the side; when the types are known the real operation is made
 * from it. The first fault ends the reading. That what was read is well-formed
 * is the verifier's business.
 */
#include "tile/parse.h"
#include "tile/text.h"

#include <ctype.h>

enum { BLOCK_DEPTH = 60, HEAD_LIMIT = 4096 };

/* An operation being read. */
typedef struct Form {
    TileOp op; /* attributes only */
    VEC(const char *) names;   /* of results */
    VEC(TileValue *) args;
    VEC(TileType) types;       /* of results */
    VEC(const char *) params;  /* FOR: carried names */
    VEC(TileType) param_types;
    Span span;
} Form;

/* ---- names of values ------------------------------------------------------------ */

static int slot_of(const Parser *p, const char *name)
{
    int mask = p->cap_values - 1, at = (int)((uintptr_t)name >> 4) & mask;
    while (p->values[at].name && p->values[at].name != name)
        at = (at + 1) & mask;
    return at;
}

static void grow_values(Parser *p)
{
    ValueName *old = p->values;
    int n = p->cap_values;
    p->cap_values = n ? n * 2 : 64;
    p->values = arena_array(p->arena, ValueName, p->cap_values);
    for (int i = 0; i < n; i++)
        if (old[i].name)
            p->values[slot_of(p, old[i].name)] = old[i];
}

/* S.1 has the hint S; a number alone is no hint. */
static const char *hint_of(Parser *p, const char *name)
{
    size_t len = strcspn(name, ".");
    return strspn(name, "0123456789") == len ? NULL : symn(p->syms, name, len);
}

static bool bind(Parser *p, const char *name, TileValue *value)
{
    if (p->n_values * 2 >= p->cap_values)
        grow_values(p);
    int at = slot_of(p, name);
    if (p->values[at].name)
        return tile_parse_fail(p, "%%%s is defined twice", name);
    p->values[at] = (ValueName){name, value};
    p->n_values++;
    value->name = hint_of(p, name);
    return true;
}

static bool parse_value_name(Parser *p, const char **name)
{
    if (p->token.kind != TOK_VALUE)
        return tile_parse_fail(p, "expected a value such as %%a");
    *name = parse_word(p);
    parse_next(p);
    return true;
}

static bool parse_arg(Parser *p, Form *f)
{
    if (p->token.kind != TOK_VALUE)
        return tile_parse_fail(p, "expected a value such as %%a");
    const char *name = parse_word(p);
    TileValue *value = p->cap_values ? p->values[slot_of(p, name)].value : NULL;
    if (!value)
        return tile_parse_fail(p, "%%%s is not defined", name);
    vec_push(p->arena, &f->args, value);
    parse_next(p);
    return true;
}

/* One operand or more, or none at the end of the line. */
static bool parse_args(Parser *p, Form *f)
{
    if (p->token.kind != TOK_VALUE)
        return true;
    do {
        if (!parse_arg(p, f))
            return false;
    } while (parse_take(p, ","));
    return true;
}

/* ---- parts of operations ----------------------------------------------------------- */

static bool parse_expression(Parser *p, const Aff **a)
{
    *a = parse_aff(p);
    return *a != NULL;
}

static bool parse_coord(Parser *p, Form *f, int dim)
{
    if (!parse_expression(p, &f->op.coords[dim]))
        return false;
    if (parse_take(p, "at")) { /* plus what the tile says */
        f->op.row_dim = dim;
        return parse_arg(p, f);
    }
    if (!parse_take(p, ":"))
        return true;
    if (parse_at(p, "rows"))
        f->op.row_dim = dim;
    else
        f->op.col_dim = dim;
    return parse_take(p, "rows") || parse_want(p, "cols");
}

/* T[b, m * 64 : rows, 0 : cols] where row < n */
static bool parse_place(Parser *p, Form *f)
{
    const char *name = NULL;
    TileTensor *tensor = p->token.kind == TOK_NAME ? tile_tensor(p->program, parse_word(p)) : NULL;
    if (!tensor)
        return tile_parse_fail(p, "expected the name of a tensor");
    if (!parse_name(p, &name) || !parse_want(p, "["))
        return false;
    f->op.tensor = tensor;
    f->op.coords = arena_array(p->arena, const Aff *, tensor->rank);
    for (int i = 0; i < tensor->rank; i++)
        if ((i && !parse_want(p, ",")) || !parse_coord(p, f, i))
            return false;
    return parse_want(p, "]") && (!parse_take(p, "where") || parse_expression(p, &f->op.where));
}

/* %b[j mod 2] */
static bool parse_stage(Parser *p, Form *f)
{
    return parse_arg(p, f) && parse_want(p, "[") && parse_expression(p, &f->op.index) &&
           parse_want(p, "]");
}

/* %b of a ring, or where it has copies %b[w] */
static bool parse_copy(Parser *p, Form *f)
{
    if (!parse_arg(p, f) || !parse_take(p, "["))
        return !p->failed;
    return parse_expression(p, &f->op.index) && parse_want(p, "]");
}

/* %a, %b where any %c >= 2 unless j < 4 */
static bool parse_revise(Parser *p, Form *f)
{
    return parse_args(p, f) && parse_want(p, "where") && parse_want(p, "any") && parse_arg(p, f) &&
           parse_want(p, ">=") && parse_number(p, &f->op.number) &&
           (!parse_take(p, "unless") || parse_expression(p, &f->op.unless));
}

static bool parse_transposed(Parser *p, Form *f, bool *transposed)
{
    if (!parse_arg(p, f))
        return false;
    *transposed = parse_take(p, ".");
    return !*transposed || parse_want(p, "T");
}

static bool parse_gemm(Parser *p, Form *f)
{
    return parse_transposed(p, f, &f->op.trans_a) && parse_want(p, ",") &&
           parse_transposed(p, f, &f->op.trans_b) && (!parse_take(p, ",") || parse_arg(p, f));
}

static bool parse_fill(Parser *p, Form *f)
{
    return parse_is_number(p) ? parse_number(p, &f->op.number) : parse_name(p, &f->op.param);
}

static bool parse_mask(Parser *p, Form *f)
{
    return parse_arg(p, f) && parse_want(p, "where") && parse_expression(p, &f->op.cond) &&
           parse_want(p, "else") && parse_number(p, &f->op.number) &&
           (!parse_take(p, "unless") || parse_expression(p, &f->op.unless));
}

static bool parse_element(Parser *p, Form *f)
{
    if (!parse_args(p, f))
        return false;
    f->op.skip_ones = parse_take(p, "skipping");
    f->op.polynomial = !f->op.skip_ones && parse_take(p, "by");
    if ((f->op.skip_ones && !parse_want(p, "ones")) || (f->op.polynomial && !parse_want(p, "polynomial")))
        return false;
    f->op.has_else = parse_take(p, "else");
    return !f->op.has_else || parse_number(p, &f->op.number);
}

static bool parse_reduce(Parser *p, Form *f)
{
    if (!parse_args(p, f) || !parse_want(p, "along"))
        return false;
    f->op.axis = parse_at(p, "columns");
    if (!parse_take(p, "columns") && !parse_want(p, "rows"))
        return false;
    f->op.across = parse_take(p, "across");
    return true;
}

static bool parse_barrier(Parser *p, Form *f)
{
    if (p->token.kind == TOK_INT && !parse_small(p, &f->op.count))
        return false;
    f->op.across = parse_take(p, "across");
    return true;
}

static bool parse_copy_async(Parser *p, Form *f)
{
    return parse_place(p, f) && parse_want(p, ",") && parse_copy(p, f) &&
           (!parse_take(p, "if") || parse_expression(p, &f->op.cond));
}

/* ` in 0..7`, either end of which may be left out; without it the range stays. */
static bool parse_range(Parser *p, int64_t *least, int64_t *most)
{
    if (!parse_take(p, "in"))
        return true;
    *least = INT64_MIN;
    *most = INT64_MAX;
    if (!parse_at(p, "..") && !parse_int(p, least))
        return false;
    if (!parse_want(p, ".."))
        return false;
    return (p->token.kind != TOK_INT && !parse_at(p, "-")) || parse_int(p, most);
}

static bool parse_carried(Parser *p, Form *f)
{
    const char *name = NULL;
    TileType type;
    if (!parse_value_name(p, &name) || !parse_want(p, "=") || !parse_arg(p, f))
        return false;
    type = f->args.data[f->args.len - 1]->type;
    if (parse_take(p, ":") && !parse_type(p, &type))
        return false;
    vec_push(p->arena, &f->params, name);
    vec_push(p->arena, &f->param_types, type);
    return true;
}

static bool parse_for(Parser *p, Form *f)
{
    const char *name = NULL;
    int64_t least, most;
    if (!parse_name(p, &name) || !parse_want(p, "=") || !parse_expression(p, &f->op.lo) ||
        !parse_want(p, ":") || !parse_expression(p, &f->op.hi))
        return false;
    tile_default_range(f->op.lo, f->op.hi, &least, &most);
    if (!parse_range(p, &least, &most))
        return false;
    f->op.var = aff_sym_new(p->aff, name, AFF_LOOP, least, most);
    if ((parse_take(p, "until") && !parse_expression(p, &f->op.until)) ||
        (parse_take(p, "unroll") && !parse_small(p, &f->op.unroll)))
        return false;
    if (!parse_take(p, "carry"))
        return true;
    if (!parse_want(p, "("))
        return false;
    do {
        if (!parse_carried(p, f))
            return false;
    } while (parse_take(p, ","));
    return parse_want(p, ")");
}

/* `len = %a in 0..7` */
static bool parse_scalar(Parser *p, Form *f)
{
    const char *name = NULL;
    int64_t least = INT64_MIN, most = INT64_MAX;
    if (!parse_name(p, &name) || !parse_want(p, "=") || !parse_arg(p, f) || !parse_range(p, &least, &most))
        return false;
    f->op.var = aff_sym_new(p->aff, name, AFF_SCALAR, least, most);
    vec_push(p->arena, &p->symbols, f->op.var);
    return true;
}

static bool parse_corner(Parser *p, Form *f)
{
    return parse_small(p, &f->op.row0) && parse_want(p, ",") && parse_small(p, &f->op.col0);
}

static bool parse_part(Parser *p, Form *f)
{
    return parse_args(p, f) && parse_want(p, "at") && parse_corner(p, f);
}

static bool parse_lanes(Parser *p, Form *f)
{
    f->op.lanes = parse_take(p, "by");
    return !f->op.lanes || parse_want(p, "lanes");
}

static bool parse_operands(Parser *p, Form *f)
{
    switch (f->op.kind) {
    case TILE_LOAD: return parse_place(p, f) && parse_lanes(p, f);
    case TILE_GATHER: return parse_place(p, f);
    case TILE_STORE:
        if (!parse_arg(p, f))
            return false;
        f->op.onto = parse_take(p, "onto");
        return (f->op.onto || parse_want(p, ",")) && parse_place(p, f) && (!parse_take(p, "through") || parse_arg(p, f));
    case TILE_FILL: return parse_fill(p, f);
    case TILE_INDEX: return parse_expression(p, &f->op.index);
    case TILE_ELEMENT: return parse_element(p, f);
    case TILE_MASK: return parse_mask(p, f);
    case TILE_REDUCE: return parse_reduce(p, f);
    case TILE_SLICE:
    case TILE_PATCH: return parse_part(p, f);
    case TILE_SCALAR: return parse_scalar(p, f);
    case TILE_GEMM:
    case TILE_ISSUE: return parse_gemm(p, f);
    case TILE_FINISH: return parse_arg(p, f) && parse_want(p, "leaving") && parse_small(p, &f->op.count);
    case TILE_REVISE: return parse_revise(p, f);
    case TILE_RING:
        f->op.count = 1;
        return (p->token.kind != TOK_INT || parse_small(p, &f->op.count)) && parse_lanes(p, f);
    case TILE_FOR: return parse_for(p, f);
    case TILE_IF: return parse_expression(p, &f->op.cond);
    case TILE_PUT: return parse_arg(p, f) && parse_want(p, ",") && parse_copy(p, f) && (!parse_take(p, "at") || parse_corner(p, f));
    case TILE_COPY_ASYNC: return parse_copy_async(p, f);
    case TILE_VIEW: return parse_stage(p, f);
    case TILE_ACQUIRE:
    case TILE_FILLED:
    case TILE_AWAIT:
    case TILE_RELEASE: return parse_copy(p, f);
    case TILE_WAIT: return parse_small(p, &f->op.count);
    case TILE_BARRIER: return parse_barrier(p, f);
    case TILE_MOVE:
    case TILE_CAST:
    case TILE_RESHAPE:
    case TILE_SOFTMAX:
    case TILE_YIELD: return parse_args(p, f);
    case TILE_BUFFER:
    case TILE_COMMIT:
    case TILE_PREPARE:
    case TILE_ROLES:
    case TILE_TAKE_TURN:
    case TILE_GIVE_TURN:
    case TILE_OP_COUNT: break;
    }
    return true;
}

/* ---- heads of operations -------------------------------------------------------------- */

static bool equal_lowered(const char *word, const char *name)
{
    for (; *name && tolower((unsigned char)*name) == *word; name++, word++)
        ;
    return !*name && !*word;
}

/* `gemm`, or the name of an elementwise operation or reduction: `add`, `rowmax`. */
static bool parse_op_name(Parser *p, Form *f)
{
    const char *word = p->token.kind == TOK_NAME ? parse_word(p) : "";
    for (int i = 0; i < TILE_OP_COUNT; i++)
        if (i != TILE_ELEMENT && i != TILE_REDUCE && strcmp(word, tile_op_text((TileOpKind)i)) == 0) {
            f->op.kind = (TileOpKind)i;
            parse_next(p);
            return true;
        }
    for (int i = 0; i < OP_COUNT; i++)
        if (equal_lowered(word, op_info((OpId)i)->name)) {
            f->op.kind = op_info((OpId)i)->class == OPC_ELEMENT ? TILE_ELEMENT : TILE_REDUCE;
            f->op.op = (OpId)i;
            parse_next(p);
            return true;
        }
    return tile_parse_fail(p, "'%s' is not an operation", word);
}

static bool parse_result_names(Parser *p, Form *f)
{
    const char *name = NULL;
    if (p->token.kind != TOK_VALUE)
        return true;
    do {
        if (!parse_value_name(p, &name))
            return false;
        vec_push(p->arena, &f->names, name);
    } while (parse_take(p, ","));
    return parse_want(p, "=");
}

static bool parse_types(Parser *p, Form *f)
{
    TileType type;
    if (!parse_take(p, ":")) {
        for (int i = 0; f->op.kind == TILE_FOR && i < f->param_types.len; i++)
            vec_push(p->arena, &f->types, f->param_types.data[i]);
    } else {
        do {
            if (!parse_type(p, &type))
                return false;
            vec_push(p->arena, &f->types, type);
        } while (parse_take(p, ","));
    }
    if (f->types.len != f->names.len)
        return tile_parse_fail(p, "%d results but %d types", f->names.len, f->types.len);
    return !parse_take(p, "at") || parse_int(p, &f->op.offset);
}

/* ---- blocks ------------------------------------------------------------------------------ */

static bool parse_block(Parser *p, TileBlock *block);

static bool end_line(Parser *p, TileOp *op)
{
    Span note = p->token.note;
    if (p->token.kind != TOK_LINE)
        return tile_parse_fail(p, "expected the end of the line");
    while (note.start < note.end && p->source->text[note.start] == ' ')
        note.start++;
    while (note.start < note.end && isspace((unsigned char)p->source->text[note.end - 1]))
        note.end--;
    if (op && note.start < note.end)
        op->note = symn(p->syms, p->source->text + note.start, (size_t)(note.end - note.start));
    parse_next(p);
    return true;
}

static void add_region(Parser *p, TileOp *op, TileBlock *block)
{
    TileBlock **regions = arena_array(p->arena, TileBlock *, op->n_regions + 1);
    for (int i = 0; i < op->n_regions; i++)
        regions[i] = op->regions[i];
    regions[op->n_regions++] = block;
    op->regions = regions;
}

/* A region that yields nothing may leave that out. */
static void end_silently(Parser *p, const TileOp *op, TileBlock *block)
{
    int n = block->ops.len;
    if (op->n_results || (n && block->ops.data[n - 1]->kind == TILE_YIELD))
        return;
    tile_append(p->program, block, tile_op_new(p->program, p->kernel, TILE_YIELD, 0, NULL, 0, NULL));
}

static bool parse_loop_body(Parser *p, const Form *f, TileOp *op)
{
    TileBlock *body = tile_block_new(p->program);
    int mark = p->symbols.len;
    add_region(p, op, body);
    for (int i = 0; i < f->params.len; i++) {
        TileValue *param = tile_value_new(p->program, p->kernel, f->param_types.data[i], NULL);
        vec_push(p->arena, &body->params, param);
        if (!bind(p, f->params.data[i], param))
            return false;
    }
    vec_push(p->arena, &p->symbols, op->var);
    if (!parse_block(p, body))
        return false;
    p->symbols.len = mark;
    end_silently(p, op, body);
    return parse_want(p, "}");
}

static bool parse_branches(Parser *p, TileOp *op)
{
    do {
        TileBlock *block = tile_block_new(p->program);
        add_region(p, op, block);
        if (op->n_regions > 1 && (!parse_want(p, "{") || !end_line(p, NULL)))
            return false;
        if (!parse_block(p, block) || !parse_want(p, "}"))
            return false;
        end_silently(p, op, block);
    } while (op->kind == TILE_IF && op->n_regions < 2 && parse_take(p, "else"));
    return true;
}

/* The axis whose coordinates number a role's instances. */
static bool parse_instances(Parser *p, const AffSym **per)
{
    for (int i = 0; i < p->kernel->grid.len; i++)
        if (p->kernel->grid.data[i].within && parse_at(p, p->kernel->grid.data[i].sym->name))
            *per = p->kernel->grid.data[i].sym;
    if (!*per)
        return tile_parse_fail(p, "expected an axis of the grid that is `within`");
    parse_next(p);
    return true;
}

static bool parse_role(Parser *p, TileOp *op)
{
    TileRole role = {NULL, 0, 0, NULL}, *roles = arena_array(p->arena, TileRole, op->n_regions + 1);
    TileBlock *block = tile_block_new(p->program);
    for (int i = 0; i < op->n_regions; i++)
        roles[i] = op->roles[i];
    if (!parse_name(p, &role.name) || !parse_want(p, "(") || !parse_want(p, "warps") ||
        !parse_small(p, &role.warps))
        return false;
    if (parse_take(p, "per") && !parse_instances(p, &role.per))
        return false;
    if (parse_take(p, ",") && (!parse_want(p, "regs") || !parse_small(p, &role.regs)))
        return false;
    roles[op->n_regions] = role;
    op->roles = roles;
    add_region(p, op, block);
    return parse_want(p, ")") && parse_want(p, "{") && end_line(p, NULL) && parse_block(p, block) &&
           parse_want(p, "}") && end_line(p, NULL);
}

static bool parse_roles(Parser *p, TileOp *op)
{
    while (!parse_at(p, "}"))
        if (!parse_role(p, op))
            return false;
    return parse_want(p, "}");
}

static bool has_regions(TileOpKind kind)
{
    return kind == TILE_FOR || kind == TILE_IF || kind == TILE_ROLES || kind == TILE_REVISE || kind == TILE_PREPARE;
}

static bool parse_regions(Parser *p, const Form *f, TileOp *op)
{
    if (!has_regions(op->kind))
        return true;
    if (!parse_want(p, "{") || !end_line(p, op))
        return false;
    if (op->kind == TILE_FOR)
        return parse_loop_body(p, f, op);
    return op->kind == TILE_ROLES ? parse_roles(p, op) : parse_branches(p, op);
}

/* The operation itself, with the attributes that were read. */
static TileOp *make_op(Parser *p, const Form *f)
{
    TileOp *made = tile_op_new(p->program, p->kernel, f->op.kind, f->args.len, f->args.data,
                               f->types.len, f->types.data);
    TileOp *op = arena_new_of(p->arena, TileOp);
    *op = f->op;
    op->loc = f->span;
    op->args = made->args;
    op->n_args = made->n_args;
    op->results = made->results;
    op->n_results = made->n_results;
    for (int i = 0; i < op->n_results; i++)
        op->results[i]->def = op;
    return op;
}

static bool parse_op(Parser *p, TileBlock *block)
{
    Form f = {.op = {.row_dim = -1, .col_dim = -1}, .span = p->token.span};
    if (!parse_result_names(p, &f) || !parse_op_name(p, &f) || !parse_operands(p, &f) ||
        !parse_types(p, &f))
        return false;
    f.span.end = p->token.span.start;
    while (f.span.end > f.span.start && isspace((unsigned char)p->source->text[f.span.end - 1]))
        f.span.end--;
    TileOp *op = make_op(p, &f);
    if (!parse_regions(p, &f, op))
        return false;
    for (int i = 0; i < op->n_results; i++)
        if (!bind(p, f.names.data[i], op->results[i]))
            return false;
    tile_append(p->program, block, op);
    return end_line(p, has_regions(op->kind) ? NULL : op);
}

/* Operations up to a closing brace. */
static bool parse_block(Parser *p, TileBlock *block)
{
    int mark = p->symbols.len;
    if (p->depth == BLOCK_DEPTH)
        return tile_parse_fail(p, "regions are nested too deeply");
    p->depth++;
    while (!parse_at(p, "}"))
        if (!parse_op(p, block))
            return false;
    p->depth--;
    p->symbols.len = mark;
    return true;
}

/* ---- kernels ------------------------------------------------------------------------------- */

static bool parse_axis(Parser *p)
{
    const char *name = NULL;
    TileAxis axis = {.sym = NULL};
    int64_t least = 0, most, ignored;
    if (!parse_name(p, &name) || !parse_want(p, ":") || !parse_expression(p, &axis.extent))
        return false;
    tile_default_range(axis.extent, axis.extent, &ignored, &most);
    if (!parse_range(p, &least, &most))
        return false;
    axis.sym = aff_sym_new(p->aff, name, AFF_GRID, least, most);
    axis.reversed = parse_take(p, "reversed");
    axis.within = parse_take(p, "within");
    axis.cluster = parse_take(p, "cluster");
    vec_push(p->arena, &p->kernel->grid, axis);
    return true;
}

static bool parse_grid(Parser *p)
{
    if (!parse_want(p, "("))
        return false;
    do {
        if (!parse_axis(p))
            return false;
    } while (parse_take(p, ","));
    for (int i = 0; i < p->kernel->grid.len; i++)
        vec_push(p->arena, &p->symbols, p->kernel->grid.data[i].sym);
    return parse_want(p, ")");
}

/* (s: X[m, 0]) */
static bool parse_window(Parser *p)
{
    const char *name = NULL;
    Form place = {.op = {.row_dim = -1, .col_dim = -1}};
    TileWindow *window = &p->kernel->window;
    if (!parse_want(p, "(") || !parse_name(p, &name) || !parse_want(p, ":") || !parse_place(p, &place))
        return false;
    if (place.op.tensor->rank == 0 || place.op.where || place.op.row_dim >= 0 || place.op.col_dim >= 0)
        return tile_parse_fail(p, "expected where a row begins, such as X[m, 0]");
    window->tensor = place.op.tensor;
    window->coords = place.op.coords;
    window->sym = tile_window_symbol(p->program, name, window->tensor);
    vec_push(p->arena, &p->symbols, window->sym);
    return parse_want(p, ")");
}

static bool parse_fact(Parser *p)
{
    for (int i = 0; i < TILE_FACTS; i++)
        if (parse_take(p, tile_fact_names[i])) {
            p->kernel->facts |= 1u << i;
            return true;
        }
    return tile_parse_fail(p, "expected a fact such as expanded");
}

static bool parse_facts(Parser *p)
{
    if (!parse_want(p, "("))
        return false;
    do {
        if (!parse_fact(p))
            return false;
    } while (parse_take(p, ","));
    return parse_want(p, ")");
}

/* "softmax exact": a parameter of the schedule, whose name was at hand. */
static bool parse_schedule(Parser *p, SchedId id)
{
    parse_next(p);
    SchedValue value = sched_value_find(id, parse_word(p));
    if (value == SCHED_AUTO) {
        Str values = str_new(p->arena);
        sched_values_text(&values, id);
        return tile_parse_fail(p, "%s is %s", sched_info(id)->name, str_text(&values));
    }
    p->kernel->schedule.value[id] = value;
    parse_next(p);
    return true;
}

static bool parse_kernel_attribute(Parser *p)
{
    for (int i = 0; i < SCHED_COUNT; i++)
        if (parse_at(p, sched_info((SchedId)i)->name))
            return parse_schedule(p, (SchedId)i);
    for (int i = 0; i < KERNEL_NUMBERS; i++) {
        const KernelNumber *n = &tile_kernel_numbers[i];
        int value;
        if (!parse_take(p, n->word))
            continue;
        if (!parse_small(p, &value))
            return false;
        memcpy((char *)p->kernel + n->offset, &value, sizeof value);
        return true;
    }
    if (parse_take(p, "grid"))
        return parse_grid(p);
    if (parse_take(p, "window"))
        return parse_window(p);
    if (parse_take(p, "facts"))
        return parse_facts(p);
    return parse_want(p, "shared_bytes") && parse_int(p, &p->kernel->shared_bytes);
}

static bool parse_kernel(Parser *p)
{
    const char *name = NULL;
    int mark = p->symbols.len;
    if (!parse_name(p, &name))
        return false;
    p->kernel = tile_kernel_new(p->program, name);
    p->values = NULL;
    p->n_values = p->cap_values = 0;
    while (!parse_at(p, "{"))
        if (!parse_kernel_attribute(p))
            return false;
    if (!parse_want(p, "{") || !end_line(p, NULL) || !parse_block(p, p->kernel->body) ||
        !parse_want(p, "}"))
        return false;
    p->symbols.len = mark;
    return true;
}

/* ---- heads of programs ------------------------------------------------------------------------ */

static bool parse_dim(Parser *p)
{
    const char *name = NULL;
    int64_t least = INT64_MIN, most = INT64_MAX;
    if (!parse_name(p, &name) || !parse_range(p, &least, &most))
        return false;
    const AffSym *sym = aff_sym_new(p->aff, name, AFF_DIM, least, most);
    tile_add_dim(p->program, sym);
    vec_push(p->arena, &p->symbols, sym);
    return true;
}

static bool parse_param(Parser *p)
{
    const char *name = NULL;
    if (!parse_name(p, &name))
        return false;
    vec_push(p->arena, &p->program->params, name);
    return true;
}

/* `len`, `D = 128`, `_ = len`, `64` */
static bool parse_tensor_dim(Parser *p, TileTensor *t)
{
    const char *name = NULL;
    Parser before = *p;
    if (t->rank == TENSOR_MAX_RANK)
        return tile_parse_fail(p, "a tensor has at most %d dimensions", TENSOR_MAX_RANK);
    bool named = p->token.kind == TOK_NAME && parse_name(p, &name) && parse_take(p, "=");
    if (!named)
        *p = before;
    const Aff *dim = parse_aff(p);
    if (!dim)
        return false;
    if (!named)
        name = dim->kind == AFF_SYM ? dim->sym->name : NULL;
    t->dim_names[t->rank] = name && strcmp(name, "_") == 0 ? NULL : name;
    t->dims[t->rank++] = dim;
    return true;
}

static bool parse_tensor(Parser *p, bool workspace)
{
    TileTensor *t = arena_new_of(p->arena, TileTensor);
    const char *dtype;
    t->workspace = workspace;
    t->index = p->program->tensors.len;
    if (!parse_name(p, &t->name) || !parse_want(p, "("))
        return false;
    for (bool more = !parse_at(p, ")"); more; more = parse_take(p, ","))
        if (!parse_tensor_dim(p, t))
            return false;
    if (!parse_want(p, ")") || !parse_name(p, &dtype))
        return false;
    if (!dtype_parse(dtype, &t->dtype))
        return tile_parse_fail(p, "'%s' is not a dtype", dtype);
    t->read = parse_take(p, "in");
    t->written = parse_take(p, "out");
    t->holds_places = workspace && parse_take(p, "places");
    if (t->holds_places && (!parse_int(p, &t->least) || !parse_want(p, "..") || !parse_int(p, &t->most)))
        return false;
    vec_push(p->arena, &p->program->tensors, t);
    return true;
}

static bool parse_require(Parser *p)
{
    TileRequire r;
    if (!parse_expression(p, &r.cond) || !parse_want(p, ",") || !parse_string(p, &r.message))
        return false;
    vec_push(p->arena, &p->program->requires, r);
    return true;
}

static bool parse_item(Parser *p)
{
    const TileProgram *program = p->program;
    if (program->dims.len + program->tensors.len + program->params.len > HEAD_LIMIT)
        return tile_parse_fail(p, "more than %d dimensions, tensors and parameters", HEAD_LIMIT);
    if (parse_take(p, "dim"))
        return parse_dim(p);
    if (parse_take(p, "param"))
        return parse_param(p);
    if (parse_take(p, "tensor"))
        return parse_tensor(p, false);
    if (parse_take(p, "workspace"))
        return parse_tensor(p, true);
    if (parse_take(p, "require"))
        return parse_require(p);
    return parse_take(p, "kernel") ? parse_kernel(p)
                                   : tile_parse_fail(p, "expected dim, param, tensor, require or kernel");
}

static bool parse_program(Parser *p)
{
    parse_next(p);
    if (p->token.kind == TOK_LINE)
        parse_next(p);
    if (!parse_want(p, "program") || !parse_name(p, &p->program->name))
        return false;
    if (parse_take(p, "after") && !parse_name(p, &p->program->after))
        return false;
    while (p->token.kind != TOK_END)
        if (!end_line(p, NULL) || (p->token.kind != TOK_END && !parse_item(p)))
            return false;
    return true;
}

TileProgram *tile_parse(Arena *arena, Syms *syms, AffCtx *aff, const Source *source, Diags *diags)
{
    Parser p = {.arena = arena, .syms = syms, .aff = aff, .source = source, .diags = diags};
    if (source->len > INT32_MAX / 2) {
        tile_parse_fail(&p, "the text is too long");
        return NULL;
    }
    p.program = tile_program_new(arena, aff, "");
    p.program->source = source;
    vec_push(arena, &p.symbols, p.program->row);
    vec_push(arena, &p.symbols, p.program->col);
    return parse_program(&p) ? p.program : NULL;
}
