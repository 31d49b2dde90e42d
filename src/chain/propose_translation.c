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
#include "chain/suggest.h"

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
