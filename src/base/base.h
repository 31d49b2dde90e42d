/* base.h: memory, strings, names, sources, diagnostics.
 *
 * Everything else stands on this header and on the C library alone.
 *
 * Vocabulary
 *   heap    where bytes come from; may be told to fail the n-th request (tests)
 *   arena   memory with one lifetime, dropped whole; nothing is freed singly
 *   vec     a growable array in an arena: VEC(int) v = {0}; vec_push(a, &v, 3);
 *   symbol  an interned string: equal text means equal pointer
 *   span    a half-open range of bytes of one source text
 *   diag    a diagnostic: stable code, span, what, why, suggested edit
 *
 * When the heap is exhausted, arena_alloc does not return: it jumps to
 * heap->on_oom, which every public entry point sets; what else must be given back
 * first, heap_guard sees to.
 */
#ifndef TW_BASE_H
#define TW_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__GNUC__)
#define TW_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define TW_NORETURN __attribute__((noreturn))
#else
#define TW_PRINTF(fmt, args)
#define TW_NORETURN
#endif

/* Whether AddressSanitizer is built in. */
#if defined(__SANITIZE_ADDRESS__)
#define TW_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TW_ASAN 1
#endif
#endif
#ifndef TW_ASAN
#define TW_ASAN 0
#endif

#define TW_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- memory ------------------------------------------------------------ */

typedef struct Heap {
    jmp_buf *on_oom;   /* where to go when memory is exhausted; required */
    long fail_in;      /* > 0: the fail_in-th request from now fails (tests) */
    bool apart;        /* every allocation is a request of its own (tests) */
    struct Arena *arenas; /* all that live, newest first */
    size_t live, peak; /* bytes held now and at most */
    struct Slab *slabs;   /* what blocks of arenas are cut from, newest first (slab.c), ... */
    struct Spare *spare, *odd; /* ... and those that were given back: of the usual size, of others */
} Heap;

typedef struct Arena Arena;

/* A heap for who has no frame that outlives it; NULL when there is no memory. */
Heap *heap_new(void);
void heap_free(Heap *heap); /* and its arenas; NULL is fine */
void heap_drop(Heap *heap); /* frees every arena: the way out when memory ran out */
/* As if memory had run out: for who stands on a library with memory of its own. */
TW_NORETURN void heap_exhausted(Heap *heap);
/* Calls work, and end behind it, also where memory runs out in work; that goes on then. */
void heap_guard(Heap *heap, void (*work)(void *user), void (*end)(void *user), void *user);

Arena *arena_new(Heap *heap);
void arena_free(Arena *arena); /* NULL is fine */
Heap *arena_heap(const Arena *arena); /* for who must clean up before on_oom is jumped to */
/* Zeroed, aligned to 16 bytes; never NULL. */
void *arena_alloc(Arena *arena, size_t size);
#define arena_new_of(arena, T) ((T *)arena_alloc((arena), sizeof(T)))
#define arena_array(arena, T, n) ((T *)arena_alloc_array((arena), (size_t)(n), sizeof(T)))
void *arena_alloc_array(Arena *arena, size_t n, size_t size); /* checks n * size */
char *arena_strndup(Arena *arena, const char *text, size_t len);
char *arena_strdup(Arena *arena, const char *text);
char *arena_printf(Arena *arena, const char *fmt, ...) TW_PRINTF(2, 3);
char *arena_vprintf(Arena *arena, const char *fmt, va_list args);

/* A growable array. The elements stay in the arena when it grows, so take no
 * pointer into one that still grows. */
#define VEC(T) struct { T *data; int len, cap; }
#define vec_push(arena, v, ...)                                                       \
    ((v)->len == (v)->cap                                                             \
         ? (void)((v)->data = vec_grow((arena), (v)->data, &(v)->cap, sizeof *(v)->data)) \
         : (void)0,                                                                   \
     (v)->data[(v)->len++] = __VA_ARGS__)
void *vec_grow(Arena *arena, void *data, int *cap, size_t size);

/* ---- text ---------------------------------------------------------------- */

/* A string that grows; data is always NUL-terminated once something was added. */
typedef struct Str {
    Arena *arena;
    char *data;
    size_t len, cap;
} Str;

