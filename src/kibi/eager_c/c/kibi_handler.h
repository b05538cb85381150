/* Events and errors, and who receives them: an id for each, the hash of its name, the same as in Python. */
#ifndef KIBI_HANDLER_H
#define KIBI_HANDLER_H

#include "kernels/kibi.h"
#include "kibi_ids.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Receives every event and error. Derive one by a struct that begins with it. */
typedef struct kibi_handler {
    void (*notify)(struct kibi_handler *handler, uint32_t id, int is_error);
} kibi_handler;

/* Reports an event. A handler that is NULL forgets it. */
void kibi_notify(kibi_handler *handler, uint32_t id);

/* Reports the error of a status, if it is not KIBI_OK, and returns the status. */
kibi_status kibi_fail(kibi_handler *handler, kibi_status status);

/* A handler that keeps the latest events, and calls a function with each error. No field is for the caller's use. */
typedef struct {
    kibi_handler handler;
    void (*on_error)(void *state, uint32_t id);
    void *state;
    uint32_t *ids;
    uint32_t capacity;
    uint32_t count; /* events that were kept, modulo the capacity once they are more */
    uint32_t next;
} kibi_history;

/* Makes a history. Give &history.handler to arenas and contexts.
 * ids: the caller's memory for `capacity` ids; NULL where that is 0, and none is kept.
 * on_error: called with each error after it has been kept; NULL: it is only kept. */
kibi_status kibi_history_init(kibi_history *history, uint32_t *ids, uint32_t capacity,
                              void (*on_error)(void *state, uint32_t id), void *state);

/* The id of the `number`th kept event, 0 being the latest; 0 where no such event is kept. */
uint32_t kibi_history_at(const kibi_history *history, uint32_t number);

/* Forgets all events. */
void kibi_history_clear(kibi_history *history);

#ifdef __cplusplus
}
#endif

#endif
