/* Tensors, wherever their bytes are. */
#include "kibi_tensor.h"

#include <string.h>

uint32_t kibi_element_bytes(const kibi_tensor_type *type)
{
    switch (type->dtype) {
    case KIBI_TYPE_S8:
    case KIBI_TYPE_U8:
    case KIBI_TYPE_BOOL:
        return 1;
    case KIBI_TYPE_S16:
        return 2;
    case KIBI_TYPE_S64:
    case KIBI_TYPE_U64:
        return 8;
    default:
        return 4;
    }
}

/* Elements along the axes from `from` to the one before `to`. */
static KIBI_NOINLINE uint32_t elements_along(const kibi_tensor_type *type, unsigned from, unsigned to)
{
    uint32_t elements = 1;
    for (; from < to; ++from) {
        elements *= type->dimensions[from];
    }
    return elements;
}

/* The number of axes that count rows. */
static KIBI_NOINLINE unsigned row_axes(const kibi_tensor_type *type)
{
    for (unsigned axis = 1; axis + 1 < type->rank; ++axis) {
        if (type->dimensions[axis] > 1) {
            return axis + 1;
        }
    }
    return type->rank > 2 && type->dimensions[0] > 1;
}

uint32_t kibi_elements(const kibi_tensor_type *type)
{
    return elements_along(type, 0, type->rank);
}

uint32_t kibi_bytes(const kibi_tensor_type *type)
{
    return kibi_elements(type) * kibi_element_bytes(type);
}

uint32_t kibi_rows(const kibi_tensor_type *type)
{
    return elements_along(type, 0, row_axes(type));
}

uint32_t kibi_row_bytes(const kibi_tensor_type *type)
{
    return elements_along(type, row_axes(type), type->rank) * kibi_element_bytes(type);
}

/* Whether bytes are a tensor's. */
static int is_inside(const kibi_tensor *tensor, uint32_t offset, uint32_t bytes)
{
    const uint32_t size = kibi_bytes(tensor->type);
    return offset <= size && bytes <= size - offset;
}

kibi_status kibi_read(const kibi_context *context, kibi_tensor *tensor, uint32_t offset, void *to, uint32_t bytes)
{
    if (!is_inside(tensor, offset, bytes)) {
        return kibi_fail(context->handler, KIBI_ERROR_ACCESS);
    }
    return tensor->access->load(context, tensor, offset, to, bytes);
}

kibi_status kibi_write(const kibi_context *context, kibi_tensor *tensor, uint32_t offset, const void *from, uint32_t bytes)
{
    if (tensor->access->store == NULL) {
        return kibi_fail(context->handler, KIBI_ERROR_READ_ONLY);
    }
    if (!is_inside(tensor, offset, bytes)) {
        return kibi_fail(context->handler, KIBI_ERROR_ACCESS);
    }
    return tensor->access->store(context, tensor, offset, from, bytes);
}

/* Where a row begins; outside of the tensor if there is no such row. */
static uint32_t row_offset(const kibi_tensor *tensor, uint32_t row)
{
    return row < kibi_rows(tensor->type) ? row * kibi_row_bytes(tensor->type) : 0xFFFFFFFFu;
}

kibi_status kibi_read_row(const kibi_context *context, kibi_tensor *tensor, uint32_t row, void *to)
{
    return kibi_read(context, tensor, row_offset(tensor, row), to, kibi_row_bytes(tensor->type));
}

kibi_status kibi_write_row(const kibi_context *context, kibi_tensor *tensor, uint32_t row, const void *from)
{
    return kibi_write(context, tensor, row_offset(tensor, row), from, kibi_row_bytes(tensor->type));
}

kibi_status kibi_hold_row(const kibi_context *context, kibi_tensor *tensor, uint32_t row, int writing, void **data)
{
    kibi_status status = KIBI_OK;
    if (tensor->access->hold == NULL) {
        status = KIBI_ERROR_INDIRECT;
    } else if (writing && tensor->access->store == NULL) {
        status = KIBI_ERROR_READ_ONLY;
    } else if (row >= kibi_rows(tensor->type)) {
        status = KIBI_ERROR_ACCESS;
    }
    return status != KIBI_OK ? kibi_fail(context->handler, status) : tensor->access->hold(context, tensor, row, writing, data);
}

void kibi_let_go(const kibi_context *context, kibi_tensor *tensor)
{
    if (tensor->access->let_go != NULL) {
        tensor->access->let_go(context, tensor);
    }
}

