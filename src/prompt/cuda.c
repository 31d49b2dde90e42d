/* cuda.c: what a writer of CUDA straight from a definition is told: the head of the function,
 * and what stands above it to say how it is launched.
 *
 *   // blocks = ceil(rows / 4)
 *   // threads = 128
 *   // shared = 0
 *   __device__ void softmax_block(const __nv_bfloat16 *X, ..., int cols) { ... }
 */
#include "prompt/prompt.h"

bool prompt_is_cuda(PromptStage stage)
{
    return stage == PROMPT_THINK || stage == PROMPT_VANILLA;
}

static Chain *defined(Arena *arena, const PromptRequest *r)
{
    Source *source;
    Chain *chain = prompt_chain(arena, r, "definition", &source);

    return chain_define(chain, source) ? chain : NULL;
}

void prompt_cuda_head(Str *out, const PromptRequest *r)
{
    Chain *chain = defined(out->arena, r);

    if (!chain)
        return;
    str_printf(out, "\n# The function\n\nOne kernel computes all of it. Write what a block does:\n\n```cpp\n__device__ void %s_block(",
               chain->name);
    chain_cuda_params(out, chain_signature(chain));
    str_printf(out, ")\n```\n\nPointers are to the element with all coordinates 0, NAME_strideI is the distance of neighbours along\n"
                    "dimension I in elements; the last dimension has stride 1. Shared memory is\n"
                    "`extern __shared__ __align__(16) char shared[];`. Pointers and strides are aligned to elements, no more.\n"
                    "Outputs must be written whole.\n");
}

void prompt_cuda_form(Str *out)
{
    str_add(out, "\n# The answer\n\n"
                 "Give CUDA C++ in one block: a line of three backticks, the program, a line of three backticks. It\n"
                 "begins with three lines that say how it is launched, in a grid of one dimension:\n\n"
                 "// blocks = ceil(rows / 4) * heads      an expression over the dimensions, as in TL\n"
                 "// threads = 128                        of a block, at most 1024\n"
                 "// shared = 16384                       bytes of shared memory of a block, or 0\n\n"
                 "Then come `#include <cuda_fp16.h>` or `#include <cuda_bf16.h>` where they are used, functions, and\n"
                 "the one above. The entry and the launch are written for you: no __global__, no host\n"
                 "code, no other lines that begin with #, no asm, no variables outside of functions. Of several blocks the last one counts.\n");
}
