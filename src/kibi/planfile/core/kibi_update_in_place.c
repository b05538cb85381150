/* Updates in place: a delta is staged and tried, and then makes sector after sector of the slot, by way of a scratch sector. */
#include "kibi_update_in_place.h"

#if KIBI_UPDATE_DELTA

/* Flash is slower than any of this: at -Os, Clang would make the code larger, so that it is faster. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#endif

#include "kibi_update_parts.h"

enum { SLOT = 0, STAGING = 1 };

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The byte of the new file that comes after `made` others; those of a sector are asked for in their order, from the first one on.
 * Negative: the payload makes none, or needs bytes of the older file that are before this sector, where new ones are by then. */
static KIBI_NOINLINE int next_byte(kibi_update *update, uint32_t made)
{
    const kibi_store *const store = update->newest.store;
    kibi_journal *const record = &update->newest.record;
    kibi_delta *const delta = &update->of.delta;
    if ((made & (store->sector_bytes - 1u)) == 0) { /* as if both files began here: so nothing is there before it */
        const uint32_t base_bytes = record->files[ACTIVE].bytes;
        kibi_delta_begin(delta, store->mapped[SLOT] + made, base_bytes - least(base_bytes, made),
                         record->files[OTHER].bytes - made, record->block_bytes, 0);
    }
    int byte = kibi_delta_next(delta);
    while (byte == KIBI_DELTA_WAITS && record->next < update->until) {
        delta->given = store->mapped[STAGING][record->next++] | 256u;
        byte = kibi_delta_next(delta);
    }
    return byte;
}

/* Adds the bytes of a word of the new file to a number, the first one highest. 0: it cannot be made. */
static int next_word(kibi_update *update, uint32_t k, uint32_t *number)
{
    for (uint32_t made = 4u * k; made != 4u * k + 4u; ++made) {
        const int byte = next_byte(update, made);
        if (byte < 0) {
            return 0;
        }
        *number = *number << 8 | (uint32_t)byte;
    }
    return 1;
}

/* Whether the payload makes the new file, with its digest, just as it will be made. Nothing is written. */
static int makes_file(kibi_update *update)
{
    uint32_t work[KIBI_SHA256_WORK];
    kibi_journal *const record = &update->newest.record;
    const uint32_t words = (record->files[OTHER].bytes - DIGEST_BYTES) / 4u, last = (words + 2u) | 15u; /* as in kibi_sha256_is */
    record->next = 0;
    memcpy(work, kibi_sha256_first, sizeof kibi_sha256_first);
    for (uint32_t k = 0; k <= last; ++k) {
        uint32_t word = k == words ? 0x80000000u : k == last ? words << 5 : 0u;
        if (k < words && !next_word(update, k, &word)) {
            return 0;
        }
        work[32u + k % 16u] = word;
        if (k % 16u == 15u) {
            kibi_sha256_block(work);
        }
    }
    for (uint32_t k = 0; k < DIGEST_BYTES / 4u; ++k) {
        uint32_t word = 0;
        if (!next_word(update, words + k, &word) || word != work[k] || word != kibi_sha256_turned(record->files[OTHER].digest[k])) {
            return 0;
        }
    }
    return record->next == update->until;
}

/* Makes the sector that comes next in the scratch sector, or brings it from there into the slot. KIBI_ERROR_PACKAGE: flash has lost
 * what it is made from. */
static kibi_status move_sector(kibi_update *update)
{
    const kibi_store *const store = update->newest.store;
    const kibi_journal *const record = &update->newest.record;
    const uint32_t made = record->made, bytes = least(store->sector_bytes, record->files[OTHER].bytes - made);
    const uint32_t to = record->in_scratch ? store->slot[SLOT] + made : store->slot[STAGING] + store->staging_bytes;
    kibi_status status = KIBI_OK;
    for (uint32_t at = 0; status == KIBI_OK && at < bytes; at += store->program_bytes) {
        for (uint32_t k = 0; k < store->program_bytes; ++k) {
            int byte = 0xFF; /* after the end of the file */
            if (record->in_scratch) {
                byte = store->mapped[STAGING][store->staging_bytes + at + k];
            } else if (at + k < bytes) {
                byte = next_byte(update, made + at + k);
            }
            if (byte < 0) {
                return KIBI_ERROR_PACKAGE;
            }
            update->unit.bytes[k] = (uint8_t)byte;
        }
        status = put(store, to + at, &update->unit, store->program_bytes);
    }
    return status;
}

