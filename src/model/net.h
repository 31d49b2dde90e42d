/* net.h: between the attempts and what makes one. */
#ifndef TW_MODEL_NET_H
#define TW_MODEL_NET_H

#include "model/wire.h"

/* One attempt. True: it ended, with trouble or without; *after is how long the provider
 * asks to be left alone, 0 where it does not. False, with a diagnostic: it was given up. */
bool transfer(Reply *reply, double *after);

#endif
