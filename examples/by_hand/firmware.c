/* A network by hand in an arena that it shares with a cache and a log: the first attempt has no room, the firmware hears of it, gives
 * the cache up, and tries again; the arena then moves the log to make room. Build it with the library that by_hand.py writes. */
#include "firmware.h"

#include <string.h>

#include "kibi_handle_arena.h"
#include "network.h"

/* Called with each error of the RAM arena. */
static void hear(void *state, uint32_t id)
{
    firmware *const f = (firmware *)state;
    f->out_of_memory += id == KIBI_EVENT_OUT_OF_MEMORY;
}

static kibi_status begin(firmware *f)
{
    const kibi_arena_memory ram = {f->ram.bytes, sizeof f->ram.bytes, f->ram_blocks, FIRMWARE_BLOCKS, 8};
    const kibi_arena_memory metadata = {f->metadata.bytes, sizeof f->metadata.bytes, f->metadata_blocks, 1, 8};
    kibi_status status;
    memset(f, 0, sizeof *f);
    status = kibi_history_init(&f->history, f->ids, FIRMWARE_EVENTS, hear, f);
    if (status == KIBI_OK) {
        status = kibi_handle_arena_init(&f->ram_arena, &ram, &f->history.handler);
    }
    if (status == KIBI_OK) {
        status = kibi_handle_arena_init(&f->metadata_arena, &metadata, NULL);
    }
    if (status == KIBI_OK) {
        status = kibi_allocate_handle(&f->ram_arena, FIRMWARE_CACHE_BYTES, &f->cache);
    }
    return status == KIBI_OK ? kibi_allocate_handle(&f->ram_arena, FIRMWARE_LOG_BYTES, &f->log) : status;
}

kibi_status firmware_run(firmware *f, const int8_t *image, int8_t *scores)
{
    kibi_status status = begin(f);
    if (status != KIBI_OK) {
        return status;
    }
    {
        const kibi_context context = {&f->metadata_arena, &f->ram_arena, NULL};
        const int32_t before = kibi_address(&f->ram_arena, &f->log);
        uint8_t *log = (uint8_t *)kibi_pin(&f->ram_arena, &f->log);
        for (unsigned k = 0; k < FIRMWARE_LOG_BYTES; ++k) {
            log[k] = (uint8_t)k;
        }
        (void)kibi_unpin(&f->ram_arena, &f->log); /* from here on the log may move */

        status = network(&context, image, scores);
        if (status == KIBI_ERROR_MEMORY && f->out_of_memory != 0) {
            (void)kibi_free(&f->ram_arena, &f->cache);
            status = network(&context, image, scores);
        }
        f->moved = before - kibi_address(&f->ram_arena, &f->log);
        log = (uint8_t *)kibi_pin(&f->ram_arena, &f->log);
        for (unsigned k = 0; k < FIRMWARE_LOG_BYTES; ++k) {
            f->log_errors += log[k] != (uint8_t)k;
        }
        (void)kibi_unpin(&f->ram_arena, &f->log);
    }
    return status;
}

uint32_t firmware_bytes(void)
{
    return (uint32_t)sizeof(firmware);
}
