/* generate_ops.c: definitions of ops, and others made up, under random
 * settings and shapes. */
#include "generate.h"

static int length(Rng *rng, int tile)
{
    Gen g = {.rng = *rng};
    int n = gen_pick_extent(&g, tile);

    *rng = g.rng;
    return n;
}

static const char *read_op(Arena *arena, const char *path)
{
    const char *error;
    const Source *source = source_read(arena, path, &error);

    return source ? source->text : "the file is missing: run from the repository's root";
}

static void force(Arena *arena, LevelCase *c, const char *name, int value)
{
    levels_set(arena, c, name, value);
}

/* A dimension that the launch gives, or now and then one that is compiled in. */
static void dimension(Arena *arena, LevelCase *c, Rng *rng, const char *name, int value)
{
    if (value > 0 && rng_below(rng, 10) == 0)
        levels_set(arena, c, name, value);
    levels_bind(c, name, value);
}

static int choose(Rng *rng, const int *from, int n)
{
    return from[rng_below(rng, n)];
}
#define choose(rng, ...) \
    choose(rng, (const int[]){__VA_ARGS__}, (int)TW_COUNT(((const int[]){__VA_ARGS__})))

static bool bytes(const LevelCase *c)
{
    return dtype_bytes(c->dtype) == 1;
}

static void attention(Arena *arena, LevelCase *c, Rng *rng)
{
    int warps = choose(rng, 1, 1, 2, 4), bm = 16 * warps * choose(rng, 1, 1, 2), bn = bytes(c) ? choose(rng, 32, 64) : choose(rng, 16, 32, 48, 64);
    int kv_heads = choose(rng, 1, 1, 2), share = choose(rng, 1, 2, 3);
    int d = choose(rng, 64, 64, 128, 16, 16 * (1 + rng_below(rng, 16)));

    if (d > 128) /* a warp has registers for 16 rows of these */
        bm = 16 * warps;
    c->definition = read_op(arena, "ops/attention.tl");
    c->fill = (FillKind)choose(rng, FILL_NORMAL, FILL_NORMAL, FILL_UNIFORM, FILL_GROWING, FILL_NEGATIVE, FILL_LARGE);
    force(arena, c, "HeadDim", d);
    force(arena, c, "causal", rng_below(rng, 3) > 0);
    force(arena, c, "BM", bm);
    force(arena, c, "BN", bn);
    force(arena, c, "warps", warps);
    force(arena, c, "stages", choose(rng, 1, 2, 2, 3));
    levels_set(arena, c, "q_heads", kv_heads * share);
    levels_set(arena, c, "kv_heads", kv_heads);
    dimension(arena, c, rng, "batch", choose(rng, 1, 1, 2));
    dimension(arena, c, rng, "q_len", length(rng, bm));
    dimension(arena, c, rng, "kv_len", length(rng, bn));
}

/* ---- GEMMs with epilogues ------------------------------------------------------------------ */

static const char *const EPILOGUES[] = {
    "  Compute Gelu C and get new C\n",
    "  Compute Relu C and get new C\n",
    "  Compute Tanh C and get new C\n",
    "  Compute Silu C and get new C\n",
    "  Compute Multiply C, 0.125 and get new C\n",
    "  Compute Add C, bias and get new C\n",
    "  Compute Multiply C, rows and get new C\n",
    "  Compute Add C, R and get new C\n",
};

static const char *const EPILOGUE_INPUTS[TW_COUNT(EPILOGUES)] = {
    [5] = "  Input  bias (N)\n", [6] = "  Input  rows (M, 1)\n", [7] = "  Input  R (M, N)\n"};

static const char *made_up_product(Arena *arena, Rng *rng)
{
    Str inputs = str_new(arena), body = str_new(arena), out = str_new(arena);
    bool ta = rng_below(rng, 6) == 0, tb = rng_below(rng, 3) == 0;
    bool used[TW_COUNT(EPILOGUES)] = {false};

    str_printf(&inputs, "  Input  A (%s)\n  Input  B (%s)\n", ta ? "K, M" : "M, K", tb ? "N, K" : "K, N");
    str_printf(&body, "  Compute GEMM A%s, B%s and get C\n", ta ? ".T" : "", tb ? ".T" : "");
    for (int n = rng_below(rng, 4); n > 0; n--) {
        int k = rng_below(rng, (int)TW_COUNT(EPILOGUES));

        if (EPILOGUE_INPUTS[k] && !used[k])
            str_add(&inputs, EPILOGUE_INPUTS[k]);
        str_add(&body, EPILOGUES[k]);
        used[k] = true;
    }
    str_printf(&out, "Operator product\n%s  Output C (M, N)\n%send\n", str_text(&inputs), str_text(&body));
    return str_text(&out);
}

static void product(Arena *arena, LevelCase *c, Rng *rng)
{
    int warps = choose(rng, 1, 2, 4), bm = 16 * warps * choose(rng, 1, 2), bn = choose(rng, 16, 32, 64);
    int bk = bytes(c) ? choose(rng, 32, 64) : choose(rng, 16, 32, 64);

    c->definition = rng_below(rng, 2) ? read_op(arena, "ops/gemm_bias.tl") : made_up_product(arena, rng);
    c->fill = (FillKind)choose(rng, FILL_NORMAL, FILL_UNIFORM, FILL_SMALL);
    if (rng_below(rng, 4)) {
        force(arena, c, "BM", bm);
        force(arena, c, "BN", bn);
        force(arena, c, "BK", bk);
        force(arena, c, "warps", warps);
        force(arena, c, "stages", choose(rng, 1, 2, 3));
    }
    dimension(arena, c, rng, "M", length(rng, bm));
    dimension(arena, c, rng, "N", length(rng, bn));
    dimension(arena, c, rng, "K", length(rng, bk));
}

static void generate_operator(Arena *arena, LevelCase *c, Family family, Rng *rng)
{
    if (family == FAMILY_ATTENTION)
        attention(arena, c, rng);
    else
        product(arena, c, rng);
}

/* The oldest target has no bf16, and few have numbers of 8 bits. */
static const char *any_target(Rng *rng, DType dtype)
{
    static const char *const targets[] = {"sm_80", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_75"};

    if (dtype_bytes(dtype) == 1)
        return "sm_89";
    return targets[rng_below(rng, (int)TW_COUNT(targets) - (dtype != DT_F16))];
}

/* ---- cases ------------------------------------------------------------------------------------ */

LevelCase generate_case(Arena *arena, uint64_t seed, uint64_t number)
{
    Rng first = {seed}, second = {number};
    Rng rng = {rng_next(&first) + 3 * rng_next(&second)}; /* what is one draw apart must not look alike */
    Family family = (Family)(number % FAMILIES);
    LevelCase c = {0};

    c.seed = rng_next(&rng) >> 16;
    c.dtype = (DType)choose(&rng, DT_BF16, DT_BF16, DT_BF16, DT_F16, DT_F16, DT_F16, DT_E4M3, DT_E5M2);
    c.target = any_target(&rng, c.dtype);
    switch (family) {
    case FAMILY_ATTENTION: case FAMILY_PRODUCT: generate_operator(arena, &c, family, &rng); break;
    case FAMILY_ELEMENTWISE: case FAMILY_GEMM: case FAMILY_GEMM_GEMM: case FAMILY_STREAM: case FAMILY_CHAIN:
        generate_code(arena, &c, family, &rng);
        break;
    case FAMILY_WHOLE: generate_whole(arena, &c, &rng); break;
    case FAMILIES: break;
    }
    return c;
}
