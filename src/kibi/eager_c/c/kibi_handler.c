/* Who receives events and errors. */
#include "kibi_handler.h"

#define MASK (0xFFFFFFFFu >> (32 - 8 * KIBI_EVENT_ID_BYTES))

void kibi_notify(kibi_handler *handler, uint32_t id)
{
    if (handler != NULL) {
        handler->notify(handler, id & MASK, 0);
    }
}

kibi_status kibi_fail(kibi_handler *handler, kibi_status status)
{
    static const uint32_t general[] = {
        KIBI_EVENT_NULL_POINTER,
        KIBI_EVENT_ARENA_TOO_SMALL,
        KIBI_EVENT_ARENA_MISALIGNED,
        KIBI_EVENT_NOT_INITIALIZED,
        KIBI_EVENT_OUT_OF_SEQUENCE,
        KIBI_EVENT_LOOP_TOO_LONG,
        KIBI_EVENT_NO_STEPS,
        KIBI_EVENT_ARENA_TAKEN,
        KIBI_EVENT_NO_CHECKPOINT,
        KIBI_EVENT_STORAGE_FAILED,
    };
    static const uint32_t eager[] = {
        KIBI_EVENT_OUT_OF_MEMORY,
        KIBI_EVENT_OUT_OF_MEMORY_BOUNDS,
        KIBI_EVENT_META_HEADER_NOT_FOUND,
        KIBI_EVENT_META_HEADER_NOT_BOUND,
        KIBI_EVENT_INVALID_BOUND_REGION_STATE,
        KIBI_EVENT_BLOCK_PINNED,
        KIBI_EVENT_NOT_FREED_ONE_BY_ONE,
        KIBI_EVENT_SCOPE_NOT_INNERMOST,
        KIBI_EVENT_INVALID_MEMORY_ACCESS,
        KIBI_EVENT_READ_ONLY_TENSOR,
        KIBI_EVENT_TENSOR_FREED,
        KIBI_EVENT_DIRECT_ACCESS_REFUSED,
        KIBI_EVENT_ROW_OVERWRITTEN,
        KIBI_EVENT_ROW_NOT_WRITTEN,
        KIBI_EVENT_ROWS_ENDED,
        KIBI_EVENT_ARGUMENT_REFUSED,
    };
    if (handler != NULL) {
        const int is_eager = status <= KIBI_ERROR_MEMORY;
        const uint32_t id = is_eager ? eager[KIBI_ERROR_MEMORY - status] : general[KIBI_ERROR_NULL - status];
        handler->notify(handler, id & MASK, 1);
    }
    return status;
}

static void keep(kibi_handler *handler, uint32_t id, int is_error)
{
    kibi_history *const history = (kibi_history *)(void *)handler;
    if (history->capacity != 0) {
        history->ids[history->next] = id;
        history->next = history->next + 1 < history->capacity ? history->next + 1 : 0;
        history->count += history->count < history->capacity;
    }
    if (is_error && history->on_error != NULL) {
        history->on_error(history->state, id);
    }
}

kibi_status kibi_history_init(kibi_history *history, uint32_t *ids, uint32_t capacity,
                              void (*on_error)(void *state, uint32_t id), void *state)
{
    if (history == NULL || (ids == NULL && capacity != 0)) {
        return KIBI_ERROR_NULL;
    }
    history->handler.notify = keep;
    history->on_error = on_error;
    history->state = state;
    history->ids = ids;
    history->capacity = capacity;
    kibi_history_clear(history);
    return KIBI_OK;
}

uint32_t kibi_history_at(const kibi_history *history, uint32_t number)
{
    if (number >= history->count) {
        return 0;
    }
    return history->ids[history->next > number ? history->next - 1 - number : history->next + history->capacity - 1 - number];
}

void kibi_history_clear(kibi_history *history)
{
    history->count = 0;
    history->next = 0;
}
