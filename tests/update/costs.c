/* A device for measurements: a slot, a journal of two sectors, a staging area and a scratch sector. Its functions use next to no stack. */
#include <string.h>

#include "costs.h"
#include "kibi_kernels.h"
#include "kibi_update_in_place.h"

typedef struct {
    kibi_store store;
    kibi_update update;
    kibi_boot boot;
} memory;

static int read_flash(void *flash, uint32_t address, void *data, uint32_t bytes)
{
    for (uint32_t k = 0; k < bytes; ++k) {
        ((uint8_t *)data)[k] = ((const uint8_t *)flash)[address + k];
    }
    return 0;
}

static int program_flash(void *flash, uint32_t address, const void *data, uint32_t bytes)
{
    for (uint32_t k = 0; k < bytes; ++k) {
        ((uint8_t *)flash)[address + k] &= ((const uint8_t *)data)[k];
    }
    return 0;
}

static int erase_flash(void *flash, uint32_t address)
{
    for (uint32_t k = 0; k < SECTOR_BYTES; ++k) {
        ((uint8_t *)flash)[address + k] = 0xFF;
    }
    return 0;
}

/* Describes the store: where all is in flash. */
void prepare(memory *m, uint8_t *flash, uint32_t staging_bytes)
{
    static const uint32_t targets[] = {TARGET};
    kibi_store *const store = &m->store;
    memset(m, 0, sizeof *m);
    store->context = flash;
    store->read = read_flash;
    store->program = program_flash;
    store->erase = erase_flash;
    store->takes_unsigned = 1;
    store->kernels = &kibi_core_kernels;
    store->targets = targets;
    store->target_count = 1;
    store->journal = SLOT_BYTES;
    store->journal_bytes = 2 * SECTOR_BYTES;
    store->slot[1] = store->journal + store->journal_bytes;
    store->mapped[0] = flash;
    store->mapped[1] = flash + store->slot[1];
    store->slot_bytes = SLOT_BYTES;
    store->staging_bytes = staging_bytes;
    store->sector_bytes = SECTOR_BYTES;
    store->program_bytes = 8;
    store->arena_bytes = 1u << 20;
    store->state_bytes = 1u << 20;
    store->model = MODEL;
}

/* Where the parts are. */
uint32_t update_of(void)
{
    return (uint32_t)offsetof(memory, update);
}

uint32_t boot_of(void)
{
    return (uint32_t)offsetof(memory, boot);
}
