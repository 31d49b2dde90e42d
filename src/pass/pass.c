/* pass.c: the pipeline, readable in one place. */
#include "pass/decide.h"
#include "pass/passes.h"

static const Pass PASSES[] = {
    {"ends", "a kernel ahead finds the turns that masks which read tensors leave, from the first to the last, or all of them",
     0, 0, 0, true, pass_ends},
    {"split", "rows divided among warpgroups, where the tensor cores want that",
     0, 0, 0, false, pass_split}, /* products of 8 bits are rounded before they are added to their sum */
    {"backward", "the last tile first, where scores of an online softmax rise along the loop",
     0, 0, 0, false, pass_backward},
    {"window", "for any alignment: rows from a multiple of 16 bytes on, wherever they begin",
     0, 0, 0, false, pass_window},
    {"mask", "tighten loops to live tiles, guard masks that a tile does not need",
     0, TF_MASKED, 0, true, pass_mask},
    {"twice", "rows that are kept are gone over once more: a softmax takes the maximum first",
     0, 0, 0, false, pass_twice},
    {"expand", "composite operations to elementary ones",
     0, TF_EXPANDED, 0, false, pass_expand},
    {"behind", "reductions along rows once, behind their loop",
     TF_EXPANDED, 0, 0, false, pass_behind},
    {"simplify", "exponentials to base 2, scales folded into them, multiply-add",
     TF_EXPANDED, 0, 0, false, pass_simplify},
    {"near", "functions as if all numbers were small, and again where some are not",
     TF_EXPANDED, 0, 0, false, pass_near},
    {"direct", "tiles that are only copied on go from global memory to registers at once",
     TF_EXPANDED, 0, 0, true, pass_direct},
    {"pack", "operands rounded before the next product starts",
     TF_EXPANDED, 0, 0, true, pass_pack},
    {"rotate", "later products of an iteration beside the earlier ones of the next",
     TF_EXPANDED, 0, 0, true, pass_rotate},
    {"settle", "what is known beforehand in the first turns that rotation put before their loops",
     TF_EXPANDED, 0, 0, false, pass_settle},
    {"specialize", "a warpgroup that copies, others that compute; products started and waited for",
     TF_EXPANDED, 0, 0, true, pass_specialize},
    {"stage", "shared tiles to rings of buffers, loads to asynchronous copies",
     TF_EXPANDED, TF_STAGED, 0, true, pass_stage},
    {"cluster", "rows that blocks of a cluster go over together, each a part of the turns",
     TF_STAGED, 0, 0, false, pass_cluster},
    {"keep", "tiles that loops read again stay in shared memory",
     TF_STAGED, 0, 0, true, pass_keep},
    {"assign", "fragment layouts for register tiles, swizzled panels for shared ones",
     TF_STAGED, TF_ASSIGNED, 0, true, pass_assign},
    {"alloc", "offsets of buffers in shared memory",
     TF_ASSIGNED, TF_ALLOCATED, 0, true, pass_alloc},
    {"sync", "barriers where warps would race on shared memory",
     TF_ALLOCATED, TF_SYNCED, 0, true, pass_sync},
};

const Pass *pass_all(int *count)
{
    *count = (int)TW_COUNT(PASSES);
    return PASSES;
}

bool pass_was_exact(const Pass *pass, const TileProgram *program)
{
    bool exact = pass->exact;
    for (int k = 0; k < program->kernels.len && exact; k++) {
        const TileKernel *kernel = program->kernels.data[k];
        exact = pass->run != pass_specialize || !kernel->gave_up_roles;
        for (int d = 0; d < kernel->grid.len && exact; d++) /* the heaviest blocks begin, and add to memory */
            exact = !kernel->grid.data[d].reversed || !tile_adds(kernel->body);
    }
    return exact;
}

static bool run_on(TileProgram *program, TileKernel *kernel, const Pass *pass, const Target *target, Diags *diags)
{
    int errors = diags->errors;
    if (!pass->run(program, kernel, target, diags) || diags->errors > errors) return false;
    kernel->facts = (kernel->facts | pass->gives) & ~pass->breaks;
    return true;
}

static bool run_on_kernels(TileProgram *program, const Pass *pass, const Target *target, Diags *diags)
{
    for (int k = 0; k < program->kernels.len; k++) {
        TileKernel *kernel = program->kernels.data[k];
        if (!run_on(program, kernel, pass, target, diags)) return false;
        if (kernel->plain && pass->run != pass_split && !run_on(program, kernel->plain, pass, target, diags)) return false;
    }
    return true;
}

/* The pass behind the last that the program went through; -1: there is none of the name. */
static int first_to_run(const TileProgram *program)
{
    for (size_t i = 0; program->after && i < TW_COUNT(PASSES); i++)
        if (strcmp(PASSES[i].name, program->after) == 0) return (int)i + 1;
    return program->after ? -1 : 0;
}

/* Those that change what a program says, not how it is scheduled. */
static bool is_sequential(const Pass *pass)
{
    return pass->run == pass_mask || pass->run == pass_expand || pass->run == pass_simplify || pass->run == pass_direct;
}

bool pass_run_sequential(TileProgram *program, const Target *target, Diags *diags)
{
    if (!tile_verify(program, diags)) return false;
    if (program->after) {
        diag_add(diags, TW0754, program->kernels.len ? program->kernels.data[0]->loc : (Span){0, 0},
                 "the program went through passes already, the last of them '%s'", program->after);
        return false;
    }
    for (size_t i = 0; i < TW_COUNT(PASSES); i++) {
        if (!is_sequential(&PASSES[i])) continue;
        if (!run_on_kernels(program, &PASSES[i], target, diags) || !tile_verify(program, diags)) return false;
        program->after = PASSES[i].name;
    }
    return true;
}

bool pass_run(TileProgram *program, const Target *target, Diags *diags,
              bool (*after)(void *user, const Pass *pass, TileProgram *program), void *user)
{
    int first = first_to_run(program);
    if (!tile_verify(program, diags)) return false;
    if (first < 0) {
        diag_add(diags, TW0754, program->kernels.len ? program->kernels.data[0]->loc : (Span){0, 0},
                 "there is no pass '%s' for the program to go on behind", program->after);
        return false;
    }
    for (size_t i = (size_t)first; i < TW_COUNT(PASSES); i++) {
        if (!run_on_kernels(program, &PASSES[i], target, diags)) return false;
        program->after = PASSES[i].name;
        if (!tile_verify(program, diags)) return false;
        if (after && !after(user, &PASSES[i], program)) return false;
    }
    return first > 0 || pass_decided_all(program, diags);
}
