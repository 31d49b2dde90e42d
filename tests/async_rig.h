/* async_rig.h: runs sm_90a snippets in the emulator, for test_emu_async*.c.
 *
 * A snippet is the body of an entry whose first lines are given: %r1 the thread,
 * %r2 the start of dynamic shared memory (its first 64 bytes hold mbarriers, data
 * starts at %r3, 1,024 bytes on), %rd1 and %rd2 the buffers `in` and `out`, %rd6
 * and %rd7 tensor maps of them, %p1 set in thread 0, %p2 never and %p3 always
 * set, %r4 the warp. A line that a fault must name ends in "//!".
 */
#ifndef ASYNC_RIG_H
#define ASYNC_RIG_H

#include "emu_rig.h"

static const char async_head[] =
    ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 dyn[];\n"
    ".visible .entry k(.param .align 64 .b8 tmi[128], .param .align 64 .b8 tmo[128], .param .u64 in, .param .u64 out)\n"
    "{\n.reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<400>; .reg .b64 %rd<64>; .reg .f32 %f<200>;\n"
    "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, dyn; add.u32 %r3, %r2, 1024;\n"
    "mov.b64 %rd6, tmi; cvta.param.u64 %rd6, %rd6; mov.b64 %rd7, tmo; cvta.param.u64 %rd7, %rd7;\n"
    "setp.eq.u32 %p1, %r1, 0; setp.ne.u32 %p2, 0, 0; setp.eq.u32 %p3, 0, 0; shr.u32 %r4, %r1, 5;\n";

/* Thread 0 initialises mbarriers 0 to 3 for `n` arrivals and everybody knows. */
#define INIT(n)                                                                          \
    "@%p1 mbarrier.init.shared::cta.b64 [%r2], " #n "; @%p1 mbarrier.init.shared.b64 [%r2+8], " #n ";\n"        \
    "@%p1 mbarrier.init.shared::cta.b64 [%r2+16], " #n "; @%p1 mbarrier.init.shared::cta.b64 [%r2+24], " #n ";\n" \
    "@%p1 fence.mbarrier_init.release.cluster; bar.sync 0;\n"
#define WAIT(name, at, parity)                                                           \
    name ": mbarrier.try_wait.parity.shared::cta.b64 %p9, [%r2+" #at "], " #parity "; @!%p9 bra " name ";\n"
/* Thread 0 copies bytes of `in` to shared memory; mbarrier 0 says so. */
#define COPY_IN(bytes)                                                                   \
    "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " #bytes ";\n"             \
    "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], " #bytes ", [%r2];\n"
/* Everybody copies 16 bytes of shared memory to `out`, thread by thread. */
#define DUMP                                                                             \
    "mad.lo.u32 %r20, %r1, 16, %r3; ld.shared.v4.b32 {%r21,%r22,%r23,%r24}, [%r20];\n"   \
    "mad.wide.u32 %rd20, %r1, 16, %rd2; st.global.v4.b32 [%rd20], {%r21,%r22,%r23,%r24};\n"

typedef struct AsyncRig {
    Rig rig;
    EmuTensorMap in_map, out_map; /* base is filled in; rank 0: none */
    void *in, *out;
    size_t in_bytes, out_bytes;
} AsyncRig;

static inline void async_open(AsyncRig *a, int threads)
{
    memset(a, 0, sizeof *a);
    rig_open(&a->rig);
    a->rig.launch.block[0] = threads;
    a->rig.launch.shared_bytes = 100 * 1024;
}

/* Runs a text that parses; false when it faulted. */
static inline bool async_run_text(AsyncRig *a, const char *text)
{
    struct { uint8_t maps[2][EMU_TENSOR_MAP_BYTES]; uint64_t in, out; } params;
    Rig *rig = &a->rig;
    const char *why = NULL;
    EmuModule *module = rig_parse_text(rig, text, strlen(text));
    EmuMemory *memory = emu_memory_new(rig->arena);
    bool ok;

    if (!module) {
        diags_print(rig->diags, stderr, false);
        fail_msg("the snippet does not parse");
    }
    memset(&params, 0, sizeof params);
    params.in = emu_memory_add(memory, "in", a->in, a->in_bytes, true, true, 0);
    params.out = emu_memory_add(memory, "out", a->out, a->out_bytes, rig->out_initialised, false, 0);
    a->in_map.base = params.in;
    a->out_map.base = params.out;
    if (a->in_map.rank)
        why = emu_tensor_map_encode(&a->in_map, params.maps[0]);
    if (a->out_map.rank && !why)
        why = emu_tensor_map_encode(&a->out_map, params.maps[1]);
    if (why)
        fail_msg("%s", why);
    rig->launch.params = &params;
    rig->launch.param_bytes = sizeof params;
    ok = emu_run(rig->arena, module, 0, memory, &rig->launch, &rig->report);
    rig->unwritten = emu_memory_unwritten(memory, params.out);
    return ok;
}

/* Runs a body; false when it faulted. */
static inline bool async_run(AsyncRig *a, const char *body)
{
    return async_run_text(a, arena_printf(a->rig.arena, "%s%s\nret;\n}\n", async_head, body));
}

#endif
