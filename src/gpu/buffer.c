/* buffer.c: a tensor on the device, with everything round it watched.
 *
 *   | guard, 64 KiB | row | gap | row | gap | ... row | guard, 64 KiB |
 *                   ^ lead: element (0, ..., 0)
 *
 * Guards, gaps and the elements of outputs hold NaNs before a launch: a read
 * outside a tensor poisons the result, a write outside of it changes the
 * pattern, and an output that was never written still has it.
 */
#include "gpu/driver.h"

const char *placing_name(Placing placing)
{
    static const char *const names[] = {
        [PLACE_PLAIN] = "contiguous",
        [PLACE_OFFSET] = "unaligned address",
        [PLACE_PADDED] = "padded rows",
        [PLACE_ODD] = "rows an odd number of elements apart",
        [PLACE_TRANSPOSED] = "transposed in memory",
        [PLACE_COUNT] = "",
    };
    return names[placing];
}

uint16_t guard_word(size_t index)
{
    return (uint16_t)(0x7ff1 + index % 14);
}

/* ---- rows --------------------------------------------------------------------------- */

static int64_t row_length(const Tensor *t)
{
    return t->rank ? t->dims[t->rank - 1] : 1;
}

static size_t row_bytes(const Tensor *t)
{
    return (size_t)row_length(t) * (size_t)dtype_bytes(t->dtype);
}

static size_t row_offset(const Tensor *t, const int64_t *at)
{
    int64_t index = 0;
    for (int d = 0; d < t->rank - 1; d++)
        index += at[d] * t->strides[d];
    return (size_t)index * (size_t)dtype_bytes(t->dtype);
}

/* ---- planning ----------------------------------------------------------------------- */

/* Axes from the innermost outwards as they lie in memory. */
static void memory_order(const Tensor *t, Placing placing, int *order)
{
    for (int i = 0; i < t->rank; i++)
        order[i] = t->rank - 1 - i;
    if (placing == PLACE_TRANSPOSED && t->rank >= 3) {
        order[1] = t->rank - 3;
        order[2] = t->rank - 2;
    }
}

static void set_strides(Tensor *t, Placing placing)
{
    int order[TENSOR_MAX_RANK];
    int64_t stride = 1;
    if (placing == PLACE_PLAIN)
        return;
    memory_order(t, placing, order);
    for (int i = 0; i < t->rank; i++) {
        t->strides[order[i]] = stride;
        stride *= t->dims[order[i]] > 0 ? t->dims[order[i]] : 1;
        if (i == 0)
            stride += placing == PLACE_PADDED ? 8 : placing == PLACE_ODD ? 1 : 0;
    }
}

/* Bytes from the first element to the end of the last. */
static size_t span_bytes(const Tensor *t)
{
    int64_t last = 0;
    if (tensor_count(t) == 0)
        return 0;
    for (int d = 0; d < t->rank; d++)
        last += (t->dims[d] - 1) * t->strides[d];
    return (size_t)(last + 1) * (size_t)dtype_bytes(t->dtype);
}

static void put_elements(const Buffer *b, const Tensor *from)
{
    int64_t at[TENSOR_MAX_RANK] = {0};
    if (tensor_count(from) == 0)
        return;
    do {
        memcpy(b->image + b->lead + row_offset(&b->view, at),
               (const char *)from->data + row_offset(from, at), row_bytes(from));
    } while (tensor_step(from, from->rank - 1, at));
}

void buffer_take(Buffer *b, const Tensor *from)
{
    put_elements(b, from);
}

/* The halves of a guard word are numbers of 8 bits, which a kernel may well write: those are
 * poisoned with a NaN of the sign that conversions do not give (PTX ISA, "cvt"). */
static void poison_bytes(const Buffer *b, const Tensor *from)
{
    int64_t at[TENSOR_MAX_RANK] = {0};
    if (dtype_bytes(from->dtype) != 1 || tensor_count(from) == 0)
        return;
    do
        memset(b->image + b->lead + row_offset(&b->view, at), 0xFF, row_bytes(from));
    while (tensor_step(from, from->rank - 1, at));
}

