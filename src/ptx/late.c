/* late.c: stages of rings that the lanes of a role fill by cp.async, shown late.
 *
 * A warp shows a stage once all that its lanes copy into it has come, and copies into the next ones
 * meanwhile. Registers hold the full barriers of those that it has still to show, the oldest first; 0: none.
 *
 *   acquire a, copy a; acquire b, copy b; acquire c, copy c, wait for a's, show a; acquire d, …
 *
 * Where it would have to wait for room, or for a place of the grid, it shows all of them first: who gives room may
 * be waiting for them. Tensor cores read what lanes wrote, so a fence stands between (PTX ISA, "Async proxy"), on this side,
 * where nobody waits for it.
 */
#include "ptx/roles.h"

/* Where rings are short, those who wait for a stage wait for it to be shown. */
void lt_begin(Emitter *e, int stages)
{
    e->n_late = stages / 2 < 1 ? 1 : stages / 2 > RING_LATE ? RING_LATE : stages / 2;
    for (int i = 0; i < e->n_late; i++) {
        e->late[i] = em_new(e, REG_R);
        em_before(e, "mov.b32 %s, 0;", e->late[i]);
    }
}

/* The n oldest, once all but so many stages' copies have come. */
static void show(Emitter *e, int n, int leaving)
{
    em(e, "cp.async.wait_group %d;", leaving);
    rg_fence(e);
    for (int i = 0; i < n; i++) {
        const char *p = em_new(e, REG_P);
        em(e, "setp.ne.and.s32 %s, %s, 0, %s;", p, e->late[i], e->first_lane);
        em(e, "@%s mbarrier.arrive.shared::cta.b64 _, [%s];", p, e->late[i]);
    }
}

void lt_filled(Emitter *e, const char *barrier)
{
    const char *plus = strchr(barrier, '+');
    em(e, "cp.async.commit_group;");
    show(e, 1, e->n_late);
    for (int i = 0; i + 1 < e->n_late; i++) em(e, "mov.b32 %s, %s;", e->late[i], e->late[i + 1]);
    em(e, "add.s32 %s, %.*s, %s;", e->late[e->n_late - 1], (int)(plus - barrier), barrier, plus + 1);
}

void lt_show_all(Emitter *e)
{
    if (!e->n_late) return;
    show(e, e->n_late, 0);
    for (int i = 0; i < e->n_late; i++) em(e, "mov.b32 %s, 0;", e->late[i]);
}

void lt_before_waiting(Emitter *e, const char *barrier, const char *parity)
{
    int label = em_label(e);
    const char *p = em_new(e, REG_P), *all = em_new(e, REG_P);
    em(e, "mbarrier.test_wait.parity.shared::cta.b64 %s, [%s], %s;", p, barrier, parity);
    em(e, "vote.sync.all.pred %s, %s, -1;", all, p);
    em(e, "@%s bra.uni $room%d;", all, label);
    lt_show_all(e);
    em(e, "$room%d:", label);
}
