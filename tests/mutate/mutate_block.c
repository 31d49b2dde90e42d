/* mutate_block.c: statements that are lost, doubled, or in another place. */
#include "mutate.h"

static void insert(Mutator *m, Block *block, int at, Stmt *s)
{
    vec_push(m->arena, block, s);
    memmove(block->data + at + 1, block->data + at, (size_t)(block->len - 1 - at) * sizeof *block->data);
    block->data[at] = s;
}

static Stmt *take(Block *block, int at)
{
    Stmt *s = block->data[at];

    memmove(block->data + at, block->data + at + 1, (size_t)(block->len - 1 - at) * sizeof *block->data);
    block->len--;
    return s;
}

static const char *dropped_kind(const Stmt *s)
{
    if (s->kind == STMT_RESHAPE)
        return "dropped Reshape";
    if (s->kind == STMT_ALLOCATE)
        return "missing Allocate";
    if (s->kind == STMT_COPY)
        return "dropped Copy";
    if (s->kind != STMT_COMPUTE)
        return "dropped statement";
    return s->op == OP_MASK                                ? "dropped Mask"
           : s->op == OP_DIVIDE || s->op == OP_MULTIPLY ? "missing rescale or divide"
                                                           : "dropped Compute";
}

static bool does_something(const Stmt *s)
{
    return s->kind == STMT_COPY || s->kind == STMT_COMPUTE || s->kind == STMT_RESHAPE;
}

static void around(Mutator *m, Block *block, int at)
{
    Stmt *s = block->data[at], *next = at + 1 < block->len ? block->data[at + 1] : NULL;

    if (s->kind != STMT_INPUT && s->kind != STMT_OUTPUT && s->kind != STMT_FOR &&
        mutate_offer(m, dropped_kind(s), "without `%s`", mutate_line(m, s)))
        take(block, at);
    else if (does_something(s) && mutate_offer(m, "doubled statement", "`%s` twice", mutate_line(m, s)))
        insert(m, block, at, s);
    else if (next && (does_something(s) || does_something(next)) &&
             mutate_offer(m, "moved statement", "`%s` after the next", mutate_line(m, s)))
        insert(m, block, at + 1, take(block, at));
    else if (s->kind == STMT_FOR && mutate_offer(m, "dropped statement", "the body of the loop once"))
        for (int i = 0, n = s->body.len, place = at + (take(block, at), 0); i < n; i++)
            insert(m, block, place + i, s->body.data[i]);
}

/* Between a loop and what is round it. */
static void across(Mutator *m, Block *inner, Block *outer, int loop, int at)
{
    Stmt *s = inner->data[at];

    if (!does_something(s))
        return;
    if (mutate_offer(m, "moved statement", "`%s` before the loop", mutate_line(m, s)))
        insert(m, outer, loop, take(inner, at));
    else if (mutate_offer(m, "moved statement", "`%s` behind the loop", mutate_line(m, s)))
        insert(m, outer, loop + 1, take(inner, at));
}

static void into(Mutator *m, Block *outer, int at)
{
    Stmt *s = outer->data[at], *next = at + 1 < outer->len ? outer->data[at + 1] : NULL,
         *before = at > 0 ? outer->data[at - 1] : NULL;

    if (!does_something(s))
        return;
    if (next && next->kind == STMT_FOR &&
        mutate_offer(m, "moved statement", "`%s` into the loop", mutate_line(m, s)))
        insert(m, &next->body, 0, take(outer, at));
    else if (before && before->kind == STMT_FOR &&
             mutate_offer(m, "moved statement", "`%s` into the loop", mutate_line(m, s)))
        insert(m, &before->body, before->body.len, take(outer, at));
}

void mutate_blocks(Mutator *m, Block *block, Block *outer, int at)
{
    for (int i = 0; i < block->len && !m->done; i++) {
        mutate_stmt(m, block->data[i]);
        if (!m->done)
            around(m, block, i);
        if (!m->done && outer)
            across(m, block, outer, at, i);
        if (!m->done)
            into(m, block, i);
        if (!m->done && (block->data[i]->kind == STMT_FOR || block->data[i]->kind == STMT_SCHEDULE))
            mutate_blocks(m, &block->data[i]->body, block->data[i]->kind == STMT_FOR ? block : NULL, i);
    }
}
