/* propose_long.c: what is longer than is taken, said in fewer words.
 *
 *   Allocate T7 in shared (64, 64)      nothing reads it: left out, and so is what only it reads
 *
 *   Compute Exp X and get A             Compute Exp X and get A
 *   Compute Exp X and get B        ─►   ...                             B is A
 *
 *   Compute Add S, 1 and get new S      for turn = 0:4000
 *   ... 4000 times                 ─►     Compute Add S, 1 and get new S
 *                                       end
 *
 *   Let b = a + a                  ─►   Let b = 2 * a                   sums of names that double grow with every one
 */
#include "suggest/words.h"

#include <stdlib.h>

enum { MOST_STATEMENTS = 8000, MOST_LOOKS = 1 << 27 };

static const char NAME[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
static const char DIGITS[] = "0123456789";

/* ---- statements, and the words that they say ------------------------------------------------------------ */

typedef struct Said {
    const Stmt *stmt;
    bool gone;
} Said;

/* A word of a statement; idle: where it only gets a value. */
typedef struct Mention {
    const char *word; /* equal words are one */
    int said;
    bool idle;
} Mention;

typedef struct Long {
    Suggester *s;
    VEC(Said) all;
    VEC(Mention) mentions;
    bool too_many;
} Long;

static bool is_range(const Suggester *s, Span span)
{
    return span.start >= 0 && span.end > span.start && (size_t)span.end <= s->source->len;
}

/* The name that a statement gives a value or declares, if that is all it does; NULL: it does more. */
static const char *given(const Stmt *stmt)
{
    static const StmtKind declare[] = {STMT_PARAM, STMT_LET, STMT_INDEX, STMT_ASSIGN, STMT_INPUT, STMT_ALLOCATE};
    const Expr *dest = stmt->dest;

    if (stmt->listed)
        return NULL;
    if (stmt->kind == STMT_COPY)
        return stmt->target || stmt->to_space == SPACE_GLOBAL ? NULL : stmt->as ? stmt->as : stmt->name;
    if (stmt->kind == STMT_COMPUTE)
        return dest && dest->kind == EXPR_NAME && (stmt->result == RESULT_GET || stmt->result == RESULT_GET_NEW) && stmt->n_with == 0 ? dest->name : NULL;
    for (size_t i = 0; i < TW_COUNT(declare); i++)
        if (stmt->kind == declare[i])
            return stmt->name;
    return NULL;
}

static void add_words(Long *l, int said)
{
    const Stmt *stmt = l->all.data[said].stmt;
    const char *text = l->s->source->text, *name = given(stmt), *own = name ? sym(l->s->chain->syms, name) : NULL;
    int times = 0, first = l->mentions.len;

    for (int at = stmt->span.start; at < stmt->span.end;) {
        size_t len = strspn(text + at, NAME);
        if (len && !letter_among(text[at], DIGITS)) {
            const char *word = symn(l->s->chain->syms, text + at, len);
            times += word == own;
            vec_push(l->s->arena, &l->mentions, ((Mention){word, said, word == own}));
        }
        at += len ? (int)len : 1;
    }
    bool same = stmt->kind == STMT_COPY && stmt->as && strcmp(stmt->as, stmt->name) == 0;
    for (int i = first; i < l->mentions.len && (times > 1 || same); i++) /* it is read as well */
        l->mentions.data[i].idle = false;
}

static void add_block(Long *l, const Block *block)
{
    for (int i = 0; i < block->len && !l->too_many; i++) {
        const Stmt *stmt = block->data[i];
        if (stmt->kind == STMT_SCHEDULE || !is_range(l->s, stmt->span))
            continue;
        l->too_many = l->all.len >= MOST_STATEMENTS;
        vec_push(l->s->arena, &l->all, ((Said){stmt, false}));
        add_words(l, l->all.len - 1);
        add_block(l, &stmt->body);
        add_block(l, &stmt->orelse);
    }
}

/* false: there are too many to look at. */
static bool read_unit(Suggester *s, Long *l)
{
    *l = (Long){.s = s};
    if (s->unit)
        add_block(l, &s->unit->body);
    return s->unit && !l->too_many && l->all.len > 0;
}

/* ---- what nothing reads ---------------------------------------------------------------------------------- */

static int by_word(const void *a, const void *b)
{
    const Mention *x = a, *y = b;

    return x->word != y->word ? (x->word < y->word ? -1 : 1) : x->said - y->said;
}

/* Marks statements of words that are only given values. Returns how many. */
static int mark_unread(Long *l)
{
    int marked = 0;

    for (int i = 0, next; i < l->mentions.len; i = next) {
        bool read = false;
        for (next = i; next < l->mentions.len && l->mentions.data[next].word == l->mentions.data[i].word; next++)
            read |= !l->mentions.data[next].idle && !l->all.data[l->mentions.data[next].said].gone;
        for (int k = i; k < next && !read; k++) {
            Said *said = &l->all.data[l->mentions.data[k].said];
            marked += !said->gone && l->mentions.data[k].idle;
            said->gone |= l->mentions.data[k].idle;
        }
    }
    return marked;
}

/* The unit without the lines that are gone. */
static const char *what_is_left(Long *l, Span unit)
{
    Str text = str_new(l->s->arena);
    int at = unit.start;

    for (int i = 0; i < l->all.len; i++) {
        Span line = suggest_line(l->s, l->all.data[i].stmt->span);
        if (!l->all.data[i].gone || line.start < at)
            continue;
        str_addn(&text, l->s->source->text + at, (size_t)(line.start - at));
        at = line.end;
    }
    str_addn(&text, l->s->source->text + at, (size_t)(unit.end - at));
    return str_text(&text);
}

/* An Operator or a Kernel, to the end of the line that closes it. */
static Span unit_span(const Suggester *s)
{
    return (Span){suggest_line_start(s, s->unit->span.start), suggest_line_end(s, s->unit->span.end > s->unit->end ? s->unit->span.end : s->unit->end)};
}

bool propose_unread(Suggester *s)
{
    Long l;
    int all = 0, marked = 1;

    if (!read_unit(s, &l))
        return false;
    qsort(l.mentions.data, (size_t)l.mentions.len, sizeof(Mention), by_word);
    for (int64_t looks = 0; marked > 0 && looks < MOST_LOOKS; looks += l.mentions.len) /* what is read by what is left out is not read */
        all += marked = mark_unread(&l);
    return all > 0 && suggest_edit(s, unit_span(s), what_is_left(&l, unit_span(s)), arena_printf(s->arena, "without the %d statements that give what nothing reads", all));
}

/* ---- what is computed twice ----------------------------------------------------------------------------------- */

/* A name as it stands for another. */
typedef struct Alias {
    const char *name, *is;
} Alias;

typedef struct Twice {
    Long *l;
    VEC(Alias) aliases;
    VEC(const char *) keys; /* what statements compute, by those of `names` */
    VEC(const char *) names;
    int found;
} Twice;

/* How many statements give a name a value. */
static int times_given(const Long *l, const char *name)
{
    int n = 0;

    for (int i = 0; i < l->all.len; i++) {
        const Stmt *stmt = l->all.data[i].stmt;
        const Expr *dest = stmt->dest;
        while (dest && (dest->kind == EXPR_INDEX || dest->kind == EXPR_SPACE))
            dest = dest->a;
        bool here = dest ? dest->kind == EXPR_NAME && strcmp(dest->name, name) == 0 : stmt->name && strcmp(stmt->name, name) == 0;
        n += here && stmt->kind != STMT_COPY;
    }
    return n;
}

static const char *with_aliases(const Twice *t, Span span)
{
    const char *text = t->l->s->source->text;
    Str out = str_new(t->l->s->arena);

    for (int at = span.start; at < span.end;) {
        size_t len = strspn(text + at, NAME);
        const char *word = len ? symn(t->l->s->chain->syms, text + at, len) : NULL;
        for (int i = 0; word && i < t->aliases.len; i++)
            if (t->aliases.data[i].name == word) {
                word = t->aliases.data[i].is;
                break;
            }
        if (word)
            str_add(&out, word);
        else
            str_addc(&out, text[at]);
        at += len ? (int)len : 1;
    }
    return str_text(&out);
}

/* Of a statement that computes a name, once, from names that are given once. */
static bool is_once(const Twice *t, const Said *said)
{
    const char *name = said->stmt->kind == STMT_COMPUTE && said->stmt->result == RESULT_GET ? given(said->stmt) : NULL;

    if (!name || times_given(t->l, name) != 1)
        return false;
    for (int k = 0; k < said->stmt->n_args; k++) {
        const Expr *e = said->stmt->args[k];
        while (e->kind == EXPR_TRANSPOSE)
            e = e->a;
        if (e->kind == EXPR_NAME && times_given(t->l, e->name) > 1)
            return false;
    }
    return true;
}

static void look_at(Twice *t, Said *said)
{
    Syms *syms = t->l->s->chain->syms;
    const Stmt *stmt = said->stmt;

    if (!is_once(t, said))
        return;
    const char *key = sym(syms, with_aliases(t, (Span){stmt->span.start, stmt->dest->span.start})), *name = sym(syms, stmt->dest->name);
    for (int i = 0; i < t->keys.len; i++)
        if (t->keys.data[i] == key) {
            vec_push(t->l->s->arena, &t->aliases, ((Alias){name, t->names.data[i]}));
            said->gone = true;
            t->found++;
            return;
        }
    vec_push(t->l->s->arena, &t->keys, key);
    vec_push(t->l->s->arena, &t->names, name);
}

/* Equal statements of equal operands. */
bool propose_computed_once(Suggester *s)
{
    enum { MOST = 3000 }; /* each is compared with all before it */
    Long l;
    Twice t = {.l = &l};

    if (!read_unit(s, &l) || l.all.len > MOST || s->unit->kind != UNIT_OPERATOR)
        return false;
    for (int i = 0; i < l.all.len; i++)
        look_at(&t, &l.all.data[i]);
    if (t.found == 0)
        return false;
    Span unit = unit_span(s);
    Source left = {.text = what_is_left(&l, unit)}, *whole = arena_new_of(s->arena, Source);
    const Source *source = s->source;
    left.len = strlen(left.text);
    *whole = left;
    s->source = whole;
    const char *text = with_aliases(&t, (Span){0, (int)left.len});
    s->source = source;
    return suggest_edit(s, unit, text, arena_printf(s->arena, "%d results are computed once instead of again", t.found));
}

/* ---- sums of a name and itself ----------------------------------------------------------------------------------- */

typedef struct Doubled {
    Suggester *s;
    Str text;
    int at, n;
} Doubled;

static void double_one(void *user, const Stmt *stmt)
{
    Doubled *d = user;
    const Expr *e = stmt->kind == STMT_LET || stmt->kind == STMT_ASSIGN ? stmt->value : NULL;

    if (!e || e->kind != EXPR_BINARY || e->op != EO_ADD || e->a->kind != EXPR_NAME || e->b->kind != EXPR_NAME || strcmp(e->a->name, e->b->name) != 0 || e->span.start < d->at)
        return;
    str_addn(&d->text, d->s->source->text + d->at, (size_t)(e->span.start - d->at));
    str_printf(&d->text, "2 * %s", e->a->name);
    d->at = e->span.end;
    d->n++;
}

bool propose_doubled(Suggester *s)
{
    Doubled d = {.s = s, .text = str_new(s->arena)};
    Span unit;

    if (!s->unit)
        return false;
    unit = unit_span(s);
    d.at = unit.start;
    suggest_each(&s->unit->body, double_one, &d);
    str_addn(&d.text, s->source->text + d.at, (size_t)(unit.end - d.at));
    return d.n > 0 && suggest_edit(s, unit, str_text(&d.text), "twice a name, which is one part and not two");
}
