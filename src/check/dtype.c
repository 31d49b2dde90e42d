/* dtype.c: element types: of operands of the tensor cores, of accumulators, of copies. */
#include "check/walk.h"

void dtype_known(Checker *c, const Stmt *s)
{
    const Target *target = c->options->target;
    bool given = !s->has_dtype && c->options->settings && (s->kind == STMT_INPUT || s->kind == STMT_OUTPUT);
    if (!target || (!s->has_dtype && !given))
        return;
    DType dtype = given ? stmt_dtype(s, &c->unit->body, c->options->settings->dtype) : s->dtype;
    if (!target_has_dtype(target, dtype))
        target_lacks(c->diags, target, s->span, s->kind == STMT_COMPUTE ? "the result" : s->name, dtype, !given);
}

/* That of a tensor which names none is the one of --dtype. */
static bool type_of_tensor(const Checker *c, const Place *global, DType *t)
{
    bool set = global->exists && !global->has_dtype && global->decl && global->is_input && c->options->settings;
    if (set)
        *t = stmt_dtype(global->decl, &c->unit->body, c->options->settings->dtype);
    return set && dtype_is_narrow(*t);
}

/* The type that a tile was given, by itself or by the global tensor of its name. */
static bool known_dtype(const Checker *c, const Operand *o, DType *t)
{
    const Place *p = o->place, *global = &o->tensor->places[SPACE_GLOBAL];
    if (!global->exists && o->tensor->origin)
        global = o->tensor->origin;
    const Stmt *cast = p->space == SPACE_REGISTER ? p->now.cast : NULL;
    if (cast && dtype_is_narrow(cast->dtype))
        *t = cast->dtype;
    else if (p->has_dtype)
        *t = p->dtype;
    else if (p->space == SPACE_SHARED && global->exists && global->has_dtype)
        *t = global->dtype;
    else
        return p->space == SPACE_SHARED && type_of_tensor(c, global, t);
    return true;
}

int dtype_mma_k(Checker *c, const Operand *a, const Operand *b)
{
    DType t;
    bool known = known_dtype(c, b, &t) || known_dtype(c, a, &t);
    return known ? target_mma_k(c->options->target, t) : c->options->target->mma_k;
}

/* M and L of an online softmax. */
void dtype_state(Checker *c, const Operand *o)
{
    if (!o->place->has_dtype || o->place->dtype == DT_F32 || o->place->dtype == DT_F64)
        return;
    Diag *d = diag_add(c->diags, TW0431, o->expr->span, "'%s', the state of a softmax, is kept in %s",
                       o->tensor->name, dtype_name(o->place->dtype));
    diag_fix(c->diags, d, o->place->decl->dtype_span, dtype_name(DT_F32), "keep it in fp32");
}

/* The type of the Cast that made an operand, where it is written; NULL: none did. */
static const Expr *cast_type(const Operand *o)
{
    const Stmt *cast = o->place->space == SPACE_REGISTER ? o->place->now.cast : NULL;
    return cast && cast->n_args == 2 ? cast->args[1] : NULL;
}

/* Declares the operand, or casts it, where its type is written down, with another. */
static void suggest_type(Checker *c, Diag *d, const Operand *o, DType t)
{
    if (cast_type(o)) {
        diag_fix(c->diags, d, cast_type(o)->span, dtype_name(t), "cast it so");
        return;
    }
    const Place *p = o->place->has_dtype ? o->place : &o->tensor->places[SPACE_GLOBAL];
    bool quantized = p->space == SPACE_GLOBAL && p->decl && p->decl->has_dtype && !dtype_is_float(p->decl->dtype); /* widened, if at all */
    if (p->exists && p->decl && p->decl->has_dtype && !quantized)
        diag_fix(c->diags, d, p->decl->dtype_span, dtype_name(t), "declare it so");
}

