/* test_emu.c: what instructions compute, each family against known answers. */
#include "emu_rig.h"

#include <time.h>

/* ---- arithmetic, one row an instruction --------------------------------------- */

/* Sources a, b, c lie in %r8 %r9 %r7, %rd8 …, %f8 …, %d8 …, %h8 …; the result in
 * register 10 of the kind that `out` names (p: a predicate, %p1). */
typedef struct Row {
    const char *text;
    char out; /* r d(64-bit integer) f g(f64) h p */
    uint64_t a, b, c, expect;
} Row;

#define NAN32 0x7fffffffu
#define ONE 0x3f800000u
#define TWO 0x40000000u
#define INF 0x7f800000u

static const Row rows[] = {
    { "add.s32 %r10, %r8, %r9;", 'r', 7, 0xfffffffe, 0, 5 },
    { "add.u64 %rd10, %rd8, %rd9;", 'd', UINT64_MAX, 3, 0, 2 },
    { "sub.s32 %r10, %r8, 9;", 'r', 7, 0, 0, 0xfffffffe },
    { "mul.lo.s32 %r10, %r8, %r9;", 'r', 0x10001, 0x10001, 0, 0x20001 },
    { "mul.hi.s32 %r10, %r8, %r9;", 'r', 0x80000000, 2, 0, 0xffffffff },
    { "mul.hi.u32 %r10, %r8, %r9;", 'r', 0x80000000, 2, 0, 1 },
    { "mul.hi.u64 %rd10, %rd8, %rd9;", 'd', UINT64_MAX, UINT64_MAX, 0, UINT64_MAX - 1 },
    { "mul.hi.s64 %rd10, %rd8, %rd9;", 'd', UINT64_MAX, 5, 0, UINT64_MAX },
    { "mul.wide.s32 %rd10, %r8, %r9;", 'd', 0xffffffff, 7, 0, (uint64_t)-7 },
    { "mul.wide.u32 %rd10, %r8, %r9;", 'd', 0xffffffff, 2, 0, 0x1fffffffe },
    { "mul.wide.s16 %r10, %h8, %h9;", 'r', 0xffff, 3, 0, (uint32_t)-3 },
    { "mad.lo.s32 %r10, %r8, %r9, %r7;", 'r', 6, 7, 0xffffffff, 41 },
    { "mad.wide.s32 %rd10, %r8, %r9, %rd7;", 'd', 0xffffffff, 7, 10, 3 },
    { "mad.wide.u32 %rd10, %r8, 4, %rd7;", 'd', 0x80000000, 0, 1, 0x200000001 },
    { "div.s32 %r10, %r8, %r9;", 'r', (uint32_t)-7, 2, 0, (uint32_t)-3 },
    { "div.u32 %r10, %r8, %r9;", 'r', 100, 7, 0, 14 },
    { "rem.s32 %r10, %r8, %r9;", 'r', (uint32_t)-7, 2, 0, (uint32_t)-1 },
    { "rem.u64 %rd10, %rd8, %rd9;", 'd', 100, 7, 0, 2 },
    { "div.s32 %r10, %r8, %r9;", 'r', 0x80000000, 0xffffffff, 0, 0x80000000 },
    { "neg.s32 %r10, %r8;", 'r', 5, 0, 0, (uint32_t)-5 },
    { "abs.s32 %r10, %r8;", 'r', (uint32_t)-5, 0, 0, 5 },
    { "min.s32 %r10, %r8, %r9;", 'r', (uint32_t)-5, 3, 0, (uint32_t)-5 },
    { "min.u32 %r10, %r8, %r9;", 'r', (uint32_t)-5, 3, 0, 3 },
    { "min.s16 %h10, %h8, %h9;", 'h', 0x8000, 3, 0, 0x8000 },
    { "add.s16 %h10, %h8, %h9;", 'h', 0xffff, 3, 0, 2 },
    { "add.f32 %f10, %f8, %f9;", 'f', ONE, ONE, 0, TWO },
    { "sub.f32 %f10, %f8, 0f3F800000;", 'f', TWO, 0, 0, ONE },
    { "mul.ftz.f32 %f10, %f8, %f9;", 'f', 0x00000001, TWO, 0, 0 },
    { "mul.f32 %f10, %f8, %f9;", 'f', 0x00000001, TWO, 0, 2 },
    { "add.ftz.f32 %f10, %f8, %f9;", 'f', 0x80000001, 0x80000000, 0, 0x80000000 },
    { "add.sat.f32 %f10, %f8, %f9;", 'f', TWO, TWO, 0, ONE },
    { "add.sat.f32 %f10, %f8, %f9;", 'f', NAN32, TWO, 0, 0 },
    /* (1 + 2^-23)(1 - 2^-23) - 1 = -2^-46 in one rounding, 0 in two */
    { "fma.rn.f32 %f10, %f8, %f9, %f7;", 'f', 0x3f800001, 0x3f7ffffe, 0xbf800000, 0xa8800000 },
    /* the sum is a tie in 24 bits but for the product's tail, which double loses */
    { "fma.rn.f32 %f10, %f8, %f9, %f7;", 'f', 0x33800001, 0x3f800001, ONE, 0x3f800001 },
    { "fma.rn.f64 %d10, %d8, %d9, %d9;", 'g', 0x4000000000000000, 0x3ff0000000000000, 0,
      0x4008000000000000 },
    { "fma.rm.f32 %f10, %f8, %f9, %f7;", 'f', 0x3f800001, 0x3f800001, 0, 0x3f800002 },
    { "fma.rp.f32 %f10, %f8, %f9, %f7;", 'f', 0x3f800001, 0x3f800001, 0, 0x3f800003 },
    { "add.rz.f32 %f10, %f8, %f9;", 'f', 0xbf800000, 0x80000001, 0, 0xbf800000 },
    { "add.rm.f32 %f10, %f8, %f9;", 'f', 0xbf800000, 0x80000001, 0, 0xbf800001 },
    { "mul.rz.f32 %f10, %f8, %f9;", 'f', 0x7f7fffff, TWO, 0, 0x7f7fffff },
    { "bfind.shiftamt.u32 %r10, %r8;", 'r', 0x10000, 0, 0, 15 },
    { "min.f32 %f10, %f8, %f9;", 'f', NAN32, ONE, 0, ONE },
    { "max.f32 %f10, %f8, %f9;", 'f', 0x80000000, 0, 0, 0 },
    { "max.f32 %f10, %f8, %f9, %f7;", 'f', ONE, NAN32, TWO, TWO },
    { "max.NaN.f32 %f10, %f8, %f9;", 'f', ONE, NAN32, 0, 0x7fc00000 },
    { "neg.f32 %f10, %f8;", 'f', ONE, 0, 0, 0xbf800000 },
    { "abs.f32 %f10, %f8;", 'f', 0xbf800000, 0, 0, ONE },
    { "rcp.approx.ftz.f32 %f10, %f8;", 'f', TWO, 0, 0, 0x3f000000 },
    { "rcp.approx.ftz.f32 %f10, %f8;", 'f', 0x80000000, 0, 0, 0xff800000 },
    { "div.rn.f32 %f10, %f8, %f9;", 'f', ONE, 0x40400000, 0, 0x3eaaaaab },
    { "div.full.f32 %f10, %f8, %f9;", 'f', TWO, ONE, 0, TWO },
    { "sqrt.rn.f32 %f10, %f8;", 'f', 0x40800000, 0, 0, TWO },
    { "rsqrt.approx.f32 %f10, %f8;", 'f', 0x40800000, 0, 0, 0x3f000000 },
    { "ex2.approx.ftz.f32 %f10, %f8;", 'f', 0x40400000, 0, 0, 0x41000000 },
    { "ex2.approx.f32 %f10, %f8;", 'f', 0xff800000, 0, 0, 0 },
    { "lg2.approx.f32 %f10, %f8;", 'f', 0x41000000, 0, 0, 0x40400000 },
    { "tanh.approx.f32 %f10, %f8;", 'f', 0, 0, 0, 0 },
    { "and.b32 %r10, %r8, %r9;", 'r', 0xff00ff00, 0x0ff00ff0, 0, 0x0f000f00 },
    { "not.b32 %r10, %r8;", 'r', 0xff00ff00, 0, 0, 0x00ff00ff },
    { "xor.b64 %rd10, %rd8, %rd9;", 'd', 5, 3, 0, 6 },
    { "shl.b32 %r10, %r8, 32;", 'r', 1, 0, 0, 0 },
    { "shl.b32 %r10, %r8, %r9;", 'r', 1, 31, 0, 0x80000000 },
    { "shr.s32 %r10, %r8, 40;", 'r', 0x80000000, 0, 0, 0xffffffff },
    { "shr.u32 %r10, %r8, 4;", 'r', 0x80000000, 0, 0, 0x08000000 },
    { "shr.u64 %rd10, %rd8, 63;", 'd', UINT64_MAX, 0, 0, 1 },
    { "shf.l.wrap.b32 %r10, %r8, %r9, 4;", 'r', 0xf0000000, 1, 0, 0x1f },
    { "shf.r.clamp.b32 %r10, %r8, %r9, 40;", 'r', 0xf0000000, 1, 0, 1 },
    { "lop3.b32 %r10, %r8, %r9, %r7, 0xE8;", 'r', 12, 10, 9, 8 },
    { "lop3.b32 %r10, %r8, %r9, %r7, 150;", 'r', 12, 10, 9, 15 },
    { "prmt.b32 %r10, %r8, %r9, 0x5410;", 'r', 0x11112222, 0x33334444, 0, 0x44442222 },
    { "prmt.b32 %r10, %r8, %r9, 0x8;", 'r', 0x80, 0, 0, 0x808080ff },
    { "bfe.u32 %r10, %r8, 8, 8;", 'r', 0x12345678, 0, 0, 0x56 },
    { "bfe.s32 %r10, %r8, 28, 8;", 'r', 0xf0000000, 0, 0, 0xffffffff },
    { "bfe.s32 %r10, %r8, 4, 4;", 'r', 0xf0, 0, 0, 0xffffffff },
    { "bfi.b32 %r10, %r8, %r9, 8, 8;", 'r', 0xab, 0xffffffff, 0, 0xffffabff },
    { "popc.b32 %r10, %r8;", 'r', 0xf0f0, 0, 0, 8 },
    { "clz.b32 %r10, %r8;", 'r', 0x10000, 0, 0, 15 },
    { "clz.b64 %r10, %rd8;", 'r', 1, 0, 0, 63 },
    { "brev.b32 %r10, %r8;", 'r', 1, 0, 0, 0x80000000 },
    { "bfind.u32 %r10, %r8;", 'r', 0x10000, 0, 0, 16 },
    { "mul.hi.u16 %h10, %h8, %h9;", 'h', 0xffff, 0xffff, 0, 0xfffe },
    { "mul.hi.s16 %h10, %h8, %h9;", 'h', 0xffff, 3, 0, 0xffff },
    { "mad.hi.s64 %rd10, %rd8, %rd9, %rd7;", 'd', UINT64_MAX, 5, 2, 1 },
    { "mad.hi.u64 %rd10, %rd8, %rd9, %rd7;", 'd', UINT64_MAX, UINT64_MAX, 2, 0 },
    { "mul24.lo.s32 %r10, %r8, %r9;", 'r', 0xffffff, 3, 0, (uint32_t)-3 },
    { "bfind.u64 %r10, %rd8;", 'r', 0x1000000000, 0, 0, 36 },
    { "bfind.s64 %r10, %rd8;", 'r', UINT64_MAX, 0, 0, 0xffffffff },
    { "bfind.shiftamt.u64 %r10, %rd8;", 'r', 0x1000000000, 0, 0, 27 },
    { "cnot.b64 %rd10, %rd8;", 'd', 0, 0, 0, 1 },
    { "cnot.b16 %h10, %h8;", 'h', 7, 0, 0, 0 },
    { "max.NaN.f16x2 %r10, %r8, %r9;", 'r', 0x7fff3c00, 0x3c004000, 0, 0x7fff4000 },
    { "min.NaN.bf16x2 %r10, %r8, %r9;", 'r', 0x3f803f80, 0x4000ffc0, 0, 0x3f807fff },
    /* comparisons */
    { "set.eq.ftz.u32.f32 %r10, %f8, %f9;", 'r', 1, 0, 0, 0xffffffff },
    { "set.eq.u32.f32 %r10, %f8, %f9;", 'r', 1, 0, 0, 0 },
    { "slct.ftz.b32.f32 %r10, %r8, %r9, %f7;", 'r', 1, 2, 0x80000001, 1 },
    { "slct.b32.f32 %r10, %r8, %r9, %f7;", 'r', 1, 2, 0x80000001, 2 },
    { "setp.lt.s32 %p1, %r8, %r9;", 'p', (uint32_t)-1, 0, 0, 1 },
    { "setp.lt.u32 %p1, %r8, %r9;", 'p', (uint32_t)-1, 0, 0, 0 },
    { "setp.hs.u32 %p1, %r8, %r9;", 'p', 5, 5, 0, 1 },
    { "setp.ne.f32 %p1, %f8, %f9;", 'p', NAN32, ONE, 0, 0 },
    { "setp.neu.f32 %p1, %f8, %f9;", 'p', NAN32, ONE, 0, 1 },
    { "setp.geu.f32 %p1, %f8, %f9;", 'p', NAN32, ONE, 0, 1 },
    { "setp.ge.f32 %p1, %f8, %f9;", 'p', NAN32, ONE, 0, 0 },
    { "setp.eq.b32 %p2, 0, 1; setp.gt.and.s32 %p1, %r8, %r9, !%p2;", 'p', 2, 1, 0, 1 },
    { "setp.eq.b32 %p2, 1, 1; setp.lt.s32 %p3|%p1, %r8, %r9;", 'p', 2, 1, 0, 1 },
    { "setp.eq.s32 %p2, %r8, 2; setp.eq.s32 %p3, %r8, 3; xor.pred %p1, %p2, %p3;", 'p', 2, 0, 0, 1 },
    { "setp.eq.s32 %p2, %r8, 2; not.pred %p1, %p2;", 'p', 2, 0, 0, 0 },
    { "set.lt.u32.s32 %r10, %r8, %r9;", 'r', 1, 2, 0, 0xffffffff },
    { "set.lt.f32.s32 %f10, %r8, %r9;", 'f', 1, 2, 0, ONE },
    { "setp.eq.s32 %p2, %r8, 1; selp.b32 %r10, %r9, %r7, %p2;", 'r', 1, 22, 33, 22 },
    { "setp.eq.s32 %p2, %r8, 1; selp.f32 %f10, %f9, 0f00000000, %p2;", 'f', 2, ONE, 0, 0 },
    { "slct.b32.s32 %r10, %r8, %r9, %r7;", 'r', 1, 2, (uint32_t)-1, 2 },
    /* moves */
    { "mov.b64 %rd10, {%r8, %r9};", 'd', 1, 2, 0, 0x200000001 },
    { "mov.b64 {%r11, %r10}, %rd8;", 'r', 0x200000001, 0, 0, 2 },
    { "mov.b32 {%h11, %h10}, %r8;", 'h', 0x22221111, 0, 0, 0x2222 },
    { "mov.b32 %r10, {%h8, %h9};", 'r', 0x1111, 0x2222, 0, 0x22221111 },
    { "mov.u32 %r10, 0x80000000U;", 'r', 0, 0, 0, 0x80000000 },
    { "mov.f32 %f10, 1.5;", 'f', 0, 0, 0, 0x3fc00000 },
    { "mov.u32 %r10, WARP_SZ;", 'r', 0, 0, 0, 32 },
    { "mov.b16 %h10, -1;", 'h', 0, 0, 0, 0xffff },
    { "{ .reg .b32 %t; mov.b32 %t, %r8; { .reg .b32 %t; mov.b32 %t, 9; } mov.b32 %r10, %t; }", 'r',
      5, 0, 0, 5 },
    /* conversions */
    { "cvt.rn.bf16.f32 %h10, %f8;", 'h', 0x3f808000, 0, 0, 0x3f80 }, /* tie to even */
    { "cvt.rn.bf16.f32 %h10, %f8;", 'h', 0x3f818000, 0, 0, 0x3f82 },
    { "cvt.rn.bf16.f32 %h10, %f8;", 'h', 0x3f808001, 0, 0, 0x3f81 },
    { "cvt.rn.bf16.f32 %h10, %f8;", 'h', 0xff800001, 0, 0, 0x7fff },
    { "cvt.rz.bf16.f32 %h10, %f8;", 'h', 0x3f80ffff, 0, 0, 0x3f80 },
    { "cvt.rn.f16.f32 %h10, %f8;", 'h', 0x477fefff, 0, 0, 0x7bff },
    { "cvt.rn.f16.f32 %h10, %f8;", 'h', 0x477ff000, 0, 0, 0x7c00 },
    { "cvt.rn.f16.f32 %h10, %f8;", 'h', 0x33000000, 0, 0, 0 },      /* 2^-25: tie to zero */
    { "cvt.rn.f16.f32 %h10, %f8;", 'h', 0x33000001, 0, 0, 1 },
    { "cvt.rz.f16.f32 %h10, %f8;", 'h', 0x477ff000, 0, 0, 0x7bff },
    { "cvt.rn.bf16x2.f32 %r10, %f8, %f9;", 'r', ONE, TWO, 0, 0x3f804000 },
    { "cvt.rn.f16x2.f32 %r10, %f8, %f9;", 'r', ONE, TWO, 0, 0x3c004000 },
    { "cvt.rn.relu.f16x2.f32 %r10, %f8, %f9;", 'r', 0xbf800000, TWO, 0, 0x00004000 },
    { "cvt.f32.f16 %f10, %h8;", 'f', 0x3c01, 0, 0, 0x3f802000 },
    { "cvt.f32.f16 %f10, %h8;", 'f', 0x0001, 0, 0, 0x33800000 },
    { "cvt.f32.f16 %f10, %h8;", 'f', 0xfc00, 0, 0, 0xff800000 },
    { "cvt.f32.bf16 %f10, %h8;", 'f', 0xbf80, 0, 0, 0xbf800000 },
    { "cvt.rna.tf32.f32 %r10, %f8;", 'r', 0x3f801000, 0, 0, 0x3f802000 },
    { "cvt.rni.s32.f32 %r10, %f8;", 'r', 0x40200000, 0, 0, 2 },
    { "cvt.rzi.s32.f32 %r10, %f8;", 'r', 0xc0200000, 0, 0, (uint32_t)-2 },
    { "cvt.rmi.s32.f32 %r10, %f8;", 'r', 0xc0200000, 0, 0, (uint32_t)-3 },
    { "cvt.rpi.f32.f32 %f10, %f8;", 'f', 0x40200000, 0, 0, 0x40400000 },
    { "cvt.rzi.s32.f32 %r10, %f8;", 'r', 0x7f000000, 0, 0, 0x7fffffff },
    { "cvt.rzi.u32.f32 %r10, %f8;", 'r', 0xbf800000, 0, 0, 0 },
    { "cvt.rzi.s32.f32 %r10, %f8;", 'r', NAN32, 0, 0, 0 },
    { "cvt.rn.f32.s32 %f10, %r8;", 'f', (uint32_t)-2, 0, 0, 0xc0000000 },
    { "cvt.rn.f32.u64 %f10, %rd8;", 'f', 0x8000008000000001, 0, 0, 0x5f000001 },
    { "cvt.rz.f32.f64 %f10, %d8;", 'f', 0x3ff00000ffffffff, 0, 0, 0x3f800007 },
    { "cvt.rz.f32.s64 %f10, %rd8;", 'f', 0x8000000000000001, 0, 0, 0xdeffffff },
    { "cvt.rp.f32.u64 %f10, %rd8;", 'f', 0x8000000000000001, 0, 0, 0x5f000001 },
    { "cvt.rni.s32.f64 %r10, %d8;", 'r', 0x7ff8000000000000, 0, 0, 0x80000000 },
    { "cvt.f64.f32 %d10, %f8;", 'g', ONE, 0, 0, 0x3ff0000000000000 },
    { "cvt.s64.s32 %rd10, %r8;", 'd', (uint32_t)-5, 0, 0, (uint64_t)-5 },
    { "cvt.u64.u32 %rd10, %r8;", 'd', (uint32_t)-5, 0, 0, (uint32_t)-5 },
    { "cvt.s32.s8 %r10, %r8;", 'r', 0x1ff, 0, 0, 0xffffffff },
    { "cvt.u8.u32 %r10, %r8;", 'r', 0x1ff, 0, 0, 0xff },
    { "cvt.sat.u8.s32 %r10, %r8;", 'r', (uint32_t)-5, 0, 0, 0 },
    { "cvt.sat.s8.s32 %r10, %r8;", 'r', 300, 0, 0, 127 },
    { "cvt.u16.u32 %h10, %r8;", 'h', 0x12345, 0, 0, 0x2345 },
    { "cvt.rn.satfinite.e4m3x2.f32 %h10, %f8, %f9;", 'h', ONE, 0x44000000, 0, 0x387e },
    { "cvt.rn.satfinite.e5m2x2.f32 %h10, %f8, %f9;", 'h', ONE, TWO, 0, 0x3c40 },
    { "cvt.rn.f16x2.e4m3x2 %r10, %h8;", 'r', 0x387e, 0, 0, 0x3c005f00 },
    { "cvt.ftz.f32.f32 %f10, %f8;", 'f', 1, 0, 0, 0 },
    /* halves */
    { "add.rn.f16x2 %r10, %r8, %r9;", 'r', 0x3c003c00, 0x3c004000, 0, 0x40004200 },
    { "fma.rn.bf16x2 %r10, %r8, %r9, %r7;", 'r', 0x3f803f80, 0x40004000, 0x3f803f80, 0x40404040 },
    /* the sum is a tie but for the addend's last bits, which double loses */
    { "fma.rn.bf16 %h10, %h8, %h9, %h9;", 'h', 0xebe0, 0x39e4, 0, 0xe647 },
    { "mul.bf16 %h10, %h8, %h9;", 'h', 0x4000, 0x4000, 0, 0x4080 },
    { "max.f16x2 %r10, %r8, %r9;", 'r', 0x3c00bc00, 0x40004000, 0, 0x40004000 },
    { "neg.bf16x2 %r10, %r8;", 'r', 0x3f803f80, 0, 0, 0xbf80bf80 },
    { "ex2.approx.ftz.bf16x2 %r10, %r8;", 'r', 0x40000000, 0, 0, 0x40803f80 },
    { "cvta.to.shared.u64 %rd9, %rd8; cvta.shared.u64 %rd10, %rd9;", 'd', 12345, 0, 0, 12345 },
    /* chains of carries */
    { "add.cc.u32 %r1, %r8, %r9; addc.u32 %r10, 5, 6;", 'r', UINT32_MAX, 1, 0, 12 },
    { "add.cc.u32 %r1, %r8, %r9; addc.cc.u32 %r2, 0xffffffff, 0; addc.u32 %r10, 0, 0;", 'r', UINT32_MAX, 1, 0, 1 },
    { "sub.cc.u32 %r1, %r8, %r9; subc.u32 %r10, 5, 1;", 'r', 0, 1, 0, 3 },
    { "sub.cc.u64 %rd12, %rd8, %rd9; subc.cc.u64 %rd13, 0, 0; subc.u64 %rd10, 9, 0;", 'd', 0, 1, 0, 8 },
    { "mad.lo.cc.u32 %r1, %r8, %r9, %r7; madc.hi.u32 %r10, %r8, %r9, 0;", 'r', 0x10000, 0xffff, 0xffffffff, 1 },
    { "mad.hi.cc.s32 %r1, %r8, %r9, %r7; addc.s32 %r10, 0, 0;", 'r', (uint32_t)-5, 7, 1, 1 },
    { "mad.lo.cc.u64 %rd12, %rd8, %rd9, %rd7; madc.hi.u64 %rd10, %rd8, %rd9, 0;", 'd', UINT64_MAX, 2, 3, 2 },
    { "add.sat.s32 %r10, %r8, %r9;", 'r', 0x7fffffff, 1, 0, 0x7fffffff },
    { "sub.sat.s32 %r10, %r8, %r9;", 'r', 0x80000000, 1, 0, 0x80000000 },
    /* dot products and parts of a register */
    { "dp4a.u32.u32 %r10, %r8, %r9, %r7;", 'r', 0x01020304, 0x05060708, 100, 100 + 5 + 12 + 21 + 32 },
    { "dp4a.s32.u32 %r10, %r8, %r9, %r7;", 'r', 0xff0000ff, 0x020000ff, 1, (uint32_t)(1 - 2 - 255) },
    { "dp2a.lo.s32.s32 %r10, %r8, %r9, %r7;", 'r', 0xffff0003, 0x111102fe, 5, (uint32_t)(5 - 2 - 6) },
    { "dp2a.hi.u32.u32 %r10, %r8, %r9, %r7;", 'r', 0xffff0003, 0x02010000, 5, 5 + 2 * 0xffff + 3 },
    { "vabsdiff4.u32.u32.u32 %r10, %r8, %r9, %r7;", 'r', 0x01ff0510, 0x04000611, 0, 0x03ff0101 },
    { "vabsdiff4.u32.u32.u32.add %r10, %r8, %r9, %r7;", 'r', 0x01ff0510, 0x04000611, 7, 7 + 3 + 255 + 1 + 1 },
    { "vadd2.s32.s32.s32.sat %r10, %r8, %r9, %r7;", 'r', 0x7fff8000, 0x0001ffff, 0, 0x7fff8000 },
    { "vmin4.s32.s32.s32 %r10, %r8, %r9, %r7;", 'r', 0x80010203, 0x01ff0104, 0, 0x80ff0103 },
    { "min.s16x2 %r10, %r8, %r9;", 'r', 0xffff0002, 0x00010001, 0, 0xffff0001 },
    { "add.u16x2 %r10, %r8, %r9;", 'r', 0xffff0002, 0x00020003, 0, 0x00010005 },
    { "fns.b32 %r10, %r8, %r9, %r7;", 'r', 0xf0, 5, 2, 6 },
    { "fns.b32 %r10, %r8, %r9, %r7;", 'r', 0xf0, 5, (uint32_t)-2, 4 },
    { "szext.wrap.s32 %r10, %r8, %r9;", 'r', 0x1f8, 4, 0, 0xfffffff8 },
    { "sad.s16 %h10, %h8, %h9, 1;", 'h', 0xfffb, 4, 1, 10 },
    { "mad24.hi.u32 %r10, %r8, %r9, %r7;", 'r', 0xff800000, 0x200, 3, 0x10003 },
    /* pairs of halves */
    { "setp.lt.f16x2 %p1|%p2, %r8, %r9;", 'p', 0x3c003c00, 0x40003800, 0, 0 },
    { "setp.lt.f16x2 %p2|%p1, %r8, %r9;", 'p', 0x3c003c00, 0x40003800, 0, 1 },
    { "set.lt.f16x2.f16x2 %r10, %r8, %r9;", 'r', 0x3c003c00, 0x40003800, 0, 0x3c000000 },
    { "set.leu.u32.bf16x2 %r10, %r8, %r9;", 'r', 0x3f807fc0, 0x3f803f80, 0, 0xffffffff },
    { "set.gt.bf16.bf16 %h10, %h8, %h9;", 'h', 0x4000, 0x3f80, 0, 0x3f80 },
    { "fma.rn.relu.f16x2 %r10, %r8, %r9, %r7;", 'r', 0xbc003c00, 0x3c003c00, 0, 0x00003c00 },
    /* directed rounding */
    { "add.rm.f64 %d10, %d8, %d9;", 'g', 0x3ff0000000000000, 0xbc00000000000000, 0, 0x3fefffffffffffff },
    { "add.rp.f64 %d10, %d8, %d9;", 'g', 0x3ff0000000000000, 0x3c00000000000000, 0, 0x3ff0000000000001 },
    { "mul.rz.f64 %d10, %d8, %d9;", 'g', 0xbff0000000000001, 0x3ff0000000000001, 0, 0xbff0000000000002 },
    { "fma.rp.f64 %d10, %d8, %d9, %d9;", 'g', 0x3ff0000000000001, 0x3ff0000000000001, 0, 0x4000000000000002 },
    { "div.rz.f32 %f10, %f8, %f9;", 'f', TWO, 0x40400000, 0, 0x3f2aaaaa },
    { "div.rp.f32 %f10, %f8, %f9;", 'f', TWO, 0x40400000, 0, 0x3f2aaaab },
    { "rcp.rm.f64 %d10, %d8;", 'g', 0x4008000000000000, 0, 0, 0x3fd5555555555555 },
    { "sqrt.rp.f32 %f10, %f8;", 'f', TWO, 0, 0, 0x3fb504f4 },
    { "sqrt.rm.f32 %f10, %f8;", 'f', TWO, 0, 0, 0x3fb504f3 },
    { "copysign.f64 %d10, %d8, %d9;", 'g', 0x8000000000000000, 0x3ff0000000000000, 0, 0xbff0000000000000 },
    { "testp.subnormal.f32 %p1, %f8;", 'p', 0x00000001, 0, 0, 1 },
    { "testp.notanumber.f64 %p1, %d8;", 'p', 0x7ff0000000000000, 0, 0, 0 },
    { "isspacep.shared %p1, %rd8;", 'p', 0x1000, 0, 0, 0 },
};

