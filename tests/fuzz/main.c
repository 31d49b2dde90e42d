/* main.c: where libFuzzer comes in; TARGET is one of those in fuzz.h. Outside of
 * `make fuzz` nobody calls it. */
#include "fuzz.h"

#ifndef TARGET
#define TARGET fuzz_parse
#endif

FuzzTarget LLVMFuzzerTestOneInput;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return TARGET(data, size);
}
