/* capacity.c: whether the tiles fit into the shared memory and the registers of
 * the target; and if not, how large they may be.
 *
 * Every shared tile counts from the kernel's begin to its end. Of registers the
 * least is counted that must be there at once: what is accumulated over a loop,
 * and the largest other tile that a loop works with; or the largest of all.
 */
#include "check/walk.h"

enum {
    DEFAULT_WARPS = 4,
    LANES = 32,
    MOST_WARPS = 32,
    ATOM_ROWS = 16, /* that a warp has of a tile at least (PTX ISA, mma.m16n8k*) */
    OTHER_REGISTERS = 24 /* a thread's addresses, counters and operands in flight, at least */
};

/* ---- sizes ------------------------------------------------------------------------------- */

static int64_t place_elements(const Place *p)
{
    int64_t n = 1, v;
    for (int i = 0; i < p->rank; i++)
        if (!p->dims[i].size || !aff_is_const(p->dims[i].size, &v) ||
            __builtin_mul_overflow(n, v, &n))
            return -1;
    return n;
}

static int place_bytes(const Checker *c, const Named *t, const Place *p)
{
    const Settings *settings = c->options->settings;
    if (p->has_dtype)
        return dtype_bytes(p->dtype);
    if (t->origin && t->origin->has_dtype && !t->places[SPACE_GLOBAL].exists)
        return dtype_bytes(t->origin->dtype);
    if (t->places[SPACE_GLOBAL].exists && t->places[SPACE_GLOBAL].has_dtype)
        return dtype_bytes(t->places[SPACE_GLOBAL].dtype);
    return settings ? dtype_bytes(settings->dtype) : 2;
}

/* Bytes of all shared tiles; -1 when some size is unknown or too large to count. */
static int64_t shared_need(const Checker *c)
{
    int64_t sum = 0, bytes;
    for (int i = 0; i < c->tensors.len; i++) {
        const Named *t = c->tensors.data[i];
        const Place *p = &t->places[SPACE_SHARED];
        if (!p->exists || p->given)
            continue;
        int64_t n = place_elements(p);
        if (n < 0 || __builtin_mul_overflow(n, place_bytes(c, t, p), &bytes) ||
            __builtin_add_overflow(sum, bytes, &sum))
            return -1;
    }
    return sum;
}

/* ---- the largest tile that fits ------------------------------------------------------------- */

/* Whether what a checker knows of sizes fits where another knows how tiles are used. */
typedef bool Fits(Checker *c, const Checker *sizes);

static bool shared_fits(Checker *c, const Checker *sizes)
{
    int64_t need = shared_need(sizes);
    return need >= 0 && need <= c->options->target->shared_per_block;
}

/* The same unit with one assigned number changed, its allocations walked again. */
static bool fits_with(Checker *c, Fits *fits, const Stmt *assign, int64_t value)
{
    Diags *quiet = diags_new(c->arena, c->program->source);
    Checker *trial = arena_new_of(c->arena, Checker);
    *trial = (Checker){.arena = c->arena,
                       .syms = c->syms,
                       .aff = c->aff,
                       .program = c->program,
                       .unit = c->unit,
                       .options = c->options,
                       .diags = quiet,
                       .loose = true};
    Stmt changed = *assign;
    Block body = c->unit->body;
    changed.value = expr_int(c->arena, value);
    body.data = arena_array(c->arena, Stmt *, body.len);
    for (int i = 0; i < body.len; i++)
        body.data[i] = c->unit->body.data[i] == assign ? &changed : c->unit->body.data[i];
    values_start(trial);
    values_declare(trial, &body);
    for (int i = 0; i < body.len; i++)
        if (body.data[i]->kind == STMT_ALLOCATE)
            names_allocate(trial, body.data[i]);
    return fits(c, trial) && quiet->errors == 0;
}

/* Each trial declares all names again: so many for a unit of so many statements. */
static int trials_of(const Unit *unit)
{
    enum { MOST_DECLARED = 1 << 16 };

    return MOST_DECLARED / (unit->body.len + 1);
}

/* The largest number below the assigned one with which all fits; 0: none, or no trial is left. */
static int64_t largest_that_fits(Checker *c, Fits *fits, const Stmt *s, int *trials)
{
    for (int64_t value = (s->value->i - 1) / 16 * 16; value >= 16 && (*trials)-- > 0; value = value / 2 / 16 * 16)
        if (fits_with(c, fits, s, value)) {
            while (value + 16 < s->value->i && (*trials)-- > 0 && fits_with(c, fits, s, value + 16))
                value += 16;
            return value;
        }
    return 0;
}