static void test_arithmetic(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        const Row *row = &rows[i];
        uint64_t in[3] = { row->a, row->b, row->c }, out = 0;
        const char *store = row->out == 'r' ? "cvt.u64.u32 %rd11, %r10;"
                            : row->out == 'f' ? "mov.b32 %r10, %f10; cvt.u64.u32 %rd11, %r10;"
                            : row->out == 'h' ? "cvt.u64.u16 %rd11, %h10;"
                            : row->out == 'p' ? "selp.u64 %rd11, 1, 0, %p1;"
                            : row->out == 'g' ? "mov.b64 %rd11, %d10;" : "mov.b64 %rd11, %rd10;";
        Rig rig;
        bool ok;

        rig_open(&rig);
        rig.launch.block[0] = 1;
        ok = rig_run(&rig, arena_printf(rig.arena,
                     "ld.global.u64 %%rd8, [%%rd1]; ld.global.u64 %%rd9, [%%rd1+8];"
                     "ld.global.nc.b64 %%rd7, [%%rd1+16];"
                     "cvt.u32.u64 %%r8, %%rd8; cvt.u32.u64 %%r9, %%rd9; cvt.u32.u64 %%r7, %%rd7;"
                     "mov.b32 %%f8, %%r8; mov.b32 %%f9, %%r9; mov.b32 %%f7, %%r7;"
                     "cvt.u16.u64 %%h8, %%rd8; cvt.u16.u64 %%h9, %%rd9;"
                     "mov.b64 %%d8, %%rd8; mov.b64 %%d9, %%rd9;\n%s\n%s\nst.global.u64 [%%rd2], %%rd11;",
                     row->text, store), in, sizeof in, &out, sizeof out);
        if (!ok || out != row->expect) {
            rig_print_faults(&rig);
            print_error("%s of %llx %llx %llx: %llx, expected %llx\n", row->text,
                        (unsigned long long)row->a, (unsigned long long)row->b,
                        (unsigned long long)row->c, (unsigned long long)out,
                        (unsigned long long)row->expect);
        }
        assert_true(ok);
        assert_int_equal(out, row->expect);
        rig_close(&rig);
    }
}

