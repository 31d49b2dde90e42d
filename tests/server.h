/* server.h: an HTTP server of the tests' own, on the loopback interface: it answers each
 * connection with the next step's bytes, as badly as the step says. */
#ifndef TW_TEST_SERVER_H
#define TW_TEST_SERVER_H

#include "base/base.h"

typedef enum StepEnd {
    STEP_CLOSE,
    STEP_RESET, /* the peer gets a reset, not an end */
    STEP_HANG,  /* nothing more comes until the peer leaves */
} StepEnd;

typedef struct Step {
    const char *send;  /* status line, headers and body; NULL: nothing */
    StepEnd end;
    size_t piece;      /* bytes a write; 0: all at once */
    int pause;         /* milliseconds between two writes */
} Step;

typedef struct Server Server;

/* Steps are used in order, the last one again and again. */
Server *server_start(const Step *steps, int n);
int server_port(const Server *server);
/* Ends it; what it was asked can be read until it is freed. */
void server_stop(Server *server);
void server_free(Server *server);
int server_requests(const Server *server);
const char *server_request(const Server *server, int i); /* headers and body */

#endif
