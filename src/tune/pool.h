/* pool.h: pieces of work in processes of their own, several at a time. */
#ifndef TW_TUNE_POOL_H
#define TW_TUNE_POOL_H

#include "tune/tune.h"

#include <sys/types.h>

/* What one piece of work gave: a fate, a sentence and bytes. */
typedef struct PoolAnswer {
    TuneFate fate;
    const char *problem; /* NULL: none */
    const char *bytes;
    size_t len;
} PoolAnswer;

typedef struct Pool {
    Arena *arena;    /* of answers */
    int jobs;
    double limit;    /* seconds of a piece */
    void *user;
    /* In a process of its own. */
    void (*work)(void *user, Arena *arena, int task, PoolAnswer *answer);
    /* Here, when it has ended; the fate is TUNE_HUNG or TUNE_CRASHED where the process was. */
    void (*done)(void *user, int task, const PoolAnswer *answer);
    /* Whether no more should be begun, and what runs be ended. NULL: never */
    bool (*enough)(void *user);
} Pool;

/* Tasks 0 to n - 1; false: there was enough before all were done. */
bool pool_run(const Pool *pool, int n);

/* A process, and a socket to it. */
typedef struct PoolChild {
    pid_t pid; /* 0: none */
    int fd;
} PoolChild;

typedef void PoolServe(void *user, Arena *arena, int fd);

/* serve(user, arena, fd) runs there, and its end is the process's. */
bool pool_spawn(PoolChild *child, PoolServe *serve, void *user);
void pool_end(PoolChild *child);

/* Reads exactly len bytes before a moment; asks `enough` meanwhile. */
typedef enum PoolRead { POOL_READ, POOL_GONE, POOL_LATE, POOL_ENOUGH } PoolRead;
PoolRead pool_read(int fd, void *bytes, size_t len, double until, bool (*enough)(void *user), void *user);
bool pool_write(int fd, const void *bytes, size_t len);

#endif
