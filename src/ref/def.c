/* def.c: resolves an Operator unit: declarations, static ifs, statements, outputs.
 *
 * Order matters only among Compute statements. The rest is declared first, so
 * that an Input's shape may use a Param that is declared below it; an `if` is
 * folded when everything round it is declared, and its branch is then treated
 * like the body itself.
 */
#include "ref/resolve.h"

/* ---- declarations ------------------------------------------------------------------ */

static void declare_number(Resolver *r, const Stmt *stmt)
{
    NameKind kind = stmt->kind == STMT_PARAM ? NAME_PARAM : NAME_LET;
    Name *name = stmt->name ? res_declare(r, kind, stmt->name, stmt->name_span) : NULL;

    if (!name)
        return;
    name->value = stmt->value;
    if (kind == NAME_LET && !stmt->value) {
        diag_add(r->diags, TW0234, stmt->span, "%s needs a value", stmt->name);
        name->bad = true;
        name->value = expr_int(r->arena, 0);
    }
}

/* Names in the shape of an Input or Output that nothing declares are dimensions. */
static void declare_dims(Resolver *r, const Expr *e)
{
    Name *name;

    if (e->kind == EXPR_NAME && !res_find(r, e->name)) {
        name = res_declare(r, NAME_DIM, e->name, e->span);
        if (name)
            res_set_dim(r, name);
    }
    if (e->a)
        declare_dims(r, e->a);
    if (e->b)
        declare_dims(r, e->b);
    for (int i = 0; i < e->n_args; i++)
        declare_dims(r, e->args[i]);
}

static void declare_shape(Resolver *r, const Stmt *stmt)
{
    for (int d = 0; d < stmt->n_shape; d++)
        declare_dims(r, stmt->shape[d]);
}

static DefValue *declare_value(Resolver *r, const Stmt *stmt)
{
    DefValue *value = arena_new_of(r->arena, DefValue);
    Shape shape;

    if (!res_shape(r, stmt, &shape))
        return NULL;
    value->name = stmt->name;
    value->dtype = stmt_dtype(stmt, &r->unit->body, r->settings->dtype);
    value->rank = shape.rank;
    memcpy(value->dims, shape.dims, sizeof value->dims);
    return value;
}

static void declare_name(Resolver *r, const Stmt *stmt)
{
    Name *name = stmt->name ? res_declare(r, NAME_TENSOR, stmt->name, stmt->name_span) : NULL;

    if (name)
        name->is_output = stmt->kind == STMT_OUTPUT;
}

static void declare_tensor(Resolver *r, const Stmt *stmt)
{
    Name *name = stmt->name ? res_find(r, stmt->name) : NULL;
    DefValue *value;

    if (!name || name->span.start != stmt->name_span.start)
        return; /* declared twice */
    value = declare_value(r, stmt);
    name->bad = !value;
    if (!value)
        return;
    if (name->is_output) {
        value->is_output = true;
        vec_push(r->arena, &r->def->outputs, value);
        return;
    }
    value->is_input = true;
    value->id = r->def->values.len;
    name->tensor = value;
    vec_push(r->arena, &r->def->values, value);
    vec_push(r->arena, &r->def->inputs, value);
}

static void declare_index(Resolver *r, const Stmt *stmt)
{
    Name *name = stmt->name ? res_declare(r, NAME_INDEX, stmt->name, stmt->name_span) : NULL;
    Expr over = {.kind = EXPR_NAME, .name = stmt->over, .span = stmt->span};

    if (!name)
        return;
    name->over = stmt->over ? stmt->over : "";
    name->bad = !stmt->over || !res_size(r, &over);
    if (name->bad)
        return;
    name->size = stmt->value ? res_size(r, stmt->value) : aff_const(r->aff, 0);
    name->bad = !name->size;
    if (!name->bad)
        vec_push(r->arena, &r->def->indices, (DefIndex){name->name, name->over, name->size});
}

static bool is_tensor(const Stmt *stmt)
{
    return stmt->kind == STMT_INPUT || stmt->kind == STMT_OUTPUT;
}

