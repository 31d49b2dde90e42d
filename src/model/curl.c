/* curl.c: libcurl, found at run time.
 *
 * Who asks no model over a network needs none, and a program that was built without it
 * finds it once it is installed.
 */
#include "model/curl.h"

#include <dlfcn.h>
#include <stdlib.h>

static const char *missing_symbol(Curl *curl)
{
    static const char *const names[] = {
#define FUN(field, symbol, result, parameters) symbol,
#define NUM(name, number)
#include "model/curl.def"
#undef FUN
    };
    void *const functions[] = {
#define FUN(field, symbol, result, parameters) &curl->field,
#include "model/curl.def"
#undef FUN
#undef NUM
    };
    for (size_t i = 0; i < TW_COUNT(names); i++) {
        void *found = dlsym(curl->library, names[i]);

        if (!found)
            return names[i];
        memcpy(functions[i], &found, sizeof found);
    }
    return NULL;
}

static void *open_library(const char **name)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib"};
    const char *own = getenv("TW_LIBCURL");
    void *library = NULL;

    *name = own && *own ? own : names[0];
    if (own && *own)
        return dlopen(own, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < TW_COUNT(names) && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

bool curl_load(Curl *curl, Arena *arena, const char **error)
{
    const char *name, *missing;

    curl->library = open_library(&name);
    if (!curl->library) {
        *error = arena_printf(arena, "%s cannot be loaded", name);
        return false;
    }
    missing = missing_symbol(curl);
    if (missing)
        *error = arena_printf(arena, "libcurl is too old: it lacks %s (7.66 has it)", missing);
    else if (curl->global_init(TW_CURL_GLOBAL_ALL) != TW_CURLE_OK)
        *error = "libcurl cannot be started";
    else
        return true;
    return false;
}
