/* target.c: the list of targets, oldest first. A new one is a file of facts and
 * a row here. */
#include "target/facts.h"

static const Target *const targets[] = {
    &target_sm_75,
    &target_sm_80,
    &target_sm_86,
    &target_sm_89,
    NULL,
};

const Target *const *target_all(void)
{
    return targets;
}

const Target *target_find(const char *name)
{
    for (int i = 0; targets[i]; i++)
        if (text_equal_nocase(targets[i]->name, name))
            return targets[i];
    return NULL;
}
