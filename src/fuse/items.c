/* items.c: the statements of the sketch in their order, still without names.
 *
 * Tiles for the tensor cores are copied to shared memory, at the top of the loop
 * that they are in. What is computed with goes to registers: through shared
 * memory where a loop streams a matrix (so that the copy can run ahead), else
 * straight from global memory, just before its first use.
 */
#include "fuse/flow.h"

typedef struct Lister {
    Flow *flow;
    Items *items;
    const Loop *loop;
    bool *loaded; /* by node id: copied to where it is used, in this loop */
} Lister;

static void add(Lister *l, ItemKind kind, Node *node)
{
    vec_push(l->flow->arena, &l->items->list, (Item){.kind = kind, .node = node, .loop = l->loop});
}

/* A side that tiles have whole may be of one element as well. */
static bool has_many(const Axis *axis)
{
    return axis->kind != AXIS_ONE && !(axis->kind == AXIS_WHOLE && flow_is_one(axis->dim));
}

bool flow_is_matrix(const Node *node)
{
    return has_many(node->row) && has_many(node->col);
}

/* Whether operand k of a node is read by the tensor cores from shared memory. */
static bool read_shared(const Node *node, int k)
{
    const Node *arg = node->args[k].node;

    return (node->kind == NODE_SUM || node->kind == NODE_PRODUCT) &&
           (arg->kind == NODE_LOAD || arg->kind == NODE_SHARED);
}

/* Where copies are wanted, from all uses. */
static void find_spaces(Flow *flow)
{
    for (int i = 0; i < flow->nodes.len; i++) {
        Node *node = flow->nodes.data[i];

        for (int k = 0; k < node->n_args; k++) {
            Node *arg = node->args[k].node;

            if (!arg || arg->kind != NODE_LOAD)
                continue;
            if (read_shared(node, k))
                arg->in_shared = true;
            else
                arg->in_register = true;
        }
    }
}

static bool through_shared(const Node *load)
{
    return load->in_shared || (load->stream && flow_is_matrix(load));
}

static void copy_to_shared(Lister *l, Node *load)
{
    if (load->kind == NODE_LOAD && through_shared(load) && !l->loaded[load->id]) {
        l->loaded[load->id] = true;
        add(l, ITEM_TO_SHARED, load);
    }
}

static void copy_to_register(Lister *l, const Node *node, bool *registers)
{
    for (int k = 0; k < node->n_args; k++) {
        Node *arg = node->args[k].node;

        if (!arg || arg->kind != NODE_LOAD || arg->stream != (l->loop ? l->loop->stream : NULL) ||
            read_shared(node, k) || registers[arg->id])
            continue;
        registers[arg->id] = true;
        add(l, through_shared(arg) ? ITEM_UNSHARE : ITEM_TO_REGISTER, arg);
    }
}

/* ---- the loop and what stands round it ------------------------------------------------ */

static void list_loop(Lister *l, const Loop *loop)
{
    bool *registers = arena_array(l->flow->arena, bool, l->flow->nodes.len);

    for (int i = 0; i < loop->body.len; i++)
        if (loop->body.data[i]->kind == NODE_REDUCE || loop->body.data[i]->kind == NODE_COMBINE)
            add(l, ITEM_FILL, loop->body.data[i]);
    l->loop = loop;
    l->loaded = arena_array(l->flow->arena, bool, l->flow->nodes.len);
    add(l, ITEM_LOOP, NULL);
    for (int i = 0; i < loop->body.len; i++)
        for (int k = 0; k < loop->body.data[i]->n_args; k++) {
            Node *arg = loop->body.data[i]->args[k].node;

            if (arg && arg->stream == loop->stream)
                copy_to_shared(l, arg);
        }
    for (int i = 0; i < loop->body.len; i++) {
        Node *node = loop->body.data[i];

        copy_to_register(l, node, registers);
        if (node->kind != NODE_LOAD && node->kind != NODE_STATE_MAX && node->kind != NODE_STATE_SUM)
            add(l, ITEM_COMPUTE, node);
    }
    add(l, ITEM_END, NULL);
    l->loop = NULL;
}

static void list_root(Lister *l, Node *node, bool *shared, bool *registers)
{
    l->loaded = shared;
    if (node->kind == NODE_LOAD) {
        copy_to_shared(l, node);
        return;
    }
    copy_to_register(l, node, registers);
    add(l, ITEM_COMPUTE, node);
}

/* Root tiles in registers that a loop uses must be there before it. */
static void list_loop_needs(Lister *l, const Loop *loop, bool *registers)
{
    for (int i = 0; i < loop->body.len; i++)
        copy_to_register(l, loop->body.data[i], registers);
}

Items *flow_items(Flow *flow, const Order *order)
{
    Lister l = {.flow = flow, .items = arena_new_of(flow->arena, Items)};
    bool *shared = arena_array(flow->arena, bool, flow->nodes.len);
    bool *registers = arena_array(flow->arena, bool, flow->nodes.len);
    int next = 0;

    find_spaces(flow);
    for (int place = 0; place <= order->levels; place++) {
        for (; next < order->root.len && order->root.data[next]->place == place; next++)
            list_root(&l, order->root.data[next], shared, registers);
        for (int i = 0; i < order->loops.len; i++)
            if (order->loops.data[i].level == place) {
                list_loop_needs(&l, &order->loops.data[i], registers);
                list_loop(&l, &order->loops.data[i]);
            }
    }
    return l.items;
}

/* ---- liveness ---------------------------------------------------------------------------- */

static bool item_reads(const Item *item, const Node *node)
{
    if (item->kind == ITEM_UNSHARE)
        return item->node == node;
    if (item->kind != ITEM_COMPUTE)
        return false;
    for (int k = 0; k < item->node->n_args; k++)
        if (item->node->args[k].node == node)
            return true;
    return item->node == node && flow_reduces(node);
}

/* A state is written wherever its gauge is. */
static bool item_touches(const Item *item, const Node *node)
{
    bool state = node->kind == NODE_STATE_MAX || node->kind == NODE_STATE_SUM;

    return item_reads(item, node) ||
           (state && item->kind == ITEM_COMPUTE && item->node == node->args[0].node);
}

bool flow_used_later(const Items *items, const Node *node, int at)
{
    const Loop *loop = items->list.data[at].loop;
    int from = at + 1, to = items->list.len;

    if (node->stream)
        for (to = from; to < items->list.len && items->list.data[to].kind != ITEM_END; to++)
            ;
    else if (loop) /* the next turn of the loop comes as well */
        while (from > 0 && items->list.data[from - 1].loop == loop)
            from--;
    for (int i = from; i < to; i++)
        if (i != at && item_touches(&items->list.data[i], node))
            return true;
    /* what a loop reduces to is written in it at every turn */
    return loop && !node->stream && item_touches(&items->list.data[at], node);
}
