/* fuzz.h: any bytes, given to a part of tilewright as it would be given a file.
 *
 * Each target takes bytes that nobody vouches for. It must come back: without a
 * crash, within a second or so, with a bounded amount of memory. What libFuzzer
 * found to be trouble is kept under seeds/, which tests/test_seeds.c gives to
 * every target.
 *
 *   fuzz_parse    TL: parse, print, parse what was printed
 *   fuzz_compile  TL: a definition through every stage, or code from the checker on
 *   fuzz_tile     tile IR: parse, print, verify, passes, PTX
 *   fuzz_ptx      PTX: parse, and execute with all checks on
 *   fuzz_reply    a model's provider: events and JSON, cut anywhere
 */
#ifndef TW_FUZZ_H
#define TW_FUZZ_H

#include "base/base.h"

typedef int FuzzTarget(const uint8_t *data, size_t size);

FuzzTarget fuzz_parse, fuzz_compile, fuzz_tile, fuzz_ptx, fuzz_reply;

/* Calls take with the bytes as a source, in an arena of its own. */
void fuzz_with(const uint8_t *data, size_t size, void (*take)(Arena *arena, const Source *source));

#endif
