/* exec_warp.c: what the threads of a warp do together: matrices between shared
 * memory and registers, shuffles, votes, reductions. */
#include "emu/machine.h"

/* ---- 8x8 matrices (PTX ISA, "ldmatrix", "stmatrix", "movmatrix") ------------------- */

enum { ROW_BYTES = 16 };

/* Lane l holds elements (l / 4, 2 * (l % 4)) and the next of a matrix, or with
 * .trans the mirrored ones. Byte offsets of element e of lane l within rows. */
static int matrix_row(int l, int e, bool trans)
{
    return trans ? 2 * (l % 4) + e : l / 4;
}
static int matrix_column(int l, int e, bool trans)
{
    return trans ? l / 4 : 2 * (l % 4) + e;
}

/* Lanes 8 m … 8 m + 7 give the rows of matrix m. */
static uint32_t matrix_rows(Warp *w, const Inst *in, AccessMode mode, uint8_t *at[LANES])
{
    uint64_t address[LANES];
    uint32_t lanes = in->vec == 4 ? FULL : (1u << 8 * in->vec) - 1;

    emu_addresses(w, in, 0, in->flags & IF_WIDE, in->imm, address);
    for (int l = 0; l < LANES; l++) {
        if (address[l] >= SHARED_WINDOW && address[l] - SHARED_WINDOW < WINDOW_BYTES)
            address[l] -= SHARED_WINDOW;
    }
    return emu_access(w, in, lanes, SPACE_SHARED, address, ROW_BYTES, mode, at);
}

/* The pair of lane l from the rows of its matrix. */
static inline uint32_t load_pair(uint8_t *const rows[8], int l, bool trans)
{
    uint16_t low, high;
    uint32_t pair;

    if (!trans) {
        memcpy(&pair, rows[l / 4] + 4 * (l % 4), 4);
        return pair;
    }
    memcpy(&low, rows[2 * (l % 4)] + 2 * (l / 4), 2);
    memcpy(&high, rows[2 * (l % 4) + 1] + 2 * (l / 4), 2);
    return low | (uint32_t)high << 16;
}

void emu_exec_ldmatrix(Warp *w, const Inst *in, uint32_t mask)
{
    uint8_t zeros[ROW_BYTES] = { 0 }, *at[LANES];
    uint32_t ok = matrix_rows(w, in, ACCESS_READ, at);

    (void)mask;
    for (int l = 0; l < LANES; l++)
        at[l] = lane_on(ok, l) ? at[l] : zeros; /* an address that was wrong */
    for (int m = 0; m < in->vec; m++) {
        Lane32 *d = op_at(w, in, m);

        if (in->flags & IF_TRANS) {
            for (int l = 0; l < LANES; l++)
                d[l] = load_pair(&at[8 * m], l, true);
        } else {
            for (int l = 0; l < LANES; l++)
                d[l] = load_pair(&at[8 * m], l, false);
        }
    }
}

void emu_exec_stmatrix(Warp *w, const Inst *in, uint32_t mask)
{
    bool trans = in->flags & IF_TRANS;
    uint8_t *at[LANES];
    uint32_t ok = matrix_rows(w, in, ACCESS_WRITE, at);

    (void)mask;
    for (int m = 0; m < in->vec; m++) {
        const Lane32 *s = src_at(w, in, 1 + m);

        for (int l = 0; l < LANES; l++) {
            for (int e = 0; e < 2; e++) {
                int row = 8 * m + matrix_row(l, e, trans);
                uint16_t half = (uint16_t)(s[l] >> 16 * e);

                if (lane_on(ok, row))
                    memcpy(at[row] + 2 * matrix_column(l, e, trans), &half, 2);
            }
        }
    }
}

bool emu_stmatrix_same(Warp *w, const Inst *in, int l, const uint8_t *at)
{
    const Lane32 *s = src_at(w, in, 1 + l / 8);
    bool trans = in->flags & IF_TRANS;

    for (int from = 0; from < LANES; from++) {
        for (int e = 0; e < 2; e++) {
            uint16_t half = (uint16_t)(s[from] >> 16 * e);

            if (matrix_row(from, e, trans) == l % 8 && memcmp(at + 2 * matrix_column(from, e, trans), &half, 2) != 0)
                return false;
        }
    }
    return true;
}

