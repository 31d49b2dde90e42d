/* meant.c: machine code beside the PTX that it was made of.
 *
 *     PTX    A M M C      e e e e W0       what was meant: exponentials while products run
 *     made   A M M C W0   e e e e          the wait was moved: nothing runs beside them
 *     made   A M C W0 A M C W0   e e e e   serialised: each product is waited for
 *
 * Fences, products, commits and waits must come in the same order, each wait behind nearly
 * as many of the exponentials as it was put behind; assemblers move a few across.
 */
#include "assemble/machine.h"

enum { FEW = 8 }; /* exponentials that may move across a wait, where a quarter of them is less */

typedef struct Compare {
    Diags *diags;
    const Source *ptx;
    const MachineCode *meant, *made;
    int found;
} Compare;

static Span line_span(const Compare *c, int at)
{
    return (Span){at, at + (int)strcspn(c->ptx->text + at, " ;\n")};
}

static Span entry_span(const Compare *c)
{
    int at = c->meant->at;

    return (Span){at, at + (int)strcspn(c->ptx->text + at, "(\n")};
}

static bool orders(MachineKind kind)
{
    return kind == MACHINE_FENCE || kind == MACHINE_PRODUCT || kind == MACHINE_COMMIT || kind == MACHINE_WAIT;
}

/* The next event from *i on that orders products, with the exps before it; NULL: none. */
static const MachineEvent *next_of(const MachineCode *code, int *i, int *gap)
{
    for (*gap = 0; *i < code->events.len; ++*i) {
        if (orders(code->events.data[*i].kind))
            return &code->events.data[(*i)++];
        *gap += code->events.data[*i].kind == MACHINE_EXP;
    }
    return NULL;
}

/* Waits for everything that follow a single product each, beyond those that were meant. */
static int lone_products(const MachineCode *code)
{
    int products = 0, lone = 0, gap;

    for (int i = 0;;) {
        const MachineEvent *e = next_of(code, &i, &gap);

        if (!e)
            return lone;
        if (e->kind == MACHINE_PRODUCT)
            products++;
        else if (e->kind == MACHINE_WAIT) {
            lone += products == 1 && e->pending == 0;
            products = 0;
        }
    }
}

static bool check_serial(Compare *c)
{
    int meant = lone_products(c->meant), made = lone_products(c->made), products = machine_count(c->meant).products;

    if (made <= meant)
        return false;
    diag_add(c->diags, TW0911, entry_span(c), "products of %s wait one for the other: %d of %d are waited for one by one%s",
             c->meant->entry, made, products, meant ? ", more than were meant" : "");
    c->found++;
    return true;
}

static const char *kind_name(const MachineEvent *e)
{
    static const char *const names[] = {
        [MACHINE_FENCE] = "a fence",         [MACHINE_PRODUCT] = "a product",
        [MACHINE_COMMIT] = "a commit",       [MACHINE_WAIT] = "a wait",
        [MACHINE_MULTIPLY] = "a product",    [MACHINE_EXP] = "an exponential",
        [MACHINE_LOCAL] = "a local access",
    };

    return e ? names[e->kind] : "its end";
}

/* "a wait that leaves 1 in flight" */
static const char *describe(const Compare *c, const MachineEvent *e)
{
    if (!e || e->kind != MACHINE_WAIT)
        return kind_name(e);
    return arena_printf(c->diags->arena, "a wait that leaves %d in flight", e->pending);
}

static bool same_event(const MachineEvent *a, const MachineEvent *b)
{
    return a && b && a->kind == b->kind && a->pending == b->pending;
}

static void check_gap(Compare *c, const MachineEvent *wait, int meant, int made)
{
    int allowed = meant / 4 < FEW ? FEW : meant / 4;

    if (wait->kind != MACHINE_WAIT || made >= meant - allowed)
        return;
    diag_add(c->diags, TW0912, line_span(c, wait->at),
             "this wait of %s was put behind %d exponentials, and stands behind %d of them in machine code",
             c->meant->entry, meant, made);
    c->found++;
}

/* Event by event; the first that differs ends it. */
static void check_order(Compare *c)
{
    for (int i = 0, j = 0;;) {
        int gap, made_gap;
        const MachineEvent *a = next_of(c->meant, &i, &gap), *b = next_of(c->made, &j, &made_gap);

        if (!a && !b)
            return;
        if (!same_event(a, b)) {
            diag_add(c->diags, TW0912, a ? line_span(c, a->at) : entry_span(c),
                     "here %s has %s, and machine code %s", c->meant->entry, describe(c, a), describe(c, b));
            c->found++;
            return;
        }
        check_gap(c, a, gap, made_gap);
    }
}

static bool check_counts(Compare *c)
{
    MachineCount meant = machine_count(c->meant), made = machine_count(c->made);

    if (meant.products == made.products && made.multiplies >= meant.multiplies)
        return true; /* assemblers unroll loops, and make two of one where the hardware has no such */
    diag_add(c->diags, TW0913, entry_span(c),
             "%s has %d products in PTX and %d in machine code (and %d and %d that are asynchronous)", c->meant->entry,
             meant.multiplies, made.multiplies, meant.products, made.products);
    c->found++;
    return false;
}

static void check_local(Compare *c)
{
    MachineCount made = machine_count(c->made);

    if (!made.hot_local)
        return;
    diag_add(c->diags, TW0914, entry_span(c), "%s keeps values in local memory within a loop that multiplies: %d accesses",
             c->meant->entry, made.hot_local);
    c->found++;
}

int machine_compare(Diags *diags, const Source *ptx, const MachineCode *meant, const MachineCode *made)
{
    Compare c = {diags, ptx, meant, made, 0};

    diags->source = ptx;
    if (!check_serial(&c) && check_counts(&c))
        check_order(&c);
    check_local(&c);
    return c.found;
}