/* A smaller number for one of the assigned sizes with which all fits: the one
 * that changes least. */
static const Stmt *smaller_size(Checker *c, Fits *fits, int64_t *value)
{
    const Stmt *best = NULL;
    int trials = trials_of(c->unit);
    Block sizes = check_tile_sizes(c->arena, c->unit);
    for (int i = 0; i < sizes.len && trials > 0; i++) {
        const Stmt *s = sizes.data[i];
        int64_t v;
        if (s->value->i < 32 || !(v = largest_that_fits(c, fits, s, &trials)) ||
            (best && v * best->value->i <= *value * s->value->i))
            continue;
        best = s;
        *value = v;
    }
    return best;
}

static const Place *largest_shared(const Checker *c, const Named **tensor)
{
    const Place *largest = NULL;
    int64_t most = -1;
    for (int i = 0; i < c->tensors.len; i++) {
        const Place *p = &c->tensors.data[i]->places[SPACE_SHARED];
        int64_t bytes =
            p->exists && !p->given ? place_elements(p) * place_bytes(c, c->tensors.data[i], p) : -1;
        if (bytes > most) {
            most = bytes;
            largest = p;
            *tensor = c->tensors.data[i];
        }
    }
    return largest;
}

/* Sizes are numbers: of how many rows the largest tile might be. */
static void note_rows(Checker *c, Diag *d, const Named *tensor, const Place *p, int64_t need)
{
    int64_t bytes = place_elements(p) * place_bytes(c, tensor, p), rows = 0;
    int64_t room = c->options->target->shared_per_block - (need - bytes);
    if (p->rank >= 2 && aff_is_const(p->dims[p->rank - 2].size, &rows) && rows > 0 && room > 0)
        rows = room / (bytes / rows) / 16 * 16;
    else
        rows = 0;
    diag_note(c->diags, d, rows > 0 ? "'%s' is the largest of them; with %lld rows it would fit"
                                    : "'%s' is the largest of them", tensor->name, (long long)rows);
}

static void check_shared(Checker *c)
{
    const Named *tensor = NULL;
    const Target *t = c->options->target;
    int64_t need = shared_need(c), value;
    if (need < 0 || need <= t->shared_per_block)
        return;
    const Place *largest = largest_shared(c, &tensor);
    Diag *d = diag_add(c->diags, TW0460, largest->span,
                       "the shared tiles take %lld bytes; a block on %s has %d", (long long)need,
                       t->name, t->shared_per_block);
    const Stmt *assign = smaller_size(c, shared_fits, &value);
    if (!assign) {
        note_rows(c, d, tensor, largest, need);
        return;
    }
    diag_note(c->diags, d, "%s = %lld fits", assign->name, (long long)value);
    diag_fix(c->diags, d, assign->value->span, arena_printf(c->arena, "%lld", (long long)value),
             "the largest that fits");
}

/* ---- registers
 * ------------------------------------------------------------------------------------ */

/* A line of the unit's schedule, or NULL. */
static const Stmt *schedule_line(const Checker *c, const char *name)
{
    for (int i = 0; c->schedule && i < c->schedule->body.len; i++) {
        const Stmt *line = c->schedule->body.data[i];
        if (line->kind == STMT_ASSIGN && text_equal_nocase(line->name, name))
            return line;
    }
    return NULL;
}

/* What --set says of code by hand, of this kernel perhaps; NULL: nothing. */
static const Setting *forced_number(const Checker *c, const char *name)
{
    const Setting *own = settings_find(c->options->settings, arena_printf(c->arena, "%s.%s", c->unit->name, name));
    return own ? own : settings_find(c->options->settings, name);
}

static int schedule_number(Checker *c, const char *name, int otherwise)
{
    int64_t v;
    const Setting *forced = c->options->settings && c->options->settings->by_hand && c->unit->name ? forced_number(c, name) : NULL;
    if (forced && forced->value >= 1 && forced->value <= 64)
        return (int)forced->value;
    const Stmt *line = schedule_line(c, name);
    const Aff *a = line ? eval_aff(&c->env, line->value, NULL) : NULL;
    return a && aff_is_const(a, &v) && v > 0 && v <= 64 ? (int)v : otherwise;
}

