/* suggest.h: edits that are tried before they are suggested.
 *
 * What a diagnostic is said of often lets one think of a few edits, of which it is
 * hard to tell beforehand which one is meant: another name that is nearly the same,
 * the statement removed, or moved behind its loop, a Copy put before it. So each is
 * made and the stage is asked again; one that removes the diagnostic and adds none
 * is suggested.
 *
 *   diagnostic ─► proposals of its code, in order ─► the stage, on the edited text
 *                 (suggest.c: the table)             fewer complaints, none of them new
 */
#ifndef TW_SUGGEST_H
#define TW_SUGGEST_H

#include "chain/agree.h"

/* A stage, asked of a text. */
typedef bool SuggestStage(Chain *chain, const Source *source, bool fragment);

/* Tries the edits that diagnostics of the source have by a rule, and suggests others where there is none, or no good one.
 * What is right for `agrees` (NULL: there is none) as well goes before what is so for `stage` alone. Returns whether one edit
 * leaves a program that agrees with its definition, and nothing to say of it. */
bool suggest_all(Chain *chain, const Source *source, const Program *program, SuggestStage *stage, SuggestStage *agrees, bool fragment);

/* Likewise of one code alone, which another stage said. */
void suggest_of(Chain *chain, const Source *source, const Program *program, SuggestStage *stage, DiagCode code, Witness *witness);

#endif
