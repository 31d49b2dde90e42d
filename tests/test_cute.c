/* test_cute.c: CuTe C++ from code. No compiler is asked: what is compared is structure.
 * Every statement stands as a comment before what it became, in order; braces close; a
 * product of the code is a product of the translation; the entries have the launch ABI
 * that the text's own head says. What nvcc makes of it, tests/cute.sh asks. */
#include "fixture.h"
#include "chain/chain.h"
#include "cute/cute.h"

#include <cmocka.h>
#include <glob.h>

#include "texts.h"

static Chain *new_chain(Arena *arena, const char *target, DType dtype)
{
    return chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, NULL), target_find(target), dtype);
}

static const Source *text_source(Arena *arena, const char *text)
{
    Source *source = arena_new_of(arena, Source);
    *source = (Source){.path = "code.tl", .text = text, .len = strlen(text)};
    return source;
}

static Chain *translate(Arena *arena, const char *target, const char *code)
{
    Chain *chain = new_chain(arena, target, DT_BF16);
    if (!chain_lower(chain, text_source(arena, code)) || !chain_translate(chain)) {
        diags_print(chain->diags, stderr, false);
        fail_msg("%s", chain->failure ? chain->failure : "diagnostics were recorded");
    }
    return chain;
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) n++;
    return n;
}

static const char attend[] =
    "Kernel attend\n"
    "  Input  Q (len, 64) bf16\n"
    "  Input  K (len, 64) bf16\n"
    "  Input  V (len, 64) bf16\n"
    "  Output O (len, 64) bf16\n"
    "  Param scale\n"
    "  Grid m = ceil(len / 64)\n"
    "  Allocate Q in shared (64, 64) bf16\n"
    "  Allocate K in shared (32, 64) bf16\n"
    "  Allocate V in shared (32, 64) bf16\n"
    "  Allocate S in register (64, 32) fp32\n"
    "  Allocate M in register (64, 1) fp32\n"
    "  Allocate L in register (64, 1) fp32\n"
    "  Allocate O in register (64, 64) fp32\n"
    "  Copy Q (64, 64) in coordinate [len = m] from global to shared\n"
    "  for j = 0:ceil(len / 32)\n"
    "    Copy K (32, 64) in coordinate [len = j] from global to shared\n"
    "    Copy V (32, 64) in coordinate [len = j] from global to shared\n"
    "    Compute GEMM Q, K.T and get S\n"
    "    Compute Multiply S, scale and get new S\n"
    "    Compute Mask S where j * 32 + col(S) <= m * 64 + row(S) and j * 32 + col(S) < len\n"
    "    Compute Softmax S with M and L\n"
    "    Reshape S from (MMA_C, MMA_M, MMA_N) to (MMA_A, MMA_M, MMA_N_new)\n"
    "    Compute GEMM S, V and accumulate O\n"
    "  end\n"
    "  Compute Divide O, L else 0 and get new O\n"
    "  Copy O (64, 64) in coordinate [len = m] from register to global\n"
    "  Schedule sm_80\n"
    "    warps = 4\n"
    "    stages = %d\n"
    "  end\n"
    "end\n";

static void balanced(const char *text)
{
    int depth = 0, round = 0;
    for (const char *p = text; *p; p++) {
        if (p[0] == '/' && p[1] == '/') p += strcspn(p, "\n");
        depth += (*p == '{') - (*p == '}');
        round += (*p == '(') - (*p == ')');
        assert_true(depth >= 0 && round >= 0);
    }
    assert_int_equal(depth, 0);
    assert_int_equal(round, 0);
}