Str str_new(Arena *arena);
void str_reserve(Str *s, size_t extra); /* room for so many bytes more, which are likely to come */
void str_clear(Str *s); /* empty again, in the same storage */
void str_add(Str *s, const char *text);
void str_addn(Str *s, const char *text, size_t len);
void str_addc(Str *s, char c);
void str_printf(Str *s, const char *fmt, ...) TW_PRINTF(2, 3);
void str_vprintf(Str *s, const char *fmt, va_list args) TW_PRINTF(2, 0);
/* As vsnprintf, and quicker; args are left as they were. */
int text_vformat(char *data, size_t size, const char *fmt, va_list args) TW_PRINTF(3, 0);
const char *str_text(const Str *s); /* "" when empty; never NULL */
/* Bytes of the well-formed UTF-8 character at text (NUL-terminated); 0: none is
 * there. Overlong forms, surrogates and values past U+10FFFF are not characters. */
int utf8_length(const char *text);
/* Adds text as a JSON string, quotes included. */
void str_json(Str *s, const char *text);

/* Interned strings. */
typedef struct Syms Syms;
Syms *syms_new(Arena *arena);
const char *sym(Syms *syms, const char *text);
const char *symn(Syms *syms, const char *text, size_t len);

/* Of what names are made: a letter, a digit or `_`. */
static inline bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Most texts that are compared are the same symbol, or are told apart by their first letters. */
static inline bool text_equal(const char *a, const char *b)
{
    return a == b || (*a == *b && strcmp(a, b) == 0);
}

bool text_equal_nocase(const char *a, const char *b);
/* Whether a text, which may be NULL, is one of a list. */
bool text_among(const char *const *list, int n, const char *text);
/* How many single-letter edits turn a into b; at most limit + 1. */
int text_distance(const char *a, const char *b, int limit);
/* Of names, which are often meant where only capitals differ: then 0. */
int name_distance(const char *a, const char *b, int limit);
/* How many letters a misspelt name may differ in: of one letter, none. */
int name_edits(const char *name);

/* ---- sources and diagnostics --------------------------------------------- */

typedef struct Source {
    const char *path; /* as the user named it; "<stdin>" for standard input */
    const char *text; /* NUL-terminated */
    size_t len;
} Source;

typedef struct Span {
    int start, end; /* bytes, half-open */
} Span;

/* Line and column, both from 1; the column counts bytes. */
void source_place(const Source *source, int offset, int *line, int *column);

typedef enum Severity { SEV_ERROR, SEV_WARNING, SEV_NOTE } Severity;

/* One row a diagnostic in diags.def: DIAG(code, severity, title, why). */
typedef enum DiagCode {
#define DIAG(code, severity, title, why) code,
#include "base/diags.def"
#undef DIAG
    DIAG_CODES
} DiagCode;

/* Facts of a code: its name ("TW0101"), severity, title and why it matters. */
typedef struct DiagInfo {
    const char *name;
    Severity severity;
    const char *title;
    const char *why;
} DiagInfo;
const DiagInfo *diag_info(DiagCode code);

/* What a code is said of, and what to write instead. */
typedef struct DiagExample {
    const char *wrong, *right;
} DiagExample;
const DiagExample *diag_example(DiagCode code);

/* How it is mended: by an edit that is suggested, or by hand. */
typedef struct DiagMend {
    bool edit;
    bool sure;   /* nothing else can have been meant */
    bool option; /* by a setting of the command line that is suggested */
    const char *how;
} DiagMend;
const DiagMend *diag_mend(DiagCode code);

/* A code that is no more, and the one that says it now. */
typedef struct DiagRetired {
    const char *name; /* NULL: behind the last */
    DiagCode now;
} DiagRetired;
const DiagRetired *diag_retired(void);

/* A suggested edit: replace the bytes of span by text. */
typedef struct Fix {
    Span span;
    const char *text;
    const char *label; /* what the edit does, in words */
} Fix;

/* A suggested setting: `--set SET` for each word of `set`, in place of `--set DROP=...`. */
typedef struct Option {
    const char *drop, *set; /* NULL: none */
    const char *label;      /* NULL: no setting is suggested */
} Option;

typedef struct Diag {
    DiagCode code;
    const Source *source; /* NULL: no place */
    Span span;
    const char *message;
    const char *note; /* NULL, or more for this one instance (numbers, the way out) */
    Fix fix;          /* fix.text == NULL: none */
    Option option;
} Diag;

enum { DIAG_LIMIT = 20 };

