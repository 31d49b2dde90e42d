/* agree.h: whether Kernels compute what the Operator beside them says, tried on a small shape. */
#ifndef TW_AGREE_H
#define TW_AGREE_H

#include "chain/chain.h"

/* Of a program that was checked and is right as far as that goes: TW0523 where its Kernels give something else than
 * its Operator. Silent where that cannot be told within the work that a check may take. */
void agree_check(Chain *chain, const Source *source, const Program *program);

#endif
