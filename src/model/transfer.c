/* transfer.c: one attempt over the network, by libcurl.
 *
 * The question goes to one address: redirects are not followed, and nothing but HTTP and
 * HTTPS is spoken. Callbacks run within libcurl, whose frames no jump may cross: memory
 * that runs out there is noted, and jumped for once the transfer is taken down.
 */
#include "model/net.h"

#include <stdlib.h>

enum { TICK_MS = 50 };

typedef struct Transfer {
    Reply *reply;
    Net *net;
    double after; /* seconds, from retry-after-ms; negative: none */
    bool exhausted;
    char error[256];
} Transfer;

/* ---- what libcurl calls ---------------------------------------------------------------------- */

static long status_of(const Net *net)
{
    long status = 0;

    net->curl.easy_getinfo(net->easy, TW_CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *user)
{
    Transfer *t = user;
    Heap *heap = arena_heap(t->reply->call->arena);
    jmp_buf *outer = heap->on_oom, here;
    volatile bool go_on = false;

    heap->on_oom = &here;
    if (setjmp(here))
        t->exhausted = true;
    else {
        t->reply->status = status_of(t->net);
        go_on = reply_take(t->reply, bytes, size * n);
    }
    heap->on_oom = outer;
    return go_on ? size * n : 0;
}

/* Milliseconds are what some say beside whole seconds. */
static size_t on_header(char *bytes, size_t size, size_t n, void *user)
{
    static const char NAME[] = "retry-after-ms:";
    Transfer *t = user;
    size_t len = size * n, at = sizeof NAME - 1;
    char head[sizeof NAME], value[24] = "";

    if (len <= at)
        return len;
    memcpy(head, bytes, at);
    head[at] = '\0';
    if (!text_equal_nocase(head, NAME))
        return len;
    memcpy(value, bytes + at, len - at < sizeof value ? len - at : sizeof value - 1);
    t->after = strtod(value, NULL) / 1000;
    return len;
}

/* ---- setting up and down ----------------------------------------------------------------------- */

static void add_header(Net *net, const char *text)
{
    void *list = net->curl.slist_append(net->headers, text);

    if (list)
        net->headers = list;
}

static void put_headers(Arena *arena, Net *net, const Wire *wire)
{
    add_header(net, "Content-Type: application/json");
    add_header(net, "Accept: text/event-stream, application/json");
    add_header(net, "Expect:"); /* no waiting for leave to send a long question */
    if (wire->header)
        add_header(net, wire->header);
    if (net->secret.text) {
        char *line = arena_printf(arena, "%s%s", wire->key_header, net->secret.text);

        add_header(net, line);
        memset(line, 0, strlen(line));
    }
}

/* Certificates that are trusted instead of the system's, by the names that curl and
 * OpenSSL have for them. */
static const char *own_certificates(void)
{
    const char *path = getenv("CURL_CA_BUNDLE");

    if (!path || !*path)
        path = getenv("SSL_CERT_FILE");
    return path && *path ? path : NULL;
}

static void put_options(Transfer *t, const Str *body)
{
    Net *net = t->net;
    int (*set)(void *, int, ...) = net->curl.easy_setopt;
    void *easy = net->easy;
    double connect = t->reply->call->model->options.limits.connect;

    set(easy, TW_CURLOPT_URL, net->url);
    set(easy, TW_CURLOPT_PROTOCOLS, (long)(TW_CURLPROTO_HTTP | TW_CURLPROTO_HTTPS));
    set(easy, TW_CURLOPT_FOLLOWLOCATION, 0L);
    set(easy, TW_CURLOPT_NOSIGNAL, 1L);
    set(easy, TW_CURLOPT_TCP_KEEPALIVE, 1L);
    set(easy, TW_CURLOPT_USERAGENT, "tilewright");
    set(easy, TW_CURLOPT_HTTPHEADER, net->headers);
    set(easy, TW_CURLOPT_POSTFIELDS, str_text(body));
    set(easy, TW_CURLOPT_POSTFIELDSIZE_LARGE, (int64_t)body->len);
    set(easy, TW_CURLOPT_WRITEFUNCTION, on_body);
    set(easy, TW_CURLOPT_WRITEDATA, (void *)t);
    set(easy, TW_CURLOPT_HEADERFUNCTION, on_header);
    set(easy, TW_CURLOPT_HEADERDATA, (void *)t);
    set(easy, TW_CURLOPT_ERRORBUFFER, t->error);
    if (connect > 0)
        set(easy, TW_CURLOPT_CONNECTTIMEOUT_MS, (long)(connect * 1000 + 1));
    if (own_certificates())
        set(easy, TW_CURLOPT_CAINFO, own_certificates());
    if (url_is_loopback(net->url))
        set(easy, TW_CURLOPT_NOPROXY, "*");
}

static void let_go(Net *net)
{
    if (net->easy) {
        net->curl.multi_remove_handle(net->multi, net->easy);
        net->curl.easy_cleanup(net->easy);
    }
    if (net->headers)
        net->curl.slist_free_all(net->headers);
    net->easy = net->headers = NULL;
}

void net_end(Net *net)
{
    if (net->loaded) {
        let_go(net);
        if (net->multi)
            net->curl.multi_cleanup(net->multi);
        net->multi = NULL;
    }
    key_forget(&net->secret);
}

/* ---- a transfer ------------------------------------------------------------------------------------ */

/* True: it ended by itself, with libcurl's result. False: it was given up, with a
 * diagnostic. */
static bool await(Transfer *t, int *result)
{
    const Curl *curl = &t->net->curl;
    Call *call = t->reply->call;
    int running = 1, left;
    CurlMessage *message;

    while (running) {
        double connected = 0;

        if (curl->multi_perform(t->net->multi, &running) != TW_CURLE_OK || t->exhausted)
            break;
        curl->easy_getinfo(t->net->easy, TW_CURLINFO_PRETRANSFER_TIME, &connected);
        if (connected > 0 && call->progress.phase == MODEL_CONNECTING) {
            call->progress.phase = MODEL_WAITING;
            call->heard = clock_seconds();
        }
        if (running && !call_goes_on(call))
            return false;
        if (running)
            curl->multi_poll(t->net->multi, NULL, 0, TICK_MS, NULL);
    }
    *result = TW_CURLE_RECV_ERROR;
    while ((message = curl->multi_info_read(t->net->multi, &left)))
        if (message->what == TW_CURLMSG_DONE && message->easy == t->net->easy)
            *result = message->data.result;
    return true;
}

static const char *reason(const Transfer *t, int result)
{
    return *t->error ? t->error : t->net->curl.easy_strerror(result);
}

/* Where nobody listens on this machine, nobody will in a second. */
static bool may_pass(const Net *net, int result)
{
    switch (result) {
    case TW_CURLE_COULDNT_CONNECT: return !url_is_loopback(net->url);
    case TW_CURLE_HTTP2:
    case TW_CURLE_PARTIAL_FILE:
    case TW_CURLE_SSL_CONNECT_ERROR:
    case TW_CURLE_GOT_NOTHING:
    case TW_CURLE_SEND_ERROR:
    case TW_CURLE_RECV_ERROR:
    case TW_CURLE_HTTP2_STREAM: return true;
    }
    return false;
}

static void conclude(Transfer *t, int result)
{
    Reply *reply = t->reply;
    const Model *model = reply->call->model;
    const char *note = arena_printf(reply->call->arena, "%s: %s", t->net->url, reason(t, result));

    reply->status = status_of(t->net);
    if (reply->trouble.is)
        return;
    if (result == TW_CURLE_OPERATION_TIMEDOUT)
        reply_trouble(reply, TW1007, true,
                      arena_printf(reply->call->arena, "there was no connection to %s after %g s", t->net->url,
                                   model->options.limits.connect),
                      "%s took too long", model->spec);
    else if (result != TW_CURLE_OK && !reply->ended && !reply->bytes)
        reply_trouble(reply, TW1006, may_pass(t->net, result), note, "%s cannot be reached", model->spec);
    else
        reply_end(reply, result != TW_CURLE_OK);
}

static double retry_after(const Transfer *t)
{
    int64_t seconds = 0;

    if (t->after >= 0)
        return t->after;
    t->net->curl.easy_getinfo(t->net->easy, TW_CURLINFO_RETRY_AFTER, &seconds);
    return seconds > 0 ? (double)seconds : 0;
}

static bool begin(Transfer *t, const Str *body)
{
    Net *net = t->net;

    if (!net->multi)
        net->multi = net->curl.multi_init();
    net->easy = net->multi ? net->curl.easy_init() : NULL;
    if (!net->easy)
        return false;
    put_headers(t->reply->call->arena, net, t->reply->wire);
    put_options(t, body);
    return net->curl.multi_add_handle(net->multi, net->easy) == TW_CURLE_OK;
}

bool transfer(Reply *reply, double *after)
{
    Transfer *t = arena_new_of(reply->call->arena, Transfer);
    Str body = str_new(reply->call->arena);
    int result = TW_CURLE_OK;
    sigset_t before;
    bool ended;

    *t = (Transfer){.reply = reply, .net = &reply->call->model->net, .after = -1};
    reply->wire->question(reply->call, &body);
    if (!begin(t, &body))
        heap_exhausted(arena_heap(reply->call->arena)); /* libcurl fails so far for nothing else */
    quiet_begin(&before);
    ended = await(t, &result);
    if (ended && !t->exhausted) {
        conclude(t, result);
        *after = retry_after(t);
    }
    let_go(t->net);
    quiet_end(&before);
    if (t->exhausted)
        heap_exhausted(arena_heap(reply->call->arena));
    return ended;
}