/* Goes on to make the new file in the slot. Each step is written down twice: the journal must not go back by one step if a bit of a record
 * flips, as the bytes from which that step is made are erased by then. */
static kibi_status apply(kibi_update *update)
{
    kibi_newest *const newest = &update->newest;
    kibi_journal *const record = &newest->record;
    kibi_status status = KIBI_OK;
    while (status == KIBI_OK && record->made < record->files[OTHER].bytes) {
        status = move_sector(update);
        if (status == KIBI_OK) {
            record->made += record->in_scratch * newest->store->sector_bytes;
            record->in_scratch ^= 1u;
            for (unsigned copy = 0; status == KIBI_OK && copy < 2u; ++copy) {
                status = write_record(newest);
            }
        }
    }
    return status;
}

/* Ends an update that is in the slot: its model is there if it has its digest; else no model is, and KIBI_ERROR_PACKAGE says so. */
static KIBI_NOINLINE kibi_status settle(kibi_update *update)
{
    kibi_newest *const newest = &update->newest;
    kibi_journal *const record = &newest->record;
    record->files[ACTIVE] = record->files[OTHER];
    record->package = 0;
    record->block_bytes = 0;
    record->in_scratch = 0;
    if (!is_whole(newest, ACTIVE, update->of.work)) {
        record->files[ACTIVE].bytes = 0;
    }
    kibi_status status = write_record(newest);
    if (status == KIBI_OK) {
        if (record->files[ACTIVE].bytes != 0) {
            KIBI_EVENT(ModelInstalled, 0x193C22F0u);
        } else {
            status = KIBI_ERROR_PACKAGE;
        }
    }
    return status;
}

/* Brings the slot into a state that stays: its model is there, or there is none, and its number of bytes is 0. */
static kibi_status restore(kibi_update *update)
{
    kibi_slot_file *const files = update->newest.record.files;
    kibi_status status = KIBI_OK;
    if (update->newest.record.block_bytes != 0) {
        status = apply(update);
        if (status != KIBI_ERROR_STORAGE) {
            return settle(update);
        }
        files[ACTIVE].bytes = 0;
    } else if (!is_whole(&update->newest, ACTIVE, update->of.work)) { /* perhaps the record after the last byte is damaged */
        files[ACTIVE] = files[OTHER];
        if (is_whole(&update->newest, ACTIVE, update->of.work)) {
            return settle(update);
        }
        files[ACTIVE].bytes = 0;
    }
    return status;
}

kibi_status kibi_in_place_boot(const kibi_store *store, kibi_boot *boot)
{
    kibi_update update;
    kibi_status status = KIBI_ERROR_NULL;
    if (store != NULL && boot != NULL) {
        const kibi_slot_file *const file = &update.newest.record.files[ACTIVE];
        boot->file = NULL;
        read_newest(&update.newest, store);
        update.until = store->staging_bytes;
        status = restore(&update);
        if (file->bytes != 0) {
            boot->file = store->mapped[SLOT];
            boot->bytes = file->bytes;
            boot->counter = file->counter;
            boot->trial = 0;
            if (status == KIBI_OK) {
                status = raise_counter(&update.newest);
            }
        } else if (status != KIBI_ERROR_STORAGE) {
            status = KIBI_ERROR_NO_MODEL;
        }
    }
    return kibi_refused(status);
}

kibi_status kibi_in_place_begin(kibi_update *update, const kibi_store *store)
{
    kibi_status status = KIBI_ERROR_NULL;
    if (update != NULL && store != NULL) {
        status = open_update(update, store);
        if (status == KIBI_OK && store->staging_bytes == 0) {
            status = KIBI_ERROR_STORAGE;
        }
        if (status == KIBI_OK && update->newest.record.block_bytes != 0) {
            status = KIBI_ERROR_SEQUENCE;
        }
        if (status != KIBI_OK) {
            update->newest.store = NULL;
        }
    }
    return kibi_refused(status);
}

