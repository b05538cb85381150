/* Operators by hand that move elements: RESHAPE, TRANSPOSE, STRIDED_SLICE, CONCATENATION. */
#include "kibi_operators.h"

#include <string.h>

static kibi_status refuse(const kibi_context *context)
{
    return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
}

/* Copies a stretch of bytes from one tensor to another, in pieces of at most a row of the output. */
static void copy_stretch(kibi_work *work, kibi_tensor *output, uint32_t to, kibi_tensor *input, uint32_t from, uint32_t bytes,
                         void *room)
{
    const uint32_t row_bytes = kibi_row_bytes(output->type);
    while (bytes != 0 && work->status == KIBI_OK) {
        const uint32_t left = row_bytes - to % row_bytes;
        const uint32_t now = bytes < left ? bytes : left;
        const void *const data = kibi_fetch(work, input, from, now, room);
        if (work->status == KIBI_OK) {
            work->status = kibi_write(work->context, output, to, data, now);
        }
        kibi_done(work, input, now, data);
        to += now;
        from += now;
        bytes -= now;
    }
}

kibi_status kibi_op_reshape(const kibi_context *context, kibi_tensor *output, kibi_tensor *input)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    const uint32_t bytes = kibi_bytes(output->type);
    const uint32_t row_bytes = kibi_row_bytes(output->type);
    kibi_work work;
    if (output->type->dtype != input->type->dtype || kibi_elements(output->type) != kibi_elements(input->type)) {
        return refuse(context);
    }
    kibi_begin(&work, context, KIBI_ROOM(row_bytes));
    copy_stretch(&work, output, 0, input, 0, bytes, kibi_take(&work, row_bytes));
    return kibi_end(&work);
}

/* Where elements of the output come from: `base`, and along each of its axes `steps` further, in elements of the input. */
typedef struct {
    int32_t base;
    int32_t steps[4];
} origin;

/* Gathers the output, row by row. */
static kibi_status gather(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, const origin *from)
{
    const kibi_tensor_type *const type = output->type;
    const uint32_t element = kibi_element_bytes(type);
    const uint32_t row_bytes = kibi_row_bytes(type);
    kibi_work work;
    uint8_t *row;
    void *room;
    kibi_begin(&work, context, KIBI_ROOM(row_bytes) + KIBI_ROOM(element));
    row = (uint8_t *)kibi_take(&work, row_bytes);
    room = kibi_take(&work, element);
    for (uint32_t k = 0; k < kibi_elements(type) && work.status == KIBI_OK; ++k) {
        const uint32_t at = k * element % row_bytes;
        uint32_t rest = k;
        int32_t place = from->base;
        const void *data;
        for (unsigned axis = type->rank; axis-- > 0;) {
            place += (int32_t)(rest % type->dimensions[axis]) * from->steps[axis];
            rest /= type->dimensions[axis];
        }
        data = kibi_fetch(&work, input, (uint32_t)place * element, element, room);
        if (work.status == KIBI_OK) {
            memcpy(row + at, data, element);
        }
        kibi_done(&work, input, element, data);
        if (at + element == row_bytes && work.status == KIBI_OK) {
            work.status = kibi_write(context, output, k * element + element - row_bytes, row, row_bytes);
        }
    }
    return kibi_end(&work);
}

/* Elements of the input from one along an axis to the next. */
static void strides_of(const kibi_tensor_type *type, int32_t *strides)
{
    int32_t stride = 1;
    for (unsigned axis = type->rank; axis-- > 0;) {
        strides[axis] = stride;
        stride *= (int32_t)type->dimensions[axis];
    }
}

kibi_status kibi_op_transpose(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, const uint8_t *axes)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    const kibi_tensor_type *const type = input->type;
    origin from = {0, {0, 0, 0, 0}};
    int32_t strides[4];
    unsigned seen = 0;
    if (axes == NULL) {
        return kibi_fail(context->handler, KIBI_ERROR_NULL);
    }
    if (output == input || output->type->dtype != type->dtype || output->type->rank != type->rank || type->rank > 4) {
        return refuse(context);
    }
    strides_of(type, strides);
    for (unsigned axis = 0; axis < type->rank; ++axis) {
        if (axes[axis] >= type->rank || output->type->dimensions[axis] != type->dimensions[axes[axis]]) {
            return refuse(context);
        }
        seen |= 1u << axes[axis];
        from.steps[axis] = strides[axes[axis]];
    }
    return seen != (1u << type->rank) - 1 ? refuse(context) : gather(context, output, input, &from);
}