/* Gives the schedule that many warps, some of them side by side, wherever that has to be written. */
static void suggest_warps(Checker *c, Diag *d, int warps, int warps_n)
{
    const Stmt *line = schedule_line(c, "warps"), *schedule = c->schedule;
    const char *label = "spread the tiles over more warps", *beside = "";
    int end = c->unit->end;
    if (warps_n > 1)
        beside = arena_printf(c->arena, "\n    warps_n = %d", warps_n);
    if (line)
        diag_fix(c->diags, d, line->value->span, arena_printf(c->arena, "%d%s", warps, beside), label);
    else if (schedule)
        diag_fix(c->diags, d, (Span){schedule->span.end, schedule->span.end},
                 arena_printf(c->arena, "\n    warps = %d%s", warps, beside), label);
    else
        diag_fix(c->diags, d, (Span){end, end},
                 arena_printf(c->arena, "  Schedule %s\n    warps = %d%s\n  end\n", c->options->target->name, warps, beside),
                 label);
}

/* What the rows of all register tiles that warps share, an atom's at least, are multiples of; 0: there are none. */
static int64_t rows_shared(const Checker *c)
{
    int64_t all = 0, rows;
    for (int i = 0; i < c->tensors.len; i++) {
        const Place *p = &c->tensors.data[i]->places[SPACE_REGISTER];
        if (p->exists && !p->given && p->rank == 2 && p->dims[0].size && aff_is_const(p->dims[0].size, &rows) && rows >= ATOM_ROWS)
            all = common_divisor(rows, all);
    }
    return all;
}

/* How many warps can lie along them, each with an atom's rows: a power of two. */
static int warps_along_rows(const Checker *c)
{
    int64_t atoms = rows_shared(c) / ATOM_ROWS;
    int warps = 1;
    while (warps < MOST_WARPS && atoms && atoms % (warps * 2) == 0)
        warps *= 2;
    return warps;
}

/* The fewest warps that products can have along their rows, of any number that divides them, with registers for so many
 * values; 0: there are none. */
static int warps_with_room(const Checker *c, int64_t values)
{
    int64_t rows = rows_shared(c), room = (int64_t)(c->options->target->regs_per_thread - OTHER_REGISTERS) * LANES;
    if (!rows || schedule_line(c, "warps_n") || !block_computes(&c->unit->body, OPC_GEMM)) return 0;
    for (int warps = 1; warps <= MOST_WARPS; warps++)
        if (values <= room * warps && rows % (warps * ATOM_ROWS) == 0) return warps;
    return 0;
}

/* How many warps products have by themselves, each with an atom's rows. */
static int warps_of_products(const Checker *c, int warps_n)
{
    int64_t rows = rows_shared(c);
    int warps = warps_n > DEFAULT_WARPS ? warps_n : DEFAULT_WARPS;
    while (warps > 1 && warps >= warps_n && (!rows || warps % warps_n != 0 || rows % (warps / warps_n * ATOM_ROWS) != 0))
        warps--;
    return warps;
}

static bool wants_rows(const Block *block);

/* The schedule's, or as many as there are by themselves (lower.c). */
static int warps_of(Checker *c)
{
    if (block_computes(&c->unit->body, OPC_COL_REDUCE) && !schedule_line(c, "warps_n"))
        return schedule_number(c, "warps", wants_rows(&c->unit->body) ? 1 : DEFAULT_WARPS);
    bool multiplies = block_computes(&c->unit->body, OPC_GEMM);
    return schedule_number(c, "warps", multiplies ? warps_of_products(c, schedule_number(c, "warps_n", 1)) : DEFAULT_WARPS);
}

/* Whether a statement wants whole rows in one warp: a softmax, or a product's first operand from
 * registers. What is reduced along rows, warps side by side combine. */
static bool wants_rows(const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        OpClass class = s->kind == STMT_COMPUTE && s->op_known ? op_info(s->op)->class : OPC_ELEMENT;
        if (s->kind == STMT_RESHAPE || class == OPC_SOFTMAX || wants_rows(&s->body) || wants_rows(&s->orelse))
            return true;
    }
    return false;
}

static bool names(const Stmt *s, const char *name)
{
    bool found = (s->name && strcmp(s->name, name) == 0) || expr_mentions(s->dest, name);
    for (int i = 0; i < s->n_args; i++)
        found |= expr_mentions(s->args[i], name);
    for (int i = 0; i < s->n_with; i++)
        found |= expr_mentions(s->with[i], name);
    return found;
}

/* Whether a statement of some loop works with a tile. */
static bool in_loops(const Block *block, const char *name, int loops)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        int inside = loops + (s->kind == STMT_FOR);
        if ((loops > 0 && names(s, name)) || in_loops(&s->body, name, inside) || in_loops(&s->orelse, name, loops))
            return true;
    }
    return false;
}

static const Place *sized_place(const Checker *sizes, const Named *t)
{
    for (int i = 0; i < sizes->tensors.len; i++)
        if (strcmp(sizes->tensors.data[i]->name, t->name) == 0)
            return &sizes->tensors.data[i]->places[SPACE_REGISTER];
    return NULL;
}

