/* pack.c: one launch: the parameter space, the entry, the number of blocks.
 *
 * Everything that a launch may get wrong is refused here with a sentence, for
 * behind it nothing stands between a wrong shape and a kernel that reads
 * outside its tensors.
 */
#include "abi/parts.h"

/* Symbols of a context are numbered from 0, dimensions early. */
enum { MAX_SYMS = 4096 };

static bool known(const Abi *abi, const Aff *a)
{
    if (!a)
        return true;
    if (a->kind == AFF_SYM) {
        for (int i = 0; i < abi->dims.len; i++)
            if (abi->dims.data[i] == a->sym)
                return a->sym->id < MAX_SYMS;
        return false;
    }
    return known(abi, a->a) && known(abi, a->b);
}

/* The value of an expression over abi->dims; false on overflow, division by
 * zero, or a symbol that is none of them. */
static bool evaluate(const Abi *abi, const Aff *a, const int64_t *dims, int64_t *value)
{
    int64_t values[MAX_SYMS];
    if (!known(abi, a))
        return false;
    for (int i = 0; i < abi->dims.len; i++)
        if (abi->dims.data[i]->id < MAX_SYMS)
            values[abi->dims.data[i]->id] = dims[i];
    return aff_eval(a, values, value);
}

/* ---- checks ------------------------------------------------------------------------- */

static bool refuse(const Abi *abi, const char **error, const char *fmt, ...) TW_PRINTF(3, 4);
static bool refuse(const Abi *abi, const char **error, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    *error = arena_vprintf(abi->arena, fmt, args);
    va_end(args);
    return false;
}

static bool check_dims(const Abi *abi, const int64_t *dims, const char **error)
{
    for (int i = 0; i < abi->dims.len; i++) {
        const AffSym *sym = abi->dims.data[i];
        int64_t lo = sym->lo > 0 ? sym->lo : 0, hi = sym->hi < ABI_MAX_DIM ? sym->hi : ABI_MAX_DIM;
        if (dims[i] < lo || dims[i] > hi)
            return refuse(abi, error, "dimension %s is %lld; this program takes %lld to %lld",
                          sym->name, (long long)dims[i], (long long)lo, (long long)hi);
    }
    return true;
}

static bool check_requires(const Abi *abi, const int64_t *dims, const char **error)
{
    for (int i = 0; i < abi->requires.len; i++) {
        const TileRequire *require = &abi->requires.data[i];
        int64_t holds;
        if (!evaluate(abi, require->cond, dims, &holds))
            return refuse(abi, error, "whether '%s' holds cannot be computed for these dimensions",
                          aff_text(abi->arena, require->cond));
        if (!holds)
            return refuse(abi, error, "%s", require->message);
    }
    return true;
}

static bool check_shape(const Abi *abi, const AbiTensor *want, const Tensor *t, const int64_t *dims,
                        const char **error)
{
    for (int axis = 0; axis < want->rank; axis++) {
        int64_t size;
        if (!evaluate(abi, want->dims[axis], dims, &size))
            return refuse(abi, error, "dimension %d of %s overflows", axis, want->name);
        if (size != t->dims[axis])
            return refuse(abi, error, "dimension %d of %s is %lld; it must be %s = %lld", axis,
                          want->name, (long long)t->dims[axis],
                          aff_text(abi->arena, want->dims[axis]), (long long)size);
    }
    return true;
}

static bool check_strides(const Abi *abi, const AbiTensor *want, const Tensor *t,
                          const char **error)
{
    int inner = want->rank - 1;
    if (inner >= 0 && t->dims[inner] > 1 && t->strides[inner] != 1)
        return refuse(abi, error, "the innermost stride of %s is %lld; it must be 1", want->name,
                      (long long)t->strides[inner]);
    for (int axis = 0; axis < inner; axis++)
        if (t->strides[axis] < 0 || t->strides[axis] > INT64_MAX / 16)
            return refuse(abi, error,
                          "stride %d of %s is %lld; it must not be negative or so large", axis,
                          want->name, (long long)t->strides[axis]);
    return true;
}

static bool check_tensor(const Abi *abi, const AbiTensor *want, const Tensor *t, uint64_t address,
                         const int64_t *dims, const char **error)
{
    if (!t)
        return refuse(abi, error, "tensor %s is missing", want->name);
    if (t->dtype != want->dtype)
        return refuse(abi, error, "%s is %s; it must be %s", want->name, dtype_name(t->dtype),
                      dtype_name(want->dtype));
    if (t->rank != want->rank)
        return refuse(abi, error, "%s has %d dimensions; it must have %d", want->name, t->rank,
                      want->rank);
    if (address % (uint64_t)dtype_bytes(want->dtype))
        return refuse(abi, error, "the address of %s is not a multiple of its element's %d bytes",
                      want->name, dtype_bytes(want->dtype));
    return check_shape(abi, want, t, dims, error) && check_strides(abi, want, t, error);
}

