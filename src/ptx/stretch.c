/* stretch.c: tiles in rows to and from memory.
 *
 * A lane's stretch, k neighbours of a row (lay.h, LAY_ROWS), is one access of up to
 * 16 bytes, or several. All that are inside are started before the first is used.
 * Where the tensor's rows may end within a stretch, such ends are done one element
 * at a time behind a branch that is the same for the whole block:
 *
 *   @inside ld.global.v4.b32 {...}, [a];  ...all stretches
 *   rows end between stretches? -> done
 *   first inside but not last? -> its elements, each under its own predicate
 *
 * In shared memory a stretch lies in chunks of 16 bytes, or is half of one.
 */
#include "ptx/stretch.h"

#include "ptx/integer.h"
#include "ptx/window.h"

enum {
    WIDEST = 16, /* bytes of an access (PTX ISA, ld: .v4.b32) */
    TOGETHER = 2 /* stretches between chunks that are loaded at once, by small blocks */
};

typedef struct Stretches {
    const TileOp *op;
    const TileValue *v;
    const int *regs;     /* fp32: a register a value; else words */
    const char **texts;  /* a store's fp32 operands; NULL: regs */
    DType dtype;
    int k, bytes, count; /* values a stretch, bytes a value, stretches */
    const char *corner;
    bool in_window;      /* rows begin within a stretch, too */
    int beside;          /* elements of both neighbours that a stretch is read with */
    const char *start;   /* the multiple of 16 bytes behind which the first begins, */
    const char *bits, *word, *words; /* so many bits of a word; whether one word more, and two */
} Stretches;

bool st_can(Emitter *e, const TileOp *op, const TileValue *v)
{
    const Layout *l = &v->type.layout;
    int bytes = dtype_bytes(op->tensor->dtype);
    if (l->kind != LAY_ROWS || v->type.cols < 2 || !(e->aligned || wn_moves(e, op)) || !cp_is_whole_chunks(e, op)) return false;
    if (op->tensor->dtype == DT_I64) return false;
    return l->k * bytes % 4 == 0 && tile_begins_between(op, l->k);
}

/* Whether the tensor's rows end between stretches: 1, or known at launch. */
static const Aff *ends_between(Emitter *e, const Stretches *s)
{
    AffCtx *aff = e->program->aff;
    const Aff *dim = s->op->tensor->dims[s->op->col_dim];
    if (aff_divisor(dim) % s->k == 0) return aff_const(aff, 1);
    return aff_eq(aff, aff_mod(aff, dim, aff_const(aff, s->k)), aff_const(aff, 0));
}

static Stretches stretches_of(Emitter *e, const TileOp *op, const TileValue *v)
{
    Stretches s = {.op = op, .v = v, .k = v->type.layout.k, .bytes = dtype_bytes(op->tensor->dtype), .dtype = op->tensor->dtype};
    s.count = lay_fragment_values(v->type.layout, v->type.rows, v->type.cols) / s.k;
    s.corner = cp_lane_corner(e, op, v);
    s.in_window = wn_moves(e, op);
    return s;
}

static int words_in(const Stretches *s)
{
    return s->k * s->bytes / 4;
}

static const char *reg_text(Emitter *e, const Stretches *s, int i)
{
    if (s->texts) return s->texts[i];
    return em_name(e, s->dtype == DT_F32 ? REG_F : REG_R, s->regs[i]);
}

/* "{a, b, c, d}" or "a" */
static const char *list(Emitter *e, const Stretches *s, int first, int n)
{
    Str text = str_new(e->arena);
    if (n == 1) return reg_text(e, s, first);
    for (int i = 0; i < n; i++) str_printf(&text, "%s%s", i ? ", " : "{", reg_text(e, s, first + i));
    str_addc(&text, '}');
    return str_text(&text);
}

/* Words of the next access, when `left` are left: a power of two. */
static int access_words(int left)
{
    return left >= WIDEST / 4 ? WIDEST / 4 : left >= 2 ? 2 : 1;
}

static const char *access_type(const Stretches *s, int words)
{
    bool f32 = s->dtype == DT_F32;
    return words == 4 ? f32 ? "v4.f32" : "v4.b32" : words == 2 ? f32 ? "v2.f32" : "v2.b32" : f32 ? "f32" : "b32";
}