kibi_status kibi_offset(const kibi_context *context, const kibi_tensor *tensor, const uint32_t *index, uint32_t *offset)
{
    uint32_t linear = 0;
    for (unsigned axis = 0; axis < tensor->type->rank; ++axis) {
        if (index[axis] >= tensor->type->dimensions[axis]) {
            return kibi_fail(context->handler, KIBI_ERROR_ACCESS);
        }
        linear = linear * tensor->type->dimensions[axis] + index[axis];
    }
    *offset = linear * kibi_element_bytes(tensor->type);
    return KIBI_OK;
}

/* Reads an element of a type, or writes it. */
static KIBI_NOINLINE kibi_status element(const kibi_context *context, kibi_tensor *tensor, const uint32_t *index, uint8_t dtype,
                                         void *to, const void *from)
{
    uint32_t offset;
    kibi_status status;
    if (tensor->type->dtype != dtype) {
        return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
    }
    status = kibi_offset(context, tensor, index, &offset);
    if (status == KIBI_OK) {
        const uint32_t bytes = kibi_element_bytes(tensor->type);
        status = from != NULL ? kibi_write(context, tensor, offset, from, bytes) : kibi_read(context, tensor, offset, to, bytes);
    }
    return status;
}

kibi_status kibi_get(const kibi_context *context, kibi_tensor *tensor, const uint32_t *index, uint8_t dtype, void *value)
{
    return element(context, tensor, index, dtype, value, NULL);
}

kibi_status kibi_set(const kibi_context *context, kibi_tensor *tensor, const uint32_t *index, uint8_t dtype, const void *value)
{
    return element(context, tensor, index, dtype, NULL, value);
}

/* Bytes with an address: ROM, buffers and blocks of an arena differ in where they are. */

static uint8_t *start_of(const kibi_tensor *tensor)
{
    return ((const kibi_ram_tensor *)(const void *)tensor)->handle.data; /* where the others have their pointer */
}

static kibi_status load_direct(const kibi_context *context, kibi_tensor *tensor, uint32_t offset, void *to, uint32_t bytes)
{
    const uint8_t *const start = start_of(tensor);
    if (start == NULL) {
        return kibi_fail(context->handler, KIBI_ERROR_FREED);
    }
    memcpy(to, start + offset, bytes);
    return KIBI_OK;
}

static kibi_status store_direct(const kibi_context *context, kibi_tensor *tensor, uint32_t offset, const void *from,
                                uint32_t bytes)
{
    uint8_t *const start = start_of(tensor);
    if (start == NULL) {
        return kibi_fail(context->handler, KIBI_ERROR_FREED);
    }
    memcpy(start + offset, from, bytes);
    return KIBI_OK;
}

static kibi_status hold_direct(const kibi_context *context, kibi_tensor *tensor, uint32_t row, int writing, void **data)
{
    uint8_t *const start = start_of(tensor);
    (void)writing;
    if (start == NULL) {
        return kibi_fail(context->handler, KIBI_ERROR_FREED);
    }
    *data = start + row * kibi_row_bytes(tensor->type);
    return KIBI_OK;
}

static kibi_status hold_block(const kibi_context *context, kibi_tensor *tensor, uint32_t row, int writing, void **data)
{
    const kibi_status status = hold_direct(context, tensor, row, writing, data);
    if (status == KIBI_OK && kibi_pin(context->ram, &((kibi_ram_tensor *)(void *)tensor)->handle) == NULL) {
        return KIBI_ERROR_BINDING;
    }
    return status;
}

static void let_go_of_block(const kibi_context *context, kibi_tensor *tensor)
{
    (void)kibi_unpin(context->ram, &((kibi_ram_tensor *)(void *)tensor)->handle);
}

const kibi_access kibi_rom_access = {load_direct, NULL, hold_direct, NULL, 1};
const kibi_access kibi_buffer_access = {load_direct, store_direct, hold_direct, NULL, 1};

kibi_status kibi_ram_tensor_init(const kibi_context *context, kibi_ram_tensor *tensor, const kibi_tensor_type *type)
{
    static const kibi_access access = {load_direct, store_direct, hold_block, let_go_of_block, 1};
    tensor->base.access = &access;
    tensor->base.type = type;
    return kibi_allocate_handle(context->ram, kibi_bytes(type), &tensor->handle);
}

kibi_status kibi_ram_tensor_free(const kibi_context *context, kibi_ram_tensor *tensor)
{
    return kibi_free(context->ram, &tensor->handle);
}
