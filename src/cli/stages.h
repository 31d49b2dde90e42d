/* stages.h: the chain of stages under a session's options. */
#ifndef TW_STAGES_H
#define TW_STAGES_H

#include "chain/chain.h"
#include "cli/cli.h"

/* With --set, --dtype and --target. NULL: a usage error was printed. */
Chain *session_chain(Session *s);
/* The definition that --against names becomes the chain's, or else, if `beside` says so, the one that stands beside the code; of
 * the sizes that the code or tile IR is for; the exit status. */
int session_against(Session *s, Chain *chain, const Source *compiled, bool beside);
/* Tile IR of code, or of the dump of what code was lowered to. */
bool session_lower(Chain *chain, const Source *source);
/* Prints why a stage failed; the exit status. */
int session_chain_failed(Session *s, const Chain *chain, const char *stage);

#endif