/* Transposes one matrix that lies in registers. */
void emu_exec_movmatrix(Warp *w, const Inst *in, uint32_t mask)
{
    const Lane32 *s = src_at(w, in, 0);
    uint16_t matrix[8][8];
    uint32_t result[LANES];

    for (int l = 0; l < LANES; l++) {
        for (int e = 0; e < 2; e++)
            matrix[matrix_row(l, e, false)][matrix_column(l, e, false)] = (uint16_t)(s[l] >> 16 * e);
    }
    for (int l = 0; l < LANES; l++)
        result[l] = matrix[matrix_row(l, 0, true)][matrix_column(l, 0, true)] |
                    (uint32_t)matrix[matrix_row(l, 1, true)][matrix_column(l, 1, true)] << 16;
    emu_merge32(op_at(w, in, 0), result, mask);
}

/* ---- the mask of members -------------------------------------------------------------- */

/* Every live lane that is named must be here, and name the same (PTX ISA, "shfl.sync"). Lanes of
 * several groups may execute one instruction together, each with the mask of its own. */
void emu_by_members(Warp *w, const Inst *in, uint32_t mask, int k, Together together)
{
    const Lane32 *members = src_at(w, in, k);

    while (mask) {
        uint32_t named = members[first_lane(mask)], group = 0;

        for (int l = 0; l < LANES; l++)
            group |= (uint32_t)(members[l] == named) << l;
        group &= mask;
        if ((named & w->live) != group)
            emu_fault(w, in, EMU_DIVERGENT, first_lane(mask),
                      "the mask names lanes 0x%08x, but 0x%08x execute it", named & w->live, group);
        together(w, in, group);
        mask &= ~group;
    }
}

/* ---- shuffles --------------------------------------------------------------------------- */

enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };

/* Lanes that give nothing need no value: only what is read has to be defined. */
static void check_given(Warp *w, const Inst *in, int l, int from)
{
    Place given = in->op[in->nd];

    if (w->m->checks && !lane_on(w->defined[given.slot], from))
        emu_fault(w, in, EMU_UNINITIALISED, l, "reads register '%s' of lane %d, which has not written it",
                  w->m->entry->slots.data[given.slot].name, from);
}

/* The lane to read from; *inside: it lies within the segment (PTX ISA, "shfl"). */
static int shuffle_from(int mode, int lane, uint32_t b, uint32_t c, bool *inside)
{
    int offset = (int)(b & 31), segment = (int)(c >> 8 & 31), clamp = (int)(c & 31);
    int highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
    int from = mode == SHFL_UP ? lane - offset : mode == SHFL_DOWN ? lane + offset
               : mode == SHFL_BFLY ? lane ^ offset : lowest | (offset & ~segment);

    *inside = mode == SHFL_UP ? from >= highest : from <= highest;
    return *inside ? from : lane;
}

static void shfl_group(Warp *w, const Inst *in, uint32_t mask)
{
    const Lane32 *a = src_at(w, in, 0), *b = src_at(w, in, 1), *c = src_at(w, in, 2);
    uint32_t result[LANES], inside = 0;

    for (int l = 0; l < LANES; l++) {
        bool in_segment;
        int from = shuffle_from(in->aux, l, b[l], c[l], &in_segment);

        inside |= (uint32_t)in_segment << l;
        result[l] = a[from & 31];
        if (lane_on(mask, l) && !lane_on(mask, from & 31))
            emu_fault(w, in, EMU_DIVERGENT, l, "reads lane %d, which does not take part", from & 31);
        else if (lane_on(mask, l))
            check_given(w, in, l, from & 31);
    }
    emu_merge32(op_at(w, in, 0), result, mask);
    if (in->nd > 1)
        emu_merge_pred(w, in, 1, inside, mask);
}

