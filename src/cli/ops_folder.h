/* ops_folder.h: the definitions that come along. */
#ifndef TW_OPS_FOLDER_H
#define TW_OPS_FOLDER_H

#include "cli/cli.h"
#include "prompt/prompt.h"

typedef VEC(const char *) OpsNames;

/* Beside the program, or in TW_OPS. */
const char *ops_folder(Arena *arena);
/* Names of files that end in .tl, without it, sorted. False: the folder cannot be read. */
bool ops_list(Arena *arena, const char *folder, OpsNames *names);
/* All of them, for prompts to draw examples from; may be empty. */
Library *ops_library(Session *s);

#endif
