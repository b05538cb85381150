/* Updates: packages into the slot that is not active, and a journal, a ring of records, that says which slot is. */
#include "kibi_update.h"

#include <string.h>

#include "kernels/kibi_crc32.h"

/* Flash is slower than any of this: at -Os, Clang would make the code larger, so that it is faster. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#endif

/* The check sum before the first byte of a record. It is chosen so that erased flash is a record that is whole: the sum of its bytes,
 * which are 0xFF, is 0xFFFFFFFF. A place is erased if it has such a record. No record that is written has this number, nor TORN. */
#define FORMAT (sizeof(kibi_journal) == 128u ? 0xB613CAA4u : 0xF43CF7F1u)
#define ERASED 0xFFFFFFFFu
#define TORN 0xFFFFFFFEu
#define DIGEST_BYTES 32u
#define HEAD_BYTES ((uint32_t)sizeof(kibi_file_package) + KIBI_SIGNATURE_BYTES)
#define LEAST_FILE_BYTES ((uint32_t)sizeof(kibi_file_header) + DIGEST_BYTES)
#define MOST_BLOCK_BYTES 0x10000u

enum { ACTIVE = 0, OTHER = 1 };

static uint32_t sum_of(const kibi_journal *record)
{
    return kibi_crc32(FORMAT, record, (uint32_t)offsetof(kibi_journal, crc));
}

/* Programs bytes within a sector, which is erased before its first ones. */
static KIBI_NOINLINE kibi_status put(const kibi_store *store, uint32_t address, const void *data, uint32_t bytes)
{
    return ((address & (store->sector_bytes - 1u)) == 0 && store->erase(store->context, address) != 0) ||
                   store->program(store->context, address, data, bytes) != 0
               ? KIBI_ERROR_STORAGE
               : KIBI_OK;
}

/* Reads a place of the journal, and returns its number: ERASED, TORN, or that of a record that is whole. */
static KIBI_NOINLINE uint32_t read_record(kibi_newest *newest, uint32_t place)
{
    const kibi_store *const store = newest->store;
    kibi_journal *const record = &newest->record;
    if (store->read(store->context, store->journal + place, record, (uint32_t)sizeof *record) != 0 || record->crc != sum_of(record)) {
        return TORN;
    }
    return record->sequence;
}

/* Reads the newest record, and finds the place for the next one: after it, and after what is not erased in the same sector. Where no
 * record is, all of it is 0: no slot has a file. */
static KIBI_NOINLINE void read_newest(kibi_newest *newest, const kibi_store *store)
{
    uint32_t last = ERASED, found = 0;
    newest->store = store;
    newest->end = 0;
    for (uint32_t place = 0; place < store->journal_bytes; place += (uint32_t)sizeof(kibi_journal)) {
        const uint32_t sequence = read_record(newest, place);
        const int is_newer = (int32_t)(sequence - last) > 0;
        if (is_newer) {
            last = sequence;
            found = place;
        }
        if (is_newer || (sequence != ERASED && (place ^ (newest->end - 1u)) < store->sector_bytes)) {
            newest->end = place + (uint32_t)sizeof(kibi_journal);
        }
    }
    if (read_record(newest, found) >= TORN) {
        memset(&newest->record, 0, sizeof newest->record);
    }
}

/* Writes the next record. */
static KIBI_NOINLINE kibi_status write_record(kibi_newest *newest)
{
    kibi_journal *const record = &newest->record;
    const uint32_t place = newest->end < newest->store->journal_bytes ? newest->end : 0;
    newest->end = place + (uint32_t)sizeof *record;
    ++record->sequence;
    record->crc = sum_of(record);
    return put(newest->store, newest->store->journal + place, record, (uint32_t)sizeof *record);
}

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

