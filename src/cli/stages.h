/* stages.h: the chain of stages under a session's options. */
#ifndef TW_STAGES_H
#define TW_STAGES_H

#include "chain/chain.h"
#include "cli/cli.h"

/* With --set, --dtype and --target. NULL: a usage error was printed. */
Chain *session_chain(Session *s);
/* Prints why a stage failed; the exit status. */
int session_chain_failed(Session *s, const Chain *chain, const char *stage);

#endif