/* ---- whole warps ------------------------------------------------------------------ */

/* Runs a body of `threads` threads; each thread gives one word, checked by `expect`. */
static void check_words(const char *body, int threads, uint32_t (*expect)(int thread))
{
    uint32_t in[1024], out[1024];

    for (uint64_t seed = 0; seed < 3; seed++) {
        Rig rig;
        bool ok;

        for (int i = 0; i < 1024; i++)
            in[i] = (uint32_t)i * 3 + 1;
        memset(out, 0xee, sizeof out);
        rig_open(&rig);
        rig.launch.block[0] = threads;
        rig.launch.seed = seed;
        rig.launch.shared_bytes = 4096;
        ok = rig_run(&rig, body, in, sizeof in, out, (size_t)threads * 4);
        rig_print_faults(&rig);
        assert_true(ok);
        assert_int_equal(rig.unwritten, 0);
        for (int i = 0; i < threads; i++) {
            if (out[i] != expect(i))
                print_error("thread %d: %x, expected %x\n", i, out[i], expect(i));
            assert_int_equal(out[i], expect(i));
        }
        rig_close(&rig);
    }
}

static uint32_t word(int i)
{
    return (uint32_t)i * 3 + 1;
}

static uint32_t collatz(int i)
{
    uint32_t n = (uint32_t)i + 1, steps = 0;

    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        steps++;
    }
    return steps;
}