static bool is_number(const Stmt *stmt)
{
    return stmt->kind == STMT_PARAM || stmt->kind == STMT_LET || stmt->kind == STMT_ASSIGN;
}

static bool is_index(const Stmt *stmt)
{
    return stmt->kind == STMT_INDEX;
}

static void for_each(Resolver *r, const Block *block, bool (*which)(const Stmt *),
                     void (*declare)(Resolver *, const Stmt *))
{
    for (int i = 0; i < block->len && !r->too_long; i++)
        if (which(block->data[i]))
            declare(r, block->data[i]);
}

static void declare_block(Resolver *r, const Block *block)
{
    for_each(r, block, is_number, declare_number);
    for_each(r, block, is_tensor, declare_name);
    for_each(r, block, is_tensor, declare_shape);
    for_each(r, block, is_tensor, declare_tensor);
    for_each(r, block, is_index, declare_index);
}

/* ---- statements ----------------------------------------------------------------------- */

static void resolve_block(Resolver *r, const Block *block);

static void resolve_if(Resolver *r, const Stmt *stmt)
{
    double condition;

    if (!res_check_number(r, stmt->where))
        return;
    if (res_known(r, stmt->where, &condition)) {
        resolve_block(r, condition != 0 ? &stmt->body : &stmt->orelse);
    } else {
        Diag *diag = diag_add(r->diags, TW0239, stmt->where->span,
                              "the condition of an if must be known when compiling");

        diag_note(r->diags, diag, "give what it depends on a value with --set NAME=VALUE");
    }
}

static void foreign(Resolver *r, const Stmt *stmt)
{
    Diag *diag = diag_add(r->diags, TW0232, stmt->span, "%s does not belong in a definition",
                          stmt_keyword(stmt->kind));

    diag_note(r->diags, diag, "a definition has Input, Output, Param, Let, Index, Compute and if; the flow "
              "through a GPU is written in a Kernel");
}

static void resolve_stmt(Resolver *r, const Stmt *stmt)
{
    switch (stmt->kind) {
    case STMT_COMPUTE:
        res_compute(r, stmt);
        break;
    case STMT_IF:
        resolve_if(r, stmt);
        break;
    case STMT_INPUT: case STMT_OUTPUT: case STMT_PARAM: case STMT_LET: case STMT_ASSIGN: case STMT_INDEX:
        break; /* declared */
    case STMT_GRID: case STMT_ALLOCATE: case STMT_COPY: case STMT_RESHAPE: case STMT_FOR:
    case STMT_DEFINE: case STMT_SCHEDULE:
        foreign(r, stmt);
        break;
    case STMT_COUNT:
        break;
    }
}

static void resolve_block(Resolver *r, const Block *block)
{
    declare_block(r, block);
    res_forget_known(r);
    for (int i = 0; i < block->len && !r->diags->full && !r->too_long; i++)
        resolve_stmt(r, block->data[i]);
}

/* ---- outputs ------------------------------------------------------------------------------ */

/* A column or row was declared without its dimension of size 1: `Output S (M)`. */
static void suggest_one(Resolver *r, const Name *name, const Shape *want, const Shape *got)
{
    const Stmt *output = NULL;

    for (int i = 0; i < r->unit->body.len; i++)
        if (r->unit->body.data[i]->kind == STMT_OUTPUT && r->unit->body.data[i]->name_span.start == name->span.start)
            output = r->unit->body.data[i];
    if (!output || output->listed || got->rank != want->rank + 1 || want->rank < 1 || output->n_shape != want->rank ||
        r->diags->full)
        return;
    bool column = shape_is_one(&got->dims[want->rank]);
    int at = column ? output->shape[want->rank - 1]->span.end : output->shape[0]->span.start;
    if (column || shape_is_one(&got->dims[0]))
        diag_fix(r->diags, &r->diags->list.data[r->diags->list.len - 1], (Span){at, at}, column ? ", 1" : "1, ",
                 "declare the dimension of size 1");
}