/* The statements in the order in which they stand in the text; the copies of a loop stand before it. */
static void statements_become_comments(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    Chain *chain = translate(arena, "sm_80", arena_printf(arena, attend, 2));
    static const char *const order[] = {
        "// Copy Q (64, 64)", "tw::copy_in<128, Wide>", "// Copy K (32, 64)", "// Copy V (32, 64)", "for (int j = 0;",
        "// Compute GEMM Q, K.T and get S", "tw::gemm<Place>(sQ, sK[stage_j].transposed(), S);", "// Compute Mask S",
        "if (not(", "// Compute Softmax S with M and L", "tw::reduce_rows", "// Reshape S from", "tw::convert(S, ",
        "// Compute GEMM S, V and accumulate O", "tw::gemm_from_registers<Place>(", "// Compute Divide O, L else 0",
        "// Copy O (64, 64)", "tw::store<Place, Wide, 64, 64>", "__global__ void __launch_bounds__(128", "attend_any("};
    const char *at = chain->cute->text;
    for (size_t i = 0; i < TW_COUNT(order); i++) {
        at = strstr(at, order[i]);
        if (!at) fail_msg("'%s' does not follow", order[i]);
    }
    balanced(chain->cute->text);
}

static void copies_run_ahead_as_the_schedule_says(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    const char *one = translate(arena, "sm_80", arena_printf(arena, attend, 1))->cute->text;
    const char *three = translate(arena, "sm_80", arena_printf(arena, attend, 3))->cute->text;
    assert_non_null(strstr(one, "late.start(j);"));
    assert_non_null(strstr(one, "early.start(j + 1);"));
    assert_int_equal(count(one, "tw::arrive<0>();"), 2);
    assert_non_null(strstr(three, "tw::ring<3>(0, "));
    assert_int_equal(count(three, "ahead.turn(j);"), 1);
}

/* Shared memory holds Q and three stages of K and V, one behind another. */
static void the_head_says_how_it_is_launched(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    Chain *chain = translate(arena, "sm_80", arena_printf(arena, attend, 3));
    Abi *abi = abi_from_ptx(arena, chain->syms, chain->aff, chain->cute, chain->diags);
    assert_non_null(abi);
    assert_int_equal(abi->kernels.data[0].fast.shared_bytes, (64 + 3 * (32 + 32)) * 64 * 2);
    assert_int_equal(abi->kernels.data[0].fast.threads, 128);
    assert_string_equal(abi->kernels.data[0].any.name, "attend_any");
    assert_int_equal(abi->args.len, 4 + 4 + 1 + 1);
    for (int i = 0; i < abi->args.len; i++)
        assert_true(count(chain->cute->text, abi->args.data[i].name) >= 3);
}

/* Names that mean something to C++, or to the translation, are changed; nothing else is. */
static void names_do_not_collide(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    const char *text = translate(arena, "sm_80",
                                 "Kernel k\n"
                                 "  Input  int (size, 64) fp32\n"
                                 "  Output Place (size, 64) fp32\n"
                                 "  Grid x = ceil(size / 32)\n"
                                 "  Allocate int in register (32, 64) fp32\n"
                                 "  Allocate Place in register (32, 64) fp32\n"
                                 "  Copy int (32, 64) in coordinate [size = x] from global to register\n"
                                 "  Compute Exp int and get Place\n"
                                 "  Copy Place (32, 64) in coordinate [size = x] from register to global\n"
                                 "  Schedule sm_80\n    warps = 4\n  end\n"
                                 "end\n")->cute->text;
    assert_non_null(strstr(text, "float const *int_2"));
    assert_non_null(strstr(text, "float *Place_2"));
    assert_non_null(strstr(text, "int size_2"));
    assert_null(strstr(text, "int x = block"));
    assert_int_equal(count(text, "using Place = tw::RowsPlace<"), 1);
}

static void atoms_are_those_of_the_target(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    Str code = str_new(arena);
    for (const char *p = arena_printf(arena, attend, 1); *p; p++) {
        if (strncmp(p, "bf16", 4) == 0) p++, str_addc(&code, 'f');
        else str_addc(&code, *p);
    }
    assert_non_null(strstr(translate(arena, "sm_75", str_text(&code))->cute->text, "SM75_16x8x8_F32F16F16F32_TN"));
    assert_non_null(strstr(translate(arena, "sm_89", str_text(&code))->cute->text, "SM80_16x8x16_F32F16F16F32_TN"));
}

