/* order.c: the graph becomes a sequence: root nodes, loops, root nodes, ...
 *
 * Every reduction of a stream belongs to the loop of its pass, and so do the
 * stores of tiles in the stream. The loop's body is what those need. Root nodes
 * are placed as late as their first use allows: what an epilogue loads is not
 * held in registers through the loop.
 */
#include "fuse/flow.h"

#include <limits.h>


static const Axis *reduced_stream(const Node *node)
{
    return flow_reduces(node) ? node->args[0].node->stream : NULL;
}

/* Operands have lower ids than what uses them, so one descending pass marks all
 * that the marked nodes need, within a stream (or, with NULL, everywhere). */
static void mark_operands(const Flow *flow, bool *marked, const Axis *stream)
{
    for (int i = flow->nodes.len - 1; i >= 0; i--) {
        const Node *node = flow->nodes.data[i];

        for (int k = 0; marked[i] && k < node->n_args; k++) {
            const Node *arg = node->args[k].node;

            if (arg && (!stream || arg->stream == stream))
                marked[arg->id] = true;
        }
    }
}

static bool *mark_needed(Flow *flow)
{
    bool *needed = arena_array(flow->arena, bool, flow->nodes.len);

    for (int i = 0; i < flow->stores.len; i++)
        needed[flow->stores.data[i]->id] = true;
    mark_operands(flow, needed, NULL);
    return needed;
}

/* ---- loops ------------------------------------------------------------------------- */

/* The loop that a node's value comes out of; false: none. */
static bool loop_of(const Node *node, const Axis **stream, int *level)
{
    *stream = reduced_stream(node);
    *level = node->level - 1;
    if (node->kind == NODE_STORE && node->stream) {
        *stream = node->stream;
        *level = node->level;
    }
    return *stream != NULL;
}

static void add_loop(Flow *flow, Order *order, const Axis *stream, int level)
{
    for (int i = 0; i < order->loops.len; i++)
        if (order->loops.data[i].stream == stream && order->loops.data[i].level == level)
            return;
    vec_push(flow->arena, &order->loops, (Loop){.stream = stream, .level = level});
    for (int i = order->loops.len - 1; i > 0 && order->loops.data[i - 1].level > level; i--) {
        Loop later = order->loops.data[i - 1];
        order->loops.data[i - 1] = order->loops.data[i];
        order->loops.data[i] = later;
    }
}

/* What rows of a product's operand come to stands ahead of the product, which needs the operand as it was rounded: as it was
 * computed it would last until behind the product. */
static void reduce_first(Flow *flow, Loop *loop, bool *inside, int product)
{
    for (int i = product + 1; i < flow->nodes.len; i++) {
        Node *node = flow->nodes.data[i];

        if (!inside[i] || node->kind != NODE_REDUCE || node->args[0].node != flow->nodes.data[product]->args[0].node)
            continue;
        inside[i] = false;
        vec_push(flow->arena, &loop->body, node);
    }
}

static void fill_loop(Flow *flow, Loop *loop, const bool *needed)
{
    bool *inside = arena_array(flow->arena, bool, flow->nodes.len);

    for (int i = 0; i < flow->nodes.len; i++) {
        const Axis *stream;
        int level;

        if (needed[i] && loop_of(flow->nodes.data[i], &stream, &level) && stream == loop->stream &&
            level == loop->level)
            inside[i] = true;
    }
    mark_operands(flow, inside, loop->stream);
    for (int i = 0; i < flow->nodes.len; i++) {
        if (inside[i] && flow->nodes.data[i]->kind == NODE_SUM)
            reduce_first(flow, loop, inside, i);
        if (inside[i])
            vec_push(flow->arena, &loop->body, flow->nodes.data[i]);
    }
}

/* ---- places ---------------------------------------------------------------------------- */

static void place_operands(const Node *node, int place)
{
    for (int k = 0; k < node->n_args; k++) {
        Node *arg = node->args[k].node;

        if (arg && !arg->stream && arg->place > place)
            arg->place = place;
    }
}

static void find_places(Flow *flow, const Order *order, const bool *needed)
{
    for (int i = 0; i < order->loops.len; i++)
        for (int k = 0; k < order->loops.data[i].body.len; k++)
            place_operands(order->loops.data[i].body.data[k], order->loops.data[i].level);
    for (int i = flow->nodes.len - 1; i >= 0; i--) {
        Node *node = flow->nodes.data[i];

        if (!needed[i] || node->stream)
            continue;
        if (node->kind == NODE_STORE)
            node->place = node->level;
        if (!reduced_stream(node))
            place_operands(node, node->place);
    }
}

static void collect_root(Flow *flow, Order *order, const bool *needed)
{
    for (int place = 0; place <= order->levels; place++)
        for (int i = 0; i < flow->nodes.len; i++) {
            Node *node = flow->nodes.data[i];

            if (needed[i] && !node->stream && !reduced_stream(node) && node->place == place)
                vec_push(flow->arena, &order->root, node);
        }
}

Order *flow_order(Flow *flow)
{
    Order *order = arena_new_of(flow->arena, Order);
    bool *needed = mark_needed(flow);

    for (int i = 0; i < flow->nodes.len; i++) {
        const Axis *stream;
        int level;

        if (needed[i] && flow->nodes.data[i]->level > order->levels)
            order->levels = flow->nodes.data[i]->level;
        if (needed[i] && loop_of(flow->nodes.data[i], &stream, &level))
            add_loop(flow, order, stream, level);
    }
    for (int i = 0; i < order->loops.len; i++)
        fill_loop(flow, &order->loops.data[i], needed);
    find_places(flow, order, needed);
    collect_root(flow, order, needed);
    return order;
}
