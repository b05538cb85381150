#include "flash.h"

#include <string.h>

static uint8_t drawn(flash *f)
{
    f->random = f->random * 1664525u + 1013904223u;
    return (uint8_t)(f->random >> 24);
}

/* Counts an operation: whether the power is cut in it. */
static int is_cut(flash *f, uint32_t address)
{
    ++f->operations;
    if (f->left == FLASH_NEVER) {
        return 0;
    }
    f->is_off = f->left == 0;
    f->left -= f->left != 0;
    f->cut_address = f->is_off ? address : f->cut_address;
    return (int)f->is_off;
}

static int is_inside(flash *f, uint32_t address, uint32_t bytes, uint32_t multiple)
{
    const int is_right = address <= f->size && bytes <= f->size - address && address % multiple == 0 && bytes % multiple == 0;
    f->faults += !is_right;
    return is_right;
}

int flash_read(flash *f, uint32_t address, void *data, uint32_t bytes)
{
    if (f->is_off || !is_inside(f, address, bytes, 1)) {
        return 1;
    }
    memcpy(data, f->bytes + address, bytes);
    for (uint32_t at = address; f->has_ecc && at < address + bytes; ++at) {
        if (f->torn[at / f->unit_bytes]) {
            return 1;
        }
    }
    return 0;
}

int flash_program(flash *f, uint32_t address, const void *data, uint32_t bytes)
{
    const uint8_t *const from = (const uint8_t *)data;
    if (f->is_off || !is_inside(f, address, bytes, f->unit_bytes)) {
        return 1;
    }
    for (uint32_t first = 0; first < bytes; first += f->unit_bytes) {
        const int cut = is_cut(f, address + first);
        int is_erased = 1;
        for (uint32_t at = first; at < first + f->unit_bytes; ++at) {
            is_erased &= f->bytes[address + at] == 0xFFu;
            f->bytes[address + at] &= (uint8_t)(from[at] | (cut ? drawn(f) : 0u)); /* some bits have fallen */
        }
        f->faults += !is_erased;
        if (cut) {
            f->torn[(address + first) / f->unit_bytes] = 1;
            return 1;
        }
    }
    return 0;
}

int flash_erase(flash *f, uint32_t address)
{
    if (f->is_off || !is_inside(f, address, f->sector_bytes, f->sector_bytes)) {
        return 1;
    }
    ++f->wear[address / f->sector_bytes];
    if (is_cut(f, address)) { /* a quarter of the bytes is as it was, a quarter is erased, the others are anything */
        for (uint32_t at = 0; at < f->sector_bytes; ++at) {
            const uint8_t kind = drawn(f) & 3u;
            f->bytes[address + at] = kind == 0 ? f->bytes[address + at] : kind == 1u ? 0xFFu : drawn(f);
        }
        return 1;
    }
    memset(f->bytes + address, 0xFF, f->sector_bytes);
    memset(f->torn + address / f->unit_bytes, 0, f->sector_bytes / f->unit_bytes);
    return 0;
}
