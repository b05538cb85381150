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
    /* of KIBI_ERROR_NULL to KIBI_ERROR_STORAGE, then of KIBI_ERROR_MEMORY and below; the last one for any other */
    static const uint32_t ids[] = {
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
    if (handler != NULL && status != KIBI_OK) {
        enum { GENERAL = KIBI_ERROR_NULL - KIBI_ERROR_STORAGE + 1, LAST = sizeof ids / sizeof ids[0] - 1 };
        unsigned place = (unsigned)(KIBI_ERROR_NULL - status);
        if (place >= GENERAL) {
            place = (unsigned)(KIBI_ERROR_MEMORY - status);
            place = place < LAST - GENERAL ? place + GENERAL : LAST;
        }
        handler->notify(handler, ids[place] & MASK, 1);
    }
    return status;
}

static void keep(kibi_handler *handler, uint32_t id, int is_error)
{
    kibi_history *const history = (kibi_history *)(void *)handler;
    const uint32_t capacity = history->capacity;
    const uint32_t next = history->next;
    if (capacity != 0) {
        history->next = next + 1 < capacity ? next + 1 : 0;
        history->count += history->count < capacity;
        history->ids[next] = id;
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
    uint32_t place = history->next - 1 - number;
    if (number >= history->count) {
        return 0;
    }
    if (place >= history->capacity) {
        place += history->capacity; /* it was below 0 */
    }
    return history->ids[place];
}

void kibi_history_clear(kibi_history *history)
{
    history->count = 0;
    history->next = 0;
}
