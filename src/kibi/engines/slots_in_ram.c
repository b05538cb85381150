/* Two slots of a checkpoint in memory, for measurements: functions that copy byte by byte, and need next to no stack. */
#include "kernels/kibi_newest_slot.h"

typedef struct {
    uint32_t slot_bytes;
    uint8_t *bytes;
} kibi_ram_slots;

int kibi_ram_write(void *context, unsigned slot, uint32_t offset, const void *data, uint32_t bytes);
int kibi_ram_read(void *context, unsigned slot, uint32_t offset, void *data, uint32_t bytes);

int kibi_ram_write(void *context, unsigned slot, uint32_t offset, const void *data, uint32_t bytes)
{
    const kibi_ram_slots *const slots = (const kibi_ram_slots *)context;
    volatile uint8_t *to = slots->bytes + slot * slots->slot_bytes + offset;
    for (const uint8_t *from = (const uint8_t *)data, *const end = from + bytes; from < end; ++from, ++to) {
        *to = *from;
    }
    return 0;
}

int kibi_ram_read(void *context, unsigned slot, uint32_t offset, void *data, uint32_t bytes)
{
    const kibi_ram_slots *const slots = (const kibi_ram_slots *)context;
    const volatile uint8_t *from = slots->bytes + slot * slots->slot_bytes + offset;
    for (uint8_t *to = (uint8_t *)data, *const end = to + bytes; to < end; ++from, ++to) {
        *to = *from;
    }
    return 0;
}
