/* study_speed.c: kernels of a study on the GPU, beside the built-in stages'.
 *
 *   FOLDER/speed.txt   the ratio, and the digest of what was compared; what is wrong has none
 */
#include "cli/study_speed.h"

#include "cli/contest.h"

#include <stdlib.h>
#include <unistd.h>

enum { DIGEST = 64 };

StudySpeed study_speed_new(Session *s)
{
    return (StudySpeed){s, contest_has_gpu(s)};
}

static bool prepare(Contest *c, Flow *flow, StudyMode mode)
{
    const Source *ptx;

    c->theirs = chain_like(c->arena, flow->chain, diags_new(c->arena, NULL));
    c->built_in = contest_built_in(c->arena, flow->chain);
    ptx = c->built_in ? study_ptx(flow, mode, c->theirs) : NULL;
    c->ptx = ptx ? ptx->text : NULL;
    return ptx && contest_shape(c);
}

/* ---- what is kept ---------------------------------------------------------------------------- */

static const char *digest(const Contest *c)
{
    const char *both = arena_printf(c->arena, "%s\n%s\n%s", c->built_in->ptx->text, c->ptx,
                                    launch_text(c->arena, &c->shape));

    return sha256_text(c->arena, both, strlen(both));
}

static double remembered(const Contest *c, const char *path)
{
    const char *error;
    Source *file = access(path, R_OK) == 0 ? source_read(c->arena, path, &error) : NULL;

    return file && strncmp(file->text, digest(c), DIGEST) == 0 ? strtod(file->text + DIGEST, NULL) : 0;
}

/* Wrong: -1. */
static double find(const StudySpeed *speed, Contest *c, const char *folder)
{
    const char *path = arena_printf(c->arena, "%s/speed.txt", folder), *text;
    double ratio = remembered(c, path);
    FlowMeasured found;

    if (ratio > 0 || !speed->gpu)
        return ratio;
    found = contest_run(c);
    if (found.verdict == FLOW_WRONG)
        return -1;
    ratio = found.ms > 0 ? found.built_in_ms / found.ms : 0;
    text = arena_printf(c->arena, "%s %.6g\n", digest(c), ratio);
    if (ratio > 0)
        file_write(c->arena, path, text, strlen(text));
    return ratio;
}

double study_speed(const StudySpeed *speed, Flow *flow, StudyMode mode)
{
    Contest contest = {.s = speed->s, .arena = arena_new(&speed->s->heap), .quick = true};
    double ratio = 0;

    if ((speed->gpu || access(arena_printf(contest.arena, "%s/speed.txt", flow->options.folder), R_OK) == 0) &&
        prepare(&contest, flow, mode))
        ratio = find(speed, &contest, flow->options.folder);
    arena_free(contest.arena);
    return ratio;
}
