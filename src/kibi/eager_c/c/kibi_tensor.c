/* Tensors, wherever their bytes are. */
#include "kibi_tensor.h"

#include <string.h>

/* Of each type two bits, the logarithm of its bytes: 2, but for those that are named. */
#define OF_2_BITS(type, bits) ((uint32_t)(2 ^ (bits)) << 2 * (type))
#define LOGARITHMS \
    (0xAAAAAAAAu ^ OF_2_BITS(KIBI_TYPE_S8, 0) ^ OF_2_BITS(KIBI_TYPE_U8, 0) ^ OF_2_BITS(KIBI_TYPE_BOOL, 0) ^ \
     OF_2_BITS(KIBI_TYPE_S16, 1) ^ OF_2_BITS(KIBI_TYPE_S64, 3) ^ OF_2_BITS(KIBI_TYPE_U64, 3))

KIBI_NOINLINE uint32_t kibi_element_bytes(const kibi_tensor_type *type)
{
    return (uint32_t)1 << (LOGARITHMS >> 2 * (type->dtype & 15u) & 3u);
}

/* The number of rows, and above it, from bit 32 on, the elements of one: rows end with the first inner axis that is longer than 1,
 * before the last axis, of three or four axes. */
static KIBI_NOINLINE uint64_t rows_of(const kibi_tensor_type *type)
{
    const unsigned rank = type->rank;
    const uint32_t *const sizes = type->dimensions;
    uint32_t rows = 1;
    uint32_t elements = 1;
    unsigned axis = 0;
    if (rank > 2) {
        do {
            rows *= sizes[axis++];
        } while (axis + 1 < rank && (axis == 1 || sizes[axis - 1] == 1));
    }
    for (; axis < rank; ++axis) {
        elements *= sizes[axis];
    }
    return (uint64_t)elements << 32 | rows;
}

uint32_t kibi_elements(const kibi_tensor_type *type)
{
    const uint64_t rows = rows_of(type);
    return (uint32_t)rows * (uint32_t)(rows >> 32);
}

KIBI_NOINLINE uint32_t kibi_bytes(const kibi_tensor_type *type)
{
    return kibi_elements(type) * kibi_element_bytes(type);
}

uint32_t kibi_rows(const kibi_tensor_type *type)
{
    return (uint32_t)rows_of(type);
}

KIBI_NOINLINE uint32_t kibi_row_bytes(const kibi_tensor_type *type)
{
    return (uint32_t)(rows_of(type) >> 32) * kibi_element_bytes(type);
}

/* What is wrong with a tensor as such, or KIBI_OK. */
static KIBI_NOINLINE kibi_status flaw_of(const kibi_tensor *tensor)
{
    if (tensor == NULL || tensor->access == NULL || tensor->type == NULL) {
        return KIBI_ERROR_NULL;
    }
    return tensor->type->rank > 4 ? KIBI_ERROR_ARGUMENT : KIBI_OK;
}

/* Reports what is wrong with a call, if anything; nobody hears of it without a context, which is wrong, too. */
static KIBI_NOINLINE kibi_status report(const kibi_context *context, kibi_status status)
{
    return context == NULL ? KIBI_ERROR_NULL : kibi_fail(context->handler, status);
}

/* Reports what forbids to touch bytes of a tensor, or KIBI_OK. Callers give no tensor where another pointer that they need is
 * null. */
static KIBI_NOINLINE kibi_status admit(const kibi_context *context, const kibi_tensor *tensor, uint32_t offset, uint32_t bytes,
                                       int writing)
{
    kibi_status status = flaw_of(tensor);
    if (status == KIBI_OK) {
        status = KIBI_ERROR_ACCESS;
        if (writing && tensor->access->store == NULL) {
            status = KIBI_ERROR_READ_ONLY;
        } else if (offset + bytes >= offset && offset + bytes <= kibi_bytes(tensor->type)) {
            status = KIBI_OK;
        }
    }
    return report(context, status);
}

/* Copies bytes of a tensor to `data`, or replaces them by those there. */
static KIBI_NOINLINE kibi_status transfer(const kibi_context *context, kibi_tensor *tensor, uint32_t offset, uintptr_t data,
                                          uint32_t bytes, int writing)
{
    const kibi_status status = admit(context, data != 0 ? tensor : NULL, offset, bytes, writing);
    if (status != KIBI_OK) {
        return status;
    }
    return writing ? tensor->access->store(context, tensor, offset, (const void *)data, bytes)
                   : tensor->access->load(context, tensor, offset, (void *)data, bytes);
}

kibi_status kibi_read(const kibi_context *context, kibi_tensor *tensor, uint32_t offset, void *to, uint32_t bytes)
{
    return transfer(context, tensor, offset, (uintptr_t)to, bytes, 0);
}

