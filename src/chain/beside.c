/* beside.c: Kernels that stand beside a definition, written by hand.
 *
 * A file may hold an Operator and its flow: sketches, or code. Then the fuser is
 * not asked, and the chain goes on from them; what comes of them is compared with
 * the definition like anything else.
 *
 * What the Operator says of numbers need not be said again:
 *
 *   Operator f                       Kernel f
 *     Param window                     Input Q (len, D)
 *     ...                              Param window        <- taken, since some statement says `window` and
 *                                      ...                    nothing in the Kernel gives it a meaning
 *
 * and a Kernel that declares no tensor has those of the Operator that it copies. The types that only Kernels say the
 * Operator has as well.
 */
#include "chain/beside.h"

#include "check/check.h"

/* ---- what is taken of the Operator ------------------------------------------------------- */

typedef struct Taker {
    const Unit *from, *to; /* the Operator, the Kernel */
    SizeNames names;       /* of dimensions that both call otherwise */
    bool *taken;           /* by the Operator's statements */
} Taker;

/* What the Kernel calls it. */
static const char *own_name(const Taker *t, const char *name)
{
    for (int i = 0; i < t->names.list.len; i++)
        if (t->names.list.data[i].theirs && strcmp(t->names.list.data[i].theirs, name) == 0)
            return t->names.list.data[i].own;
    return name;
}

static bool is_given(const Taker *t, const char *name)
{
    return beside_gives(&t->to->body, own_name(t, name));
}

static bool is_told(const Stmt *s)
{
    return s->kind == STMT_PARAM || s->kind == STMT_LET || s->kind == STMT_INDEX;
}

static bool is_tensor(const Stmt *s)
{
    return s->kind == STMT_INPUT || s->kind == STMT_OUTPUT;
}

static bool has_tensors(const Unit *unit)
{
    for (int i = 0; i < unit->body.len; i++)
        if (is_tensor(unit->body.data[i]))
            return true;
    return false;
}

/* Whether something is copied from the tensor in global memory, or to it. */
static bool copies(const Block *block, const char *tensor)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        const char *name = s->kind == STMT_COPY && (s->space == SPACE_GLOBAL || s->to_space == SPACE_GLOBAL) ? copy_tensor(s) : NULL;

        if ((name && strcmp(name, tensor) == 0) || copies(&s->body, tensor) || copies(&s->orelse, tensor))
            return true;
    }
    return false;
}

/* Whether the statements give the name a meaning: as a dimension, a number, a tile, a counter. */
bool beside_gives(const Block *block, const char *name)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        bool tensor = s->kind == STMT_INPUT || s->kind == STMT_OUTPUT || s->kind == STMT_DEFINE;
        bool made = s->kind == STMT_COMPUTE && s->op_known && op_info(s->op)->class == OPC_DEFINE && s->n_args > 0;
        bool found = (s->name && strcmp(s->name, name) == 0) || (s->as && strcmp(s->as, name) == 0) ||
                     expr_mentions(s->dest, name) || (made && expr_mentions(s->args[0], name));

        for (int k = 0; tensor && k < s->n_shape; k++)
            found |= expr_mentions(s->shape[k], name);
        for (int k = 0; s->kind == STMT_GRID && k < s->n_coords; k++)
            found |= s->coords[k].name && strcmp(s->coords[k].name, name) == 0;
        if (found || beside_gives(&s->body, name) || beside_gives(&s->orelse, name))
            return true;
    }
    return false;
}

/* Positions along one dimension go together: which is the first says which is that of the rows. */
static bool needs(const Stmt *s, const Stmt *other)
{
    bool beside = s->kind == STMT_INDEX && other->kind == STMT_INDEX && strcmp(s->over, other->over) == 0;

    return beside || expr_mentions(s->value, other->name) || (s->over && strcmp(s->over, other->name) == 0);
}

static void take_needs(Taker *t, const Stmt *s)
{
    for (int i = 0; i < t->from->body.len; i++) {
        const Stmt *other = t->from->body.data[i];

        if (is_told(other) && !t->taken[i] && needs(s, other) && !is_given(t, other->name)) {
            t->taken[i] = true;
            take_needs(t, other);
        }
    }
}

/* Whether a tensor that is taken has the name among its sizes. */
static bool sizes_taken(const Taker *t, const char *name)
{
    for (int i = 0; i < t->from->body.len; i++) {
        const Stmt *s = t->from->body.data[i];

        for (int k = 0; t->taken[i] && is_tensor(s) && k < s->n_shape; k++)
            if (expr_mentions(s->shape[k], name))
                return true;
    }
    return false;
}

