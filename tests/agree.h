/* agree.h: cases all of whose levels must agree, in tests that cmocka runs. */
#ifndef TW_TEST_AGREE_H
#define TW_TEST_AGREE_H

#include "levels.h"

#include <cmocka.h>

/* Otherwise shows the case and what its levels said, and fails. */
static inline LevelReport expect_agreement(Arena *arena, const LevelCase *c)
{
    LevelReport report = levels_run(arena, c);
    Str text = str_new(arena);

    if (report.verdict == LEVELS_AGREE)
        return report;
    levels_print(&text, c);
    fprintf(stderr, "%s\n%s\n", str_text(&text), str_text(&report.log));
    fail_msg("%s: %s", report.level, report.problem);
    return report;
}

/* And no access to shared memory meets another in a bank, of either entry. */
static inline void expect_no_conflicts(Arena *arena, const LevelCase *c)
{
    LevelReport report = expect_agreement(arena, c);
    Str text = str_new(arena);

    levels_print(&text, c);
    if (report.conflicts)
        fail_msg("%llu bank conflicts of\n%s", (unsigned long long)report.conflicts, str_text(&text));
}

/* A tile of a type that stays in registers, cast, masked with -inf but for its diagonal and read again: what the type
 * makes of that number is what is read. */
static inline void expect_masked_agreement(Arena *arena, const char *type, LevelCase c)
{
    c.code = arena_printf(arena, "Kernel masked\n  BM = 16\n  BN = 64\n  Input X (M, N) fp32\n  Output Y (M, N) fp32\n"
                                 "  Grid m = ceil(M / BM), n = ceil(N / BN)\n  Allocate X in register (BM, BN) fp32\n"
                                 "  Allocate H in register (16, 64) %s\n  Allocate Y in register (16, 64)\n"
                                 "  Copy X (BM, BN) in coordinate [M = m, N = n] from global to register\n"
                                 "  Compute Cast X, %s and get H\n  Compute Mask H where n * BN + col(H) != m * BM + row(H)\n"
                                 "  Compute Add H, 0 and get Y\n"
                                 "  Copy Y (BM, BN) in coordinate [M = m, N = n] from register to global\nend\n", type, type);
    levels_bind(&c, "M", 20);
    levels_bind(&c, "N", 70);
    expect_agreement(arena, &c);
}

#endif
