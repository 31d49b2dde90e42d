/* range.c: which integers make sense as the elements of an input.
 *
 *   Mask S where kv_pos < Len[batch]                  lengths: 0 to kv_len
 *   Mask S where Seg[batch, q] == Seg[batch, k]       ids: a few, so that some are equal
 *   Mask S where Keep[Block[batch], kv_pos]           coordinates: 0 to the dimension's end
 *   Mask S where (q_pos - kv_pos) % Step[head] == 0   divisors: 1 to q_len
 *   Define W as Q[k div 8, n] div 2 ** e % 16         words of several numbers: all that 32 bits hold
 *
 * Data that a condition decides in the same way everywhere tests nothing.
 */
#include "ref/range.h"

typedef struct Search {
    const Def *def;
    const DefOp *op;
    const DefValue *value;
    const Aff *most; /* NULL: nothing says */
    bool divides;
} Search;

static const DefValue *read_value(const Search *s, const Expr *e)
{
    for (int i = 0; e->kind == EXPR_INDEX && e->a->kind == EXPR_NAME && i < s->op->reads.len; i++)
        if (strcmp(s->op->reads.data[i].name, e->a->name) == 0)
            return s->op->reads.data[i].value;
    return NULL;
}

static bool reads(const Search *s, const Expr *e)
{
    if (!e)
        return false;
    if (read_value(s, e) == s->value || reads(s, e->a) || reads(s, e->b))
        return true;
    for (int i = 0; i < e->n_args; i++)
        if (reads(s, e->args[i]))
            return true;
    return false;
}

static const Aff *extent_of_name(const Search *s, const char *name)
{
    const DefValue *result = s->op->result;
    int back = text_equal_nocase(name, "row") ? 2 : text_equal_nocase(name, "col") ? 1 : 0;

    const DefIndex *index = def_index(s->def, name);
    if (index) {
        const DefDimSym *dim = def_dim(s->def, index->over);
        return dim ? dim->size : NULL;
    }
    return back && back <= result->rank ? result->dims[result->rank - back].size : NULL;
}

/* How far a position in e reaches; NULL: there is none outside of brackets. */
static const Aff *position_extent(const Search *s, const Expr *e)
{
    if (!e || e->kind == EXPR_INDEX)
        return NULL;
    if (e->kind == EXPR_NAME || e->kind == EXPR_CALL) {
        const Aff *extent = extent_of_name(s, e->name);
        if (extent)
            return extent;
    }
    const Aff *a = position_extent(s, e->a);
    if (!a)
        a = position_extent(s, e->b);
    for (int i = 0; !a && i < e->n_args; i++)
        a = position_extent(s, e->args[i]);
    return a;
}

static bool orders(const Expr *e)
{
    return e->kind == EXPR_BINARY && (e->op == EO_LT || e->op == EO_LE || e->op == EO_GT || e->op == EO_GE);
}

static bool divides(const Expr *e)
{
    return e->kind == EXPR_BINARY && (e->op == EO_IDIV || e->op == EO_MOD);
}

/* Whether e is 0 where an element is. */
static bool is_multiple(const Search *s, const Expr *e)
{
    if (e->kind == EXPR_BINARY && e->op == EO_MUL)
        return is_multiple(s, e->a) || is_multiple(s, e->b);
    return read_value(s, e) == s->value;
}

static void search(Search *s, const Expr *e)
{
    if (!e)
        return;
    const DefValue *tensor = read_value(s, e);
    if (orders(e) && (reads(s, e->a) || reads(s, e->b)))
        s->most = position_extent(s, reads(s, e->a) ? e->b : e->a);
    if (divides(e) && is_multiple(s, e->b)) {
        s->divides = true;
        s->most = position_extent(s, e->a);
    }
    for (int i = 0; tensor && e->n_args == tensor->rank && i < e->n_args; i++)
        if (reads(s, e->args[i]))
            s->most = aff_offset(s->def->aff, tensor->dims[i].size, -1);
    search(s, e->a);
    search(s, e->b);
    for (int i = 0; i < e->n_args; i++)
        search(s, e->args[i]);
}

/* Whether an element stands in e otherwise than to be taken apart by `div` and `%`, which it is in what is around e. */
static bool reads_whole(const Search *s, const Expr *e, bool apart)
{
    if (!e)
        return false;
    if (read_value(s, e) == s->value && !apart)
        return true;
    for (int i = 0; i < e->n_args; i++)
        if (reads_whole(s, e->args[i], false))
            return true;
    return reads_whole(s, e->a, divides(e)) || reads_whole(s, e->b, false);
}

/* Whether elements are only ever taken apart. */
static bool are_words(const Def *def, const DefValue *value)
{
    bool read = false;

    for (int i = 0; i < def->ops.len; i++) {
        const Search s = {.def = def, .op = def->ops.data[i], .value = value};
        for (int k = 0; k < s.op->n_args; k++)
            if (s.op->args[k].value == value)
                return false;
        read |= reads(&s, s.op->where);
        if (reads_whole(&s, s.op->where, false))
            return false;
    }
    return read && value->dtype == DT_I32;
}

Range range_of_input(const Def *def, const DefValue *value)
{
    Search s = {.def = def, .value = value};
    Range range = {0};

    for (int i = 0; i < def->ops.len; i++) {
        s.op = def->ops.data[i];
        search(&s, s.op->where);
        if (!range.most)
            range.most = s.most;
    }
    range.least = s.divides;
    if (!range.most && !range.least && are_words(def, value))
        return (Range){INT32_MIN, aff_const(def->aff, INT32_MAX)};
    return range;
}