/* Register tiles that were accumulated in a loop live all through it, beside those
 * that the loop works with; behind it they may be done with. */
static int64_t register_need(const Checker *c, const Checker *sizes)
{
    int64_t carried = 0, inside = 0, largest = 0;
    for (int i = 0; i < c->tensors.len; i++) {
        const Place *p = &c->tensors.data[i]->places[SPACE_REGISTER], *sized = sized_place(sizes, c->tensors.data[i]);
        int64_t n = p->exists && !p->given && sized ? place_elements(sized) : 0;
        if (n < 0 || n > INT32_MAX)
            return -1;
        if (n > largest)
            largest = n;
        if (p->now.accumulated_depth > 0)
            carried += n;
        else if (n > inside && in_loops(&c->unit->body, c->tensors.data[i]->name, 0))
            inside = n;
    }
    return carried + inside > largest ? carried + inside : largest;
}

static bool registers_fit(Checker *c, const Checker *sizes)
{
    int warps = warps_of(c), warps_n = schedule_number(c, "warps_n", 1);
    int64_t need = register_need(c, sizes), room = c->options->target->regs_per_thread - OTHER_REGISTERS;
    return need >= 0 && need <= room * warps * LANES && warps_along_rows(sizes) * warps_n >= warps;
}

/* Smaller tiles: of the sizes that the code assigns one, else of the largest tile. */
static void suggest_smaller(Checker *c, Diag *d)
{
    int64_t value;
    const Stmt *assign = smaller_size(c, registers_fit, &value);
    if (assign) {
        diag_note(c->diags, d, "%s = %lld fits", assign->name, (long long)value);
        diag_fix(c->diags, d, assign->value->span, arena_printf(c->arena, "%lld", (long long)value), "the largest that fits");
        return;
    }
    int64_t room = (int64_t)(c->options->target->regs_per_thread - OTHER_REGISTERS) * LANES *
                   warps_of(c), most = 0, rows, cols;
    const Named *largest = NULL;
    for (int i = 0; i < c->tensors.len; i++) {
        const Place *p = &c->tensors.data[i]->places[SPACE_REGISTER];
        int64_t n = p->exists && !p->given && p->rank == 2 ? place_elements(p) : 0;
        if (n > most) {
            most = n;
            largest = c->tensors.data[i];
        }
    }
    const Place *p = largest ? &largest->places[SPACE_REGISTER] : NULL;
    int64_t left = room - (register_need(c, c) - most);
    if (!p || !aff_is_const(p->dims[0].size, &rows) || !aff_is_const(p->dims[1].size, &cols) || left / rows < ATOM_ROWS)
        return;
    diag_note(c->diags, d, "'%s' is the largest of them; with %lld columns it would fit: let each block along an axis of the grid "
              "have a part of them", largest->name, (long long)(left / rows / ATOM_ROWS * ATOM_ROWS));
}

static void check_registers(Checker *c)
{
    const Target *t = c->options->target;
    int warps = warps_of(c);
    int64_t need = register_need(c, c), threads = (int64_t)warps * LANES;
    int64_t room = t->regs_per_thread - OTHER_REGISTERS;
    if (need < 0 || need <= room * threads)
        return;
    Diag *d = diag_add(
        c->diags, TW0461, c->unit->name_span,
        "the register tiles take %lld registers a thread with %d warps; on %s a thread has %d",
        (long long)((need + threads - 1) / threads), warps, t->name, t->regs_per_thread);
    int whole = warps_with_room(c, need), more = whole ? whole : 1; /* of others, rows are shared out among a power of two */
    while (more <= MOST_WARPS && need > room * LANES * more)
        more *= 2;
    if (more > MOST_WARPS) {
        diag_note(c->diags, d, "%d warps, as many as a block has, would not be enough: take smaller tiles",
                  MOST_WARPS);
        suggest_smaller(c, d);
        return;
    }
    int along = whole ? whole : warps_along_rows(c);
    if (more > along && (schedule_line(c, "warps_n") || wants_rows(&c->unit->body))) { /* not to be spread further */
        diag_note(c->diags, d, "their rows are shared out among %d warps at most: take smaller tiles", along);
        suggest_smaller(c, d);
        return;
    }
    diag_note(c->diags, d, "with %d warps they would fit, or with smaller tiles", more);
    suggest_warps(c, d, more, more > along ? more / along : 1);
}

void capacity_finish(Checker *c)
{
    if (!c->options->target || c->loose)
        return;
    check_shared(c);
    check_registers(c);
}