/* Whether the active slot, or the other one, has the file that the record says, bit for bit. */
static KIBI_NOINLINE int is_whole(const kibi_newest *newest, unsigned which, uint32_t *work)
{
    const kibi_slot_file *const file = &newest->record.files[which];
    const uint32_t *const words = (const uint32_t *)(const void *)newest->store->mapped[newest->record.active ^ which];
    const uint32_t count = file->bytes / 4u - DIGEST_BYTES / 4u;
    return file->bytes != 0 && memcmp(words + count, file->digest, DIGEST_BYTES) == 0 &&
           kibi_sha256_is(file->digest, words, count, work);
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
            const uint32_t counter = newest.record.files[ACTIVE].counter;
            if (store->least_counter != NULL && store->least_counter(store->context) < counter &&
                store->raise_counter(store->context, counter) != 0) {
                status = KIBI_ERROR_STORAGE;
            } else {
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
        memset(update, 0, sizeof *update);
        status = KIBI_ERROR_STORAGE;
        if (store->program_bytes - 1u < KIBI_UPDATE_UNIT) { /* the unit has room */
            status = KIBI_OK;
            read_newest(newest, store);
            if (!is_whole(newest, ACTIVE, update->of.work)) { /* nothing can be made from it, and any version is newer */
                newest->record.files[ACTIVE].bytes = 0;
                newest->record.files[ACTIVE].counter = 0;
            }
            if (newest->record.trial != 0) {
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
    }
    return kibi_refused(status);
}

uint32_t kibi_update_wanted(const kibi_update *update)
{
    return update->wanted;
}

/* Whether the record has values that a package may have. */
static int is_package(const kibi_file_package *package)
{
    return package->magic == KIBI_PACKAGE_MAGIC && package->version == KIBI_PACKAGE_VERSION && package->required == 0 &&
           package->kind <= (KIBI_UPDATE_DELTA ? KIBI_PAYLOAD_DELTA : KIBI_PAYLOAD_WHOLE) &&
           (package->block_bytes & (package->block_bytes - 1u)) == 0 && package->block_bytes / 256u - 1u < MOST_BLOCK_BYTES / 256u &&
           package->file_bytes >= LEAST_FILE_BYTES && package->file_bytes % 4u == 0;
}

static int has_target(const kibi_store *store, uint32_t target)
{
    for (uint32_t k = 0; k < store->target_count; ++k) {
        if (store->targets[k] == target) {
            return 1;
        }
    }
    return 0;
}

/* Whether the device may have the package: all that its record and the signature say. */
static kibi_status check_head(const kibi_update *update, const kibi_file_package *package)
{
    const kibi_newest *const newest = &update->newest;
    const kibi_store *const store = newest->store;
    const kibi_slot_file *const base = &newest->record.files[ACTIVE];
    if (!is_package(package) || update->sum != package->kernel_sum) {
        return KIBI_ERROR_PACKAGE;
    }
    const uint8_t *const signature = (const uint8_t *)(package + 1);
    if (store->verify == NULL ? !store->takes_unsigned
                              : package->signature != KIBI_SIGNATURE_ED25519 ||
                                    store->verify(store->context, package, (uint32_t)sizeof *package, signature) != 0) {
        return KIBI_ERROR_SIGNATURE;
    }
    if (package->model != store->model || package->file_version != KIBI_FILE_VERSION || !has_target(store, package->target)) {
        return KIBI_ERROR_OTHER_DEVICE;
    }
    if (package->counter <= base->counter ||
        (store->least_counter != NULL && package->counter < store->least_counter(store->context))) {
        return KIBI_ERROR_OLDER;
    }
    if (package->kind == KIBI_PAYLOAD_DELTA &&
        (package->base_bytes != base->bytes || memcmp(package->base_digest, base->digest, DIGEST_BYTES) != 0)) {
        return KIBI_ERROR_BASE;
    }
    if (package->file_bytes > store->slot_bytes || package->arena_bytes > store->arena_bytes ||
        package->state_bytes > store->state_bytes) {
        return KIBI_ERROR_SPACE;
    }
    return update->lacking ? KIBI_ERROR_KERNEL : KIBI_OK;
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
    const uint32_t sum = kibi_crc32(0, package, (uint32_t)sizeof *package) | 1u;
    if (record->package != sum) {
        record->package = sum;
        record->made = 0;
        record->next = update->wanted;
        record->files[OTHER].bytes = package->file_bytes;
        record->files[OTHER].counter = package->counter;
        memcpy(record->files[OTHER].digest, package->digest, DIGEST_BYTES);
        status = write_record(newest);
    }
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

/* Takes a byte of what is before the payload. */
static kibi_status take_head(kibi_update *update, uint8_t byte)
{
    const uint32_t at = update->wanted++;
    if (at < HEAD_BYTES) {
        ((uint8_t *)&update->of.head)[at] = byte;
    } else {
        update->unit.bytes[at % 4u] = byte;
        if (at % 4u == 3u) {
            update->sum = kibi_crc32(update->sum, &update->unit.id, 4u);
            update->lacking |= kibi_kernel_of(update->newest.store->kernels, update->unit.id) == NULL;
        }
    }
    return update->wanted == HEAD_BYTES + 4u * update->of.head.package.kernel_count
               ? start(update, &update->of.head.package)
               : KIBI_OK;
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
    const uint8_t *from = (const uint8_t *)bytes;
    const uint8_t *const end = from + count;
    kibi_status status = KIBI_OK;
    if (update == NULL || bytes == NULL) {
        return kibi_refused(KIBI_ERROR_NULL);
    }
    if (update->newest.store == NULL) {
        return kibi_refused(KIBI_ERROR_NOT_INITIALIZED);
    }
    if (offset > update->wanted) {
        return kibi_refused(KIBI_ERROR_SEQUENCE);
    }
    for (; from != end; ++from) {
        if (offset++ == update->wanted) {
            status = update->within == 0 ? take_head(update, *from) : take_payload(update, *from);
            if (status != KIBI_OK) {
                update->newest.store = NULL;
                break;
            }
        }
    }
    return kibi_refused(status);
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
