/* stages.h: what the files that make up the stages share (for this folder only). */
#ifndef TW_CHAIN_STAGES_H
#define TW_CHAIN_STAGES_H

#include "chain/chain.h"
#include "suggest/suggest.h"

/* ---- chain.c ---- */

bool chain_fail(Chain *chain, const char *failure); /* returns false */
void chain_timed(Chain *chain, const char *name, double since);
/* Whatever was understood; whether that is all, diags->errors says. */
Program *chain_parse(Chain *chain, const Source *source);
/* What is wrong with a source was recorded: edits are tried, by asking the stage. Returns false. */
bool chain_give_up(Chain *chain, const Source *source, const Program *program, SuggestStage *stage);
/* Of schedules for several targets that for the one at hand; a schedule alone is for any. */
void chain_choose_schedules(const Chain *chain, const Program *program);

/* ---- settings.c ---- */

/* `--set BM=3` means the definition's own BM, where it has a Param or a dimension of that name; of a dimension every
 * later stage is told. */
void chain_give_own(Chain *chain, const Unit *unit);
/* What the definition took need not be known to the sketch as well. */
void chain_mark_taken(Chain *chain);
/* Sizes of the launch that choices are made for; NULL: none. */
const Settings *chain_launch(const Chain *chain);
/* The settings without the sizes of the launch, or with those that it will have. */
Settings *chain_settings(Chain *chain, bool launch);
/* How a sketch is judged before there is code. */
ReasonOptions chain_judging(Chain *chain, Settings *settings);

/* ---- find.c ---- */

/* The sketch that the definition becomes; NULL: it was said why there is none. */
Program *chain_find_sketch(Chain *chain);
/* Whether one kernel may do all of the definition; if not, it is said why. */
bool chain_fits_one(Chain *chain);

#endif
