/* options.c: the command line after the command's name. */
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

typedef struct OptionInfo {
    const char *name;
    char letter;
    const char *argument;
    const char *help;
} OptionInfo;

static const OptionInfo infos[OPT_COUNT] = {
#define OPTION(id, name, letter, argument, help) {name, letter, argument, help},
#include "cli/options.def"
#undef OPTION
};

/* getopt_long returns this plus the option's id for long names. */
enum { LONG_BASE = 256 };

static int argument_kind(const OptionInfo *info)
{
    return !info->argument ? no_argument : *info->argument == '[' ? optional_argument : required_argument;
}

static void make_tables(uint64_t wanted, struct option *longs, char *letters)
{
    int n = 0;

    *letters++ = ':'; /* a missing argument is told from an unknown option */
    for (int i = 0; i < OPT_COUNT; i++) {
        const OptionInfo *info = &infos[i];

        if (!(wanted & UINT64_C(1) << i))
            continue;
        longs[n++] = (struct option){info->name, argument_kind(info), NULL, LONG_BASE + i};
        if (!info->letter)
            continue;
        *letters++ = info->letter;
        if (info->argument)
            *letters++ = ':';
    }
    longs[n] = (struct option){0};
    *letters = '\0';
}

static OptionId option_of(int code)
{
    for (int i = 0; i < OPT_COUNT; i++)
        if (code == LONG_BASE + i || (infos[i].letter && code == infos[i].letter))
            return (OptionId)i;
    return OPT_COUNT;
}

static bool bad_value(Session *s, OptionId id, const char *value, const char *wanted)
{
    session_usage(s, "--%s '%s': %s", infos[id].name, value, wanted);
    return false;
}

/* A whole number within [least, most]. */
static bool read_integer(const char *text, long long least, long long most, long long *value)
{
    char *end;

    errno = 0;
    *value = strtoll(text, &end, 0);
    return end != text && !*end && errno == 0 && *value >= least && *value <= most;
}

static bool read_when(Session *s, OptionId id, const char *value, When *when)
{
    static const char *const names[] = {"auto", "always", "never"};

    for (size_t i = 0; i < TW_COUNT(names); i++) {
        if (strcmp(value, names[i]) == 0) {
            *when = (When)i;
            return true;
        }
    }
    return bad_value(s, id, value, "neither auto, always nor never");
}

/* The number of an architecture, of `sm_90`, `sm90` or `compute_90`; 0: none, or another. */
static long architecture_of(const char *name)
{
    const char *digits = name + strcspn(name, "0123456789");
    bool named = digits == name || strncmp(name, "sm", 2) == 0 || strncmp(name, "compute", 7) == 0;

    return named ? strtol(digits, NULL, 10) : 0;
}