/* Whether so many columns are inside, and in a window those beside them. */
static const Aff *all_inside(Emitter *e, const Stretches *s, const Aff *column, int columns)
{
    AffCtx *aff = e->program->aff;
    const Aff *shown = wn_shows_all(e, s->op, aff_offset(aff, column, -s->beside), columns + 2 * s->beside);
    return aff_and(aff, shown, gl_corner_inside(e, s->op));
}

/* Condition under which a stretch is inside as a whole. */
static const Aff *whole_inside(Emitter *e, const Stretches *s, const Place *p, const Aff *ends)
{
    if (s->in_window) return all_inside(e, s, p->col, s->k);
    return cp_inside(e, s->op, s->v, p, aff_always(e->program->aff, ends) ? 1 : s->k);
}

/* The words of a stretch that begins between two chunks, from where the first begins on. */
static void load_shifted(Emitter *e, const Stretches *s, int first, const char *guard, const char *row, int byte)
{
    enum { WORDS = WIDEST / 4 };
    const char *w[2 * WORDS];
    for (int k = 0; k < 2 * WORDS; k++) {
        w[k] = em_new(e, REG_R);
        if (*guard) em(e, "mov.b32 %s, 0;", w[k]);
    }
    for (int k = 0; k < 2 * WORDS; k += WORDS)
        em(e, "%sld.global.v4.b32 {%s, %s, %s, %s}, [%s+%d];", guard, w[k], w[k + 1], w[k + 2], w[k + 3], row, byte + 4 * k);
    for (int step = 2; step > 0; step--)
        for (int k = 0; k < WORDS + step; k++) {
            const char *next = em_new(e, REG_R);
            em(e, "selp.b32 %s, %s, %s, %s;", next, w[k + step], w[k], step == 2 ? s->words : s->word);
            w[k] = next;
        }
    for (int k = 0; k < WORDS; k++) em(e, "shf.r.wrap.b32 %s, %s, %s, %s;", reg_text(e, s, first + k), w[k], w[k + 1], s->bits);
}

static void move_stretch(Emitter *e, const Stretches *s, int i, const Aff *ends, bool load, RowAddress *last)
{
    Place p = cp_place(e, s->v, i * s->k);
    const Aff *inside = whole_inside(e, s, &p, ends);
    const char *row = cp_row_address(e, s->op, s->beside ? s->start : s->corner, &p, last), *guard = "";
    int words = words_in(s), first = i * words;
    if (!aff_always(e->program->aff, inside)) {
        for (int w = 0; load && !s->beside && w < words; w++) em(e, "mov.b32 %s, 0;", reg_text(e, s, first + w));
        guard = arena_printf(e->arena, "@%s ", ix_condition_here(e, inside));
    }
    if (s->beside) {
        load_shifted(e, s, first, guard, row, p.col_step * s->bytes);
        return;
    }
    for (int w = 0, n; w < words; w += n) {
        n = access_words(words - w);
        const char *at = cp_column_address(e, s->op, row, p.col_step + w * 4 / s->bytes);
        if (load) em(e, "%sld.global.%s %s, %s;", guard, access_type(s, n), list(e, s, first + w, n), at);
        else em(e, "%sst.global.%s %s, %s;", guard, access_type(s, n), at, list(e, s, first + w, n));
    }
}

/* ---- ends of rows ------------------------------------------------------------------ */

static const char *element_inside(Emitter *e, const Stretches *s, const Place *first, int at)
{
    Place p = *first;
    p.col = aff_offset(e->program->aff, p.col, at);
    return ix_condition_here(e, cp_inside(e, s->op, s->v, &p, 1));
}

/* Element `at` of a stretch into its part of a word, which holds zeros so far. */
static void load_element(Emitter *e, const Stretches *s, const char *guard, const char *address, const char *word, int at)
{
    if (s->bytes == 4) {
        em(e, "@%s ld.global.b32 %s, %s;", guard, word, address);
        return;
    }
    const char *part = em_new(e, REG_R);
    em(e, "mov.b32 %s, 0;", part);
    em(e, "@%s ld.global.u%d %s, %s;", guard, s->bytes * 8, part, address);
    em(e, "bfi.b32 %s, %s, %s, %d, %d;", word, part, word, at * s->bytes % 4 * 8, s->bytes * 8);
}

