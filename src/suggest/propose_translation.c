/* propose_translation.c: code that has no CuTe as it stands.
 *
 *   Allocate K in shared (64, 64) e4m3                      Allocate K in register (64, 64) e4m3
 *   Copy K (64, 64) in ... from global to shared      ─►    Allocate K in shared (64, 64) bf16
 *                                                           Copy K (64, 64) in ... from global to register
 *                                                           Copy K from register to shared
 *
 * A kernel multiplies operands of 8 bits or of 16. Those of 8 bits are numbers of 16 bits as well, so the products stay
 * the same.
 */
#include "suggest/proposal.h"

enum { MOST_EDITS = 32 };

static const DType HALVES[] = {DT_BF16, DT_F16};

typedef struct Widened {
    Suggester *s;
    DType type;
    Fix edits[MOST_EDITS];
    int n;
} Widened;

/* A tile in shared memory whose elements have 8 bits. */
static bool is_of_bytes(const Widened *w, const Stmt *allocate)
{
    const Stmt *tensor = unit_tensor(w->s->unit, allocate->name);
    bool has = allocate->has_dtype || (tensor && tensor->has_dtype);

    return allocate->space == SPACE_SHARED && has && dtype_bytes(allocate->has_dtype ? allocate->dtype : tensor->dtype) == 1;
}

typedef struct Find {
    const char *name;
    const Stmt *found;
} Find;

static void find_shared(void *user, const Stmt *stmt)
{
    Find *find = user;

    if (stmt->kind == STMT_ALLOCATE && stmt->space == SPACE_SHARED && strcmp(stmt->name, find->name) == 0)
        find->found = stmt;
}

static bool goes_to_bytes(const Widened *w, const Stmt *copy)
{
    Find find = {.name = copy->as ? copy->as : copy->name};

    if (find.name && copy->space == SPACE_GLOBAL && copy->to_space == SPACE_SHARED && !copy->stage)
        suggest_each(&w->s->unit->body, find_shared, &find);
    return find.found && is_of_bytes(w, find.found);
}

static void change(Widened *w, const Stmt *stmt, const Stmt *first, const Stmt *second)
{
    const char *text = arena_printf(w->s->arena, "%s\n%s%s", suggest_text(w->s, first), suggest_indent(w->s, stmt->span.start), suggest_text(w->s, second));

    if (w->n < MOST_EDITS && !stmt->listed)
        w->edits[w->n++] = (Fix){stmt->span, text, NULL};
}

static void widen_one(void *user, const Stmt *stmt)
{
    Widened *w = user;
    Stmt *first = suggest_like(w->s, stmt), *second = suggest_like(w->s, stmt);

    if (stmt->kind == STMT_ALLOCATE && is_of_bytes(w, stmt)) {
        const Stmt *tensor = unit_tensor(w->s->unit, stmt->name);
        first->space = SPACE_REGISTER;
        first->dtype = stmt->has_dtype ? stmt->dtype : tensor->dtype;
        second->dtype = w->type;
        first->has_dtype = second->has_dtype = true;
        change(w, stmt, first, second);
    } else if (stmt->kind == STMT_COPY && goes_to_bytes(w, stmt)) {
        first->to_space = SPACE_REGISTER;
        *second = (Stmt){.kind = STMT_COPY, .name = stmt->as ? stmt->as : stmt->name, .space = SPACE_REGISTER, .to_space = SPACE_SHARED};
        change(w, stmt, first, second);
    }
}

/* Operands of 8 bits, beside others of 16. */
bool propose_wide_operands(Suggester *s)
{
    for (size_t i = 0; s->unit && i < TW_COUNT(HALVES); i++) {
        Widened w = {.s = s, .type = HALVES[i]};

        suggest_each(&s->unit->body, widen_one, &w);
        if (w.n > 0 && suggest_edits(s, w.edits, w.n, arena_printf(s->arena, "as %s, which holds the same numbers", dtype_name(HALVES[i]))))
            return true;
    }
    return false;
}

/* ---- parts of tiles in shared memory ------------------------------------------------------------------ */

enum { MOST_PARTS = 8 };

/*   Copy V (BN, 64) in coordinate [len = j] ...               Copy V (BN, 32) as V_part1 in coordinate [j, 0] ...
 *   Compute GEMM S, V[:, 0:32] and accumulate O[:, 0:32]  ─►  Copy V (BN, 32) as V_part2 in coordinate [j, 1] ...
 *                                                             Compute GEMM S, V_part1 and accumulate O[:, 0:32] */
typedef struct Parted {
    Suggester *s;
    const char *tile;
    int64_t from[MOST_PARTS], to[MOST_PARTS];
    int n_parts;
    bool whole, failed; /* read as a whole as well */
    Fix edits[MOST_EDITS];
    int n;
} Parted;

/* The columns that an operand has of the tile; false: none, or others than numbers say. */
static bool part_of(const Parted *p, const Expr *e, int64_t *from, int64_t *to)
{
    const Expr *rows = e->kind == EXPR_INDEX && e->n_args == 2 ? e->args[0] : NULL, *cols = rows ? e->args[1] : NULL;

    if (!rows || !e->a || !expr_is_name(e->a, p->tile) || rows->kind != EXPR_RANGE || rows->a || rows->b || cols->kind != EXPR_RANGE)
        return false;
    if (!cols->a || !cols->b || cols->a->kind != EXPR_INT || cols->b->kind != EXPR_INT)
        return false;
    *from = cols->a->i;
    *to = cols->b->i;
    return *to > *from && *from % (*to - *from) == 0;
}