void emu_exec_shfl(Warp *w, const Inst *in, uint32_t mask)
{
    emu_by_members(w, in, mask, 3, shfl_group);
}

/* ---- votes, matches, reductions ------------------------------------------------------------ */

enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };

static void vote_group(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t ayes = (*(Lane32 *)src_at(w, in, 0) ^ (in->imm ? FULL : 0)) & mask;
    bool yes = in->aux == VOTE_ALL ? ayes == mask
               : in->aux == VOTE_ANY ? ayes != 0 : ayes == mask || ayes == 0;
    uint32_t result[LANES];

    if (in->aux != VOTE_BALLOT) {
        emu_merge_pred(w, in, 0, yes ? FULL : 0, mask);
        return;
    }
    for (int l = 0; l < LANES; l++)
        result[l] = ayes;
    emu_merge32(op_at(w, in, 0), result, mask);
}

void emu_exec_vote(Warp *w, const Inst *in, uint32_t mask)
{
    emu_by_members(w, in, mask, 1, vote_group);
}

static void match_group(Warp *w, const Inst *in, uint32_t mask)
{
    const void *a = src_at(w, in, 0);
    uint32_t result[LANES] = { 0 }, all = FULL;

    for (int l = 0; l < LANES; l++) {
        for (int k = 0; k < LANES; k++) {
            bool same = in->bytes == 8 ? ((const Lane64 *)a)[l] == ((const Lane64 *)a)[k]
                                       : ((const Lane32 *)a)[l] == ((const Lane32 *)a)[k];

            result[l] |= (uint32_t)(same && lane_on(mask, k)) << k;
        }
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        all = result[first_lane(rest)] == mask ? all : 0;
    for (int l = 0; l < LANES && in->aux; l++)
        result[l] = all ? mask : 0;
    emu_merge32(op_at(w, in, 0), result, mask);
    if (in->nd > 1)
        emu_merge_pred(w, in, 1, all, mask);
}

void emu_exec_match(Warp *w, const Inst *in, uint32_t mask)
{
    emu_by_members(w, in, mask, 1, match_group);
}

enum { REDUX_ADD, REDUX_MIN, REDUX_MAX, REDUX_AND, REDUX_OR, REDUX_XOR };

static uint32_t reduce(const Inst *in, uint32_t a, uint32_t b)
{
    bool less = in->type == ET_S32 ? (int32_t)a < (int32_t)b : a < b;

    switch (in->aux) {
    case REDUX_ADD:
        return a + b;
    case REDUX_MIN:
        return less ? a : b;
    case REDUX_MAX:
        return less ? b : a;
    case REDUX_AND:
        return a & b;
    case REDUX_OR:
        return a | b;
    }
    return a ^ b;
}

static void redux_group(Warp *w, const Inst *in, uint32_t mask)
{
    const Lane32 *a = src_at(w, in, 0);
    uint32_t value = a[first_lane(mask)], result[LANES];

    for (uint32_t rest = mask & (mask - 1); rest; rest &= rest - 1)
        value = reduce(in, value, a[first_lane(rest)]);
    for (int l = 0; l < LANES; l++)
        result[l] = value;
    emu_merge32(op_at(w, in, 0), result, mask);
}

void emu_exec_redux(Warp *w, const Inst *in, uint32_t mask)
{
    emu_by_members(w, in, mask, 1, redux_group);
}

void emu_exec_activemask(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t result[LANES];

    for (int l = 0; l < LANES; l++)
        result[l] = mask;
    emu_merge32(op_at(w, in, 0), result, mask);
}

/* One lane of those named is the leader: the lowest. */
static void elect_group(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t result[LANES];

    for (int l = 0; l < LANES; l++)
        result[l] = (uint32_t)first_lane(mask);
    emu_merge32(op_at(w, in, 0), result, mask);
    emu_merge_pred(w, in, 1, 1u << first_lane(mask), mask);
}

void emu_exec_elect(Warp *w, const Inst *in, uint32_t mask)
{
    emu_by_members(w, in, mask, 0, elect_group);
}
