/* Tensors that are never stored completely, or have no address: rows of a plan, a ring, a camera, another chip. */
#include "kibi_tensor.h"

#include <string.h>

/* What holds a row of bytes. */
typedef kibi_status (*hold_function)(const kibi_context *context, kibi_tensor *tensor, uint32_t row, int writing, void **data);

/* Holds bytes of one row; rows are not stored one after another, so that none span two. Returns where they are; NULL after a
 * report. */
static uint8_t *find(const kibi_context *context, kibi_tensor *tensor, hold_function hold, uint32_t offset, uint32_t bytes,
                     int writing, kibi_status *status)
{
    const uint32_t row_bytes = kibi_row_bytes(tensor->type);
    const uint32_t within = row_bytes != 0 ? offset % row_bytes : 0;
    void *data;
    *status = bytes > row_bytes - within || row_bytes == 0 ? kibi_fail(context->handler, KIBI_ERROR_ACCESS)
                                         : hold(context, tensor, offset / row_bytes, writing, &data);
    return *status == KIBI_OK ? (uint8_t *)data + within : NULL;
}

static kibi_status load(const kibi_context *context, kibi_tensor *tensor, hold_function hold, uint32_t offset, void *to,
                        uint32_t bytes)
{
    kibi_status status;
    const uint8_t *const from = find(context, tensor, hold, offset, bytes, 0, &status);
    if (from != NULL) {
        memcpy(to, from, bytes);
    }
    return status;
}

/* Whether a row before `next` has been replaced by a later one in the same bytes. */
static int is_overwritten(const kibi_row_tensor *tensor, uint32_t row)
{
    if (tensor->offsets == NULL) {
        return row + tensor->slots < tensor->next;
    }
    for (uint32_t later = row + 1; later < tensor->next; ++later) {
        const uint32_t a = tensor->offsets[row];
        const uint32_t b = tensor->offsets[later];
        if ((a < b ? b - a : a - b) < kibi_row_bytes(tensor->base.type)) {
            return 1;
        }
    }
    return 0;
}

static kibi_status hold_row(const kibi_context *context, kibi_tensor *tensor, uint32_t row, int writing, void **data)
{
    kibi_row_tensor *const rows = (kibi_row_tensor *)(void *)tensor;
    if (rows->offsets == NULL && rows->slots == 0) {
        return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
    }
    if (writing && row == rows->next) {
        ++rows->next;
    } else if (writing && row > rows->next) {
        return kibi_fail(context->handler, KIBI_ERROR_SEQUENCE);
    } else if (row >= rows->next) {
        return kibi_fail(context->handler, KIBI_ERROR_NOT_WRITTEN);
    } else if (is_overwritten(rows, row)) {
        return kibi_fail(context->handler, KIBI_ERROR_OVERWRITTEN);
    }
    *data = rows->data + (rows->offsets != NULL ? rows->offsets[row] : row % rows->slots * kibi_row_bytes(tensor->type));
    return KIBI_OK;
}

static kibi_status load_row(const kibi_context *context, kibi_tensor *tensor, uint32_t offset, void *to, uint32_t bytes)
{
    return load(context, tensor, hold_row, offset, to, bytes);
}

static kibi_status store_row(const kibi_context *context, kibi_tensor *tensor, uint32_t offset, const void *from, uint32_t bytes)
{
    kibi_status status;
    uint8_t *const to = find(context, tensor, hold_row, offset, bytes, 1, &status);
    if (to != NULL) {
        memcpy(to, from, bytes);
    }
    return status;
}

const kibi_access kibi_row_access = {load_row, store_row, hold_row, NULL, 0};

static kibi_status hold_received(const kibi_context *context, kibi_tensor *tensor, uint32_t row, int writing, void **data)
{
    kibi_camera_tensor *const camera = (kibi_camera_tensor *)(void *)tensor;
    const uint32_t row_bytes = kibi_row_bytes(tensor->type);
    (void)writing;
    if (camera->slots == 0) {
        return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
    }
    for (; camera->next <= row; ++camera->next) {
        if (!camera->source(camera->state, camera->next, camera->data + camera->next % camera->slots * row_bytes)) {
            return kibi_fail(context->handler, KIBI_ERROR_ROWS_ENDED);
        }
    }
    if (row + camera->slots < camera->next) {
        return kibi_fail(context->handler, KIBI_ERROR_OVERWRITTEN);
    }
    *data = camera->data + row % camera->slots * row_bytes;
    return KIBI_OK;
}

static kibi_status load_received(const kibi_context *context, kibi_tensor *tensor, uint32_t offset, void *to, uint32_t bytes)
{
    return load(context, tensor, hold_received, offset, to, bytes);
}

const kibi_access kibi_camera_access = {load_received, NULL, hold_received, NULL, 0};

static kibi_status load_from_device(const kibi_context *context, kibi_tensor *tensor, uint32_t offset, void *to, uint32_t bytes)
{
    const kibi_file_tensor *const file = (const kibi_file_tensor *)(const void *)tensor;
    const kibi_device *const device = file->device;
    return device->read(device->state, file->offset + offset, to, bytes) ? KIBI_OK
                                                                         : kibi_fail(context->handler, KIBI_ERROR_STORAGE);
}

static kibi_status store_to_device(const kibi_context *context, kibi_tensor *tensor, uint32_t offset, const void *from,
                                   uint32_t bytes)
{
    const kibi_file_tensor *const file = (const kibi_file_tensor *)(const void *)tensor;
    const kibi_device *const device = file->device;
    if (device->write == NULL) {
        return kibi_fail(context->handler, KIBI_ERROR_READ_ONLY);
    }
    return device->write(device->state, file->offset + offset, from, bytes) ? KIBI_OK
                                                                            : kibi_fail(context->handler, KIBI_ERROR_STORAGE);
}

const kibi_access kibi_file_access = {load_from_device, store_to_device, NULL, NULL, 0};
