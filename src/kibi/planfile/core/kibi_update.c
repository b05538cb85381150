/* Updates: packages into the slot that is not active, and a journal, a ring of records, that says which slot is. */
#include "kibi_update.h"

#include "kibi_delta.h" /* also where deltas are not taken: what a byte that is missing is */

/* Flash is slower than any of this: at -Os, Clang would make the code larger, so that it is faster. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#endif

#include "kibi_update_parts.h"

/* Writes that the other slot is active, and with how many starts. */
static KIBI_NOINLINE kibi_status write_exchanged(kibi_newest *newest, uint32_t trial)
{
    uint32_t *word = &newest->record.files[ACTIVE].bytes;
    for (uint32_t k = 0; k < sizeof(kibi_slot_file) / 4u; ++k, ++word) {
        const uint32_t kept = *word;
        *word = word[sizeof(kibi_slot_file) / 4u];
        word[sizeof(kibi_slot_file) / 4u] = kept;
    }
    newest->record.active ^= 1u;
    newest->record.trial = trial;
    newest->record.package = 0;
    return write_record(newest);
}

kibi_status kibi_update_boot(const kibi_store *store, kibi_boot *boot)
{
    kibi_newest newest;
    uint32_t work[KIBI_SHA256_WORK];
    kibi_status status = KIBI_ERROR_NULL;
    if (store != NULL && boot != NULL) {
        boot->file = NULL;
        read_newest(&newest, store);
        unsigned which = newest.record.trial == 1u ? OTHER : ACTIVE; /* no start is left: the older one, if it is whole */
        status = KIBI_ERROR_NO_MODEL;
        if (is_whole(&newest, which, work) || is_whole(&newest, which ^= 1u, work)) {
            status = KIBI_OK;
            if (which != ACTIVE) {
                KIBI_EVENT(UpdateRolledBack, 0xEEC41C55u);
                status = write_exchanged(&newest, 0);
            } else if (newest.record.trial > 1u) {
                --newest.record.trial;
                status = write_record(&newest);
            }
            boot->file = store->mapped[newest.record.active];
            boot->bytes = newest.record.files[ACTIVE].bytes;
            boot->counter = newest.record.files[ACTIVE].counter;
            boot->trial = newest.record.trial;
        }
    }
    return kibi_refused(status);
}

/* Writes how many starts a model on trial has left: 0: it is confirmed, and the least counter is its own from now on. */
static KIBI_NOINLINE kibi_status settle(const kibi_store *store, uint32_t trial)
{
    kibi_newest newest;
    kibi_status status = KIBI_ERROR_NULL;
    if (store != NULL) {
        read_newest(&newest, store);
        status = newest.record.files[ACTIVE].bytes != 0 ? KIBI_OK : KIBI_ERROR_NO_MODEL;
        if (newest.record.trial > trial) {
            newest.record.trial = trial;
            status = write_record(&newest);
        }
        if (status == KIBI_OK && trial == 0) {
            status = raise_counter(&newest);
            if (status == KIBI_OK) {
                KIBI_EVENT(ModelConfirmed, 0xC63E0983u);
            }
        }
    }
    return kibi_refused(status);
}

kibi_status kibi_update_confirm(const kibi_store *store)
{
    return settle(store, 0);
}

kibi_status kibi_update_reject(const kibi_store *store)
{
    return settle(store, 1);
}

kibi_status kibi_update_begin(kibi_update *update, const kibi_store *store)
{
    kibi_status status = KIBI_ERROR_NULL;
    if (update != NULL && store != NULL) {
        kibi_newest *const newest = &update->newest;
        status = open_update(update, store);
        if (status == KIBI_OK && newest->record.trial != 0) {
            if (is_whole(newest, OTHER, update->of.work)) {
                status = KIBI_ERROR_SEQUENCE;
            } else { /* there is nothing to go back to; from here on kibi_update_confirm writes no record */
                newest->record.trial = 0;
                status = write_record(newest);
            }
        }
        if (status != KIBI_OK) {
            newest->store = NULL;
        }
    }
    return kibi_refused(status);
}

uint32_t kibi_update_wanted(const kibi_update *update)
{
    return update->wanted;
}