/* Lanes leave the loop at different times, branch within it, and meet again. */
static void test_divergence(void **state)
{
    (void)state;
    check_words("add.u32 %r2, %r1, 1; mov.u32 %r3, 0;\n"
                "LOOP: setp.eq.u32 %p1, %r2, 1;\n@%p1 bra DONE;\n"
                "and.b32 %r4, %r2, 1; setp.eq.u32 %p2, %r4, 0;\n@%p2 bra EVEN;\n"
                "mad.lo.u32 %r2, %r2, 3, 1;\nbra.uni NEXT;\n"
                "EVEN: shr.u32 %r2, %r2, 1;\n"
                "NEXT: add.u32 %r3, %r3, 1;\nbra LOOP;\n"
                "DONE: bar.warp.sync -1; st.global.u32 [%rd5], %r3;", 96, collatz);
}

static uint32_t early(int i)
{
    return i % 2 ? 7 : 9;
}

static void test_guards_and_exit(void **state)
{
    (void)state;
    check_words("and.b32 %r2, %r1, 1; setp.ne.u32 %p1, %r2, 0;\n"
                "@%p1 st.global.u32 [%rd5], 7;\n@%p1 exit;\nst.global.u32 [%rd5], 9;", 40, early);
}

static uint32_t bfly(int i) { return (uint32_t)(i / 32 * 32 + (i % 32 ^ 5)) * 3 + 1; }
static uint32_t up(int i) { return word(i % 32 < 3 ? i : i - 3); }
static uint32_t down(int i) { return word(i % 32 > 28 ? i : i + 3); }
static uint32_t idx8(int i) { return word(i / 8 * 8 + 2); }
static uint32_t down_ok(int i) { return i % 8 < 6; }