/* e4m3 by B, whose rows lie along the result's columns; by B.T; the result narrowed, times U. */
static const char bytes[] =
    "Kernel k\n  Input A (M, 64) e4m3\n  Input B (64, N) %s\n  Input U (64, 64) %s\n  Output C (M, 64) fp32\n"
    "  Grid m = ceil(M / 64)\n"
    "  Allocate A in shared (64, 64) e4m3\n  Allocate B in shared (64, 64) %s\n"
    "  Allocate U in shared (64, 64) %s\n  Allocate S in register (64, 64) fp32\n"
    "  Allocate C in register (64, 64) fp32\n"
    "  Copy A (64, 64) in coordinate [M = m] from global to shared\n"
    "  Copy B (64, 64) in coordinate [N = 0] from global to shared\n"
    "  Copy U (64, 64) from global to shared\n"
    "  Compute GEMM A, B and get S\n"
    "  Compute Cast S, e4m3 and get S\n"
    "  Reshape S from (MMA_C, MMA_M, MMA_N) to (MMA_A, MMA_M, MMA_N_new)\n"
    "  Compute GEMM S, U.T and get C\n"
    "  Copy C (64, 64) in coordinate [M = m] from register to global\n"
    "  Schedule %s\n    warps = 4\n  end\nend\n";

/* On Hopper as well: wgmma wants all rows of such operands along K. */
static void bytes_are_multiplied(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    static const char *const targets[] = {"sm_89", "sm_90a"};
    for (size_t i = 0; i < TW_COUNT(targets); i++) {
        const char *code = arena_printf(arena, bytes, "e5m2", "e4m3", "e5m2", "e4m3", targets[i]);
        const char *text = translate(arena, targets[i], code)->cute->text;
        assert_non_null(strstr(text, "using Place = tw::QuadPlace<4, 1>;"));
        assert_non_null(strstr(text, "tw::Shared<cutlass::float_e5m2_t, 64, 64> sB{"));
        assert_int_equal(count(text, "tw::gemm_quads<Place>(sA, sB, S);"), 1);
        assert_int_equal(count(text, "tw::gemm_quads_from_registers<Place>("), 1);
    }
}

/* Whole warpgroups multiply; tiles come by maps where rows are aligned, and each ring and each tile that is
 * copied once has barriers that count what lands. */
static void warpgroups_multiply_what_lands(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    Chain *chain = translate(arena, "sm_90a", arena_printf(arena, attend, 2));
    const char *text = chain->cute->text;
    assert_int_equal(chain->abi->maps.len, 3);
    assert_non_null(strstr(text, "using Place = tw::WgmmaPlace<tw::bfloat16_t, 1>;"));
    assert_int_equal(count(text, "tw::wgmma<Place>(sQ, "), 1);
    assert_int_equal(count(text, "tw::wgmma_from_registers<Place>("), 1);
    assert_int_equal(count(text, "tw::copy_boxes<2, 1, "), 3);
    assert_int_equal(count(text, "tw::Landings<"), 2);
    assert_int_equal(count(text, "tw::Landings<2, 4> j_lands("), 1); /* four warps say when they are done with a stage */
    assert_int_equal(chain->abi->kernels.data[0].fast.shared_bytes, (64 + 2 * (32 + 32)) * 64 * 2 + 8 + 2 * 2 * 8);
    assert_int_equal(count(text, "const __grid_constant__ TmaDescriptor "), 2 * chain->abi->maps.len);
    assert_int_equal(chain->abi->args.data[0].kind, ABI_MAP);
}

