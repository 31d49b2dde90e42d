/* curl.h: libcurl, found at run time. */
#ifndef TW_MODEL_CURL_H
#define TW_MODEL_CURL_H

#include "base/base.h"

/* A transfer that ended. */
typedef struct CurlMessage {
    int what;   /* CURLMSG_DONE */
    void *easy;
    union {
        void *whatever;
        int result;
    } data;
} CurlMessage;

/* Named as in libcurl's header, which this need not be compiled with. */
enum {
#define FUN(field, symbol, result, parameters)
#define NUM(name, number) TW_##name = number,
#include "model/curl.def"
#undef FUN
#undef NUM
};

typedef struct Curl {
    void *library;
#define FUN(field, symbol, result, parameters) result (*field) parameters;
#define NUM(name, number)
#include "model/curl.def"
#undef FUN
#undef NUM
} Curl;

/* Loads the library, from where TW_LIBCURL says if it is set. False: *error is a sentence. */
bool curl_load(Curl *curl, Arena *arena, const char **error);

#endif
