/* api.h: the public interface's inside. */
#ifndef TW_API_H
#define TW_API_H

#include "base/base.h"
#include "tilewright.h"

/* tw_generate on a heap that it takes over; NULL: there was no memory for one. */
tw_kernel *api_generate(Heap *heap, const char *definition, const tw_options *options);

#endif