static void test_shuffles(void **state)
{
    (void)state;
    check_words("ld.global.u32 %r2, [%rd4]; shfl.sync.bfly.b32 %r3, %r2, 5, 31, 0xffffffff;"
                "st.global.u32 [%rd5], %r3;", 64, bfly);
    check_words("ld.global.u32 %r2, [%rd4]; shfl.sync.up.b32 %r3, %r2, 3, 0, -1;"
                "st.global.u32 [%rd5], %r3;", 64, up);
    check_words("ld.global.u32 %r2, [%rd4]; shfl.sync.down.b32 %r3, %r2, 3, 31, -1;"
                "st.global.u32 [%rd5], %r3;", 64, down);
    check_words("ld.global.u32 %r2, [%rd4]; shfl.sync.idx.b32 %r3, %r2, 2, 0x181f, -1;"
                "st.global.u32 [%rd5], %r3;", 64, idx8);
    check_words("ld.global.u32 %r2, [%rd4]; shfl.sync.down.b32 %r3|%p1, %r2, 2, 0x181f, -1;"
                "selp.u32 %r3, 1, 0, %p1; st.global.u32 [%rd5], %r3;", 64, down_ok);
}

static uint32_t ballot(int i) { (void)i; return 0x0000ffff; }
static uint32_t redux(int i) { (void)i; return 31 * 32 / 2; }
static uint32_t redux_max(int i) { (void)i; return 31; }
static uint32_t votes(int i) { (void)i; return 2; }
static uint32_t leader(int i) { return i % 32 == 0; }
static uint32_t match(int i) { return 0x11111111u << i % 4; }

static void test_votes(void **state)
{
    (void)state;
    check_words("mov.u32 %r2, %laneid; setp.lt.u32 %p1, %r2, 16; vote.sync.ballot.b32 %r3, %p1, -1;"
                "st.global.u32 [%rd5], %r3;", 64, ballot);
    check_words("mov.u32 %r2, %laneid; redux.sync.add.s32 %r3, %r2, -1; st.global.u32 [%rd5], %r3;",
                64, redux);
    check_words("mov.u32 %r2, %laneid; redux.sync.max.u32 %r3, %r2, -1; st.global.u32 [%rd5], %r3;",
                64, redux_max);
    check_words("setp.ge.u32 %p1, %r1, 1; vote.sync.any.pred %p2, %p1, -1; vote.sync.all.pred %p3, %p2, -1;"
                "selp.u32 %r3, 2, 3, %p3; st.global.u32 [%rd5], %r3;", 64, votes);
    check_words("elect.sync _|%p1, -1; selp.u32 %r3, 1, 0, %p1; st.global.u32 [%rd5], %r3;", 64, leader);
    check_words("and.b32 %r2, %r1, 3; match.any.sync.b32 %r3, %r2, -1; st.global.u32 [%rd5], %r3;", 64,
                match);
}

/* ---- memory ------------------------------------------------------------------------- */

static uint32_t reversed(int i) { return word(95 - i); }