/* Where a tile lies may be an element of a tensor, 0 outside of it. */
static void tiles_lie_where_a_table_says(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    const char *code = replaced(arena, replaced(arena, arena_printf(arena, attend, 2), "K (len, 64) bf16\n", "K (n, 32, 64) bf16\n  Input  Id (n) int32\n"),
                                "in coordinate [len = j]", "in coordinate [n = Id[j]]");
    const char *sm_80 = translate(arena, "sm_80", code)->cute->text, *sm_90a = translate(arena, "sm_90a", code)->cute->text;
    assert_non_null(strstr(sm_80, "K + ((j < n ? int(Id[int64_t(j)]) : 0)) * K_stride0"));
    assert_non_null(strstr(sm_90a, "{0, 0, (j < n ? int(Id[int64_t(j)]) : 0)});"));
    code = replaced(arena, replaced(arena, arena_printf(arena, attend, 2), "K (len, 64) bf16\n", "K (n, 64) bf16\n  Input  Id (len) int32\n"),
                    "in coordinate [len = j]", "in coordinate [n = Id[j * 32 + row(K)]]");
    assert_non_null(strstr(translate(arena, "sm_90a", code)->cute->text,
                           "tw::by_rows<tw::bfloat16_t const>([&](int row) { return tw::Window<tw::bfloat16_t const>{K + (("));
    code = replaced(arena, arena_printf(arena, attend, 2), "Copy O (64, 64) in coordinate [len = m]", "Copy O (64, 64) in coordinate [len = m * 64 + 63 - row(O)]");
    assert_non_null(strstr(translate(arena, "sm_80", code)->cute->text,
                           "tw::by_rows<tw::bfloat16_t>([&](int row) { return tw::Window<tw::bfloat16_t>{O + ("));
}

static void refused(Arena *arena, const char *target, const char *code, const char *says);

/* Shifts and masks, where C's int holds all of it. */
static void words_are_taken_apart(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    static const char words[] =
        "Kernel k\n  Input Q (M, 8) int32\n  Output Y (M, 64) fp32\n  Grid m = ceil(M / 64)\n  Allocate Y in register (64, 64) fp32\n"
        "  Compute Define Y (64, 64) as Q[m * 64 + row(Y), col(Y) div 8] div 2 ** (4 * (col(Y) % 8)) % %s\n"
        "  Copy Y (64, 64) in coordinate [M = m] from register to global\n  Schedule sm_80\n    warps = 4\n  end\nend\n";
    const char *text = translate(arena, "sm_80", replaced(arena, words, "%s", "2 ** (col(Y) % 8)"))->cute->text;
    assert_non_null(strstr(text, " >> (col % 8 * 4))"));
    assert_non_null(strstr(text, " & ((1u << (col % 8)) - 1u)"));
    refused(arena, "sm_80", replaced(arena, words, "%s", "16 + Q[m * 64 + row(Y), 0] * 3 % 5"), "integers of more than 32 bits are not translated");
}

/* ---- all definitions ------------------------------------------------------------------- */

static bool to_code(Chain *chain, const Source *definition)
{
    return chain_define(chain, definition) && chain_fuse(chain) && chain_reason(chain, chain->sketch) &&
           chain_lower(chain, chain->code);
}

static int gemms(const TileBlock *block)
{
    int n = 0;
    for (int i = 0; i < block->ops.len; i++) {
        n += block->ops.data[i]->kind == TILE_GEMM;
        for (int r = 0; r < block->ops.data[i]->n_regions; r++) n += gemms(block->ops.data[i]->regions[r]);
    }
    return n;
}

static void is_translated(Arena *arena, const char *path, const char *target)
{
    const char *error;
    const Source *source = source_read(arena, path, &error);
    Chain *chain = new_chain(arena, target, DT_F16);
    int products = 0;
    assert_non_null(source);
    if (!to_code(chain, source)) return; /* not for this target: another test's business */
    if (!chain_translate(chain))
        fail_msg("%s, %s: %s", path, target, chain->diags->list.data[chain->diags->list.len - 1].message);
    for (int k = 0; k < chain->tile->kernels.len; k++) products += gemms(chain->tile->kernels.data[k]->body);
    assert_int_equal(products, count(chain->cute->text, "tw::gemm") + count(chain->cute->text, "tw::wgmma"));
    assert_int_equal(count(chain->cute->text, "__global__"), 2 * chain->abi->kernels.len);
    balanced(chain->cute->text);
}

