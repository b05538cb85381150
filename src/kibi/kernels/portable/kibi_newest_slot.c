#include "kibi_newest_slot.h"

/* Whether a slot has a complete checkpoint: reads all of it. */
static int is_complete(const kibi_slots *slots, unsigned slot, const kibi_slot_head *head)
{
    uint8_t some[32];
    uint32_t crc = 0u;
    for (uint32_t at = 0; at < head->bytes;) {
        const uint32_t left = head->bytes - at;
        const uint32_t bytes = left < sizeof some ? left : (uint32_t)sizeof some;
        if (slots->read(slots->context, slot, (uint32_t)sizeof *head + at, some, bytes) != 0) {
            return 0;
        }
        crc = kibi_crc32(crc, some, bytes);
        at += bytes;
    }
    return kibi_crc32(crc, head, (uint32_t)offsetof(kibi_slot_head, crc)) == head->crc;
}

int kibi_newest_slot(const kibi_slots *slots, uint32_t identity, uint32_t most, kibi_slot_head *head)
{
    int newest = -1;
    for (unsigned slot = 0; slot < 2u; ++slot) {
        kibi_slot_head found;
        if (slots->read(slots->context, slot, 0u, &found, (uint32_t)sizeof found) != 0 || found.identity != identity ||
            found.sequence == 0u || (found.sequence & 1u) != slot || found.bytes > most ||
            !is_complete(slots, slot, &found)) {
            continue;
        }
        if (newest < 0 || found.sequence - head->sequence < 0x80000000u) {
            newest = (int)slot;
            *head = found;
        }
    }
    return newest;
}
