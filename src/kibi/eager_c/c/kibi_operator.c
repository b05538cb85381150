/* What operators by hand are made of. */
#include "kibi_operator.h"

#include <string.h>

void kibi_give_up(kibi_work *work, kibi_status status)
{
    if (work->status == KIBI_OK) {
        work->status = kibi_fail(work->context->handler, status);
    }
}

/* What is wrong with an operand, or KIBI_OK. */
static kibi_status flaw_of(const kibi_tensor *tensor)
{
    uint64_t bytes = 1;
    if (tensor == NULL || tensor->access == NULL || tensor->type == NULL) {
        return KIBI_ERROR_NULL;
    }
    if (tensor->type->rank > 4) {
        return KIBI_ERROR_ARGUMENT;
    }
    for (unsigned axis = 0; axis < tensor->type->rank; ++axis) {
        bytes *= tensor->type->dimensions[axis];
        if (bytes == 0 || bytes > KIBI_MOST_BYTES) {
            return KIBI_ERROR_ARGUMENT;
        }
    }
    return bytes * kibi_element_bytes(tensor->type) > KIBI_MOST_BYTES ? KIBI_ERROR_ARGUMENT : KIBI_OK;
}

kibi_status kibi_operands(const kibi_context *context, unsigned required, unsigned count, kibi_tensor *const *tensors)
{
    if (context == NULL) {
        return KIBI_ERROR_NULL;
    }
    for (unsigned k = 0; k < count; ++k) {
        const kibi_status flaw = k >= required && tensors[k] == NULL ? KIBI_OK : flaw_of(tensors[k]);
        if (flaw != KIBI_OK) {
            return kibi_fail(context->handler, flaw);
        }
    }
    return KIBI_OK;
}

void kibi_begin(kibi_work *work, const kibi_context *context, uint32_t bytes)
{
    work->context = context;
    work->block.data = NULL;
    work->block.pins = 0;
    work->next = NULL;
    work->status = KIBI_OK;
    if (bytes == 0) {
        return;
    }
    if (context->metadata == NULL) {
        kibi_give_up(work, KIBI_ERROR_NULL);
        return;
    }
    work->status = kibi_allocate_handle(context->metadata, bytes, &work->block);
    if (work->status == KIBI_OK) {
        work->next = (uint8_t *)kibi_pin(context->metadata, &work->block);
        memset(work->next, 0, bytes);
        if (((uintptr_t)work->next & 7u) != 0) {
            kibi_give_up(work, KIBI_ERROR_ARENA_ALIGNMENT);
        }
    }
}

void *kibi_take(kibi_work *work, uint32_t bytes)
{
    void *const piece = bytes != 0 ? work->next : NULL;
    if (work->status == KIBI_OK) {
        work->next += KIBI_ROOM(bytes);
    }
    return piece;
}

kibi_status kibi_end(kibi_work *work)
{
    if (work->block.data != NULL) {
        kibi_arena *const arena = work->context->metadata;
        kibi_status status;
        (void)kibi_unpin(arena, &work->block);
        status = kibi_free(arena, &work->block);
        if (status != KIBI_OK) { /* the arena frees no single blocks: it forgets the handle, which ends with the evaluation */
            (void)kibi_unbind(arena, kibi_address(arena, &work->block), &work->block);
            work->status = work->status == KIBI_OK ? status : work->status;
        }
    }
    return work->status;
}

uint32_t kibi_copy_bytes(const kibi_tensor *tensor, uint32_t bytes)
{
    const int is_direct =
        tensor->access->hold != NULL && (tensor->access->is_whole || bytes == kibi_row_bytes(tensor->type));
    return is_direct ? 0 : KIBI_ROOM(bytes);
}