/* Whether a name means in the Kernel what it means in the Operator: it is taken as well, or the Kernel's own. */
static bool is_known(const void *user, const char *name)
{
    const Taker *t = user;

    for (int i = 0; i < t->from->body.len; i++)
        if (t->taken[i] && strcmp(t->from->body.data[i]->name, name) == 0)
            return true;
    return sizes_taken(t, name) || is_given(t, name);
}

/* Code has no positions; of those along one dimension all are taken, or none. */
static bool can_take(const Taker *t, const Stmt *s)
{
    if (!expr_names_all(s->value, is_known, t) || (s->over && !is_known(t, s->over)))
        return false;
    for (int i = 0; s->kind == STMT_INDEX && i < t->from->body.len; i++)
        if (t->from->body.data[i]->kind == STMT_INDEX && needs(s, t->from->body.data[i]) && !t->taken[i])
            return false;
    return s->kind != STMT_INDEX || check_is_sketch(t->to);
}

/* What is not known is dropped; whether something is left. */
static bool drop_others(Taker *t)
{
    bool any = false, again = true;

    while (again) {
        again = any = false;
        for (int i = 0; i < t->from->body.len; i++) {
            bool drop = t->taken[i] && !can_take(t, t->from->body.data[i]);

            t->taken[i] &= !drop;
            again |= drop;
            any |= t->taken[i];
        }
    }
    return any;
}

/* A Kernel that declares no tensor at all has the Operator's: those that it copies, or reads elements of. */
static void take_tensors(Taker *t)
{
    for (int i = 0; i < t->from->body.len && !has_tensors(t->to); i++) {
        const Stmt *s = t->from->body.data[i];

        t->taken[i] = is_tensor(s) && s->name && (copies(&t->to->body, s->name) || block_mentions(&t->to->body, s->name));
    }
}

/* Whether an operand is a part of a tile that ends at the size, `Q[:, 0:D]`. */
static bool cuts_at(const Expr *e, const char *size)
{
    if (!e)
        return false;
    for (int i = 0; i < e->n_args; i++)
        if ((e->kind == EXPR_INDEX && expr_mentions(e->args[i], size)) || cuts_at(e->args[i], size))
            return true;
    return cuts_at(e->a, size) || cuts_at(e->b, size);
}

/* Whether tiles have the size, which is known when compiling then. */
static bool has_tiles_of(const Block *block, const char *size)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        bool found = cuts_at(s->dest, size);

        for (int k = 0; !is_tensor(s) && k < s->n_shape; k++)
            found |= expr_mentions(s->shape[k], size);
        for (int k = 0; s->kind == STMT_COMPUTE && k < s->n_args; k++)
            found |= cuts_at(s->args[k], size);
        if (found || has_tiles_of(&s->body, size) || has_tiles_of(&s->orelse, size))
            return true;
    }
    return false;
}

/* A size that the Operator gives a number, and the Kernel has in the shapes of its tensors, which say nothing else of it: of a
 * sketch any, of code one that tiles have. */
static bool is_size(const Taker *t, const Stmt *s)
{
    const char *name = s->name ? own_name(t, s->name) : NULL;
    bool sized = false;

    if (s->kind != STMT_PARAM || !s->value || (!check_is_sketch(t->to) && !has_tiles_of(&t->to->body, name)))
        return false;
    for (int i = 0; i < t->to->body.len; i++) {
        const Stmt *own = t->to->body.data[i], *theirs = is_tensor(own) ? unit_tensor(t->from, own->name) : NULL;

        if (!is_tensor(own) && beside_gives(&(Block){.data = (Stmt **)&t->to->body.data[i], .len = 1}, name))
            return false;
        for (int k = 0; theirs && k < own->n_shape && k < theirs->n_shape; k++)
            sized |= expr_is_name(own->shape[k], name) && expr_is_name(theirs->shape[k], s->name);
    }
    return sized;
}

static void take(Taker *t)
{
    take_tensors(t);
    for (int i = 0; i < t->from->body.len; i++) {
        const Stmt *s = t->from->body.data[i];

        bool said = is_told(s) && (block_mentions(&t->to->body, s->name) || sizes_taken(t, s->name));
        bool size = is_told(s) && is_size(t, s);

        if ((!said && !size) || t->taken[i] || (is_given(t, s->name) && !size))
            continue;
        t->taken[i] = true;
        take_needs(t, s);
    }
}