static void test_shared_and_barriers(void **state)
{
    (void)state;
    /* through static shared memory */
    check_words("ld.global.u32 %r2, [%rd4]; shl.b32 %r3, %r1, 2; mov.u32 %r4, sm; add.u32 %r5, %r4, %r3;"
                "st.shared.u32 [%r5+16], %r2; bar.sync 0; sub.u32 %r6, 95, %r1; shl.b32 %r6, %r6, 2;"
                "add.u32 %r6, %r6, %r4; ld.shared.u32 %r7, [%r6+16]; st.global.u32 [%rd5], %r7;",
                96, reversed);
    /* dynamic shared memory, generic addresses, barriers with counts, arrive and sync */
    check_words("ld.global.u32 %r2, [%rd4]; mov.u64 %rd6, dyn; cvta.shared.u64 %rd6, %rd6;"
                "add.u64 %rd7, %rd6, %rd3; st.u32 [%rd7], %r2;"
                "setp.lt.u32 %p1, %r1, 32; @%p1 bra FIRST; barrier.cta.arrive.aligned 3, 96;\n"
                "barrier.sync.aligned 4, 96; bra READ;\n"
                "FIRST: bar.sync 3, 96; bar.arrive 4, 96; bra READ;\n"
                "READ: bar.sync 0; sub.u32 %r6, 95, %r1; mad.wide.u32 %rd8, %r6, 4, %rd6;"
                "ld.u32 %r7, [%rd8]; st.global.u32 [%rd5], %r7;", 96, reversed);
    /* local memory */
    check_words("ld.global.u32 %r2, [%rd4]; mov.u64 %rd6, loc; st.local.u32 [%rd6+8], %r2;"
                "ld.local.u32 %r3, [%rd6+8]; mov.u32 %r4, 95; sub.u32 %r4, %r4, %r1;"
                "mad.wide.u32 %rd7, %r4, 4, %rd2; st.global.u32 [%rd7], %r3;", 96, reversed);
}

static uint32_t vectors(int i)
{
    return i % 4 == 0 ? word(i) + 1 : i % 4 == 3 ? word(i) - 1 : word(i);
}

static void test_vectors_and_narrow(void **state)
{
    (void)state;
    check_words("and.b32 %r9, %r1, 3; setp.ne.u32 %p1, %r9, 0; @%p1 bra OUT;\n"
                "ld.global.nc.L1::no_allocate.L2::128B.v4.b32 {%r2,%r3,%r4,%r5}, [%rd4];\n"
                "add.u32 %r2, %r2, 1; sub.u32 %r5, %r5, 1; mov.b64 %rd6, {%r4,%r5};\n"
                "st.global.v2.b32 [%rd5], {%r2,%r3}; st.global.b64 [%rd5+8], %rd6;\nOUT: ", 64, vectors);
    check_words("ld.global.b16 %h1, [%rd4]; ld.global.u8 %r2, [%rd4+2]; ld.global.s8 %r3, [%rd4+3];\n"
                "st.global.b16 [%rd5], %h1; st.global.b8 [%rd5+2], %r2; st.global.u8 [%rd5+3], %r3;",
                64, word);
    check_words("ld.global.u16 %rd6, [%rd4]; st.global.u32 [%rd5], %rd6;", 64, word);
}

static uint32_t counted(int i) { return i == 0 ? 64 : i == 1 ? 63 : i == 2 ? 0x42800000 : 2; }

static void test_atomics(void **state)
{
    (void)state;
    check_words("mov.u32 %r2, sm; setp.eq.u32 %p1, %r1, 0;\n"
                "@%p1 st.shared.v4.b32 [%r2], {0, 0, 0, 5};\nbar.sync 0;\n"
                "atom.shared.add.u32 %r3, [%r2], 1; atom.shared.max.u32 %r3, [%r2+4], %r1;\n"
                "atom.shared.add.f32 %f1, [%r2+8], 0f3F800000; red.shared.min.s32 [%r2+12], 2;\n"
                "atom.shared.cas.b32 %r3, [%r2+12], 99, 98; bar.sync 0;\n"
                "@!%p1 exit;\nld.shared.v4.b32 {%r4,%r5,%r6,%r7}, [%r2];\n"
                "st.global.v4.b32 [%rd2], {%r4,%r5,%r6,%r7}; mov.u32 %r8, 2;"
                "mov.u32 %r9, 4; L: mad.wide.u32 %rd6, %r9, 4, %rd2; st.global.u32 [%rd6], %r8;"
                "add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 64; @%p2 bra L;", 64, counted);
}

/* atom.inc wraps; each thread takes a different ticket. */
static void test_tickets(void **state)
{
    uint32_t in = 0, out[64] = { 0 }, seen = 0;
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig.out_initialised = true;
    assert_true(rig_run(&rig, "atom.global.inc.u32 %r2, [%rd2], 31; mad.wide.u32 %rd6, %r2, 4, %rd2;"
                              "st.global.u32 [%rd6+128], %r1;", &in, 4, out, sizeof out));
    assert_int_equal(out[0], 0);
    for (int i = 0; i < 32; i++)
        seen |= 1u << out[32 + i];
    assert_int_equal(seen, 0xffffffff);
    rig_close(&rig);
}

/* ---- matrices --------------------------------------------------------------------------- */

/* 8x8 matrices of 16-bit numbers, row by row in shared memory (PTX ISA, "ldmatrix"). */
static uint32_t ldmatrix_x4(int i)
{
    int lane = i / 4, m = i % 4;
    uint32_t low = (uint32_t)(m * 64 + lane / 4 * 8 + lane % 4 * 2);

    return low | (low + 1) << 16;
}

static uint32_t ldmatrix_trans(int i)
{
    int lane = i / 4, m = i % 4;
    uint32_t low = (uint32_t)(m * 64 + lane % 4 * 2 * 8 + lane / 4);

    return low | (low + 8) << 16;
}

#define FILL_MATRICES                                                                    \
    "mov.u32 %r2, sm; mov.u32 %r20, 0;\n"                                                \
    "FILL: mad.lo.u32 %r21, %r20, 32, %r1; mad.lo.u32 %r22, %r21, 2, %r2; cvt.u16.u32 %h1, %r21;\n" \
    "st.shared.b16 [%r22], %h1; add.u32 %r20, %r20, 1; setp.lt.u32 %p1, %r20, 8; @%p1 bra FILL;\n" \
    "bar.sync 0; mad.lo.u32 %r3, %r1, 16, %r2; mad.wide.u32 %rd6, %r1, 16, %rd2;\n"

static void check_matrix(const char *body, uint32_t (*expect)(int))
{
    uint32_t in = 0, out[128];
    Rig rig;
    bool ok;

    rig_open(&rig);
    ok = rig_run(&rig, body, &in, 4, out, sizeof out);
    rig_print_faults(&rig);
    assert_true(ok);
    for (int i = 0; i < 128; i++)
        assert_int_equal(out[i], expect(i));
    rig_close(&rig);
}

static void test_ldmatrix(void **state)
{
    (void)state;
    check_matrix(FILL_MATRICES
                 "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4,%r5,%r6,%r7}, [%r3];\n"
                 "st.global.v4.b32 [%rd6], {%r4,%r5,%r6,%r7};", ldmatrix_x4);
    check_matrix(FILL_MATRICES
                 "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r4,%r5,%r6,%r7}, [%r3];\n"
                 "st.global.v4.b32 [%rd6], {%r4,%r5,%r6,%r7};", ldmatrix_trans);
    check_matrix(FILL_MATRICES /* x2 and x1 take the addresses of the first lanes */
                 "and.b32 %r8, %r1, 15; mad.lo.u32 %r3, %r8, 16, %r2;"
                 "ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {%r4,%r5}, [%r3];\n"
                 "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r6,%r7}, [%r3+256];\n"
                 "st.global.v4.b32 [%rd6], {%r4,%r5,%r6,%r7};", ldmatrix_trans);
    check_matrix(FILL_MATRICES
                 "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4,%r5,%r6,%r7}, [%r3];\n"
                 "movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r4; movmatrix.sync.aligned.m8n8.trans.b16 %r5, %r5;\n"
                 "movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r6; movmatrix.sync.aligned.m8n8.trans.b16 %r7, %r7;\n"
                 "st.global.v4.b32 [%rd6], {%r4,%r5,%r6,%r7};", ldmatrix_trans);
    check_matrix(FILL_MATRICES
                 "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4,%r5,%r6,%r7}, [%r3];\n"
                 "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r3+1024], {%r4,%r5,%r6,%r7};\nbar.sync 0;"
                 "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4,%r5,%r6,%r7}, [%r3+1024];\n"
                 "st.global.v4.b32 [%rd6], {%r4,%r5,%r6,%r7};", ldmatrix_trans);
}

