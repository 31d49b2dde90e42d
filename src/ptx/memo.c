/* memo.c: which expressions are in registers already.
 *
 * A program has tens of thousands of expressions, of which a kernel makes some hundreds: they are found by hashing, and
 * what ends with a scope is looked for among those alone.
 */
#include "ptx/emit.h"

/* The slot that says where the memo is, or the free one where it belongs; there is one. */
static int slot_of(const Memos *memos, MemoKind kind, const Aff *a)
{
    int mask = memos->n_slots - 1, at = (int)((((uint32_t)a->id * MEMO_KINDS + kind) * UINT32_C(0x9E3779B1)) >> 7) & mask;
    while (memos->slots[at]) {
        const Memo *memo = &memos->list.data[memos->slots[at] - 1];
        if (memo->of == a && memo->kind == kind) break;
        at = (at + 1) & mask;
    }
    return at;
}

static void index_all(Arena *arena, Memos *memos, int n_slots)
{
    memos->slots = arena_array(arena, int, n_slots);
    memos->n_slots = n_slots;
    for (int i = 0; i < memos->list.len; i++)
        memos->slots[slot_of(memos, memos->list.data[i].kind, memos->list.data[i].of)] = i + 1;
}

Memo *mo_find(const Memos *memos, MemoKind kind, const Aff *a)
{
    int at = memos->n_slots ? memos->slots[slot_of(memos, kind, a)] : 0;
    return at && memos->list.data[at - 1].valid ? &memos->list.data[at - 1] : NULL;
}

void mo_put(Arena *arena, Memos *memos, Memo memo)
{
    enum { FIRST_SLOTS = 64 };
    if (memos->list.len * 2 >= memos->n_slots) index_all(arena, memos, memos->n_slots ? memos->n_slots * 2 : FIRST_SLOTS);
    int slot = slot_of(memos, memo.kind, memo.of);
    if (!memos->slots[slot]) {
        vec_push(arena, &memos->list, memo);
        memos->slots[slot] = memos->list.len;
    }
    memos->list.data[memos->slots[slot] - 1] = memo;
}

Memos *mo_new(Arena *arena)
{
    return arena_new_of(arena, Memos);
}

Memos *mo_copy(Arena *arena, const Memos *memos)
{
    Memos *copy = mo_new(arena);
    for (int i = 0; i < memos->list.len; i++)
        if (memos->list.data[i].valid) mo_put(arena, copy, memos->list.data[i]);
    return copy;
}

void mo_forget_above(Memos *memos, int level)
{
    for (int i = 0; i < memos->list.len; i++)
        if (memos->list.data[i].level > level) memos->list.data[i].valid = false;
}