/* The Kernel with what it takes behind its tensors; itself where that is nothing. */
static Unit *with_taken(Arena *arena, const Unit *def, Unit *kernel)
{
    Taker t = {.from = def, .to = kernel, .names = size_names(arena, kernel, def), .taken = arena_array(arena, bool, def->body.len + 1)};
    Unit *whole = arena_new_of(arena, Unit);
    int behind = 0;

    memset(t.taken, 0, (size_t)def->body.len * sizeof *t.taken);
    take(&t);
    if (!drop_others(&t))
        return kernel;
    *whole = *kernel;
    whole->body = (Block){.comment = kernel->body.comment};
    for (int i = 0; i < kernel->body.len; i++)
        if (is_tensor(kernel->body.data[i]))
            behind = i + 1;
    for (int i = 0; i < behind; i++)
        vec_push(arena, &whole->body, kernel->body.data[i]);
    for (int i = 0; i < def->body.len; i++)
        if (t.taken[i])
            vec_push(arena, &whole->body, t.names.list.len ? stmt_as_kernel(&t.names, def->body.data[i]) : def->body.data[i]);
    for (int i = behind; i < kernel->body.len; i++)
        vec_push(arena, &whole->body, kernel->body.data[i]);
    return whole;
}

Program *kernels_complete(Arena *arena, Program *program, const Settings *settings)
{
    const Unit *def = program_unit(program, UNIT_OPERATOR);
    Program *whole = arena_new_of(arena, Program);

    *whole = (Program){.source = program->source, .comment = program->comment};
    for (int i = 0; i < program->units.len; i++) {
        Unit *unit = program->units.data[i];

        if (unit->kind == UNIT_KERNEL && def)
            unit = with_taken(arena, def, unit);
        if (check_is_sketch(unit)) {
            unit_say_sides(arena, unit);
        } else if (unit->kind == UNIT_KERNEL) {
            unit_drop_ones(arena, unit);
            unit_name_numbers(arena, unit);
        }
        if (unit->kind == UNIT_KERNEL)
            unit = unit_spell_elements(arena, unit_spell_reals(arena, unit, settings_value, settings));
        vec_push(arena, &whole->units, unit);
    }
    return whole;
}

/* ---- what the Operator takes of them ------------------------------------------------------------ */

static const TensorType *find_type(const TensorType *types, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

/* The tensor in the first Kernel that says its type; NULL: none does. */
static const Stmt *typed_beside(const Program *program, const char *name)
{
    for (int i = 0; i < program->units.len; i++) {
        const Stmt *s = program->units.data[i]->kind == UNIT_KERNEL ? unit_tensor(program->units.data[i], name) : NULL;

        if (s && s->has_dtype)
            return s;
    }
    return NULL;
}

const Unit *definition_typed(Arena *arena, const Program *program, const Unit *def, const TensorType *types, int n)
{
    Unit *typed = arena_new_of(arena, Unit);

    *typed = *def;
    typed->body = (Block){.comment = def->body.comment};
    for (int i = 0; i < def->body.len; i++) {
        Stmt *s = def->body.data[i];
        bool open = is_tensor(s) && s->name && !s->has_dtype;
        const TensorType *type = open ? find_type(types, n, s->name) : NULL;
        const Stmt *theirs = open && !type ? typed_beside(program, s->name) : NULL;

        if (type || theirs) {
            Stmt *own = arena_new_of(arena, Stmt);
            *own = *s;
            own->has_dtype = true;
            own->dtype = type ? type->dtype : theirs->dtype;
            s = own;
        }
        vec_push(arena, &typed->body, s);
    }
    return typed;
}

/* ---- what must fit --------------------------------------------------------------------------- */

Program *kernels_beside(Arena *arena, const Program *program)
{
    Program *kernels = arena_new_of(arena, Program);

    kernels->source = program->source;
    for (int i = 0; i < program->units.len; i++)
        if (program->units.data[i]->kind == UNIT_KERNEL)
            vec_push(arena, &kernels->units, program->units.data[i]);
    return kernels->units.len ? kernels : NULL;
}

/* Whether the definition gives tensors shapes of so many dimensions: a Kernel may declare them so (src/fuse/reshape.c). */
static bool reshapes_to(const Def *def, int rank)
{
    for (int i = 0; i < def->ops.len; i++) {
        const DefOp *op = def->ops.data[i];

        if (op->op == OP_RESHAPE && (op->result->rank == rank || (op->args[0].value && op->args[0].value->rank == rank)))
            return true;
    }
    return false;
}

/* Dimensions as many as the definition's, and its type, where both say one. */
static bool same_tensor(const Stmt *s, const Def *def, const DefValue *value, Diags *diags)
{
    const Stmt *theirs = value ? unit_tensor(def->unit, s->name) : NULL;

    if (value && value->rank != s->n_shape && !reshapes_to(def, s->n_shape)) {
        diag_add(diags, TW0521, s->span, "%s has %d dimensions here and %d in the definition", s->name, s->n_shape,
                 value->rank);
        return false;
    }
    if (theirs && theirs->has_dtype && s->has_dtype && theirs->dtype != s->dtype) {
        diag_add(diags, TW0521, s->dtype_span, "%s is %s here and %s in the definition", s->name, dtype_name(s->dtype), dtype_name(theirs->dtype));
        return false;
    }
    return true;
}

/* What a kernel reads is the definition's, or was written by a kernel before it. */
static bool input_fits(const Program *kernels, int at, const Stmt *s, const Def *def, Diags *diags)
{
    const DefValue *value = def_input(def, s->name);

    if (value)
        return same_tensor(s, def, value, diags);
    for (int i = 0; i < at; i++)
        if (block_find(&kernels->units.data[i]->body, STMT_OUTPUT, s->name))
            return true;
    diag_add(diags, TW0521, s->span, "%s is neither an input of the definition nor written by a kernel before %s",
             s->name, kernels->units.data[at]->name);
    return false;
}

static bool outputs_fit(const Program *kernels, const Def *def, Diags *diags)
{
    bool fit = true;

    for (int i = 0; i < def->outputs.len; i++) {
        const DefValue *value = def->outputs.data[i];
        const Stmt *s = NULL;

        for (int k = 0; k < kernels->units.len && !s; k++)
            s = block_find(&kernels->units.data[k]->body, STMT_OUTPUT, value->name);
        if (!s)
            diag_add(diags, TW0521, kernels->units.data[kernels->units.len - 1]->name_span,
                     "no kernel writes %s, an output of the definition", value->name);
        fit &= s && same_tensor(s, def, value, diags);
    }
    return fit;
}

static bool says_size(const Unit *unit, const char *name)
{
    for (int i = 0; i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];
        bool number = s->kind == STMT_PARAM || s->kind == STMT_LET || s->kind == STMT_ASSIGN;

        if (number && s->name && strcmp(s->name, name) == 0)
            return true;
        for (int k = 0; (s->kind == STMT_INPUT || s->kind == STMT_OUTPUT) && unit_tensor(unit, s->name) && k < s->n_shape; k++)
            if (unit->kind == UNIT_OPERATOR && expr_mentions(s->shape[k], name))
                return true;
    }
    return false;
}