static void store_element(Emitter *e, const Stretches *s, const char *guard, const char *address, const char *word, int at)
{
    const char *part = word;
    if (s->bytes < 4) {
        part = em_new(e, REG_R);
        em(e, "shr.u32 %s, %s, %d;", part, word, at * s->bytes % 4 * 8);
    }
    em(e, "@%s st.global.%c%d %s, %s;", guard, s->bytes == 4 ? 'b' : 'u', s->bytes * 8, address, part);
}

/* The elements of stretch i, each for itself. */
static void move_elements(Emitter *e, const Stretches *s, int i, int n, bool load, RowAddress *last)
{
    Place p = cp_place(e, s->v, i * s->k);
    const char *row = cp_row_address(e, s->op, s->corner, &p, last);
    for (int at = 0; at < n; at++) {
        const char *address = cp_column_address(e, s->op, row, p.col_step + at);
        const char *guard = element_inside(e, s, &p, at), *word = reg_text(e, s, i * words_in(s) + at * s->bytes / 4);
        if (load) load_element(e, s, guard, address, word, at);
        else store_element(e, s, guard, address, word, at);
    }
}

static void move_end(Emitter *e, const Stretches *s, int i, bool load, RowAddress *last)
{
    AffCtx *aff = e->program->aff;
    Place p = cp_place(e, s->v, i * s->k);
    const Aff *some = cp_inside(e, s->op, s->v, &p, 1), *whole = whole_inside(e, s, &p, aff_const(aff, 0));
    if (aff_always(aff, whole)) return;
    if (s->in_window) some = wn_shows(e, s->op, p.col, s->k);
    if (s->in_window) some = aff_and(aff, some, gl_corner_inside(e, s->op));
    int label = em_label(e);
    cp_row_address(e, s->op, s->corner, &p, last); /* here, for the stretches behind it */
    em_open(e);
    if (!aff_always(aff, some)) em(e, "@!%s bra $end_of_row%d;", ix_condition_here(e, some), label);
    em(e, "@%s bra $end_of_row%d;", ix_condition_here(e, whole), label);
    move_elements(e, s, i, s->in_window ? s->k : s->k - 1, load, last); /* the last is behind the end, if only that is inside */
    em_close(e);
    em(e, "$end_of_row%d:", label);
}

/* Those that the row fills, at once; then the ends, unless the condition holds. ptxas takes registers for the chunks of all
 * stretches at once, unless it could be that the kernel stops between them. */
static void move_at_once(Emitter *e, const Stretches *s, const Aff *ends, bool load)
{
    RowAddress last = {0};
    for (int i = 0; i < s->count; i++) {
        if (s->beside && i && (i % TOGETHER == 0 || wn_is_large(e))) an_stop_at(e, e->tid);
        move_stretch(e, s, i, ends, load, &last);
    }
    if (aff_always(e->program->aff, ends)) return;
    int label = em_label(e);
    em_open(e);
    em(e, "@%s bra.uni $ends%d;", ix_condition(e, ends), label);
    last = (RowAddress){0};
    for (int i = 0; i < s->count; i++) move_end(e, s, i, load, &last);
    em_close(e);
    em(e, "$ends%d:", label);
}

static void move_elements_of_all(Emitter *e, const Stretches *s, bool load)
{
    RowAddress last = {0};
    for (int i = 0; i < s->count; i++) {
        for (int w = 0; load && w < words_in(s); w++) em(e, "mov.b32 %s, 0;", reg_text(e, s, i * words_in(s) + w));
        move_elements(e, s, i, s->k, load, &last);
    }
}