static void check_operand(Checker *c, const Operand *o, DType t)
{
    bool reshaped = o->place->space == SPACE_REGISTER; /* rounded when it becomes an operand */
    if (dtype_is_float(t) && (dtype_bytes(t) <= 2 || reshaped))
        return;
    Diag *d = diag_add(c->diags, TW0430, o->expr->span,
                       "'%s' is %s: the tensor cores take floating-point numbers of 16 or 8 bits", o->tensor->name,
                       dtype_name(t));
    diag_note(c->diags, d, "declare it as bf16 or fp16, or Cast it");
    suggest_type(c, d, o, DT_BF16);
}

/* One instruction multiplies numbers of 8 bits of either kind, or of 16 bits of one. */
static void say_types(Checker *c, const Operand *a, DType ta, const Operand *b, DType tb)
{
    Diag *d = diag_add(c->diags, TW0430, b->expr->span, "'%s' is %s, '%s' is %s: one instruction takes one type",
                       a->tensor->name, dtype_name(ta), b->tensor->name, dtype_name(tb));
    const Operand *few = dtype_bytes(ta) < dtype_bytes(tb) ? a : b;
    if (dtype_bytes(ta) != dtype_bytes(tb))
        diag_note(c->diags, d, "widen '%s': Copy it to registers, Cast it to %s, Copy that to shared memory",
                  few->tensor->name, dtype_name(few == a ? tb : ta));
    else if (cast_type(a))
        suggest_type(c, d, a, tb);
    else
        suggest_type(c, d, b, ta);
}

static void say_accumulates(Checker *c, const Operand *dest, DType t)
{
    Diag *d = diag_add(c->diags, TW0431, dest->expr->span, "'%s' accumulates in %s", dest->tensor->name, dtype_name(t));
    const Stmt *decl = dest->place->decl;
    if (decl && decl->has_dtype)
        diag_fix(c->diags, d, decl->dtype_span, dtype_name(DT_F32), "accumulate in fp32");
}

void dtype_gemm(Checker *c, const Operand *a, const Operand *b, const Operand *dest)
{
    DType ta, tb, td;
    bool know_a = known_dtype(c, a, &ta), know_b = known_dtype(c, b, &tb);
    if (know_a)
        check_operand(c, a, ta);
    if (know_b)
        check_operand(c, b, tb);
    if (know_a && know_b && ta != tb && dtype_bytes(ta) <= 2 && dtype_bytes(tb) <= 2 &&
        dtype_bytes(ta) + dtype_bytes(tb) > 2)
        say_types(c, a, ta, b, tb);
    if (known_dtype(c, dest, &td) && td != DT_F32)
        say_accumulates(c, dest, td);
}

/* What turns of a loop add to a tile. */
void dtype_sum(Checker *c, const Operand *dest)
{
    DType t = dest->place->dtype;
    if (c->n_loops && dest->place->space == SPACE_REGISTER && dest->place->has_dtype && dtype_is_float(t) && dtype_bytes(t) < 4)
        say_accumulates(c, dest, t);
}

/* Bytes between global and shared memory move as they are. */
void dtype_copy(Checker *c, const Stmt *s, const Place *from, const Place *to)
{
    bool direct = from->space != SPACE_REGISTER && to->space != SPACE_REGISTER;
    if (!direct || !from->has_dtype || !to->has_dtype || from->dtype == to->dtype)
        return;
    Diag *d =
        diag_add(c->diags, TW0432, s->span, "a Copy from %s to %s memory cannot turn %s into %s",
                 space_name(from->space), space_name(to->space), dtype_name(from->dtype),
                 dtype_name(to->dtype));
    diag_note(c->diags, d, "copy it through registers, where it is converted");
    const Place *near = to->space == SPACE_GLOBAL ? from : to, *global = to->space == SPACE_GLOBAL ? to : from;
    if (near->decl && near->decl->has_dtype)
        diag_fix(c->diags, d, near->decl->dtype_span, dtype_name(global->dtype), "give both one type");
}

void dtype_cast(Checker *c, const Stmt *s)
{
    dtype_known(c, s);
    if (s->n_args == 2 && s->has_dtype)
        return;
    Span span = s->n_args == 2 ? s->args[1]->span : s->span;
    diag_add(c->diags, TW0234, span, "a Cast names the type: Cast S, bf16 and get P");
}