/* Keys that are widened have fewer rows than the warpgroups multiply: they have a place of their own. */
static void what_meets_no_product_has_a_place_beside(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    const char *code =
        "Kernel k\n  Input Q (M, D) bf16\n  Input K (N, D) int8\n  Input F (N, D) fp32\n  Input B (1, N) fp32\n  Output O (M, N) fp32\n"
        "  D = 32\n  Grid m = ceil(M / 128)\n"
        "  Allocate Q in shared (128, D) bf16\n  Allocate K in shared (64, D) int8\n  Allocate F in shared (64, D) fp32\n"
        "  Allocate B in shared (1, 64) fp32\n  Allocate K in register (64, D) int8\n  Allocate W in register (64, D) fp32\n"
        "  Allocate W2 in register (64, D) bf16\n  Allocate W2 in shared (64, D) bf16\n  Allocate S in register (128, 64) fp32\n"
        "  Copy Q (128, D) in coordinate [M = m] from global to shared\n"
        "  for j = 0:ceil(N / 64)\n"
        "    Copy K (64, D) in coordinate [N = j] from global to shared\n"
        "    Copy F (64, D) in coordinate [N = j] from global to shared\n"
        "    Copy B (1, 64) in coordinate [N = j] from global to shared\n"
        "    Compute Multiply K, F and get W\n    Compute Cast W, bf16 and get W2\n    Copy W2 from register to shared\n"
        "    Compute GEMM Q, W2.shared.T and get S\n    Compute Add S, B and get new S\n"
        "    Copy S (128, 64) as O in coordinate [M = m, N = j] from register to global\n  end\n"
        "  Schedule sm_90a\n    warps = 8\n    stages = 2\n  end\nend\n";
    Chain *chain = new_chain(arena, "sm_90a", DT_BF16);
    if (!chain_lower(chain, text_source(arena, code)) || !chain_translate(chain))
        fail_msg("%s", chain->diags->list.data[chain->diags->list.len - 1].message);
    const char *text = chain->cute->text;
    assert_int_equal(count(text, "using Place = tw::WgmmaPlace<tw::bfloat16_t, 2>;"), 1);
    assert_int_equal(count(text, "using Beside = tw::RowsPlace<"), 1);
    assert_int_equal(count(text, "tw::write<Beside>(W2, sW2);"), 1);
    assert_int_equal(count(text, "tw::tile<Place, float, 128, 64>()"), 1);
    assert_int_equal(count(text, "tw::read_row<Place>(sB"), 1);
    const AbiMap *map = NULL; /* of F: its box is a panel of tw::Shared */
    for (int i = 0; i < chain->abi->maps.len; i++)
        if (strcmp(chain->abi->tensors.data[chain->abi->maps.data[i].tensor].name, "F") == 0) map = &chain->abi->maps.data[i];
    assert_non_null(map);
    assert_int_equal(map->box[1], 32);
    assert_int_equal(map->swizzle, 128);
    balanced(text);
}