/* Stretches as they are cut out of two neighbouring chunks, but for those at the ends of the row. */
static void load_between_chunks(Emitter *e, Stretches s)
{
    const char *low = em_new(e, REG_R), *wide = em_new(e, REG_RD), *start = em_new(e, REG_RD), *bit = em_new(e, REG_R);
    const char *word = em_new(e, REG_P), *words = em_new(e, REG_P), *bits = em_new(e, REG_R);
    em(e, "cvt.u32.u64 %s, %s;", low, s.corner);
    em(e, "and.b32 %s, %s, %d;", low, low, WIDEST - 1);
    em(e, "cvt.u64.u32 %s, %s;", wide, low);
    em(e, "sub.s64 %s, %s, %s;", start, s.corner, wide);
    em(e, "and.b32 %s, %s, 4;", bit, low);
    em(e, "setp.ne.s32 %s, %s, 0;", word, bit);
    em(e, "and.b32 %s, %s, 8;", bits, low);
    em(e, "setp.ne.s32 %s, %s, 0;", words, bits);
    bits = em_new(e, REG_R);
    em(e, "and.b32 %s, %s, 3;", bits, low);
    em(e, "shl.b32 %s, %s, 3;", bits, bits);
    s.beside = s.k - 1;
    s.start = start;
    s.bits = bits;
    s.word = word;
    s.words = words;
    move_at_once(e, &s, all_inside(e, &s, aff_const(e->program->aff, 0), s.v->type.cols), true);
}

static void move_with_window(Emitter *e, const Stretches *s, bool load)
{
    em_open(e);
    move_at_once(e, s, all_inside(e, s, aff_const(e->program->aff, 0), s->v->type.cols), load);
    em_close(e);
}

static void move_beside_window(Emitter *e, const Stretches *s, bool load)
{
    em_open(e);
    if (load && s->k * s->bytes == WIDEST) load_between_chunks(e, *s);
    else move_elements_of_all(e, s, load);
    em_close(e);
}

/* Where the row begins with the window, or apart from it. */
static void move_in_window(Emitter *e, const Stretches *s, bool load)
{
    int bytes = s->k * s->bytes < WIDEST ? s->k * s->bytes : WIDEST, label = em_label(e);
    em_open(e);
    const char *begins = wn_begins(e, s->op, s->corner, bytes);
    if (begins) em(e, "@!%s bra.uni $apart%d;", begins, label);
    move_with_window(e, s, load);
    if (begins) em(e, "bra.uni $moved%d;\n$apart%d:", label, label);
    if (begins) move_beside_window(e, s, load);
    if (begins) em(e, "$moved%d:", label);
    em_close(e);
}

static void move_all(Emitter *e, const Stretches *s, bool load)
{
    if (s->in_window) move_in_window(e, s, load);
    else move_at_once(e, s, ends_between(e, s), load);
}

/* ---- whole tiles --------------------------------------------------------------------- */

/* What was loaded, as arithmetic wants it. */
static void keep_words(Emitter *e, const TileValue *v, DType t, int *regs)
{
    Frag *frag = &e->frags[v->id];
    if (t == DT_F32) {
        frag->f = regs;
    } else if (in_is(t)) {
        int *f = in_unpack(e, t, regs, frag->n);
        e->frags[v->id].f = f;
    } else {
        frag->packed = regs;
        if (f8_is(t)) frag->f = f8_unpack(e, frag, t);
        if (f8_is(t)) frag->packed = NULL;
    }
}

/* What is to be stored. */
static void find_words(Emitter *e, Stretches *s, DType t)
{
    int n = e->frags[s->v->id].n;
    if (t == DT_F32) {
        s->texts = arena_array(e->arena, const char *, n);
        for (int i = 0; i < n; i++) s->texts[i] = fr_operand(e, s->v, i);
    } else if (in_is(t)) {
        s->texts = in_pack(e, t, s->v);
    } else {
        s->regs = fr_packed(e, s->v, t);
    }
}

void st_load(Emitter *e, const TileOp *op)
{
    const TileValue *v = op->results[0];
    DType t = op->tensor->dtype;
    Stretches s = stretches_of(e, op, v);
    Frag *frag = fr_new(e, v);
    int *regs = fr_fresh(e, t == DT_F32 ? REG_F : REG_R, frag->n * s.bytes / 4);
    s.regs = regs;
    move_all(e, &s, true);
    keep_words(e, v, t, regs);
}