/* Whether the words say the GPU, in whatever case: "H100, H200 (Hopper)". */
static bool says(const char *words, const char *gpu)
{
    for (size_t n; *words; words += n) {
        char word[16];

        words += strcspn(words, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        n = strspn(words, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        if (text_equal_nocase(word, gpu))
            return true;
    }
    return false;
}

/* The target of that number, or of a GPU that is called so; NULL: none. */
static const char *target_meant(const char *value)
{
    long number = architecture_of(value);

    for (const Target *const *t = target_all(); *t; t++)
        if ((number && architecture_of((*t)->name) == number) || (*value && says((*t)->summary, value)))
            return (*t)->name;
    return NULL;
}

/* The newest target of a lower number whose kernels newer GPUs run, too: those behind whose number a letter stands do not.
 * NULL: there is none. */
static const char *target_before(const char *value)
{
    const char *before = NULL;
    long number = architecture_of(value);

    for (const Target *const *t = target_all(); *t; t++) {
        const char *name = (*t)->name;
        bool newer_run = name[strspn(name, "sm_0123456789")] == '\0';

        if (newer_run && architecture_of(name) < number)
            before = name;
    }
    return before;
}

static bool read_target(Session *s, const char *value)
{
    const char *names[32];
    const char *near, *before, *error;
    int n = 0;

    s->options.target = target_described(s->arena, value, &error);
    s->options.has_target = true;
    if (s->options.target)
        return true;
    if (error)
        return bad_value(s, OPT_TARGET, value, error);
    for (const Target *const *t = target_all(); *t && n < (int)TW_COUNT(names); t++)
        names[n++] = (*t)->name;
    near = target_meant(value);
    before = near ? NULL : target_before(value);
    if (before)
        return bad_value(s, OPT_TARGET, value, arena_printf(s->arena, "no such target; did you mean '%s'? Newer GPUs run its kernels, too", before));
    if (!near)
        near = nearest_name(value, names, n);
    return bad_value(s, OPT_TARGET, value,
                     near ? arena_printf(s->arena, "no such target; did you mean '%s'?", near)
                          : "no such target; 'tw targets' lists them");
}

static bool read_data(Session *s, const char *value)
{
    s->options.has_data = fill_parse(value, &s->options.data);
    if (!s->options.has_data) {
        Str kinds = str_new(s->arena);

        for (int i = 0; i < FILL_COUNT; i++)
            str_printf(&kinds, "%s%s", i ? ", " : "not one of ", fill_name((FillKind)i));
        return bad_value(s, OPT_DATA, value, str_text(&kinds));
    }
    return true;
}

static bool read_seed(Session *s, const char *value)
{
    long long n;

    if (!read_integer(value, 0, LLONG_MAX, &n))
        return bad_value(s, OPT_SEED, value, "not a whole number from 0 up");
    s->options.seed = (uint64_t)n;
    return true;
}

static bool read_rounds(Session *s, const char *value)
{
    long long n;

    if (!read_integer(value, 1, 100000, &n))
        return bad_value(s, OPT_ROUNDS, value, "not a whole number from 1 to 100000");
    s->options.rounds = (int)n;
    s->options.has_rounds = true;
    return true;
}

static bool read_count(Session *s, OptionId id, const char *value, int most, int *count)
{
    long long n;

    if (!read_integer(value, 1, most, &n))
        return bad_value(s, id, value, arena_printf(s->arena, "not a whole number from 1 to %d", most));
    *count = (int)n;
    return true;
}

static bool read_time(Session *s, const char *value)
{
    char *end;

    s->options.time = strtod(value, &end);
    if (end == value || *end || !(s->options.time > 0) || s->options.time > 86400)
        return bad_value(s, OPT_TIME, value, "not a number of seconds");
    return true;
}

static bool read_bound(Session *s, const char *value)
{
    char *end;

    s->options.bound = strtod(value, &end);
    if (end == value || *end || !(s->options.bound > 0) || isinf(s->options.bound))
        return bad_value(s, OPT_BOUND, value, "not a positive number");
    return true;
}

static bool read_steps(Session *s, const char *value)
{
    char *end;

    s->options.steps = strtod(value, &end);
    if (end == value || *end || !(s->options.steps >= 0) || isinf(s->options.steps))
        return bad_value(s, OPT_STEPS, value, "not a number from 0 up");
    return true;
}

/* ---- models ------------------------------------------------------------------------------ */

/* A number from 0 up, and what stands behind it. */
static bool read_amount(const char *text, double *value, const char **rest)
{
    char *end;

    *value = strtod(text, &end);
    *rest = end;
    return end != text && *value >= 0 && !isinf(*value);
}

static bool read_max_tokens(Session *s, const char *value)
{
    long long n;

    if (!read_integer(value, 1, INT_MAX, &n))
        return bad_value(s, OPT_MAX_TOKENS, value, "not a whole number from 1 up");
    s->options.max_tokens = (int)n;
    return true;
}

static bool read_temperature(Session *s, const char *value)
{
    const char *rest;

    s->options.has_temperature = read_amount(value, &s->options.temperature, &rest) && !*rest;
    return s->options.has_temperature || bad_value(s, OPT_TEMPERATURE, value, "not a number from 0 up");
}

/* Of dollars and of tokens there may be a bound each. */
static bool read_budget(Session *s, const char *value)
{
    const char *rest;
    double amount;
    bool is_amount = read_amount(value, &amount, &rest) && amount > 0;

    if (is_amount && !*rest)
        s->options.purse.most_money = amount;
    else if (is_amount && strcmp(rest, "t") == 0 && amount >= 1 && amount < 1e15)
        s->options.purse.most_tokens = (int64_t)amount;
    else
        return bad_value(s, OPT_BUDGET, value, "neither dollars (2.5) nor tokens (500000t)");
    return true;
}

static bool read_price(Session *s, const char *value)
{
    Options *o = &s->options;
    const char *rest;

    o->has_price = read_amount(value, &o->price_in, &rest) && *rest == '/' &&
                   read_amount(rest + 1, &o->price_out, &rest) && !*rest;
    return o->has_price || bad_value(s, OPT_PRICE, value, "not two prices of a million tokens, read and written: 0.3/1.2");
}

static bool take(Session *s, OptionId id, const char *value)
{
    Options *o = &s->options;

    switch (id) {
    case OPT_SET: vec_push(s->arena, &o->sets, value); return true;
    case OPT_BIND: vec_push(s->arena, &o->binds, value); return true;
    case OPT_DTYPE:
        o->has_dtype = dtype_parse(value, &o->dtype);
        return o->has_dtype || bad_value(s, id, value, "not an element type");
    case OPT_TARGET: return read_target(s, value);
    case OPT_OUTPUT:
        o->output = value;
        return *value || bad_value(s, id, value, "not the name of a file");
    case OPT_DUMP: o->dump = value; return true;
    case OPT_AGAINST: o->against = value; return true;
    case OPT_TO:
        return strcmp(value, "cute") == 0 || bad_value(s, id, value, "there is only cute");
    case OPT_CUTLASS: o->cutlass = value; return true;
    case OPT_TRIAL: o->trial = true; return true;
    case OPT_PTXAS:
        o->ptxas = true;
        o->ptxas_path = value;
        return !value || *value || bad_value(s, id, value, "not the name of a program");
    case OPT_EXPLAIN: o->explain = true; return true;
    case OPT_FRAGMENT: o->fragment = true; return true;
    case OPT_FIX: o->fix = true; return true;
    case OPT_DRY_RUN: o->dry_run = true; return true;
    case OPT_ALL: o->all = true; return true;
    case OPT_DATA: return read_data(s, value);
    case OPT_SEED: return read_seed(s, value);
    case OPT_STEPS: return read_steps(s, value);
    case OPT_BOUND: return read_bound(s, value);
    case OPT_ROUNDS: return read_rounds(s, value);
    case OPT_BASE_URL: o->base_url = value; return true;
    case OPT_KEY_FILE: o->key_file = value; return true;
    case OPT_MAX_TOKENS: return read_max_tokens(s, value);
    case OPT_TEMPERATURE: return read_temperature(s, value);
    case OPT_BUDGET: return read_budget(s, value);
    case OPT_PRICE: return read_price(s, value);
    case OPT_MODEL: vec_push(s->arena, &o->models, value); return true;
    case OPT_MODE: o->modes = value; return true;
    case OPT_SKETCH_BY: o->sketch_by = value; return true;
    case OPT_REASON_BY: o->reason_by = value; return true;
    case OPT_TRANSLATE_BY: o->translate_by = value; return true;
    case OPT_NO_SANDBOX: o->no_sandbox = true; return true;
    case OPT_TRANSCRIPT:
        o->transcript = value;
        return *value || bad_value(s, id, value, "not the name of a folder");
    case OPT_TIME: return read_time(s, value);
    case OPT_TOP: return read_count(s, id, value, 1000, &o->top);
    case OPT_JOBS: return read_count(s, id, value, 64, &o->jobs);
    case OPT_REGRET: o->regret = true; return true;
    case OPT_LIST: o->list = true; return true;
    case OPT_FORGET: o->forget = true; return true;
    case OPT_TUNED: o->tuned = true; return true;
    case OPT_FROM: vec_push(s->arena, &o->from, value); return true;
    case OPT_HTML:
        o->html = value;
        return *value || bad_value(s, id, value, "not the name of a file");
    case OPT_JSON: o->json = true; return true;
    case OPT_CUBIN: return read_when(s, id, value, &o->cubin);
    case OPT_COLOUR: return read_when(s, id, value, &o->colour);
    case OPT_HELP: o->help = true; return true;
    case OPT_COUNT: break;
    }
    return false;
}

/* What getopt_long stumbled over, as the user typed it. */
static bool complain(Session *s, int code, uint64_t wanted, const char *word)
{
    const char *names[OPT_COUNT];
    char written[64];
    const char *near;
    int n = 0;

    for (int i = 0; i < OPT_COUNT; i++)
        if (wanted & UINT64_C(1) << i)
            names[n++] = infos[i].name;
    if (strncmp(word, "--", 2) != 0 || code == ':') {
        if (code == ':')
            session_usage(s, "option '%s' wants an argument", word);
        else
            session_usage(s, "unknown option '-%c'", optopt);
        return false;
    }
    snprintf(written, sizeof written, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    near = nearest_name(written, names, n);
    for (int i = 0; i < OPT_COUNT; i++) {
        if (strcmp(infos[i].name, written) == 0) {
            session_usage(s, wanted & UINT64_C(1) << i ? "option '--%s' takes no argument"
                                              : "this command takes no option '--%s'", written);
            return false;
        }
    }
    if (near)
        session_usage(s, "unknown option '--%s'; did you mean '--%s'?", written, near);
    else
        session_usage(s, "unknown or ambiguous option '--%s'", written);
    return false;
}

bool options_parse(Session *s, const Command *command, int argc, char **argv)
{
    uint64_t wanted = command->options | OPT(COLOUR) | OPT(HELP);
    struct option longs[OPT_COUNT + 1];
    char letters[2 * OPT_COUNT + 2];
    int code;

    make_tables(wanted, longs, letters);
    opterr = 0;
    optind = 1;
    while ((code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (code == '?' || code == ':')
            return complain(s, code, wanted, argv[optind > 1 ? optind - 1 : 1]);
        if (!take(s, option_of(code), optarg))
            return false;
    }
    while (optind < argc)
        vec_push(s->arena, &s->options.files, argv[optind++]);
    if (s->options.files.len > command->max_files && !s->options.help) {
        session_usage(s, command->max_files ? "too many files: '%s'" : "unexpected argument '%s'",
                      s->options.files.data[command->max_files]);
        return false;
    }
    return true;
}

void options_help(Str *out, uint64_t options)
{
    options |= OPT(COLOUR) | OPT(HELP);
    for (int i = 0; i < OPT_COUNT; i++) {
        const OptionInfo *info = &infos[i];
        char left[64];

        if (!(options & UINT64_C(1) << i))
            continue;
        if (argument_kind(info) == optional_argument)
            snprintf(left, sizeof left, "--%s[=%s", info->name, info->argument + 1);
        else
            snprintf(left, sizeof left, "--%s%s%s", info->name, info->argument ? "=" : "",
                     info->argument ? info->argument : "");
        if (info->letter)
            str_printf(out, "  -%c, %-18s %s\n", info->letter, left, info->help);
        else
            str_printf(out, "      %-18s %s\n", left, info->help);
    }
}
