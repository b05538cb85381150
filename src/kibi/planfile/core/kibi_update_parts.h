/* What both ways to receive packages share: the journal, the checks of a package's head, and how its bytes arrive. Only kibi_update.c and
 * kibi_update_in_place.c include it, each with a `start` and a `take_payload` of its own. */
#ifndef KIBI_UPDATE_PARTS_H
#define KIBI_UPDATE_PARTS_H

#include "kibi_update.h"

#include <string.h>

#include "kernels/kibi_crc32.h"

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

/* Whether the active slot, or the other one, has the file that the record says, bit for bit. */
static KIBI_NOINLINE int is_whole(const kibi_newest *newest, unsigned which, uint32_t *work)
{
    const kibi_slot_file *const file = &newest->record.files[which];
    const uint32_t *const words = (const uint32_t *)(const void *)newest->store->mapped[newest->record.active ^ which];
    const uint32_t count = file->bytes / 4u - DIGEST_BYTES / 4u;
    return file->bytes != 0 && memcmp(words + count, file->digest, DIGEST_BYTES) == 0 &&
           kibi_sha256_is(file->digest, words, count, work);
}

/* Raises the least counter to that of the active version. */
static kibi_status raise_counter(const kibi_newest *newest)
{
    const kibi_store *const store = newest->store;
    const uint32_t counter = newest->record.files[ACTIVE].counter;
    return store->least_counter != NULL && store->least_counter(store->context) < counter &&
                   store->raise_counter(store->context, counter) != 0
               ? KIBI_ERROR_STORAGE
               : KIBI_OK;
}

/* Begins an update: reads the journal, and whether the active model is whole. */
static kibi_status open_update(kibi_update *update, const kibi_store *store)
{
    kibi_newest *const newest = &update->newest;
    memset(update, 0, sizeof *update);
    if (store->program_bytes - 1u >= KIBI_UPDATE_UNIT) { /* the unit has no room */
        return KIBI_ERROR_STORAGE;
    }
    read_newest(newest, store);
    if (!is_whole(newest, ACTIVE, update->of.work)) { /* nothing can be made from it, and any version is newer */
        newest->record.files[ACTIVE].bytes = 0;
        newest->record.files[ACTIVE].counter = 0;
    }
    return KIBI_OK;
}

/* Whether the record has values that a package may have. */
static int is_package(const kibi_file_package *package)
{
    return package->magic == KIBI_PACKAGE_MAGIC && package->version == KIBI_PACKAGE_VERSION && package->required == 0 &&
           package->kind <= (KIBI_UPDATE_DELTA ? KIBI_PAYLOAD_IN_PLACE : KIBI_PAYLOAD_WHOLE) &&
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
    if (package->kind != KIBI_PAYLOAD_WHOLE &&
        (package->base_bytes != base->bytes || memcmp(package->base_digest, base->digest, DIGEST_BYTES) != 0)) {
        return KIBI_ERROR_BASE;
    }
    if (package->file_bytes > store->slot_bytes || package->arena_bytes > store->arena_bytes ||
        package->state_bytes > store->state_bytes) {
        return KIBI_ERROR_SPACE;
    }
    return update->lacking ? KIBI_ERROR_KERNEL : KIBI_OK;
}

/* Writes down which package is being received, unless the same one was cut. */
static kibi_status note(kibi_update *update, const kibi_file_package *package)
{
    kibi_journal *const record = &update->newest.record;
    const uint32_t sum = kibi_crc32(0, package, (uint32_t)sizeof *package) | 1u;
    if (record->package == sum) {
        return KIBI_OK;
    }
    record->package = sum;
    record->made = 0;
    record->next = update->wanted;
    record->files[OTHER].bytes = package->file_bytes;
    record->files[OTHER].counter = package->counter;
    memcpy(record->files[OTHER].digest, package->digest, DIGEST_BYTES);
    return write_record(&update->newest);
}

/* Checks the head, which is complete, and begins to take the payload or goes on with it. */
static KIBI_NOINLINE kibi_status start(kibi_update *update, const kibi_file_package *package);

/* Takes a byte of the payload. */
static kibi_status take_payload(kibi_update *update, uint32_t given);

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

/* Takes bytes of the package. */
static kibi_status take(kibi_update *update, uint32_t offset, const void *bytes, uint32_t count)
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
    for (; from != end; ++from, ++offset) {
        if (offset == update->wanted) {
            status = update->within == 0 ? take_head(update, *from) : take_payload(update, *from);
            if (status != KIBI_OK) {
                update->newest.store = NULL;
                break;
            }
        }
    }
    return kibi_refused(status);
}

#endif
