/* eval.h: expressions of TL to symbolic integers and to numbers.
 *
 * Shapes, coordinates, bounds and conditions are integers over dimensions, grid
 * coordinates and loop counters (Aff); a scale or an epsilon is a number known
 * when compiling. An environment says what names mean; the innermost binding
 * of a name wins, and a scope ends by going back to an earlier length:
 *
 *   int mark = eval_mark(&env);
 *   eval_bind(&env, "j", aff_of(ctx, j));
 *   ...
 *   eval_reset(&env, mark);
 */
#ifndef TW_LANG_EVAL_H
#define TW_LANG_EVAL_H

#include "affine/aff.h"
#include "lang/lang.h"

typedef struct EvalName {
    const char *name;
    const Aff *aff;   /* NULL: not an integer */
    bool has_number;
    double number;    /* its value as a number, when known */
    unsigned hash;    /* of the name */
    int below;        /* the entry before it whose hash falls together; -1: none */
} EvalName;

typedef struct EvalEnv {
    Arena *arena;
    AffCtx *aff;
    VEC(EvalName) names;
    int *heads, n_heads; /* the last entry of each chain; -1: none */
    bool round_division; /* `a / b` is taken as whole, whatever b is */
    /* Each may be NULL. The integer that an unbound name, a call that is no
     * built-in function (row(S), col(S)) or an element (Seg[b, i]) stands for;
     * NULL when there is none: then eval_aff says so, unless the callback
     * recorded a diagnostic itself. */
    const Aff *(*unknown)(void *user, const Expr *name, Diags *diags);
    const Aff *(*call)(void *user, const Expr *call, Diags *diags);
    const Aff *(*element)(void *user, const Expr *index, Diags *diags);
    void *user;
} EvalEnv;

void eval_init(EvalEnv *env, Arena *arena, AffCtx *aff);
void eval_bind(EvalEnv *env, const char *name, const Aff *value);
void eval_bind_number(EvalEnv *env, const char *name, double value);
void eval_bind_unknown(EvalEnv *env, const char *name); /* it has a value, but nothing is known of it */
/* The i-th coordinate of the grid, under the name that CUDA has for it. */
void eval_bind_block(EvalEnv *env, int i, const Aff *value);
const EvalName *eval_find(const EvalEnv *env, const char *name); /* NULL: unbound */
int eval_mark(const EvalEnv *env);
void eval_reset(EvalEnv *env, int mark);

/* The integer or condition (0 or 1) that e means; never poison. NULL when it
 * means none: then diagnostics were recorded, unless diags is NULL. `a / b` is
 * an integer where b divides a for all values, and within ceil() and floor(). */
const Aff *eval_aff(EvalEnv *env, const Expr *e, Diags *diags);

/* The number that e is known to be when compiling; records nothing. */
bool eval_float(EvalEnv *env, const Expr *e, double *value);

/* `name = e`: binds the integer, the number, or both. False when e is neither:
 * then diagnostics were recorded, unless diags is NULL. */
bool eval_assign(EvalEnv *env, const char *name, const Expr *e, Diags *diags);

/* The bound name most like `name`, or NULL. */
const char *eval_nearest(const EvalEnv *env, const char *name);

/* Whether numbers are made by a function of this name. */
bool eval_has_function(const char *name);

#endif