kibi_status kibi_write(const kibi_context *context, kibi_tensor *tensor, uint32_t offset, const void *from, uint32_t bytes)
{
    return transfer(context, tensor, offset, (uintptr_t)from, bytes, 1);
}

/* Where a row begins, and above it, from bit 32 on, its bytes; outside of the tensor if there is no such row, or no tensor. */
static KIBI_NOINLINE uint64_t row_at(const kibi_tensor *tensor, uint32_t row)
{
    uint32_t bytes;
    if (flaw_of(tensor) != KIBI_OK || row >= kibi_rows(tensor->type)) {
        return 0xFFFFFFFFu;
    }
    bytes = kibi_row_bytes(tensor->type);
    return (uint64_t)bytes << 32 | (uint32_t)(row * bytes);
}

static KIBI_NOINLINE kibi_status transfer_row(const kibi_context *context, kibi_tensor *tensor, uint32_t row, uintptr_t data,
                                              int writing)
{
    const uint64_t place = row_at(tensor, row);
    return transfer(context, tensor, (uint32_t)place, data, (uint32_t)(place >> 32), writing);
}

kibi_status kibi_read_row(const kibi_context *context, kibi_tensor *tensor, uint32_t row, void *to)
{
    return transfer_row(context, tensor, row, (uintptr_t)to, 0);
}

kibi_status kibi_write_row(const kibi_context *context, kibi_tensor *tensor, uint32_t row, const void *from)
{
    return transfer_row(context, tensor, row, (uintptr_t)from, 1);
}

kibi_status kibi_hold_row(const kibi_context *context, kibi_tensor *tensor, uint32_t row, int writing, void **data)
{
    const uint64_t place = row_at(tensor, row);
    const kibi_status status =
        admit(context, data != NULL ? tensor : NULL, (uint32_t)place, (uint32_t)(place >> 32), writing);
    if (status != KIBI_OK) {
        return status;
    }
    return tensor->access->hold != NULL ? tensor->access->hold(context, tensor, row, writing, data)
                                        : report(context, KIBI_ERROR_INDIRECT);
}

void kibi_let_go(const kibi_context *context, kibi_tensor *tensor)
{
    if (context != NULL && tensor != NULL && tensor->access != NULL && tensor->access->let_go != NULL) {
        tensor->access->let_go(context, tensor);
    }
}

kibi_status kibi_offset(const kibi_context *context, const kibi_tensor *tensor, const uint32_t *index, uint32_t *offset)
{
    uint32_t linear = 0;
    const kibi_status status = report(context, flaw_of(index != NULL && offset != NULL ? tensor : NULL));
    if (status != KIBI_OK) {
        return status;
    }
    for (unsigned axis = 0; axis < tensor->type->rank; ++axis) {
        if (index[axis] >= tensor->type->dimensions[axis]) {
            return report(context, KIBI_ERROR_ACCESS);
        }
        linear = linear * tensor->type->dimensions[axis] + index[axis];
    }
    *offset = linear * kibi_element_bytes(tensor->type);
    return KIBI_OK;
}

/* Reads an element of a type, or, with WRITING, writes it. */
#define WRITING 0x100u
static KIBI_NOINLINE kibi_status element(const kibi_context *context, kibi_tensor *tensor, const uint32_t *index, uint32_t dtype,
                                         uintptr_t value)
{
    uint32_t offset;
    const kibi_status status = kibi_offset(context, tensor, index, &offset);
    if (status != KIBI_OK) {
        return status;
    }
    return tensor->type->dtype != (uint8_t)dtype
               ? report(context, KIBI_ERROR_ARGUMENT)
               : transfer(context, tensor, offset, value, kibi_element_bytes(tensor->type), (dtype & WRITING) != 0);
}

kibi_status kibi_get(const kibi_context *context, kibi_tensor *tensor, const uint32_t *index, uint8_t dtype, void *value)
{
    return element(context, tensor, index, dtype, (uintptr_t)value);
}

kibi_status kibi_set(const kibi_context *context, kibi_tensor *tensor, const uint32_t *index, uint8_t dtype, const void *value)
{
    return element(context, tensor, index, dtype | WRITING, (uintptr_t)value);
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
    memmove(start + offset, from, bytes); /* a tensor may be copied to itself */
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
    kibi_status status;
    if (tensor != NULL) {
        tensor->base.access = &access;
        tensor->base.type = type;
    }
    status = flaw_of((const kibi_tensor *)(const void *)tensor);
    status = report(context, context != NULL && context->ram == NULL ? KIBI_ERROR_NULL : status);
    return status != KIBI_OK ? status : kibi_allocate_handle(context->ram, kibi_bytes(type), &tensor->handle);
}

kibi_status kibi_ram_tensor_free(const kibi_context *context, kibi_ram_tensor *tensor)
{
    return context == NULL || tensor == NULL ? report(context, KIBI_ERROR_NULL) : kibi_free(context->ram, &tensor->handle);
}
