#include "campaign.h"

#include <stdio.h>
#include <string.h>

campaign c;

int started(void)
{
    return booted(&c.device, c.files, 2, &c.boot);
}

int runs_until(action *act, uint32_t operations)
{
    c.device.flash.left = operations;
    if (setjmp(c.device.cut) == 0) {
        act(&c.device);
        c.device.flash.left = FLASH_NEVER;
        return 0;
    }
    c.device.flash.is_off = 0;
    c.device.flash.left = FLASH_NEVER;
    return 1;
}

/* Checks what is there now, and finishes. */
static void outcome(int needs_model)
{
    check(started() != NONE || !needs_model, "at every instant a verified model can be opened");
    c.finish();
}

void cut(const image *before, action *act, int needs_model)
{
    static image after;
    uint32_t at = c.device.chosen.seed % c.device.chosen.every;
    if (after.bytes == NULL) {
        after = image_make(&c.device);
    }
    for (int was_cut = 1; was_cut; at += c.device.chosen.every) {
        image_load(&c.device, before);
        c.device.random = c.device.chosen.seed + at;
        was_cut = runs_until(act, at);
        image_save(&after, &c.device);
        if (was_cut) {
            ++c.cuts;
            for (uint32_t again = at % c.device.chosen.stride; c.device.chosen.stride != 0; again += c.device.chosen.stride) {
                image_load(&c.device, &after);
                c.device.random = c.device.chosen.seed + again;
                if (!runs_until(c.recover, again)) {
                    break;
                }
                ++c.second_cuts;
                outcome(needs_model);
            }
            image_load(&c.device, &after);
        }
        outcome(needs_model || !was_cut);
    }
}

void flip(const image *before, uint32_t first, uint32_t bytes, uint32_t every, int needs_model)
{
    for (uint32_t bit = c.device.chosen.seed % every; bit < 8u * bytes; bit += every) {
        image_load(&c.device, before);
        c.device.flash.bytes[first + bit / 8u] ^= (uint8_t)(1u << bit % 8u);
        ++c.flips;
        c.has_flipped = 1;
        outcome(needs_model);
        c.has_flipped = 0;
    }
}

void flip_records(const image *before, uint32_t every)
{
    uint32_t bytes = c.device.store.journal_bytes;
    while (bytes > sizeof(kibi_journal) && before->bytes[c.device.store.journal + bytes - sizeof(kibi_journal) - 1u] == 0xFFu) {
        --bytes;
    }
    flip(before, c.device.store.journal, bytes, every, 1);
}

void cut_in_the_middle(action *act)
{
    const uint32_t operations = c.device.flash.operations;
    image saved = image_make(&c.device);
    image_save(&saved, &c.device);
    act(&c.device);
    const uint32_t all = c.device.flash.operations - operations;
    uint32_t at = all / 2u;
    do { /* where a record is torn, there is one other, and a bit that flips in that one leaves none */
        image_load(&c.device, &saved);
        check(runs_until(act, at++), "the power is cut");
    } while (c.device.flash.cut_address - c.device.store.journal < c.device.store.journal_bytes);
}

uint32_t most_wear(action *act, uint32_t first, uint32_t bytes)
{
    const flash *const f = &c.device.flash;
    uint32_t most = 0;
    memset(f->wear, 0, f->size / f->sector_bytes * sizeof(uint32_t));
    act(&c.device);
    for (uint32_t k = first / f->sector_bytes; k < (first + bytes) / f->sector_bytes; ++k) {
        most = f->wear[k] > most ? f->wear[k] : most;
    }
    return most;
}

void report(uint32_t wear)
{
    check(c.device.flash.faults == 0, "the flash is used as it must be");
    printf("%u %u %u %u %u\n", c.cuts, c.second_cuts, c.flips, c.device.flash.operations, wear);
}
