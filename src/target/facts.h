/* facts.h: the targets, one file each; for this folder only. */
#ifndef TW_TARGET_FACTS_H
#define TW_TARGET_FACTS_H

#include "target/target.h"

extern const Target target_sm_75;
extern const Target target_sm_80;
extern const Target target_sm_86;
extern const Target target_sm_89;
extern const Target target_sm_90a;

#endif