/* Whether the package can be taken in place, and there is room for its payload. */
static kibi_status check_room(const kibi_update *update, const kibi_file_package *package)
{
    const kibi_store *const store = update->newest.store;
    if (package->kind == KIBI_PAYLOAD_WHOLE) { /* its bytes are the file's, and go into the slot */
        return update->newest.record.files[ACTIVE].bytes != 0         ? KIBI_ERROR_SPACE
               : package->payload_bytes != package->file_bytes ? KIBI_ERROR_PACKAGE
                                                               : KIBI_OK;
    }
    return package->kind != KIBI_PAYLOAD_IN_PLACE || package->block_bytes > store->sector_bytes ? KIBI_ERROR_PACKAGE
           : package->payload_bytes > store->staging_bytes                                      ? KIBI_ERROR_SPACE
                                                                                                : KIBI_OK;
}

/* Begins to write the payload, or goes on where the same package was cut. */
static KIBI_NOINLINE kibi_status start(kibi_update *update, const kibi_file_package *package)
{
    kibi_status status = check_head(update, package);
    if (status == KIBI_OK) {
        status = check_room(update, package);
    }
    if (status == KIBI_OK) {
        status = note(update, package);
        update->within = update->newest.store->sector_bytes - 1u;
        update->is_delta = package->kind != KIBI_PAYLOAD_WHOLE;
        update->until = update->wanted + package->payload_bytes;
        update->wanted = least(update->wanted + update->newest.record.made, update->until);
    }
    return status;
}

/* Takes a byte of the payload as it is, programs the unit that is full or the last one, and writes down where a sector ends. */
static kibi_status take_payload(kibi_update *update, uint32_t given)
{
    kibi_newest *const newest = &update->newest;
    const kibi_store *const store = newest->store;
    kibi_status status = KIBI_OK;
    if (update->wanted == update->until) {
        return KIBI_ERROR_PACKAGE;
    }
    update->unit.bytes[update->filled++] = (uint8_t)given;
    if (++update->wanted == update->until || update->filled == store->program_bytes) {
        status = put(store, store->slot[update->is_delta ? STAGING : SLOT] + newest->record.made, &update->unit, store->program_bytes);
        update->filled = 0;
        newest->record.made += store->program_bytes;
        if (status == KIBI_OK && (newest->record.made & update->within) == 0) {
            status = write_record(newest);
        }
    }
    return status;
}

kibi_status kibi_in_place_write(kibi_update *update, uint32_t offset, const void *bytes, uint32_t count)
{
    return take(update, offset, bytes, count);
}

uint32_t kibi_in_place_wanted(const kibi_update *update)
{
    return update->wanted;
}

/* Tries the delta, and writes down that it is to be applied. */
static kibi_status commit(kibi_update *update)
{
    kibi_journal *const record = &update->newest.record;
    record->block_bytes = update->of.head.package.block_bytes;
    update->until = update->of.head.package.payload_bytes;
    const int is_right = makes_file(update); /* the head is overwritten */
    record->made = 0;
    record->next = 0;
    if (!is_right) {
        record->package = 0;
        record->block_bytes = 0;
    }
    const kibi_status status = write_record(&update->newest);
    return status == KIBI_OK && !is_right ? KIBI_ERROR_PACKAGE : status;
}

kibi_status kibi_in_place_finish(kibi_update *update)
{
    kibi_status status = KIBI_ERROR_NULL;
    if (update != NULL) {
        status = KIBI_ERROR_NOT_INITIALIZED;
        if (update->newest.store != NULL) {
            status = KIBI_ERROR_PACKAGE;
            if (update->within != 0 && update->wanted == update->until) {
                status = update->is_delta ? commit(update) : settle(update);
                update->newest.store = NULL;
            }
        }
    }
    return kibi_refused(status);
}

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