/* Holds a piece that can be used where it is; elements are where kernels can read them. */
static uint8_t *hold(kibi_work *work, kibi_tensor *tensor, uint32_t offset, uint32_t bytes, int writing)
{
    const uint32_t row_bytes = kibi_row_bytes(tensor->type);
    const uint32_t row = offset / row_bytes;
    const uint32_t element = kibi_element_bytes(tensor->type);
    void *data = NULL;
    if ((uint64_t)offset + bytes > kibi_bytes(tensor->type)) {
        kibi_give_up(work, KIBI_ERROR_ACCESS);
    }
    if (work->status == KIBI_OK) {
        work->status = kibi_hold_row(work->context, tensor, row, writing, &data);
    }
    if (work->status == KIBI_OK && ((uintptr_t)data & ((element < 4 ? element : 4) - 1)) != 0) {
        kibi_let_go(work->context, tensor);
        kibi_give_up(work, KIBI_ERROR_ARENA_ALIGNMENT);
    }
    return work->status == KIBI_OK ? (uint8_t *)data + (offset - row * row_bytes) : NULL;
}

const void *kibi_fetch(kibi_work *work, kibi_tensor *tensor, uint32_t offset, uint32_t bytes, void *copy)
{
    const uint32_t row_bytes = kibi_row_bytes(tensor->type);
    uint8_t *to = (uint8_t *)copy;
    if (kibi_copy_bytes(tensor, bytes) == 0) {
        return hold(work, tensor, offset, bytes, 0);
    }
    while (bytes != 0 && work->status == KIBI_OK) {
        const uint32_t left = row_bytes - offset % row_bytes;
        const uint32_t now = bytes < left ? bytes : left;
        work->status = kibi_read(work->context, tensor, offset, to, now);
        to += now;
        offset += now;
        bytes -= now;
    }
    return copy;
}

void kibi_done(kibi_work *work, kibi_tensor *tensor, uint32_t bytes, const void *data)
{
    if (data != NULL && kibi_copy_bytes(tensor, bytes) == 0) {
        kibi_let_go(work->context, tensor);
    }
}

void *kibi_target(kibi_work *work, kibi_tensor *tensor, uint32_t offset, uint32_t bytes, void *copy)
{
    return kibi_copy_bytes(tensor, bytes) == 0 ? hold(work, tensor, offset, bytes, 1) : copy;
}

void kibi_put(kibi_work *work, kibi_tensor *tensor, uint32_t offset, uint32_t bytes, const void *data)
{
    const uint32_t row_bytes = kibi_row_bytes(tensor->type);
    const uint8_t *from = (const uint8_t *)data;
    if (kibi_copy_bytes(tensor, bytes) == 0) {
        kibi_done(work, tensor, bytes, data);
        return;
    }
    while (bytes != 0 && work->status == KIBI_OK) {
        const uint32_t left = row_bytes - offset % row_bytes;
        const uint32_t now = bytes < left ? bytes : left;
        work->status = kibi_write(work->context, tensor, offset, from, now);
        from += now;
        offset += now;
        bytes -= now;
    }
}

uint32_t kibi_each_piece_bytes(const kibi_tensor *output, uint32_t output_bytes, const kibi_tensor *input, uint32_t input_bytes)
{
    return kibi_copy_bytes(output, output_bytes) + kibi_copy_bytes(input, input_bytes);
}

void kibi_each_piece(kibi_work *work, kibi_tensor *output, uint32_t output_bytes, kibi_tensor *input, uint32_t input_bytes,
                     uint32_t pieces, kibi_call call, const void *params)
{
    void *const output_copy = kibi_take(work, kibi_copy_bytes(output, output_bytes));
    void *const input_copy = kibi_take(work, kibi_copy_bytes(input, input_bytes));
    for (uint32_t k = 0; k < pieces && work->status == KIBI_OK; ++k) {
        const void *const row = kibi_fetch(work, input, k * input_bytes, input_bytes, input_copy);
        void *const target = kibi_target(work, output, k * output_bytes, output_bytes, output_copy);
        if (work->status == KIBI_OK) {
            call(target, &row, params);
        }
        kibi_put(work, output, k * output_bytes, output_bytes, target);
        kibi_done(work, input, input_bytes, row);
    }
}

