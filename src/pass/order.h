/* order.h: see order.c. */
#ifndef TW_ORDER_H
#define TW_ORDER_H

#include "pass/passes.h"

void order_places(TileProgram *program, TileKernel *kernel, const Target *target);

#endif
