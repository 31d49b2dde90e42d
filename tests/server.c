/* server.c: an HTTP server of the tests' own, in a thread. */
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_REQUESTS = 64, MOST_BYTES = 4 << 20 };

struct Server {
    const Step *steps;
    int n, listener, port, stop[2];
    pthread_t thread;
    bool running;
    char *requests[MOST_REQUESTS];
    int count;
};

/* Until fd is ready. False: it is time to stop. */
static bool wait_for(const Server *server, int fd, short events)
{
    struct pollfd fds[] = {{fd, events, 0}, {server->stop[0], POLLIN, 0}};

    while (poll(fds, 2, 10000) < 0 && errno == EINTR)
        ;
    return !fds[1].revents && fds[0].revents;
}

static size_t body_length(const char *text)
{
    const char *at = strstr(text, "Content-Length: ");

    return at ? strtoul(at + 16, NULL, 10) : 0;
}

/* Headers and as much as they announce. */
static char *read_request(const Server *server, int fd)
{
    char *text = calloc(1, MOST_BYTES + 1);
    size_t len = 0;

    for (;;) {
        const char *body = strstr(text, "\r\n\r\n");
        ssize_t n;

        if (body && strlen(body + 4) >= body_length(text))
            return text;
        if (!wait_for(server, fd, POLLIN) || (n = read(fd, text + len, MOST_BYTES - len)) <= 0)
            break;
        len += (size_t)n;
    }
    return text;
}

static bool send_all(const Server *server, int fd, const Step *step)
{
    size_t len = step->send ? strlen(step->send) : 0, piece = step->piece ? step->piece : len;

    for (size_t at = 0; at < len; at += piece) {
        struct pollfd stop = {server->stop[0], POLLIN, 0};

        if (send(fd, step->send + at, len - at < piece ? len - at : piece, MSG_NOSIGNAL) < 0)
            return false;
        if (step->pause && poll(&stop, 1, step->pause) != 0)
            return false;
    }
    return true;
}

/* Until the peer leaves; what it still says is of no interest. */
static void hang(const Server *server, int fd)
{
    char chunk[256];

    while (wait_for(server, fd, POLLIN) && read(fd, chunk, sizeof chunk) > 0)
        ;
}

static void serve(Server *server, int fd)
{
    const struct linger at_once = {1, 0};
    int i = server->count < MOST_REQUESTS ? server->count : MOST_REQUESTS - 1;
    const Step *step = &server->steps[i < server->n ? i : server->n - 1];

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    free(server->requests[i]);
    server->requests[i] = read_request(server, fd);
    server->count = i + 1;
    send_all(server, fd, step);
    switch (step->end) {
    case STEP_CLOSE: break;
    case STEP_HANG: hang(server, fd); break;
    case STEP_RESET: setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once); break;
    }
}

static void *work(void *user)
{
    Server *server = user;

    while (wait_for(server, server->listener, POLLIN)) {
        int fd = accept(server->listener, NULL, NULL);

        if (fd < 0)
            break;
        serve(server, fd);
        close(fd);
    }
    return NULL;
}

Server *server_start(const Step *steps, int n)
{
    Server *server = calloc(1, sizeof *server);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof at;

    server->steps = steps;
    server->n = n;
    server->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (pipe(server->stop) != 0 || bind(server->listener, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(server->listener, 16) != 0 || getsockname(server->listener, (struct sockaddr *)&at, &len) != 0)
        abort();
    server->port = ntohs(at.sin_port);
    server->running = pthread_create(&server->thread, NULL, work, server) == 0;
    if (!server->running)
        abort();
    return server;
}

int server_port(const Server *server)
{
    return server->port;
}

void server_stop(Server *server)
{
    if (!server->running)
        return;
    if (write(server->stop[1], "", 1) != 1)
        abort();
    pthread_join(server->thread, NULL);
    server->running = false;
    close(server->listener);
    close(server->stop[0]);
    close(server->stop[1]);
}

void server_free(Server *server)
{
    server_stop(server);
    for (int i = 0; i < server->count; i++)
        free(server->requests[i]);
    free(server);
}

int server_requests(const Server *server)
{
    return server->count;
}

const char *server_request(const Server *server, int i)
{
    return server->requests[i];
}
