/* tilewright.h: the public C interface of libtilewright.
 *
 * From an operator's definition in TL to a GPU kernel as PTX text, in memory:
 *
 *     tw_options options = {.target = "sm_80", .dtype = "bf16"};
 *     const char *sets[] = {"HeadDim=128", "q_heads=32", "kv_heads=8"};
 *     options.settings = sets, options.n_settings = 3;
 *     tw_kernel *k = tw_generate(definition, &options);
 *     if (!tw_ok(k))
 *         fputs(tw_messages(k), stderr);
 *     else
 *         load(tw_text(k, TW_PTX));
 *     tw_free(k);
 *
 * The library keeps no state, never prints, never exits, and may be used from
 * several threads at once, each with kernels of its own. How the kernel is
 * launched stands in TW_ABI (JSON) and TW_HEADER (C). Link with -ltilewright
 * -ljansson -lm -ldl.
 */
#ifndef TILEWRIGHT_H
#define TILEWRIGHT_H

#ifdef __cplusplus
extern "C" {
#endif

#define TW_VERSION "0.1.0"

/* The version of the library that is linked: TW_VERSION when it was built. */
const char *tw_version(void);

typedef struct tw_options {
    const char *target;          /* "sm_80" when NULL; "sm_80:sms=20,shared_per_block=48k" is one with other numbers */
    const char *dtype;           /* of tensors that name none; "bf16" when NULL */
    const char *const *settings; /* "NAME=VALUE": dimensions and parameters to compile in */
    int n_settings;
} tw_options;

/* The result of one generation: its artefacts, or what went wrong. */
typedef struct tw_kernel tw_kernel;

/* Never NULL, except when not even that much memory is left. */
tw_kernel *tw_generate(const char *definition, const tw_options *options);
void tw_free(tw_kernel *kernel); /* NULL is fine */

/* 1 when the kernel was made. */
int tw_ok(const tw_kernel *kernel);
/* Diagnostics as a person reads them; "" when there are none. */
const char *tw_messages(const tw_kernel *kernel);
/* The same as a JSON array. */
const char *tw_messages_json(const tw_kernel *kernel);

typedef enum tw_artefact {
    TW_SKETCH, /* TL: the flow through the GPU */
    TW_CODE,   /* TL: with every parameter */
    TW_PTX,    /* the kernel */
    TW_ABI,    /* JSON: how to launch it */
    TW_HEADER  /* the same as a C header */
} tw_artefact;

/* The text of an artefact, which lives as long as the kernel; NULL when the
 * chain did not get that far. */
const char *tw_text(const tw_kernel *kernel, tw_artefact artefact);
const char *tw_name(const tw_kernel *kernel);

#ifdef __cplusplus
}
#endif

#endif