/* Puts the value that was computed in place of the declared one. */
static DefValue *bind_output(Resolver *r, const DefValue *declared)
{
    Name *name = res_find(r, declared->name);
    Shape want, got;
    Stmt place = {.span = name->span};

    if (name->bad)
        return NULL;
    if (!name->tensor) {
        diag_add(r->diags, TW0237, name->span, "%s is never computed", name->name);
        return NULL;
    }
    shape_of(declared, &want);
    shape_of(name->tensor, &got);
    if (!shape_declared(r, &place, name->name, &want, &got)) {
        suggest_one(r, name, &want, &got);
        return NULL;
    }
    memcpy(name->tensor->dims, got.dims, sizeof got.dims);
    name->tensor->dtype = declared->dtype;
    name->tensor->is_output = true;
    return name->tensor;
}

static void bind_outputs(Resolver *r)
{
    Def *def = r->def;

    if (def->outputs.len == 0 && r->diags->errors == 0)
        diag_add(r->diags, TW0242, r->unit->name_span, "%s has no output", r->unit->name);
    for (int i = 0; i < def->outputs.len && !r->too_long; i++) {
        DefValue *value = bind_output(r, def->outputs.data[i]);

        if (value)
            def->outputs.data[i] = value;
    }
}

static void keep_constants(Resolver *r)
{
    double value;

    for (int i = 0; i < r->names.len; i++)
        if (res_known_name(r, r->names.data[i], &value))
            vec_push(r->arena, &r->def->consts, (DefConst){r->names.data[i]->name, value});
}

Def *def_resolve(Arena *arena, Syms *syms, AffCtx *aff, const Program *program, const Unit *unit,
                 Settings *settings, Diags *diags)
{
    Resolver r = {.arena = arena, .syms = syms, .aff = aff, .program = program, .unit = unit, .settings = settings,
                  .diags = diags};
    int errors = diags->errors;

    if (unit->kind != UNIT_OPERATOR) {
        diag_add(diags, TW0232, unit->span, "this is not a definition: Operator NAME ... end");
        return NULL;
    }
    r.unit = unit = unit_inlined(arena, unit, diags);
    if (!unit)
        return NULL;
    r.def = arena_new_of(arena, Def);
    r.def->unit = unit;
    r.def->arena = arena;
    r.def->aff = aff;
    r.def->settings = settings;
    resolve_block(&r, &unit->body);
    if (diags->errors == errors)
        res_check_values(&r);
    bind_outputs(&r);
    if (diags->errors == errors)
        res_warn_of_late(r.def, diags);
    res_unused_settings(&r);
    keep_constants(&r);
    return diags->errors > errors ? NULL : r.def;
}

/* ---- questions -------------------------------------------------------------------------------- */

bool def_const(const Def *def, const char *name, double *value)
{
    for (int i = 0; i < def->consts.len; i++)
        if (strcmp(def->consts.data[i].name, name) == 0)
            return *value = def->consts.data[i].value, true;
    return false;
}

/* ---- operands of GEMMs ------------------------------------------------------------------- */

static bool own_type(const DefValue *value, DType *type)
{
    if (!value->is_input && (!value->op || value->op->op != OP_CAST))
        return false;
    *type = value->is_input ? value->dtype : value->op->cast;
    return dtype_is_narrow(*type); /* tensor cores take no other */
}

static DType common_type(const Def *def)
{
    const Settings *settings = def->settings;
    DType type = settings && dtype_is_narrow(settings->operands) ? settings->operands : DT_BF16;
    int bytes = 0;

    if (settings && dtype_is_narrow(settings->dtype))
        type = settings->dtype;

    for (int i = 0; i < def->inputs.len; i++) {
        DType t = def->inputs.data[i]->dtype;

        if (!dtype_is_narrow(t) || dtype_bytes(t) <= bytes)
            continue;
        type = t;
        bytes = dtype_bytes(t);
    }
    return type;
}

DType def_operand_type(const Def *def, const DefOp *gemm, int operand)
{
    DType mine = DT_F32, other = DT_F32;
    bool known = own_type(gemm->args[operand].value, &mine), other_known = own_type(gemm->args[!operand].value, &other);

    if (known && other_known)
        return dtype_bytes(other) > dtype_bytes(mine) ? other : mine;
    return known ? mine : other_known ? other : common_type(def->whole ? def->whole : def);
}