/* ---- mma against plain loops ----------------------------------------------------------- */

typedef struct Mma {
    const char *text; /* the instruction, operands as in mma_body */
    int k, bits;      /* of an element of A and B */
    char format;      /* b bf16, h f16, t tf32, e e4m3 */
    bool half;        /* C and D are f16 */
} Mma;

static uint32_t encode(char format, float x)
{
    union { float f; uint32_t u; } bits = { x };

    if (format == 'b')
        return bits.u >> 16; /* exact for the small integers used here */
    if (format == 'h')
        return x == 0 ? 0 : ((bits.u >> 16 & 0x8000) | ((bits.u >> 13 & 0x3ffff) - (112 << 10)));
    if (format == 'e')
        return x == 0 ? 0 : ((bits.u >> 24 & 0x80) | ((bits.u >> 20 & 0x7ff) - (120 << 3)));
    return bits.u;
}

/* Fragments as the manual tabulates them for each shape: row and column of
 * element i of lane `lane` ("Matrix Fragments for mma.m16n8k16 …"). */
static void place_a(const Mma *m, int lane, int i, int *row, int *column)
{
    int group = lane >> 2, t = lane % 4;

    if (m->bits == 32) { /* .tf32: a0 a1 a2 a3, or a0 a1 for k4 */
        *row = i % 2 ? group + 8 : group;
        *column = i < 2 ? t : t + 4;
    } else if (m->bits == 8) { /* .e4m3 */
        *row = i < 4 || (i >= 8 && i < 12) ? group : group + 8;
        *column = t * 4 + (i & 3) + (i >= 8 ? 16 : 0);
    } else { /* 16 bits, k16 and k8 */
        *row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
        *column = t * 2 + (i & 1) + (i >= 4 ? 8 : 0);
    }
}

static void place_b(const Mma *m, int lane, int i, int *row, int *column)
{
    int group = lane >> 2, t = lane % 4;

    *column = group;
    if (m->bits == 32)
        *row = t + 4 * i;
    else if (m->bits == 8)
        *row = t * 4 + (i & 3) + (i >= 4 ? 16 : 0);
    else
        *row = t * 2 + (i & 1) + (i >= 2 ? 8 : 0);
}

static void check_mma(const Mma *m)
{
    float a[16][32], b[32][8], c[16][8];
    uint32_t in[32][12] = { { 0 } }, out[32][4];
    int per = 32 / m->bits, na = 16 * m->k / 32, nb = 8 * m->k / 32;
    Rig rig;
    bool ok;

    for (int i = 0; i < 16 * m->k; i++)
        a[i / m->k][i % m->k] = (float)((i * 7 + 3) % 9 - 4);
    for (int i = 0; i < m->k * 8; i++)
        b[i / 8][i % 8] = (float)((i * 5 + 1) % 7 - 3);
    for (int i = 0; i < 16 * 8; i++)
        c[i / 8][i % 8] = (float)(i % 11);
    for (int lane = 0; lane < 32; lane++) {
        int row, column;

        for (int i = 0; i < na; i++) {
            place_a(m, lane, i, &row, &column);
            in[lane][i / per] |= encode(m->format, a[row][column]) << m->bits * (i % per);
        }
        for (int i = 0; i < nb; i++) {
            place_b(m, lane, i, &row, &column);
            in[lane][4 + i / per] |= encode(m->format, b[row][column]) << m->bits * (i % per);
        }
        for (int i = 0; i < 4; i++) {
            float x = c[(lane >> 2) + (i < 2 ? 0 : 8)][lane % 4 * 2 + (i & 1)];
            union { float f; uint32_t u; } bits = { x };

            if (m->half)
                in[lane][8 + i / 2] |= encode('h', x) << 16 * (i % 2);
            else
                in[lane][8 + i] = bits.u;
        }
    }
    rig_open(&rig);
    ok = rig_run(&rig, arena_printf(rig.arena,
        "mad.wide.u32 %%rd6, %%r1, 48, %%rd1; mad.wide.u32 %%rd7, %%r1, 16, %%rd2;\n"
        "ld.global.v4.b32 {%%r10,%%r11,%%r12,%%r13}, [%%rd6]; ld.global.v2.b32 {%%r14,%%r15}, [%%rd6+16];\n"
        "ld.global.v4.b32 {%%r16,%%r17,%%r18,%%r19}, [%%rd6+32];\n"
        "mov.b32 %%f16, %%r16; mov.b32 %%f17, %%r17; mov.b32 %%f18, %%r18; mov.b32 %%f19, %%r19;\n"
        "mov.b32 %%r22, 0; mov.b32 %%r23, 0;\n%s;\n%s"
        "st.global.v4.b32 [%%rd7], {%%r20,%%r21,%%r22,%%r23};", m->text,
        m->half ? "" : "mov.b32 %r20, %f20; mov.b32 %r21, %f21; mov.b32 %r22, %f22; mov.b32 %r23, %f23;\n"),
        in, sizeof in, out, sizeof out);
    rig_print_faults(&rig);
    assert_true(ok);
    assert_int_equal(rig.report.counts[EMU_MMA], 1);
    for (int lane = 0; lane < 32; lane++) {
        for (int i = 0; i < 4; i++) {
            int row = (lane >> 2) + (i < 2 ? 0 : 8), column = lane % 4 * 2 + (i & 1);
            union { float f; uint32_t u; } sum = { c[row][column] };

            for (int k = 0; k < m->k; k++)
                sum.f += a[row][k] * b[k][column];
            if (m->half)
                assert_int_equal(out[lane][i / 2] >> 16 * (i % 2) & 0xffff, encode('h', sum.f));
            else
                assert_int_equal(out[lane][i], sum.u);
        }
    }
    rig_close(&rig);
}

#define D32 " {%f20,%f21,%f22,%f23}, "
#define C32 ", {%f16,%f17,%f18,%f19}"
#define A4B2 "{%r10,%r11,%r12,%r13}, {%r14,%r15}"
#define A2B1 "{%r10,%r11}, {%r14}"

static void test_mma(void **state)
{
    static const Mma shapes[] = {
        { "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32" D32 A4B2 C32, 16, 16, 'b', false },
        { "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" D32 A4B2 C32, 16, 16, 'h', false },
        { "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32" D32 A2B1 C32, 8, 16, 'h', false },
        { "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32" D32 A2B1 C32, 8, 16, 'b', false },
        { "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r20,%r21}, " A4B2 ", {%r16,%r17}",
          16, 16, 'h', true },
        { "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32" D32 A4B2 C32, 8, 32, 't', false },
        { "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32" D32 A2B1 C32, 4, 32, 't', false },
        { "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32" D32 A4B2 C32, 32, 8, 'e', false },
    };

    (void)state;
    for (size_t i = 0; i < TW_COUNT(shapes); i++)
        check_mma(&shapes[i]);
}

/* ---- cp.async ------------------------------------------------------------------------------ */

static uint32_t ring(int i) { return i % 4 < 2 ? word(i) : 0; }

