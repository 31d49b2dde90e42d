/* subjects.c: the table of right programs. Tiles are small, so that small shapes
 * show everything. */
#include "subjects.h"

#define ATTENTION_SHAPES                                                                                      \
    {                                                                                                         \
        "batch=3,1 q_heads=4 kv_heads=2 q_len=33,1 kv_len=33,17", "batch=1 q_heads=1 kv_heads=1 q_len=~32 kv_len=~16", \
            "batch=2 q_heads=3 kv_heads=3 q_len=33 kv_len=33"                                                 \
    }
#define SAME_HEADS {"batch=3,1 heads=2,3 q_len=33,1 kv_len=33,17", "batch=1 heads=1 q_len=~32 kv_len=~16"}
#define ROWS {"M=~16"}

const Subject SUBJECTS[] = {
    {"causal", "ops/attention.tl", NULL, {"HeadDim=16", "VDim=32"}, {"BM=32", "BN=16", "warps=2"},
     {.kind = TASK_ATTENTION, .causal = true, .head_dim = 16, .v_dim = 32, .tile_rows = 32, .tile_streamed = 16}},
    {"full", "ops/attention.tl", NULL,
     {"HeadDim=16", "causal=0", "q_heads=4", "kv_heads=2"}, {"BM=16", "BN=16", "warps=1"},
     {.kind = TASK_ATTENTION, .q_heads = 4, .kv_heads = 2, .head_dim = 16, .v_dim = 16, .tile_rows = 16,
      .tile_streamed = 16}},
    {"rescaled", "ops/attention.tl", "tests/mutate/rescaled.tl", {"HeadDim=16", "VDim=32"}, {NULL},
     {.kind = TASK_ATTENTION, .causal = true, .head_dim = 16, .v_dim = 32, .tile_rows = 16, .tile_streamed = 32}},
    {"gemm", "ops/gemm_bias.tl", NULL, {NULL}, {"BM=16", "BN=32", "BK=16", "warps=1"},
     {.kind = TASK_GEMM_BIAS, .tile_rows = 16, .tile_cols = 32, .tile_streamed = 16}},
    {"gemm of known sizes", "ops/gemm_bias.tl", NULL, {"N=40", "K=48"}, {"BM=16", "BN=16", "BK=16", "warps=1"},
     {.kind = TASK_GEMM_BIAS, .tile_rows = 16, .tile_cols = 16, .tile_streamed = 16, .n = 40, .k = 48}},
    {"norm", "tests/mutate/norm.def.tl", "tests/mutate/norm.tl", {"N=48"}, {NULL},
     {.kind = TASK_NORM, .tile_rows = 16, .n = 48}},
    {"keys in parts", "ops/attention.tl", NULL, {"HeadDim=16", "VDim=32"}, {"splits=2", "BM=16", "BN=16", "warps=1"},
     {.kind = TASK_ATTENTION, .causal = true, .head_dim = 16, .v_dim = 32, .tile_rows = 16, .tile_streamed = 16}},
    {"product in parts", "ops/gemm_bias.tl", NULL, {NULL}, {"splits=2", "BM=16", "BN=32", "BK=16", "warps=1"},
     {.kind = TASK_GEMM_BIAS, .tile_rows = 16, .tile_cols = 32, .tile_streamed = 16}},
    {"passed on", "tests/mutate/passed.def.tl", "tests/mutate/passed.tl", {NULL}, {NULL},
     {.kind = TASK_ORIGINAL, .shapes = {"M=17,33,16,1 K=17,33,5 L=33,31"}}},
    {"sums over blocks", "tests/mutate/sums.def.tl", "tests/mutate/sums.tl", {NULL}, {NULL},
     {.kind = TASK_ORIGINAL, .shapes = {"M=~16 N=~16 K=33,17,1"}}},
    {"sinks in a window", "ops/sinks_window.tl", NULL, {"HeadDim=16", "window=20"}, {"BM=32", "BN=16", "warps=2"},
     {.kind = TASK_ORIGINAL, .shapes = ATTENTION_SHAPES}},
    {"alibi", "ops/alibi.tl", NULL, {"HeadDim=16"}, {"BM=32", "BN=16", "warps=2"},
     {.kind = TASK_ORIGINAL, .shapes = ATTENTION_SHAPES}},
    {"soft-capped", "ops/softcap.tl", NULL, {"HeadDim=16"}, {"BM=32", "BN=16", "warps=2"},
     {.kind = TASK_ORIGINAL, .shapes = ATTENTION_SHAPES}},
    {"biased", "ops/attention_bias.tl", NULL, {"HeadDim=16"}, {"BM=32", "BN=16", "warps=2"},
     {.kind = TASK_ORIGINAL, .shapes = ATTENTION_SHAPES}},
    {"log-sum-exp", "ops/attention_lse.tl", NULL, {"HeadDim=16"}, {"BM=32", "BN=16", "warps=2"},
     {.kind = TASK_ORIGINAL, .shapes = ATTENTION_SHAPES}},
    {"prefix", "ops/prefix_lm.tl", NULL, {"HeadDim=16", "prefix=20"}, {"BM=32", "BN=16", "warps=2"},
     {.kind = TASK_ORIGINAL, .shapes = ATTENTION_SHAPES}},
    {"sigmoid", "ops/sigmoid_attention.tl", NULL, {"HeadDim=16"}, {"BM=32", "BN=16", "warps=2"},
     {.kind = TASK_ORIGINAL, .shapes = ATTENTION_SHAPES}},
    {"gated", "ops/gated_attention.tl", NULL, {"HeadDim=16"}, {"BM=32", "BN=16", "warps=2"},
     {.kind = TASK_ORIGINAL, .shapes = ATTENTION_SHAPES}},
    {"retention", "ops/retention.tl", NULL, {"HeadDim=16"}, {"BM=32", "BN=16", "warps=2"},
     {.kind = TASK_ORIGINAL, .shapes = ATTENTION_SHAPES}},
    {"difference", "ops/differential_attention.tl", NULL, {"HeadDim=16"}, {"BM=32", "BN=16", "warps=2"},
     {.kind = TASK_ORIGINAL, .shapes = ATTENTION_SHAPES}},
    {"projected", "ops/attention_projection.tl", NULL, {"HeadDim=16", "q_heads=2"}, {"BM=32", "BN=16", "warps=2"},
     {.kind = TASK_ORIGINAL, .shapes = {"batch=2 q_heads=2 kv_heads=1,2 q_len=33 kv_len=33 D=33", "batch=1 q_heads=2 kv_heads=1 q_len=~32 kv_len=~16 D=31"}}},
    {"rmsnorm", "ops/rmsnorm.tl", NULL, {"N=48"}, {"BM=16", "warps=1"}, {.kind = TASK_ORIGINAL, .shapes = ROWS}},
    {"layernorm in pieces", "ops/layernorm.tl", NULL, {NULL}, {"BM=16", "BN=32", "warps=1"},
     {.kind = TASK_ORIGINAL, .shapes = {"M=~16 N=~32"}}},
    {"softmax of rows", "ops/row_softmax.tl", NULL, {"N=48"}, {"BM=16", "warps=1"},
     {.kind = TASK_ORIGINAL, .shapes = ROWS}},
    {"log-softmax", "ops/log_softmax.tl", NULL, {NULL}, {"BM=16", "BN=32", "warps=1"},
     {.kind = TASK_ORIGINAL, .shapes = {"M=~16 N=~32"}}},
    {"swiglu", "ops/swiglu.tl", NULL, {NULL}, {"BM=16", "BN=32", "BK=16", "warps=1"},
     {.kind = TASK_ORIGINAL, .shapes = {"M=~16 K=~16 F=33,31"}}},
    {"two products", "ops/two_gemms.tl", NULL, {"K=32", "N=48"}, {"BM=16", "BN=16", "warps=1"},
     {.kind = TASK_ORIGINAL, .shapes = {"M=~16 L=~16"}}},
    {"norm and product", "ops/layernorm_gemm.tl", NULL, {"K=32"}, {"BM=16", "BN=32", "warps=1"},
     {.kind = TASK_ORIGINAL, .shapes = {"M=~16 N=~32"}}},
    {"residual", "ops/gemm_residual.tl", NULL, {NULL}, {"BM=16", "BN=32", "BK=16", "warps=1"},
     {.kind = TASK_ORIGINAL, .shapes = {"M=~16 K=~16 N=33,31"}}},
    {"gates", "ops/silu_multiply.tl", NULL, {NULL}, {"warps=1"}, {.kind = TASK_ORIGINAL, .shapes = {"M=~16 F=~32"}}},
};

const int N_SUBJECTS = (int)(sizeof SUBJECTS / sizeof *SUBJECTS);