/* A size of a workspace that no tensor of the definition has, nor any number: nobody who launches the kernels knows it. */
static bool is_sized(const Unit *kernel, const Stmt *s, const Def *def, const Settings *settings, Diags *diags)
{
    double number;

    if (unit_tensor(def->unit, s->name))
        return true;
    for (int k = 0; k < s->n_shape; k++) {
        const Expr *dim = s->shape[k];
        bool known = dim->kind != EXPR_NAME || says_size(def->unit, dim->name) || says_size(kernel, dim->name) || settings_value(settings, dim->name, &number);

        for (int i = 0; !known && i < kernel->body.len; i++) { /* under another name than the definition's */
            const Stmt *other = kernel->body.data[i];
            bool tensor = (other->kind == STMT_INPUT || other->kind == STMT_OUTPUT) && unit_tensor(def->unit, other->name);
            for (int d = 0; tensor && d < other->n_shape; d++)
                known |= expr_mentions(other->shape[d], dim->name);
        }
        if (known)
            continue;
        Diag *diag = diag_add(diags, TW0521, dim->span, "nothing says how large %s is: no tensor of the definition has it", dim->name);
        diag_note(diags, diag, "a Param of the definition with a default, or a number that the kernels assign, says it: `Param %s = 4`", dim->name);
        return false;
    }
    return true;
}

bool kernels_fit(const Program *kernels, const Def *def, const Settings *settings, Diags *diags)
{
    bool fit = true;

    for (int i = 0; i < kernels->units.len; i++)
        for (int k = 0; k < kernels->units.data[i]->body.len; k++) {
            const Stmt *s = kernels->units.data[i]->body.data[k];

            if (s->kind == STMT_INPUT)
                fit &= input_fits(kernels, i, s, def, diags);
            if (s->kind == STMT_OUTPUT)
                fit &= is_sized(kernels->units.data[i], s, def, settings, diags);
        }
    fit &= outputs_fit(kernels, def, diags);
    for (int i = 0; fit && i < kernels->units.len; i++)
        fit = sizes_fit(def->arena, kernels->units.data[i], def->unit, settings, diags);
    return fit;
}
