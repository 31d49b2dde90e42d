/* cli.h: the command tw: commands, options, one invocation's state.
 *
 * Vocabulary
 *   command   a row of commands.def; a file cmd_NAME.c each
 *   option    a row of options.def; a command says which ones it takes
 *   session   one run of the program: memory, options, diagnostics
 *
 * Only this folder prints, and only main() exits.
 */
#ifndef TW_CLI_H
#define TW_CLI_H

#include "affine/aff.h"
#include "base/base.h"
#include "data/tensor.h"
#include "model/model.h"
#include "target/target.h"
#include "tilewright.h"

/* What the process returns. */
enum { EXIT_DONE = 0, EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_LACKS = 3, EXIT_STOPPED = 130 /* as of a program that Ctrl-C ends */ };

/* ---- options ------------------------------------------------------------------ */

/* One row an option in options.def: OPTION(id, long, short, argument, help). */
typedef enum OptionId {
#define OPTION(id, name, letter, argument, help) OPT_##id,
#include "cli/options.def"
#undef OPTION
    OPT_COUNT
} OptionId;

/* A command's options as a set of bits. */
#define OPT(id) (UINT64_C(1) << OPT_##id)

/* Of what may be left to circumstances: colour, cubins. */
typedef enum When { WHEN_AUTO, WHEN_ALWAYS, WHEN_NEVER } When;

typedef struct Options {
    VEC(const char *) sets;   /* --set: NAME=VALUE, compiled in */
    VEC(const char *) binds;  /* --bind: NAME=VALUE, given at launch */
    VEC(const char *) files;  /* what is left on the command line */
    VEC(const char *) from;   /* --from: recorded results */
    const char *html;         /* --html; NULL: no page */
    bool has_dtype;
    DType dtype;
    const Target *target;
    bool has_target; /* it was given */
    const char *output;       /* NULL: standard output */
    bool json, explain, help, trial, ptxas, fragment, all, fix, dry_run, no_sandbox;
    When colour, cubin;
    uint64_t seed;
    const char *ptxas_path;   /* NULL: the one at hand */
    const char *dump, *against, *cutlass;
    bool has_data;
    FillKind data;
    bool has_rounds;
    int rounds;
    double bound;
    const char *base_url, *key_file; /* of a model; NULL: its provider's, the environment's */
    int max_tokens;           /* of its answers; 0: the provider's bound */
    bool has_temperature, has_price;
    double temperature, price_in, price_out;
    ModelPurse purse;         /* of all models */
    double time;              /* seconds of a search */
    int top, jobs;            /* choices to try; processes, 0: one a core */
    bool regret, list, forget, tuned;
    double steps;             /* of an execution on the CPU; 0: any number */
    VEC(const char *) models; /* --model; where one is wanted the last one counts */
    const char *modes;        /* NULL: all */
    const char *sketch_by, *reason_by, *translate_by; /* NULL: built in */
    const char *transcript;   /* NULL: a folder beside the output */
} Options;

/* ---- a session ----------------------------------------------------------------- */

typedef struct Session {
    Heap heap;
    Arena *arena;
    Syms *syms;
    AffCtx *aff;
    Diags *diags;      /* of everything that this invocation reads */
    Options options;
    const char *command; /* its name; NULL: none yet */
    bool colour_err;     /* diagnostics in colour */
    bool colour_out;
    double started;
    bool progress;     /* a progress line stands on the terminal */
} Session;

typedef struct Command {
    const char *name;
    const char *summary;   /* one line, for the list */
    const char *arguments; /* "[FILE.tl]" */
    uint64_t options;      /* OPT() bits; --help and --color go without saying */
    int max_files;
    const char *help;      /* a paragraph and an example */
    int (*run)(Session *s);
} Command;

/* All commands, ended by a row without a name. */
extern const Command commands[];

/* Parses what follows the command's name. False: a usage error was printed. */
bool options_parse(Session *s, const Command *command, int argc, char **argv);
/* The options that a command takes, for its help. */
void options_help(Str *out, uint64_t options);

/* ---- reading and writing -------------------------------------------------------- */

/* The i-th file of the command line, or standard input. NULL: said why. */
Source *session_read(Session *s, int file);
Source *session_read_path(Session *s, const char *path);
/* Writes to -o FILE or standard output; the exit status. */
int session_write(Session *s, const char *text, size_t len);
/* A result that is one text: as it is, or with --json as that member. */
int session_write_text(Session *s, const char *member, Str *text);
/* A JSON object that is open yet: with the warnings, as its last member. */
int session_write_json(Session *s, Str *object);
int session_write_path(Session *s, const char *path, const char *text, size_t len);
/* Prints the diagnostics (as JSON on standard output with --json) when there
 * are any; EXIT_WRONG when one is an error. */
int session_diagnose(Session *s);
/* A usage error: prints it with a hint to the command's help. */
int session_usage(Session *s, const char *fmt, ...) TW_PRINTF(2, 3);
/* Something else went wrong: prints it (as JSON with --json); returns status. */
int session_fail(Session *s, int status, const char *fmt, ...) TW_PRINTF(3, 4);
/* Something that the user should know; the command goes on. */
void session_warn(Session *s, const char *fmt, ...) TW_PRINTF(2, 3);
/* Says what is being done, once two seconds have passed, on a terminal. */
void session_progress(Session *s, const char *fmt, ...) TW_PRINTF(2, 3);
void session_progress_end(Session *s);

/* Drops what an execution allocated; only its complaint stays. */
void session_drop(Session *s, Arena *arena, const char **error);

/* ---- text ------------------------------------------------------------------------ */

/* The name that a bounded number of typing errors away stands in a list. */
const char *nearest_name(const char *name, const char *const *names, int n);
/* Whether a word of the command line is a text, typed there, and not a name: it has a space, and more. */
bool has_words(const char *word);
/* A title for a part of what is printed; bold on a terminal. */
void put_title(Session *s, Str *out, const char *title);

/* ---- the commands ------------------------------------------------------------------ */

#define COMMAND(id, summary, arguments, options, files, help) int cmd_##id(Session *s);
#include "cli/commands.def"
#undef COMMAND

#endif