typedef struct Diags {
    Arena *arena;
    const Source *source; /* taken by diag_add */
    VEC(Diag) list;
    int errors;
    bool full; /* DIAG_LIMIT errors were reported; more were dropped */
    Diag scratch; /* what diag_add gives once the list is full */
} Diags;

Diags *diags_new(Arena *arena, const Source *source);
/* Records a diagnostic. The result may be completed (note, fix) until the next
 * call; never NULL, and a scratch one once the list is full. */
Diag *diag_add(Diags *diags, DiagCode code, Span span, const char *fmt, ...) TW_PRINTF(4, 5);
void diag_note(Diags *diags, Diag *diag, const char *fmt, ...) TW_PRINTF(3, 4);
void diag_fix(Diags *diags, Diag *diag, Span span, const char *text, const char *label);
void diag_option(Diags *diags, Diag *diag, const char *drop, const char *set, const char *label);

/* Adds what others, whose memory lives as long, have recorded. */
void diags_take(Diags *diags, const Diags *from);

/* Prints in the style of clang: path:line:col: error: what [TW0101], the line,
 * a caret with tildes under the span, notes and the suggested edit. */
void diags_print(const Diags *diags, FILE *out, bool colour);
/* The same, without colour, as a string. */
void diags_text(const Diags *diags, Str *out);
/* The same as one JSON array. */
void diags_json(const Diags *diags, Str *out);

/* ---- files ---------------------------------------------------------------- */

/* Reads a file ("-" or NULL: standard input) into the arena. On failure
 * returns NULL and sets *error to a sentence. At most 64 MiB. */
Source *source_read(Arena *arena, const char *path, const char **error);
bool file_put(int fd, const void *bytes, size_t len); /* all of them, to an open file; false: errno says why */
/* Writes a file whole, through a temporary one beside it that is then renamed;
 * "-" or NULL: standard output. Returns NULL, or a sentence on failure. */
const char *file_write(Arena *arena, const char *path, const char *text, size_t len);

/* SHA-256 of bytes, in hexadecimal: what names a file's contents. */
const char *sha256_text(Arena *arena, const void *data, size_t len);

/* Makes a folder, with those that it lies in, where there is none, of this mode. NULL, or a sentence
 * on failure. */
const char *folder_make(Arena *arena, const char *folder, unsigned mode);

/* Seconds of a monotonic clock. */
double clock_seconds(void);

/* A small seeded generator (SplitMix64), the same on every machine. */
typedef struct Rng { uint64_t state; } Rng;
uint64_t rng_next(Rng *rng);
double rng_uniform(Rng *rng); /* [0, 1) */
double rng_normal(Rng *rng);  /* mean 0, variance 1 */
int rng_below(Rng *rng, int n);

/* The middle one of so many numbers, or the mean of the middle two; 0: there are none. Sorts them. */
double median(double *values, int n);
/* The greatest common divisor of two numbers that are not negative; of 0 and a number, that. */
int64_t common_divisor(int64_t a, int64_t b);

/* ---- number formats --------------------------------------------------------- */

/* Element types. One row each in dtypes.def: DTYPE(id, name, bytes, is_float). */
typedef enum DType {
#define DTYPE(id, name, bytes, is_float, mantissa) DT_##id,
#include "base/dtypes.def"
#undef DTYPE
    DT_COUNT
} DType;

const char *dtype_name(DType t);
int dtype_bytes(DType t);
bool dtype_is_float(DType t);
bool dtype_is_narrow(DType t);  /* a float of 16 or 8 bits: what tensor cores multiply */
double dtype_epsilon(DType t); /* 2^-mantissa bits; 0 for integers */
bool dtype_parse(const char *name, DType *t); /* accepts fp16/half/f16, bf16/bfloat16, ... */
/* Rounds to nearest even, as the hardware's cvt.rn does; overflow gives infinity. */
uint16_t f32_to_f16(float x);
float f16_to_f32(uint16_t x);
uint16_t f32_to_bf16(float x);
float bf16_to_f32(uint16_t x);
/* The same for 8 bits, but overflow gives the largest number, as cvt.satfinite does. */
uint8_t f32_to_e4m3(float x);
float e4m3_to_f32(uint8_t x);
uint8_t f32_to_e5m2(float x);
float e5m2_to_f32(uint8_t x);
/* One element of memory, by type. */
double dtype_load(DType t, const void *at);
void dtype_store(DType t, void *at, double value); /* double -> float -> t for 16- and 8-bit types */
/* value rounded to t and back */
double dtype_round(DType t, double value);

#endif