static const Expr *operand(const Expr *e)
{
    while (e->kind == EXPR_TRANSPOSE || e->kind == EXPR_SPACE)
        e = e->a;
    return e;
}

static void note_part(void *user, const Stmt *stmt)
{
    Parted *p = user;
    int64_t from, to;

    for (int i = 0; stmt->kind == STMT_COMPUTE && i < stmt->n_args; i++) {
        const Expr *e = operand(stmt->args[i]);
        bool is = part_of(p, e, &from, &to), again = false;
        for (int k = 0; is && k < p->n_parts; k++)
            again |= p->from[k] == from && p->to[k] == to;
        p->whole |= expr_is_name(e, p->tile);
        p->failed |= (!is && e->kind == EXPR_INDEX && e->a && expr_is_name(e->a, p->tile)) || (is && !again && p->n_parts == MOST_PARTS);
        if (is && !again && p->n_parts < MOST_PARTS) {
            p->from[p->n_parts] = from;
            p->to[p->n_parts++] = to;
        }
    }
}

static const char *part_name(const Parted *p, int k)
{
    return arena_printf(p->s->arena, "%s_part%d", p->tile, k + 1);
}

/* The statement of each part, of so many columns, one a line. */
static void for_parts(Parted *p, const Stmt *stmt, const Stmt *tensor)
{
    Suggester *s = p->s;
    Str text = str_new(s->arena);

    if (p->whole)
        str_printf(&text, "%s\n%s", suggest_text(s, stmt), suggest_indent(s, stmt->span.start));
    for (int k = 0; k < p->n_parts; k++) {
        Stmt *made = suggest_like(s, stmt);
        int64_t width = p->to[k] - p->from[k];
        made->shape = arena_array(s->arena, Expr *, 2);
        made->shape[0] = stmt->shape[0];
        made->shape[1] = expr_int(s->arena, width);
        if (stmt->kind == STMT_ALLOCATE)
            made->name = part_name(p, k);
        else
            made->as = part_name(p, k);
        made->coords = arena_array(s->arena, Coord, tensor->n_shape);
        made->n_coords = stmt->kind == STMT_COPY ? tensor->n_shape : 0;
        for (int d = 0; d < made->n_coords; d++) {
            made->coords[d].value = expr_int(s->arena, d == tensor->n_shape - 1 ? p->from[k] / width : 0);
            for (int c = 0; c < stmt->n_coords; c++) {
                bool named = stmt->coords[c].name && expr_is_name(tensor->shape[d], stmt->coords[c].name);
                p->failed |= !stmt->coords[c].name || !stmt->coords[c].value || (named && d == tensor->n_shape - 1);
                if (named)
                    made->coords[d].value = stmt->coords[c].value;
            }
        }
        str_printf(&text, "%s%s", k ? arena_printf(s->arena, "\n%s", suggest_indent(s, stmt->span.start)) : "", suggest_text(s, made));
    }
    p->failed |= stmt->listed || p->n == MOST_EDITS;
    if (!p->failed)
        p->edits[p->n++] = (Fix){stmt->span, str_text(&text), NULL};
}

static void change_part(void *user, const Stmt *stmt)
{
    Parted *p = user;
    int64_t from, to;
    bool loads = stmt->kind == STMT_COPY && stmt->to_space == SPACE_SHARED && strcmp(stmt->as ? stmt->as : stmt->name, p->tile) == 0;
    const Stmt *tensor = loads || stmt->kind == STMT_ALLOCATE ? unit_tensor(p->s->unit, loads ? copy_tensor(stmt) : p->tile) : NULL;

    if (loads || (stmt->kind == STMT_ALLOCATE && stmt->space == SPACE_SHARED && strcmp(stmt->name, p->tile) == 0)) {
        p->failed |= !tensor || stmt->n_shape != 2 || (loads && (stmt->space != SPACE_GLOBAL || stmt->stage || stmt->where));
        if (!p->failed)
            for_parts(p, stmt, tensor);
    }
    for (int i = 0; stmt->kind == STMT_COMPUTE && i < stmt->n_args; i++) {
        const Expr *e = operand(stmt->args[i]);
        for (int k = 0; part_of(p, e, &from, &to) && k < p->n_parts; k++)
            if (p->from[k] == from && p->to[k] == to && p->n < MOST_EDITS)
                p->edits[p->n++] = (Fix){e->span, part_name(p, k), NULL};
    }
}

/* Tiles of their own for parts of one in shared memory. */
bool propose_own_parts(Suggester *s)
{
    for (int i = 0; s->unit && s->stmt && s->stmt->kind == STMT_COMPUTE && i < s->stmt->n_args; i++) {
        const Expr *e = operand(s->stmt->args[i]);
        Parted p = {.s = s, .tile = e->kind == EXPR_INDEX && e->a && e->a->kind == EXPR_NAME ? e->a->name : NULL};

        if (!p.tile)
            continue;
        suggest_each(&s->unit->body, note_part, &p);
        if (p.n_parts && !p.failed)
            suggest_each(&s->unit->body, change_part, &p);
        if (p.n > 1 && !p.failed && suggest_edits(s, p.edits, p.n, "each part is copied as a tile of its own"))
            return true;
    }
    return false;
}
