/* agree.h: cases all of whose levels must agree, in tests that cmocka runs. */
#ifndef TW_TEST_AGREE_H
#define TW_TEST_AGREE_H

#include "levels.h"

#include <cmocka.h>

/* Otherwise shows the case and what its levels said, and fails. */
static inline void expect_agreement(Arena *arena, const LevelCase *c)
{
    LevelReport report = levels_run(arena, c);
    Str text = str_new(arena);

    if (report.verdict == LEVELS_AGREE)
        return;
    levels_print(&text, c);
    fprintf(stderr, "%s\n%s\n", str_text(&text), str_text(&report.log));
    fail_msg("%s: %s", report.level, report.problem);
}

#endif
