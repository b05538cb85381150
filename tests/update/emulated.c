/* What a device does when power comes back: it starts its model, and takes a package. The flash is memory, written byte by byte: a loss of
 * power at any instruction leaves any part of a program or an erase. */
#include <string.h>

#include "emulated.h"
#include "kibi_kernels.h"
#include "kibi_update_in_place.h"

#if STAGING_BYTES != 0
#define UPDATE(name) kibi_in_place_##name
#else
#define UPDATE(name) kibi_update_##name
#endif

enum { SECTOR = 256, CHUNK = 61 };

typedef struct {
    uint8_t *flash; /* slot, journal, and another slot or a staging area with a scratch sector */
    const uint8_t *package;
    uint32_t package_bytes;
    kibi_update *update;
    kibi_boot *boot;
} memory;

static int read_flash(void *context, uint32_t address, void *data, uint32_t bytes)
{
    memcpy(data, ((const memory *)context)->flash + address, bytes);
    return 0;
}

static int program_flash(void *context, uint32_t address, const void *data, uint32_t bytes)
{
    volatile uint8_t *const to = ((const memory *)context)->flash + address;
    int failed = 0;
    for (uint32_t i = 0; i < bytes; ++i) {
        failed |= to[i] != 0xFFu; /* it must be erased */
        to[i] = (uint8_t)(to[i] & ((const uint8_t *)data)[i]);
    }
    return failed;
}

static int erase_flash(void *context, uint32_t address)
{
    volatile uint8_t *const to = ((const memory *)context)->flash + address;
    for (uint32_t i = 0; i < SECTOR; ++i) {
        to[i] = 0xFF;
    }
    return 0;
}

static void describe(kibi_store *store, memory *m)
{
    static const uint32_t targets[] = {TARGET};
    memset(store, 0, sizeof *store);
    store->context = m;
    store->read = read_flash;
    store->program = program_flash;
    store->erase = erase_flash;
    store->takes_unsigned = 1;
    store->kernels = &kibi_core_kernels;
    store->targets = targets;
    store->target_count = 1;
    store->mapped[0] = m->flash;
    store->mapped[1] = m->flash + SLOT_BYTES + JOURNAL_BYTES;
    store->slot[1] = SLOT_BYTES + JOURNAL_BYTES;
    store->slot_bytes = SLOT_BYTES;
    store->journal = SLOT_BYTES;
    store->journal_bytes = JOURNAL_BYTES;
    store->sector_bytes = SECTOR;
    store->program_bytes = 8;
    store->arena_bytes = 1u << 16;
    store->model = MODEL;
    store->starts = 2;
    store->staging_bytes = STAGING_BYTES;
}

/* Starts the model: the status of that. */
int32_t start(memory *m)
{
    kibi_store store;
    describe(&store, m);
    return UPDATE(boot)(&store, m->boot);
}

/* Starts the model, which works where `works` is not 0, and takes the package if it is not the active model's. */
int32_t power_on(memory *m, uint32_t works, uint32_t counter)
{
    kibi_store store;
    describe(&store, m);
    kibi_status status = UPDATE(boot)(&store, m->boot);
    if (status == KIBI_OK && works != 0 && STAGING_BYTES == 0) {
        status = kibi_update_confirm(&store);
    }
    if (m->boot->file != NULL && (m->boot->counter == counter || status != KIBI_OK)) {
        return status;
    }
    status = UPDATE(begin)(m->update, &store);
    for (uint32_t at = 0; status == KIBI_OK && at < m->package_bytes; at = UPDATE(wanted)(m->update)) {
        const uint32_t left = m->package_bytes - at;
        status = UPDATE(write)(m->update, at, m->package + at, left < CHUNK ? left : CHUNK);
    }
    if (status == KIBI_OK) {
        status = UPDATE(finish)(m->update);
    }
    return status == KIBI_OK && STAGING_BYTES != 0 ? UPDATE(boot)(&store, m->boot) : status; /* which applies it */
}