/* ---- the launch --------------------------------------------------------------------- */

static bool check_counters(const Abi *abi, const AbiHost *host, const char **error)
{
    for (int k = 0; k < abi->kernels.len; k++)
        if (abi_has_counter(&abi->kernels.data[k]) &&
            (!host->counters || host->counters[k] == 0 || host->counters[k] % 4 != 0))
            return refuse(abi, error, "kernel %s has no counter: it needs the address of a zeroed "
                                      "32-bit word", abi->kernels.data[k].fast.name);
    return true;
}

static void put_bytes(char *space, const AbiArg *arg, const void *value)
{
    memcpy(space + arg->offset, value, (size_t)arg->bytes);
}

static void put_arg(const AbiArg *arg, Tensor *const *tensors, const uint64_t *addresses,
                    const int64_t *dims, const double *params, const AbiHost *host, char *space)
{
    float real;
    int32_t narrow;
    switch (arg->kind) {
    case ABI_MAP: memset(space + arg->offset, 0, ABI_MAP_BYTES); break; /* encoded later, or unused */
    case ABI_ADDRESS: put_bytes(space, arg, &addresses[arg->tensor]); break;
    case ABI_COUNTER: put_bytes(space, arg, &host->counters[arg->position]); break;
    case ABI_STRIDE: put_bytes(space, arg, &tensors[arg->tensor]->strides[arg->axis]); break;
    case ABI_DIM:
        narrow = (int32_t)dims[arg->position];
        put_bytes(space, arg, &narrow);
        break;
    case ABI_PARAM:
        real = (float)params[arg->position];
        put_bytes(space, arg, &real);
        break;
    }
}

static bool is_aligned(const Abi *abi, Tensor *const *tensors, const uint64_t *addresses)
{
    for (int i = 0; i < abi->tensors.len; i++) {
        const AbiTensor *t = &abi->tensors.data[i];
        if (addresses[i] % (uint64_t)t->alignment != 0)
            return false;
        for (int axis = 0; axis < t->rank - 1; axis++)
            if (tensors[i]->strides[axis] * dtype_bytes(t->dtype) % t->alignment != 0)
                return false;
    }
    return true;
}

bool abi_pack(const Abi *abi, Tensor *const *tensors, const uint64_t *addresses,
              const int64_t *dims, const double *params, const AbiHost *host, void *space,
              bool *fast, const char **error)
{
    if (!check_dims(abi, dims, error) || !check_requires(abi, dims, error) ||
        !check_counters(abi, host, error))
        return false;
    for (int i = 0; i < abi->tensors.len; i++)
        if (!check_tensor(abi, &abi->tensors.data[i], tensors[i], addresses[i], dims, error))
            return false;
    for (int i = 0; i < abi->args.len; i++)
        put_arg(&abi->args.data[i], tensors, addresses, dims, params, host, space);
    *fast = is_aligned(abi, tensors, addresses) &&
            abi_encode_maps(abi, tensors, addresses, host, space);
    return true;
}

const AbiEntry *abi_entry(const AbiKernel *kernel, bool fast)
{
    return fast || !kernel->any.name ? &kernel->fast : &kernel->any;
}

bool abi_dims(const Abi *abi, int tensor, const int64_t *dims, int64_t *sizes)
{
    const AbiTensor *t = &abi->tensors.data[tensor];
    for (int axis = 0; axis < t->rank; axis++)
        if (!evaluate(abi, t->dims[axis], dims, &sizes[axis]) || sizes[axis] < 0)
            return false;
    return true;
}

bool abi_blocks(const Abi *abi, const AbiEntry *entry, const int64_t *dims, int sms,
                int64_t *blocks, const char **error)
{
    if (!check_dims(abi, dims, error) || !check_requires(abi, dims, error))
        return false;
    if (!evaluate(abi, entry->blocks, dims, blocks) || *blocks < 0 || *blocks > INT32_MAX)
        return refuse(
            abi, error,
            "the grid of %s is '%s' blocks, which is not a number from 0 to 2^31 - 1 here",
            entry->name, aff_text(abi->arena, entry->blocks));
    int64_t resident = (int64_t)entry->persistent * (sms > 0 ? sms : 1);
    if (resident > 0 && *blocks > resident)
        *blocks = resident;
    return true;
}
