/* store.c: rows and matrices that were computed and may be needed again.
 *
 * Each store is direct-mapped: an item has one slot where it may live, so a
 * lookup is a division, and neighbouring items do not drive each other out. All
 * stores together stay within the limit as long as one item each does.
 */
#include "ref/exec.h"

enum { MAX_SLOTS = 1 << 16 };

static void open_store(Ref *ref, Store *store)
{
    int64_t share = (int64_t)(ref->limit / (size_t)(ref->n_stores > 0 ? ref->n_stores : 1));
    int64_t room = share / (store->item_size + (int64_t)sizeof(Slot));

    store->n = store->keep ? room : 1;
    if (store->n > MAX_SLOTS)
        store->n = MAX_SLOTS;
    if (store->n > store->count)
        store->n = store->count;
    if (store->n < 1)
        store->n = 1;
    store->slots = arena_array(ref->arena, Slot, store->n);
}

void *store_slot(Ref *ref, Store *store, int64_t index, bool *filled)
{
    Slot *slot;

    if (!store->slots)
        open_store(ref, store);
    slot = &store->slots[index % store->n];
    if (!slot->data)
        slot->data = arena_alloc(ref->arena, store->item_size > 0 ? (size_t)store->item_size : 1);
    *filled = slot->key == index + 1;
    slot->key = index + 1;
    return slot->data;
}
