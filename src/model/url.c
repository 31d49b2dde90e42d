/* url.c: where questions may go.
 *
 *   https://host[:port]/path     http only where the user wrote it, or to this machine
 *
 * A user or a key in an address would end up in transcripts and on command lines, so there
 * is none; a query has no place before the path that a provider's wire adds.
 */
#include "model/client.h"

static bool begins(const char *text, const char *prefix)
{
    size_t n = strlen(prefix), i = 0;

    while (i < n && (text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]) == prefix[i])
        i++;
    return i == n;
}

static const char *host_of(const char *url)
{
    return begins(url, "https://") ? url + 8 : begins(url, "http://") ? url + 7 : NULL;
}

const char *url_problem(const char *url)
{
    const char *host = host_of(url);

    if (!host)
        return "it begins with neither https:// nor http://";
    if (!*host || strchr("/:?#", *host))
        return "it names no host";
    for (const char *c = url; *c; c++)
        if (*c <= ' ' || *c == 0x7f || (unsigned char)*c >= 0x80)
            return "it holds a character that no address has";
    if (strchr(host, '@'))
        return "it holds a user's name, or a password, which would be seen";
    if (strpbrk(host, "?#"))
        return "it holds a query; give what stands before /chat/completions or /messages";
    return NULL;
}

bool url_is_loopback(const char *url)
{
    const char *host = host_of(url);
    size_t len = host ? strcspn(host, "/:") : 0;

    if (host && begins(host, "[::1]") && strchr("/:", host[5]))
        return true;
    if (len == 9 && begins(host, "localhost"))
        return true;
    return len > 4 && strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == len;
}

bool url_same_server(const char *a, const char *b)
{
    const char *host_a = host_of(a), *host_b = host_of(b);
    size_t len = (size_t)(host_b - b) + strcspn(host_b, "/");

    return (size_t)(host_a - a) + strcspn(host_a, "/") == len && strncmp(a, b, len) == 0;
}