static void every_operator_is_translated(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    static const char *const targets[] = {"sm_75", "sm_80", "sm_89", "sm_90a"};
    glob_t found;
    assert_int_equal(glob("ops/*.tl", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        for (size_t t = 0; t < TW_COUNT(targets); t++) {
            Arena *own = arena_new(arena_heap(arena));
            is_translated(own, found.gl_pathv[i], targets[t]);
            arena_free(own);
        }
    globfree(&found);
}

/* ---- what is refused ---------------------------------------------------------------------- */

static void refused(Arena *arena, const char *target, const char *code, const char *says)
{
    Chain *chain = new_chain(arena, target, DT_BF16);
    if (chain_lower(chain, text_source(arena, code)) && chain_translate(chain)) fail_msg("it is translated: %s", says);
    assert_true(chain->diags->list.len > 0);
    const Diag *d = &chain->diags->list.data[0];
    if (d->code != TW0790 || !strstr(d->message, says)) fail_msg("%s: %s", diag_info(d->code)->name, d->message);
}

static void what_has_no_words_is_refused(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    refused(arena, "sm_89",
            "Kernel k\n  Input A (M, 64) e4m3\n  Input B (N, 64) e4m3\n  Input U (64, 64) bf16\n  Output C (M, 64) fp32\n"
            "  Grid m = ceil(M / 64)\n"
            "  Allocate A in shared (64, 64) e4m3\n  Allocate B in shared (64, 64) e4m3\n"
            "  Allocate U in shared (64, 64) bf16\n  Allocate S in register (64, 64) fp32\n"
            "  Allocate C in register (64, 64) fp32\n"
            "  Copy A (64, 64) in coordinate [M = m] from global to shared\n"
            "  Copy B (64, 64) in coordinate [N = 0] from global to shared\n"
            "  Copy U (64, 64) from global to shared\n"
            "  Compute GEMM A, B.T and get S\n"
            "  Reshape S from (MMA_C, MMA_M, MMA_N) to (MMA_A, MMA_M, MMA_N_new)\n"
            "  Compute GEMM S, U and get C\n"
            "  Copy C (64, 64) in coordinate [M = m] from register to global\n"
            "  Schedule sm_89\n    warps = 4\n  end\nend\n", "a kernel multiplies e4m3 or bf16, not both");
}

/* Integers are cut, not rounded; what several threads hold, one of them adds. */
static void integers_and_sums(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    const char *text = translate(arena, "sm_80",
                                  "Kernel k\n  Input X (M, 64) fp32\n  Output Y (M, 64) int8\n  Output B (M, 64) bool\n  Output R (M) fp32\n  Grid m = ceil(M / 64)\n"
                                  "  Allocate X in register (64, 64)\n  Allocate Y in register (64, 64)\n  Allocate B in register (64, 64)\n"
                                  "  Allocate R in register (64)\n"
                                  "  Copy X (64, 64) in coordinate [M = m] from global to register\n"
                                  "  Compute Multiply X, 10 and get Y\n  Compute Multiply X, 3 and get B\n  Compute RowSum X and get R\n"
                                  "  Copy Y (64, 64) in coordinate [M = m] from register to global\n"
                                  "  Copy B (64, 64) in coordinate [M = m] from register to global\n"
                                  "  Copy R (64) in coordinate [M = m] from register to global and accumulate\nend\n")->cute->text;
    assert_non_null(strstr(text, "tw::convert("));
    assert_non_null(strstr(text, "tw::nonzero("));
    assert_non_null(strstr(text, "tw::Window<tw::Sum>"));
}

/* A program that went through our own schedule has no sequential level left. */
static void a_scheduled_program_is_refused(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    Chain *chain = new_chain(arena, "sm_80", DT_BF16);
    assert_true(chain_lower(chain, text_source(arena, arena_printf(arena, attend, 2))));
    assert_true(chain_schedule(chain));
    assert_false(chain_translate(chain));
    assert_true(chain->diags->list.data[0].code == TW0754);
}

static void the_header_is_the_one_of_this_version(void **state)
{
    const char *error;
    const Source *source = source_read(((Fixture *)*state)->arena, "include/" CUTE_HEADER_NAME, &error);
    assert_non_null(source);
    assert_string_equal(source->text, cute_header);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(statements_become_comments, setup, teardown),
        cmocka_unit_test_setup_teardown(copies_run_ahead_as_the_schedule_says, setup, teardown),
        cmocka_unit_test_setup_teardown(the_head_says_how_it_is_launched, setup, teardown),
        cmocka_unit_test_setup_teardown(names_do_not_collide, setup, teardown),
        cmocka_unit_test_setup_teardown(atoms_are_those_of_the_target, setup, teardown),
        cmocka_unit_test_setup_teardown(bytes_are_multiplied, setup, teardown),
        cmocka_unit_test_setup_teardown(warpgroups_multiply_what_lands, setup, teardown),
        cmocka_unit_test_setup_teardown(tiles_lie_where_a_table_says, setup, teardown),
        cmocka_unit_test_setup_teardown(words_are_taken_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(what_meets_no_product_has_a_place_beside, setup, teardown),
        cmocka_unit_test_setup_teardown(every_operator_is_translated, setup, teardown),
        cmocka_unit_test_setup_teardown(what_has_no_words_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(integers_and_sums, setup, teardown),
        cmocka_unit_test_setup_teardown(a_scheduled_program_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(the_header_is_the_one_of_this_version, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