int kibi_is(const kibi_tensor *tensor, uint8_t dtype)
{
    const kibi_tensor_type *const type = tensor->type;
    if (type->dtype != dtype || type->rank > 4) {
        return 0;
    }
    if (dtype != KIBI_TYPE_S8 && dtype != KIBI_TYPE_U8) {
        return 1;
    }
    return type->quantization != NULL && !type->is_per_channel && type->quantization->scale > 0.0f &&
           type->quantization->zero_point >= (dtype == KIBI_TYPE_S8 ? -128 : 0) &&
           type->quantization->zero_point <= (dtype == KIBI_TYPE_S8 ? 127 : 255);
}

int kibi_same_shape(const kibi_tensor *a, const kibi_tensor *b)
{
    return a->type->rank == b->type->rank &&
           memcmp(a->type->dimensions, b->type->dimensions, a->type->rank * sizeof(uint32_t)) == 0;
}

int kibi_multiplier_of(double real, int32_t *multiplier, int32_t *shift)
{
    uint64_t bits;
    uint64_t fraction;
    int32_t exponent;
    memcpy(&bits, &real, sizeof bits);
    exponent = (int32_t)((bits >> 52) & 0x7FF) - 1022;
    *multiplier = 0;
    *shift = 0;
    if (real == 0.0 || exponent < -1000) {
        return 1;
    }
    if (!(real > 0.0) || exponent > 30) {
        return 0;
    }
    /* The fraction is 0.5 … 1 in 53 bits; 31 of them stay, rounded half away from zero. */
    fraction = ((bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52) + ((uint64_t)1 << 21);
    fraction >>= 22;
    if (fraction == (uint64_t)1 << 31) {
        fraction >>= 1;
        ++exponent;
    }
    if (exponent >= -31) {
        *multiplier = (int32_t)fraction;
        *shift = exponent;
    }
    return exponent <= 30;
}

/* A real number in a scale, rounded half away from zero, plus the zero point; cut to far outside of 8 bits. 0 where the
 * quotient does not fit 32 bits. */
static int quantized(float value, const kibi_channel *scale, int32_t *result)
{
    const float quotient = value / scale->scale;
    const float magnitude = quotient < 0.0f ? -quotient : quotient;
    int32_t whole = 1 << 20;
    if (!(magnitude < 2147483648.0f)) {
        return 0;
    }
    if (magnitude < 1048576.0f) {
        whole = (int32_t)magnitude;
        whole += magnitude - (float)whole >= 0.5f;
    }
    *result = (quotient < 0.0f ? -whole : whole) + scale->zero_point;
    return 1;
}

int kibi_limits(const kibi_tensor_type *type, kibi_activation activation, int32_t *low, int32_t *high)
{
    static const float bounds[][2] = {{0.0f, 0.0f}, {0.0f, 0.0f}, {-1.0f, 1.0f}, {0.0f, 6.0f}};
    int32_t bound;
    *low = type->dtype == KIBI_TYPE_S8 ? -128 : 0;
    *high = type->dtype == KIBI_TYPE_S8 ? 127 : 255;
    if (activation > KIBI_RELU6) {
        return 0;
    }
    if (activation != KIBI_NO_ACTIVATION) {
        if (!quantized(bounds[activation][0], type->quantization, &bound)) {
            return 0;
        }
        *low = bound > *low ? bound : *low;
    }
    if (activation > KIBI_RELU) {
        if (!quantized(bounds[activation][1], type->quantization, &bound)) {
            return 0;
        }
        *high = bound < *high ? bound : *high;
    }
    return 1;
}

void kibi_limits_f32(kibi_activation activation, float *low, float *high)
{
    *low = activation == KIBI_NO_ACTIVATION ? -3.4028234663852886e+38f : activation == KIBI_RELU_N1_TO_1 ? -1.0f : 0.0f;
    *high = activation == KIBI_RELU6 ? 6.0f : activation == KIBI_RELU_N1_TO_1 ? 1.0f : 3.4028234663852886e+38f;
}