const DefDimSym *def_dim(const Def *def, const char *name)
{
    for (int i = 0; i < def->dims.len; i++)
        if (text_equal(def->dims.data[i].name, name))
            return &def->dims.data[i];
    return NULL;
}

const DefIndex *def_index(const Def *def, const char *name)
{
    for (int i = 0; i < def->indices.len; i++)
        if (strcmp(def->indices.data[i].name, name) == 0)
            return &def->indices.data[i];
    return NULL;
}

const DefParam *def_param(const Def *def, const char *name)
{
    for (int i = 0; i < def->params.len; i++)
        if (strcmp(def->params.data[i].name, name) == 0)
            return &def->params.data[i];
    return NULL;
}

DefValue *def_input(const Def *def, const char *name)
{
    for (int i = 0; i < def->inputs.len; i++)
        if (text_equal(def->inputs.data[i]->name, name))
            return def->inputs.data[i];
    return NULL;
}

DefValue *def_output(const Def *def, const char *name)
{
    for (int i = 0; i < def->outputs.len; i++)
        if (strcmp(def->outputs.data[i]->name, name) == 0)
            return def->outputs.data[i];
    return NULL;
}

bool def_is_named(const Def *def, const char *name)
{
    for (int i = 0; i < def->values.len; i++) {
        const DefValue *value = def->values.data[i];
        if ((value->is_input || value->is_output) && strcmp(value->name, name) == 0)
            return true;
    }
    for (int i = 0; i < def->unit->body.len; i++) {
        const Stmt *s = def->unit->body.data[i];
        if ((s->kind == STMT_LET || s->kind == STMT_PARAM) && strcmp(s->name, name) == 0)
            return true;
    }
    return def_dim(def, name) != NULL;
}

bool def_op_takes(const DefOp *op, const DefValue *value)
{
    for (int k = 0; k < op->n_args; k++)
        if (op->args[k].value == value)
            return true;
    return false;
}

bool def_multiplies(const Def *def)
{
    for (int i = 0; i < def->ops.len; i++)
        if (def->ops.data[i]->op == OP_GEMM)
            return true;
    return false;
}

bool def_op_reads(const DefOp *op, const DefValue *value)
{
    for (int k = 0; k < op->reads.len; k++)
        if (op->reads.data[k].value == value)
            return true;
    return false;
}

const DefOp *def_only_use(const Def *def, const DefValue *value)
{
    const DefOp *use = NULL;

    for (int i = 0; i < def->ops.len; i++) {
        const DefOp *op = def->ops.data[i];

        if (!def_op_takes(op, value) && !def_op_reads(op, value))
            continue;
        if (use)
            return NULL;
        use = op;
    }
    return use;
}

bool def_same_shape(const DefValue *a, const DefValue *b)
{
    if (a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->dims[d].size != b->dims[d].size)
            return false;
    return true;
}

static const DefValue *input_or_output(const Def *def, int i)
{
    return i < def->inputs.len ? def->inputs.data[i] : def->outputs.data[i - def->inputs.len];
}

/* Whether one of the value's dimensions from `first` on, up to `end`, follows the symbol. */
static bool follows(const DefValue *v, int first, int end, const AffSym *sym)
{
    for (int k = first; k < end; k++)
        if (aff_uses(v->dims[k].size, sym))
            return true;
    return false;
}

bool def_is_tiled(const Def *def, const AffSym *sym)
{
    bool in_matrix = false, leads = false;

    for (int i = 0; i < def->inputs.len + def->outputs.len; i++) {
        const DefValue *v = input_or_output(def, i);
        int last = v->rank > 2 ? v->rank - 2 : 0;
        bool tiled = follows(v, last, v->rank, sym);

        if (tiled && v->rank > 2)
            return true;
        in_matrix |= tiled;
        leads |= follows(v, 0, last, sym);
    }
    return in_matrix && !leads;
}

int def_axis(const DefValue *value, const char *dim)
{
    int axis = -1;

    for (int d = 0; d < value->rank; d++)
        if (value->dims[d].name && strcmp(value->dims[d].name, dim) == 0)
            axis = axis == -1 ? d : -2;
    return axis;
}
