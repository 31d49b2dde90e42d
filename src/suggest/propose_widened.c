/* propose_widened.c: an operand of a product that is an Input of 8 bits, widened on its way.
 *
 *   Copy W (BN, BK) in coordinate [N = n, K = k] from global to shared       ... from global to register
 *                                                                            Compute Cast W, bf16 and get W_bf16
 *                                                                            Copy W_bf16 from register to shared
 *   Compute GEMM X, W.T and accumulate C                                     Compute GEMM X, W_bf16.T and accumulate C
 *
 * A sketch has all of it in front of the product; code allocates the tiles. */
#include "suggest/cuts.h"

/* The operand's name alone: what stands for it then is transposed as it was. */
static bool try_sketch(Suggester *s, const Expr *operand, DType type)
{
    const char *indent = suggest_indent(s, s->stmt->span.start), *wide = arena_printf(s->arena, "%s_%s", operand->name, dtype_name(type));
    const char *lines = arena_printf(s->arena, "Copy %s from shared to register\n%sCompute Cast %s, %s and get %s\n%sCopy %s from register to shared\n%s",
                                     operand->name, indent, operand->name, dtype_name(type), wide, indent, wide, indent);
    const Fix edits[] = {{{s->stmt->span.start, s->stmt->span.start}, lines, NULL}, {operand->span, wide, NULL}};

    return suggest_edits(s, edits, (int)TW_COUNT(edits), "widen it on its way");
}

/* The one Copy that brings a tile to shared memory. */
typedef struct Brought {
    const char *tile;
    const Stmt *copy;
    int n;
} Brought;

static void note_brought(void *user, const Stmt *stmt)
{
    Brought *b = user;

    if (stmt->kind == STMT_COPY && stmt->to_space == SPACE_SHARED && strcmp(copy_tile(stmt), b->tile) == 0) {
        b->copy = stmt;
        b->n++;
    }
}

static const char *allocate_text(Suggester *s, const Stmt *like, const char *name, Space space, DType type)
{
    Stmt *tile = suggest_like(s, like);

    tile->name = name;
    tile->space = space;
    tile->has_dtype = true;
    tile->dtype = type;
    return suggest_text(s, tile);
}

static bool try_code(Suggester *s, const Expr *operand, DType type, DType narrow)
{
    Cuts cuts = cuts_of(s);
    const Stmt *tile = cuts_tile(&cuts, operand->name, SPACE_SHARED);
    Brought b = {.tile = operand->name};

    suggest_each(&s->unit->body, note_brought, &b);
    if (!tile || tile->listed || tile->n_shape != 2 || b.n != 1 || b.copy->listed || b.copy->stage || b.copy->space != SPACE_GLOBAL)
        return false;
    const char *wide = arena_printf(s->arena, "%s_%s", operand->name, dtype_name(type)), *type_name = dtype_name(type);
    const char *indent = suggest_indent(s, tile->span.start), *within = suggest_indent(s, b.copy->span.start);
    Stmt *copy = suggest_like(s, b.copy);

    copy->to_space = SPACE_REGISTER;
    const Fix edits[] = {
        {tile->span, arena_printf(s->arena, "%s\n%s%s\n%s%s", allocate_text(s, tile, operand->name, SPACE_REGISTER, narrow), indent,
                                  allocate_text(s, tile, wide, SPACE_REGISTER, type), indent, allocate_text(s, tile, wide, SPACE_SHARED, type)), NULL},
        {b.copy->span, arena_printf(s->arena, "%s\n%sCompute Cast %s, %s and get %s\n%sCopy %s from register to shared", suggest_text(s, copy), within, operand->name, type_name, wide, within, wide), NULL},
        {operand->span, wide, NULL}};

    return suggest_edits(s, edits, (int)TW_COUNT(edits), "widen it on its way");
}

bool propose_widened(Suggester *s)
{
    static const DType types[] = {DT_BF16, DT_F16};

    for (int i = 0; s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->op_known && s->stmt->op == OP_GEMM && i < s->stmt->n_args; i++) {
        const Expr *e = s->stmt->args[i];

        while (e->kind == EXPR_TRANSPOSE)
            e = e->a;
        const Stmt *decl = e->kind == EXPR_NAME ? block_find(&s->unit->body, STMT_INPUT, e->name) : NULL;
        for (size_t k = 0; decl && decl->has_dtype && dtype_bytes(decl->dtype) == 1 && k < TW_COUNT(types); k++)
            if (try_sketch(s, e, types[k]) || try_code(s, e, types[k], decl->dtype))
                return true;
    }
    return false;
}