void st_store(Emitter *e, const TileOp *op)
{
    const TileValue *v = op->args[0];
    Stretches s = stretches_of(e, op, v);
    find_words(e, &s, op->tensor->dtype);
    move_all(e, &s, false);
}

/* ---- shared memory ----------------------------------------------------------------------- */

/* A lane whose stretches are whole chunks, or halves, moves one at once. */
bool st_in_shared(const TileValue *v, const SharedTile *tile)
{
    const Layout *l = &v->type.layout;
    int bytes = dtype_bytes(tile->type->dtype), stretch = l->k * bytes;
    bool whole = stretch % WIDEST == 0 || stretch == WIDEST / 2;
    return l->kind == LAY_ROWS && v->type.cols > 1 && whole && bytes <= 4 && tile->type->dtype != DT_BOOL;
}

/* Where the lane's rows are, and the first of its chunks, or which half of it. */
static LanePlace lane_in_shared(Emitter *e, const Stretches *s)
{
    AffCtx *aff = e->program->aff;
    const TileValue *v = s->v;
    LanePlace place = {0};
    const char *row = em_new(e, REG_R), *chunk = em_new(e, REG_R), *col;
    em_at(e, 0, "mov.b32 %s, %s;", row, v->type.rows > 1 ? ix_value(e, aff_of(aff, ix_lane_row(e, v->type.layout, v->type.rows))) : "0");
    col = ix_value(e, aff_of(aff, ix_lane_col(e, v->type.layout, v->type.cols)));
    em_at(e, 0, "shr.u32 %s, %s, %d;", chunk, col, s->bytes == 1 ? 4 : s->bytes == 2 ? 3 : 2);
    if (s->k * s->bytes < WIDEST) {
        const char *byte = place.byte = em_new(e, REG_R);
        em_at(e, 0, "and.b32 %s, %s, %d;", byte, col, WIDEST / s->bytes - 1);
        if (s->bytes > 1) em_at(e, 0, "shl.b32 %s, %s, %d;", byte, byte, s->bytes / 2);
    }
    place.row = row;
    place.chunk = chunk;
    return place;
}

static void move_chunks(Emitter *e, const Stretches *s, const SharedTile *tile, bool load)
{
    LanePlace place = lane_in_shared(e, s);
    int words = words_in(s), n = access_words(words);
    const char *type = access_type(s, n);
    for (int i = 0; i < s->count; i++)
        for (int w = 0; w < words; w += n) {
            int row, col;
            fr_place(s->v, i * s->k, &row, &col);
            int byte = col * s->bytes + w * 4;
            const char *at = sh_address_in(e, tile, &place, row, byte / WIDEST, byte % WIDEST);
            const char *values = list(e, s, i * words + w, n);
            if (load) em(e, "ld.shared.%s %s, %s;", type, values, at);
            else em(e, "st.shared.%s %s, %s;", type, at, values);
        }
}

static Stretches shared_stretches(const TileOp *op, const TileValue *v, DType t)
{
    Stretches s = {.op = op, .v = v, .k = v->type.layout.k, .bytes = dtype_bytes(t), .dtype = t};
    s.count = lay_fragment_values(v->type.layout, v->type.rows, v->type.cols) / s.k;
    return s;
}

void st_move(Emitter *e, const TileOp *op, const SharedTile *tile)
{
    const TileValue *v = op->results[0];
    DType t = tile->type->dtype;
    Stretches s = shared_stretches(op, v, t);
    int n = fr_new(e, v)->n, *regs = fr_fresh(e, t == DT_F32 ? REG_F : REG_R, n * s.bytes / 4);
    s.regs = regs;
    move_chunks(e, &s, tile, true);
    if (t == DT_F32) e->frags[v->id].f = regs;
    else e->frags[v->id].packed = regs; /* as words: several tiles may be on their way before the first is computed with */
}

void st_put(Emitter *e, const TileOp *op, const SharedTile *tile)
{
    Stretches s = shared_stretches(op, op->args[0], tile->type->dtype);
    find_words(e, &s, tile->type->dtype);
    move_chunks(e, &s, tile, false);
}