void buffer_plan(Arena *arena, Buffer *b, const Tensor *from, Placing placing, bool poison)
{
    *b = (Buffer){.view = *from, .lead = GUARD_BYTES};
    set_strides(&b->view, placing);
    b->view.data = NULL;
    b->view.bytes = span_bytes(&b->view);
    if (placing == PLACE_OFFSET)
        b->lead += (size_t)dtype_bytes(from->dtype);
    b->bytes = (b->lead + b->view.bytes + GUARD_BYTES + 1) & ~(size_t)1;
    b->image = arena_alloc(arena, b->bytes);
    for (size_t i = 0; i < b->bytes / 2; i++) {
        uint16_t word = guard_word(i);
        memcpy(b->image + 2 * i, &word, sizeof word);
    }
    if (poison)
        poison_bytes(b, from);
    else
        put_elements(b, from);
}

/* ---- on the device ------------------------------------------------------------------ */

bool buffer_create(Gpu *gpu, Buffer *b)
{
    const char *doing =
        arena_printf(gpu->arena, "taking %zu bytes of GPU memory for %s", b->bytes, b->view.name);
    if (!gpu_ok(gpu, gpu->cu.memory_alloc(&b->base, b->bytes), doing))
        return false;
    b->address = b->base + b->lead;
    return buffer_reset(gpu, b);
}

bool buffer_reset(Gpu *gpu, const Buffer *b)
{
    return gpu_ok(gpu, gpu->cu.memory_upload(b->base, b->image, b->bytes), "copying to the GPU");
}

void buffer_free(Gpu *gpu, Buffer *b)
{
    if (b->base)
        gpu->cu.memory_free(b->base);
    b->base = 0;
}

/* ---- inspection --------------------------------------------------------------------- */

/* Elements that still hold the poison; of integers of 8 bits any pattern is a number, and none tells. */
static int64_t count_poison(const char *bytes, const char *image, size_t size, DType dtype)
{
    size_t element = (size_t)dtype_bytes(dtype);
    int64_t n = 0;
    if (dtype == DT_I8 || dtype == DT_U8)
        return 0;
    for (size_t i = 0; i < size; i += element)
        n += memcmp(bytes + i, image + i, element) == 0;
    return n;
}

/* Takes the elements out of the bytes, and puts the image's in their place. */
static void take_elements(const Buffer *b, char *bytes, Tensor *to, int64_t *unwritten)
{
    const Tensor *view = &b->view;
    int64_t at[TENSOR_MAX_RANK] = {0};
    size_t size = row_bytes(view);
    if (tensor_count(view) == 0)
        return;
    do {
        size_t offset = b->lead + row_offset(view, at);
        *unwritten +=
            count_poison(bytes + offset, b->image + offset, size, view->dtype);
        if (to)
            memcpy((char *)to->data + row_offset(to, at), bytes + offset, size);
        memcpy(bytes + offset, b->image + offset, size);
    } while (tensor_step(view, view->rank - 1, at));
}

static Damage classify(const Buffer *b, size_t at, bool written)
{
    if (at < b->lead)
        return DAMAGE_BEFORE;
    if (at >= b->lead + b->view.bytes)
        return DAMAGE_AFTER;
    return written ? DAMAGE_GAP : DAMAGE_ELEMENT;
}

Damage buffer_inspect(const Buffer *b, char *bytes, bool written, Tensor *to, int64_t *unwritten)
{
    size_t at = 0;
    *unwritten = 0;
    if (written)
        take_elements(b, bytes, to, unwritten);
    if (memcmp(bytes, b->image, b->bytes) == 0)
        return DAMAGE_NONE;
    while (bytes[at] == b->image[at])
        at++;
    return classify(b, at, written);
}