/* Begins to write the payload, or goes on where the same package was cut: from here on the other slot has no model. */
static KIBI_NOINLINE kibi_status start(kibi_update *update, const kibi_file_package *package)
{
    kibi_newest *const newest = &update->newest;
    const kibi_store *const store = newest->store;
    kibi_journal *const record = &newest->record;
    kibi_status status = check_head(update, package);
    if (status != KIBI_OK) {
        return status;
    }
    status = note(update, package);
    update->within = (package->block_bytes - 1u) | (store->sector_bytes - 1u);
    update->until = update->wanted + package->payload_bytes;
    update->wanted = record->next;
#if KIBI_UPDATE_DELTA
    update->is_delta = package->kind;
    kibi_delta_begin(&update->of.delta, store->mapped[record->active], record->files[ACTIVE].bytes, package->file_bytes,
                     package->block_bytes, record->made);
#endif
    return status;
}

/* Programs the unit, which is full or the last one, and writes down the progress where a sector and a block end. */
static KIBI_NOINLINE kibi_status program_unit(kibi_update *update)
{
    kibi_newest *const newest = &update->newest;
    const kibi_store *const store = newest->store;
    const uint32_t made = newest->record.made, to = store->slot[newest->record.active ^ 1u] + made;
    const kibi_status status = put(store, to, &update->unit, store->program_bytes);
    update->filled = 0;
    newest->record.made = made + store->program_bytes;
    newest->record.next = update->wanted;
    return status == KIBI_OK && (newest->record.made & update->within) == 0 ? write_record(newest) : status;
}

/* Takes a byte of the payload: makes bytes of the new file from it, and programs them. */
static kibi_status take_payload(kibi_update *update, uint32_t given)
{
    const uint32_t file_bytes = update->newest.record.files[OTHER].bytes;
    const uint32_t before = update->wanted;
    kibi_status status = before < update->until ? KIBI_OK : KIBI_ERROR_PACKAGE;
    uint32_t left = given | 256u;
#if KIBI_UPDATE_DELTA
    update->of.delta.given = left;
#endif
    while (status == KIBI_OK && update->newest.record.made < file_bytes) {
        int byte;
#if KIBI_UPDATE_DELTA
        if (update->is_delta) {
            byte = kibi_delta_next(&update->of.delta);
            left = update->of.delta.given;
        } else
#endif
        {
            byte = left != 0 ? (int)given : KIBI_DELTA_WAITS;
            left = 0;
        }
        update->wanted = before + (left == 0);
        if (byte < 0) {
            return byte == KIBI_DELTA_WAITS ? KIBI_OK : KIBI_ERROR_PACKAGE;
        }
        const uint32_t filled = update->filled + 1u;
        update->unit.bytes[filled - 1u] = (uint8_t)byte;
        update->filled = filled;
        if (filled == update->newest.store->program_bytes || update->newest.record.made + filled == file_bytes) {
            status = program_unit(update);
        }
    }
    return status == KIBI_OK && left != 0 ? KIBI_ERROR_PACKAGE : status; /* a byte that leads nowhere */
}

kibi_status kibi_update_write(kibi_update *update, uint32_t offset, const void *bytes, uint32_t count)
{
    return take(update, offset, bytes, count);
}

kibi_status kibi_update_finish(kibi_update *update)
{
    kibi_status status = KIBI_ERROR_NULL;
    if (update != NULL) {
        kibi_newest *const newest = &update->newest;
        status = KIBI_ERROR_NOT_INITIALIZED;
        if (newest->store != NULL) {
            status = KIBI_ERROR_PACKAGE;
            if (update->within != 0 && newest->record.made >= newest->record.files[OTHER].bytes) {
                if (is_whole(newest, OTHER, update->of.work)) {
                    status = write_exchanged(newest, newest->store->starts != 0 ? newest->store->starts + 1u : 0u);
                    if (status == KIBI_OK) {
                        KIBI_EVENT(ModelInstalled, 0x193C22F0u);
                    }
                } else {
                    newest->record.package = 0;
                    status = write_record(newest);
                    if (status == KIBI_OK) {
                        status = KIBI_ERROR_PACKAGE;
                    }
                }
                newest->store = NULL;
            }
        }
    }
    return kibi_refused(status);
}

#if defined(__clang__)
#pragma clang attribute pop
#endif