static void test_cp_async(void **state)
{
    (void)state;
    check_words("shl.b32 %r2, %r1, 2; mov.u32 %r3, sm; add.u32 %r4, %r3, %r2;\n"
                "cp.async.ca.shared.global [%r4], [%rd4], 4;\ncp.async.commit_group;\n"
                "cp.async.wait_group 0;\nbar.sync 0;\nsub.u32 %r5, 95, %r1; shl.b32 %r5, %r5, 2;\n"
                "add.u32 %r5, %r5, %r3; ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd5], %r6;", 96, reversed);
    /* zero fill: half of each 16 bytes */
    check_words("setp.ge.u32 %p1, %r1, 16; @%p1 bra REST;\nshl.b32 %r2, %r1, 4; mov.u32 %r3, sm;"
                "add.u32 %r4, %r3, %r2; mul.wide.u32 %rd6, %r1, 16; add.u64 %rd7, %rd1, %rd6;"
                "add.u64 %rd8, %rd2, %rd6; mov.u32 %r9, 8;\n"
                "cp.async.cg.shared.global.L2::128B [%r4], [%rd7], 16, %r9;\ncp.async.wait_all;\n"
                "ld.shared.v4.b32 {%r10,%r11,%r12,%r13}, [%r4];\n"
                "st.global.v4.b32 [%rd8], {%r10,%r11,%r12,%r13};\nREST:", 64, ring);
    /* two groups in flight: the older one has landed, the younger one is not touched */
    check_words("shl.b32 %r2, %r1, 2; mov.u32 %r3, sm; add.u32 %r4, %r3, %r2;\n"
                "cp.async.ca.shared.global [%r4], [%rd4], 4;\ncp.async.commit_group;\n"
                "cp.async.ca.shared.global [%r4+1024], [%rd4], 4;\ncp.async.commit_group;\n"
                "cp.async.wait_group 1;\nld.shared.u32 %r6, [%r4]; st.global.u32 [%rd5], %r6;\n"
                "cp.async.wait_group 0;", 96, word);
}

/* ---- launches ---------------------------------------------------------------------------------- */

static bool only_second(void *user, int x, int y, int z)
{
    (void)user;
    return x == 1 && y == 0 && z == 0;
}

static void test_launch(void **state)
{
    uint32_t in = 0, out[4] = { 0 };
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig.launch.block[0] = 1;
    rig.launch.grid[0] = 4;
    rig.launch.want_block = only_second;
    assert_true(rig_run(&rig, "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x; mad.wide.u32 %rd6, %r2, 4, %rd2;"
                              "st.global.u32 [%rd6], %r3;", &in, 4, out, sizeof out));
    assert_int_equal(out[0], 0);
    assert_int_equal(out[1], 4);
    assert_int_equal(rig.unwritten, 12);
    assert_int_equal(rig.report.blocks, 1);
    rig_close(&rig);
}

/* Bank conflicts: a stride of 32 words makes 32 passes, one of 33 makes one. */
static void test_conflicts(void **state)
{
    static const struct { const char *body; int passes, ideal; } cases[] = {
        { "mov.u32 %r2, sm; mad.lo.u32 %r3, %r1, 128, %r2; st.shared.u32 [%r3], %r1;", 32, 1 },
        { "mov.u32 %r2, sm; mad.lo.u32 %r3, %r1, 132, %r2; st.shared.u32 [%r3], %r1;", 1, 1 },
        { "mov.u32 %r2, sm; mad.lo.u32 %r3, %r1, 16, %r2; st.shared.v4.b32 [%r3], {%r1,%r1,%r1,%r1};", 4, 4 },
        { "mov.u32 %r2, sm; mad.lo.u32 %r3, %r1, 8, %r2; st.shared.v2.b32 [%r3], {%r1,%r1};", 2, 2 },
        { "mov.u32 %r2, sm; mad.lo.u32 %r3, %r1, 32, %r2; st.shared.v4.b32 [%r3], {%r1,%r1,%r1,%r1};", 8, 4 },
        { "mov.u32 %r2, sm; st.shared.u32 [%r2], 7;", 1, 1 },
        { "mov.u32 %r2, sm; mad.lo.u32 %r3, %r1, 2, %r2; mov.b16 %h1, 1; st.shared.b16 [%r3], %h1;", 1, 1 },
    };

    (void)state;
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        uint32_t in = 0, out = 0;
        Rig rig;

        rig_open(&rig);
        assert_true(rig_run(&rig, cases[i].body, &in, 4, &out, 4));
        assert_int_equal(rig.report.shared_wavefronts, cases[i].passes);
        assert_int_equal(rig.report.shared_ideal, cases[i].ideal);
        rig_close(&rig);
    }
}

/* Not a test of speed: prints it. */
static void test_throughput(void **state)
{
    static const struct { const char *name, *body; double mads; } loops[] = {
        { "integer and fp32", "mov.u32 %r2, 0; mov.f32 %f1, 0f3F800000; mov.u32 %r4, 1;\n"
          "L: fma.rn.f32 %f1, %f1, %f1, %f1; add.f32 %f2, %f1, %f1; mul.f32 %f3, %f2, %f1;\n"
          "add.s32 %r4, %r4, %r2; xor.b32 %r5, %r4, %r2; shl.b32 %r6, %r5, 3; ex2.approx.ftz.f32 %f4, %f3;\n"
          "add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 20000; @%p1 bra L;", 0 },
        { "shared memory", "mov.u32 %r2, 0; mov.u32 %r3, sm; mad.lo.u32 %r4, %r1, 16, %r3;\n"
          "L: st.shared.v4.b32 [%r4], {%r2,%r2,%r2,%r2}; ld.shared.v4.b32 {%r5,%r6,%r7,%r8}, [%r4];\n"
          "add.u32 %r9, %r5, %r6; add.u32 %r9, %r9, %r7;\n"
          "add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 4000; @%p1 bra L;", 0 },
        { "mma", "mov.u32 %r2, 0; mov.b32 %r3, 0; mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1;"
          "mov.f32 %f4, %f1;\nL: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1,%f2,%f3,%f4}, "
          "{%r3,%r3,%r3,%r3}, {%r3,%r3}, {%f1,%f2,%f3,%f4};\n"
          "add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 4000; @%p1 bra L;", 16 * 8 * 16 },
    };

    (void)state;
    for (size_t i = 0; i < TW_COUNT(loops); i++) {
        uint32_t in = 0, out = 0;
        clock_t start = clock(); /* processor time: others may be using the machine */
        double seconds;
        Rig rig;

        rig_open(&rig);
        rig.launch.block[0] = 128;
        assert_true(rig_run(&rig, loops[i].body, &in, 4, &out, 4));
        seconds = (double)(clock() - start) / CLOCKS_PER_SEC + 1e-9;
        print_message("%s: %.0f million thread instructions a second", loops[i].name,
                      (double)rig.report.thread_instructions / seconds / 1e6);
        if (loops[i].mads > 0)
            print_message(", %.0f million multiply-adds",
                          loops[i].mads * (double)rig.report.counts[EMU_MMA] / seconds / 1e6);
        print_message("\n");
        rig_close(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_divergence),
        cmocka_unit_test(test_guards_and_exit), cmocka_unit_test(test_shuffles),
        cmocka_unit_test(test_votes), cmocka_unit_test(test_shared_and_barriers),
        cmocka_unit_test(test_vectors_and_narrow), cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_tickets), cmocka_unit_test(test_ldmatrix), cmocka_unit_test(test_mma),
        cmocka_unit_test(test_cp_async), cmocka_unit_test(test_launch),
        cmocka_unit_test(test_conflicts), cmocka_unit_test(test_throughput),
    };

    return cmocka_run_group_tests_name("emu", tests, NULL, NULL);
}