kibi_status kibi_op_strided_slice(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, const int32_t *begins,
                                  const int32_t *strides)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    const kibi_tensor_type *const type = input->type;
    origin from = {0, {0, 0, 0, 0}};
    int32_t apart[4];
    if (begins == NULL || strides == NULL) {
        return kibi_fail(context->handler, KIBI_ERROR_NULL);
    }
    if (output == input || output->type->dtype != type->dtype || output->type->rank != type->rank || type->rank > 4) {
        return refuse(context);
    }
    strides_of(type, apart);
    for (unsigned axis = 0; axis < type->rank; ++axis) {
        const int64_t last = begins[axis] + (int64_t)((int64_t)output->type->dimensions[axis] - 1) * strides[axis];
        if (begins[axis] < 0 || last < 0 || begins[axis] >= (int64_t)type->dimensions[axis] ||
            last >= (int64_t)type->dimensions[axis] || output->type->dimensions[axis] == 0) {
            return refuse(context);
        }
        from.base += begins[axis] * apart[axis];
        from.steps[axis] = output->type->dimensions[axis] == 1 ? 0 : strides[axis] * apart[axis];
    }
    return gather(context, output, input, &from);
}

/* Bytes of a part of a tensor along an axis and those after it. */
static uint32_t bytes_from(const kibi_tensor_type *type, unsigned axis)
{
    uint32_t bytes = kibi_element_bytes(type);
    for (; axis < type->rank; ++axis) {
        bytes *= type->dimensions[axis];
    }
    return bytes;
}

/* Whether tensors differ at most in their size along an axis. */
static int can_join(const kibi_tensor *output, const kibi_tensor *input, unsigned axis)
{
    const kibi_tensor_type *const a = output->type;
    const kibi_tensor_type *const b = input->type;
    if (input == output || a->dtype != b->dtype || a->rank != b->rank || (a->quantization == NULL) != (b->quantization == NULL) ||
        (a->quantization != NULL && (a->quantization->scale != b->quantization->scale ||
                                     a->quantization->zero_point != b->quantization->zero_point))) {
        return 0;
    }
    for (unsigned k = 0; k < a->rank; ++k) {
        if (k != axis && a->dimensions[k] != b->dimensions[k]) {
            return 0;
        }
    }
    return 1;
}

kibi_status kibi_op_concatenation(const kibi_context *context, kibi_tensor *output, kibi_tensor *const *inputs, unsigned count,
                                  unsigned axis)
{
    const kibi_status flaw = kibi_operands(context, 1, 1, &output);
    const kibi_status others = flaw == KIBI_OK && inputs != NULL ? kibi_operands(context, count, count, inputs) : flaw;
    if (others != KIBI_OK || inputs == NULL) {
        return others != KIBI_OK ? others : kibi_fail(context->handler, KIBI_ERROR_NULL);
    }
    const kibi_tensor_type *const type = output->type;
    const uint32_t row_bytes = kibi_row_bytes(type);
    uint32_t size = 0;
    uint32_t to = 0;
    uint32_t outer;
    void *room;
    kibi_work work;
    if (axis >= type->rank || type->rank > 4) {
        return refuse(context);
    }
    for (unsigned k = 0; k < count; ++k) {
        if (!can_join(output, inputs[k], axis)) {
            return refuse(context);
        }
        size += inputs[k]->type->dimensions[axis];
    }
    if (count == 0 || size != type->dimensions[axis]) {
        return refuse(context);
    }
    outer = bytes_from(type, 0) / bytes_from(type, axis);
    kibi_begin(&work, context, KIBI_ROOM(row_bytes));
    room = kibi_take(&work, row_bytes);
    for (uint32_t part = 0; part < outer; ++part) {
        for (unsigned k = 0; k < count; ++k) {
            const uint32_t bytes = bytes_from(inputs[k]->type, axis);
            copy_stretch(&work, output, to, inputs[k], part * bytes, bytes, room);
            to += bytes;
        }
    }
    return kibi_end(&work);
}
