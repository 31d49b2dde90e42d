/* child.h: a program of the CUDA toolkit that runs beside us.
 *
 * Its input, its output and what it says are files without names: made, opened and
 * unlinked before anything else happens, and handed over as /dev/fd/N. So nothing
 * is left behind, whatever ends us, and no two programs meet in a folder.
 *
 * Vocabulary
 *   log    what it wrote to standard output and standard error, in order
 *   end    a pipe of which only the program holds the other side: readable once it
 *          is gone, so that several can be waited for at once
 */
#ifndef TW_ASSEMBLE_CHILD_H
#define TW_ASSEMBLE_CHILD_H

#include "base/base.h"

#include <sys/types.h>

typedef struct Child {
    pid_t pid;            /* 0: none runs (any more) */
    int in, out, log, end; /* -1: none */
    double limit, started, ended;
    int status;           /* of the exit; -1: it was ended by a signal or could not be run */
    bool late;            /* it was ended at the limit */
} Child;

void child_init(Child *child);
/* Files for the program: `text` to read, and one to write. False: *error. */
bool child_files(Arena *arena, Child *child, const char *text, size_t len, const char **error);
/* The name of such a file for the program's command line. */
const char *child_file(Arena *arena, int fd);
/* Starts argv[0], which has a slash; it may take so many seconds (0: any time). */
bool child_start(Arena *arena, Child *child, char *const *argv, double limit, const char **error);
/* Waits for at most so many seconds (0: not at all) until one of them has ended, and
 * ends what is past its limit. Whether one of them is no longer running. */
bool child_wait(Child *const *children, int n, double seconds);
/* Ends it, if it still runs, and closes its files. */
void child_drop(Child *child);
/* All of a file's bytes, NUL-terminated. */
const char *child_read(Arena *arena, int fd, size_t *len);

#endif
