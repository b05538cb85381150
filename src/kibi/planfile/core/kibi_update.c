/* Updates: packages into the slot that is not active, and a journal of two records by turns that says which slot is. */
#include "kibi_update.h"

#include <string.h>

#include "kernels/kibi_crc32.h"

/* Another number where the fields of a record mean something else: older records are not whole then. */
#define FORMAT 1u
#define DIGEST_BYTES 32u
#define HEAD_BYTES ((uint32_t)sizeof(kibi_file_package) + KIBI_SIGNATURE_BYTES)
#define LEAST_FILE_BYTES ((uint32_t)sizeof(kibi_file_header) + DIGEST_BYTES)
#define BLOCK_BYTES 0x1FF00u /* a power of two that is one of these bits: 256 ... 65536 */

static int is_power(uint32_t number)
{
    return (number & (number - 1u)) == 0;
}

/* Whether nothing is written outside of its memory, and the journal has room for a record and a mark. */
static int is_usable(const kibi_store *store)
{
    return store->program_bytes - 1u < KIBI_UPDATE_UNIT && store->sector_bytes >= store->program_bytes &&
           store->journal_bytes >= sizeof(kibi_journal) + KIBI_UPDATE_UNIT;
}

/* Reads a record: whether it is whole. */
static int read_record(const kibi_store *store, unsigned half, kibi_journal *journal)
{
    return store->read(store->context, store->journal[half], journal, (uint32_t)sizeof *journal) == 0 &&
           journal->crc == kibi_crc32(FORMAT, journal, (uint32_t)offsetof(kibi_journal, crc)) &&
           (journal->sequence & 1u) == half && journal->active < 2u;
}

/* Reads the newest record that is whole. Where none is: that slot 0 is to be written. */
static KIBI_NOINLINE int read_newest(const kibi_store *store, kibi_journal *journal)
{
    const int has_even = read_record(store, 0, journal);
    const uint32_t even = journal->sequence;
    if (read_record(store, 1, journal) && (!has_even || journal->sequence - even < 0x80000000u)) {
        return 1;
    }
    if (has_even && read_record(store, 0, journal)) {
        return 1;
    }
    memset(journal, 0, sizeof *journal);
    journal->active = 1;
    return 0;
}

/* Writes the next record, over the older one. */
static KIBI_NOINLINE kibi_status write_record(const kibi_store *store, kibi_journal *journal)
{
    const uint32_t at = store->journal[++journal->sequence & 1u];
    journal->crc = kibi_crc32(FORMAT, journal, (uint32_t)offsetof(kibi_journal, crc));
    for (uint32_t sector = 0; sector < store->journal_bytes; sector += store->sector_bytes) {
        if (store->erase(store->context, at + sector) != 0) {
            return KIBI_ERROR_STORAGE;
        }
    }
    return store->program(store->context, at, journal, (uint32_t)sizeof *journal) != 0 ? KIBI_ERROR_STORAGE : KIBI_OK;
}

/* Whether a slot has the file that the journal says, bit for bit. */
static KIBI_NOINLINE int is_whole(const kibi_store *store, kibi_reading *read, unsigned slot)
{
    const kibi_slot_file *const file = &read->journal.files[slot];
    const uint32_t *const words = (const uint32_t *)(const void *)store->mapped[slot];
    const uint32_t count = (file->bytes - DIGEST_BYTES) / 4u;
    return file->bytes != 0 && memcmp(words + count, file->digest, DIGEST_BYTES) == 0 &&
           kibi_sha256_is(file->digest, words, count, read->work);
}

kibi_status kibi_update_boot(const kibi_store *store, kibi_boot *boot)
{
    kibi_reading read;
    kibi_journal *const journal = &read.journal;
    if (store == NULL || boot == NULL) {
        return kibi_refused(KIBI_ERROR_NULL);
    }
    boot->file = NULL;
    (void)read_newest(store, journal); /* where there is no record, no slot has a file */
    const unsigned trial = journal->trial;
    unsigned slot = journal->active ^ (trial == 1u); /* no start is left: the older one, if it is whole */
    if (!is_whole(store, &read, slot)) {
        slot ^= 1u;
        if (!is_whole(store, &read, slot)) {
            return kibi_refused(KIBI_ERROR_NO_MODEL);
        }
    }
    const int is_other = slot != journal->active;
    if (is_other) {
        KIBI_EVENT(UpdateRolledBack, 0xEEC41C55u);
        journal->active = (uint8_t)slot;
        journal->trial = 0;
        journal->package = 0;
    } else if (trial > 1u) {
        --journal->trial;
    }
    boot->file = store->mapped[slot];
    boot->bytes = journal->files[slot].bytes;
    boot->counter = journal->files[slot].counter;
    boot->trial = journal->trial;
    if ((is_other || trial > 1u) && write_record(store, journal) != KIBI_OK) {
        return kibi_refused(KIBI_ERROR_STORAGE);
    }
    return KIBI_OK;
}

/* Writes how many starts a model on trial has left; reads what the journal says. */
static kibi_status settle(const kibi_store *store, kibi_journal *journal, unsigned trial)
{
    if (store == NULL) {
        return KIBI_ERROR_NULL;
    }
    if (!read_newest(store, journal)) {
        return KIBI_ERROR_NO_MODEL;
    }
    if (journal->trial == 0 || journal->trial == trial) {
        return KIBI_OK;
    }
    journal->trial = (uint8_t)trial;
    return write_record(store, journal);
}

kibi_status kibi_update_confirm(const kibi_store *store)
{
    kibi_journal journal;
    kibi_status status = settle(store, &journal, 0);
    if (status == KIBI_OK && store->raise_counter != NULL) {
        const uint32_t counter = journal.files[journal.active].counter;
        if ((store->least_counter == NULL || store->least_counter(store->context) < counter) &&
            store->raise_counter(store->context, counter) != 0) {
            status = KIBI_ERROR_STORAGE;
        }
    }
    if (status != KIBI_OK) {
        return kibi_refused(status);
    }
    KIBI_EVENT(ModelConfirmed, 0xC63E0983u);
    return KIBI_OK;
}

kibi_status kibi_update_reject(const kibi_store *store)
{
    kibi_journal journal;
    const kibi_status status = settle(store, &journal, 1);
    return status != KIBI_OK ? kibi_refused(status) : KIBI_OK;
}

kibi_status kibi_update_begin(kibi_update *update, const kibi_store *store)
{
    if (update == NULL || store == NULL) {
        return kibi_refused(KIBI_ERROR_NULL);
    }
    memset(update, 0, sizeof *update);
    if (!is_usable(store)) {
        return kibi_refused(KIBI_ERROR_STORAGE);
    }
    kibi_journal *const journal = &update->of.read.journal;
    (void)read_newest(store, journal);
    if (journal->trial != 0 && journal->package == 0 &&
        is_whole(store, &update->of.read, journal->active ^ 1u)) {
        return kibi_refused(KIBI_ERROR_SEQUENCE);
    }
    update->has_base = (uint8_t)is_whole(store, &update->of.read, journal->active);
    update->payload = UINT32_MAX;
    update->end = UINT32_MAX;
    update->store = store;
    return KIBI_OK;
}

uint32_t kibi_update_wanted(const kibi_update *update)
{
    return update->wanted;
}

/* Whether the record has values that a package may have. */
static int is_package(const kibi_file_package *package)
{
    return package->magic == KIBI_PACKAGE_MAGIC && package->version == KIBI_PACKAGE_VERSION && package->required == 0 &&
           package->kind <= (KIBI_UPDATE_DELTA ? KIBI_PAYLOAD_DELTA : KIBI_PAYLOAD_WHOLE) && is_power(package->block_bytes) &&
           (package->block_bytes & BLOCK_BYTES) != 0 && package->file_bytes >= LEAST_FILE_BYTES && package->file_bytes % 4u == 0;
}

static int has_target(const kibi_store *store, uint32_t target)
{
    for (unsigned k = 0; k < store->target_count; ++k) {
        if (store->targets[k] == target) {
            return 1;
        }
    }
    return 0;
}

/* Whether the device may have the package: all that its record and the signature say. */
static KIBI_NOINLINE kibi_status check_head(kibi_update *update)
{
    const kibi_store *const store = update->store;
    const kibi_file_package *const package = &update->of.head.package;
    if (!is_package(package)) {
        return KIBI_ERROR_PACKAGE;
    }
    if (store->verify == NULL ? !store->takes_unsigned
                              : package->signature != KIBI_SIGNATURE_ED25519 ||
                                    store->verify(store->context, package, (uint32_t)sizeof *package, update->of.head.signature) != 0) {
        return KIBI_ERROR_SIGNATURE;
    }
    if (package->model != store->model || package->file_version != KIBI_FILE_VERSION || !has_target(store, package->target)) {
        return KIBI_ERROR_OTHER_DEVICE;
    }
    kibi_journal *const journal = &update->of.checked.journal; /* over the signature */
    (void)read_newest(store, journal);
    const kibi_slot_file *const active = &journal->files[journal->active];
    if ((store->least_counter != NULL && package->counter < store->least_counter(store->context)) ||
        (update->has_base && package->counter <= active->counter)) {
        return KIBI_ERROR_OLDER;
    }
    update->is_delta = package->kind == KIBI_PAYLOAD_DELTA;
    if (update->is_delta && (!update->has_base || package->base_bytes != active->bytes ||
                             memcmp(package->base_digest, active->digest, DIGEST_BYTES) != 0)) {
        return KIBI_ERROR_BASE;
    }
    if (package->file_bytes > store->slot_bytes || package->payload_bytes > store->slot_bytes || package->arena_bytes > store->arena_bytes ||
        package->state_bytes > store->state_bytes) {
        return KIBI_ERROR_SPACE;
    }
    update->payload = HEAD_BYTES + 4u * package->kernel_count;
    return KIBI_OK;
}

/* Adds what the marks after a record say to it. Returns the offset of the first mark that can be written; 0: none can be, there.
 * A mark is two words. Bits only fall: if it was cut, the second one is not the complement of the first one. */
static uint32_t read_marks(const kibi_store *store, kibi_journal *journal, uint32_t step)
{
    uint32_t mark[2];
    for (uint32_t at = (uint32_t)sizeof *journal; at + KIBI_UPDATE_UNIT <= store->journal_bytes; at += KIBI_UPDATE_UNIT) {
        if (store->read(store->context, store->journal[journal->sequence & 1u] + at, mark, (uint32_t)sizeof mark) != 0) {
            return 0;
        }
        if (mark[0] != ~mark[1]) {
            return (mark[0] & mark[1]) == UINT32_MAX ? at : 0;
        }
        journal->made += step;
        journal->used = mark[0];
    }
    return 0;
}

/* Begins to write the payload, or goes on where the same package was cut: from here on the other slot has no model. */
static KIBI_NOINLINE kibi_status start(kibi_update *update)
{
    const kibi_store *const store = update->store;
    const kibi_file_package *const package = &update->of.checked.package;
    kibi_journal *const journal = &update->of.checked.journal;
    const uint32_t sum = kibi_crc32(0, package, (uint32_t)sizeof *package) | 1u;
    const uint32_t step = package->block_bytes > store->sector_bytes ? package->block_bytes : store->sector_bytes;
    uint32_t at = 0;
    if (update->sum != package->kernel_sum) {
        return KIBI_ERROR_PACKAGE;
    }
    update->into = journal->active ^ 1u;
    kibi_slot_file *const file = &journal->files[update->into];
    if (journal->package == sum) {
        at = read_marks(store, journal, step);
    }
    if (journal->package != sum || journal->made > package->file_bytes || journal->used > package->payload_bytes) {
        at = 0;
        journal->package = sum;
        journal->made = 0;
        journal->used = 0;
        file->bytes = package->file_bytes;
        file->counter = package->counter;
        memcpy(file->digest, package->digest, DIGEST_BYTES);
    }
    if (at == 0) {
        const kibi_status status = write_record(store, journal);
        if (status != KIBI_OK) {
            return status;
        }
        at = (uint32_t)sizeof *journal;
    }
    update->sum = sum;
    update->step = step;
    update->file_bytes = package->file_bytes;
    update->made = journal->made;
    update->wanted = update->payload + journal->used;
    update->end = update->payload + package->payload_bytes;
    update->mark = store->journal[journal->sequence & 1u] + at;
    update->marks_end = store->journal[journal->sequence & 1u] + store->journal_bytes - KIBI_UPDATE_UNIT + 1u;
#if KIBI_UPDATE_DELTA
    kibi_delta_begin(&update->of.delta, store->mapped[journal->active], journal->files[journal->active].bytes, update->file_bytes,
                     package->block_bytes, update->made);
#endif
    return KIBI_OK;
}

/* Takes a byte of what is before the payload. */
static kibi_status take_byte(kibi_update *update, uint8_t byte)
{
    const uint32_t at = update->wanted++;
    kibi_status status = KIBI_OK;
    if (at < HEAD_BYTES) {
        ((uint8_t *)&update->of.head)[at] = byte;
        if (at == HEAD_BYTES - 1u) {
            status = check_head(update);
        }
    } else {
        update->unit.bytes[at % 4u] = byte;
        if (at % 4u == 3u) {
            update->sum = kibi_crc32(update->sum, &update->unit.id, 4u);
            if (kibi_kernel_of(update->store->kernels, update->unit.id) == NULL) {
                status = KIBI_ERROR_KERNEL;
            }
        }
    }
    return status == KIBI_OK && update->wanted == update->payload ? start(update) : status;
}

/* Programs the unit, which is full or the last one, and marks the progress where a sector and a block end. */
static KIBI_NOINLINE kibi_status program_unit(kibi_update *update)
{
    const kibi_store *const store = update->store;
    const uint32_t first = (update->made - 1u) & ~(store->program_bytes - 1u), to = store->slot[update->into] + first;
    if ((first & (store->sector_bytes - 1u)) == 0 && store->erase(store->context, to) != 0) {
        return KIBI_ERROR_STORAGE;
    }
    int failed = store->program(store->context, to, update->unit.bytes, store->program_bytes);
    if (failed == 0 && (update->made & (update->step - 1u)) == 0 && update->mark < update->marks_end) {
        update->unit.mark[0] = update->wanted - update->payload;
        update->unit.mark[1] = ~update->unit.mark[0];
        failed = store->program(store->context, update->mark, update->unit.bytes, KIBI_UPDATE_UNIT);
        update->mark += KIBI_UPDATE_UNIT;
    }
    return failed != 0 ? KIBI_ERROR_STORAGE : KIBI_OK;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Makes bytes of the new file from bytes of the payload, as many as both allow. */
static kibi_status make(kibi_update *update, const uint8_t **from, uint32_t *count, uint8_t **to, uint32_t *room)
{
#if KIBI_UPDATE_DELTA
    if (update->is_delta) {
        return kibi_delta_make(&update->of.delta, from, count, to, room);
    }
#endif
    const uint32_t bytes = least(*count, *room);
    (void)update;
    memcpy(*to, *from, bytes);
    *from += bytes;
    *to += bytes;
    *count -= bytes;
    *room -= bytes;
    return KIBI_OK;
}

/* Takes bytes of the payload. */
static kibi_status take_payload(kibi_update *update, const uint8_t *from, uint32_t count)
{
    if (count > update->end - update->wanted) {
        return KIBI_ERROR_PACKAGE;
    }
    while (update->made != update->file_bytes) {
        const uint32_t filled = update->made & (update->store->program_bytes - 1u), before = count;
        const uint32_t most = least(update->store->program_bytes - filled, update->file_bytes - update->made);
        uint32_t room = most;
        uint8_t *to = update->unit.bytes + filled;
        kibi_status status = make(update, &from, &count, &to, &room);
        update->wanted += before - count;
        update->made += most - room;
        if (status == KIBI_OK && room == 0) {
            status = program_unit(update);
        } else if (status == KIBI_OK) {
            break;
        }
        if (status != KIBI_OK) {
            return status;
        }
    }
    return count == 0 ? KIBI_OK : KIBI_ERROR_PACKAGE; /* bytes that lead nowhere, such as after the end */
}

kibi_status kibi_update_write(kibi_update *update, uint32_t offset, const void *bytes, uint32_t count)
{
    const uint8_t *from = (const uint8_t *)bytes;
    kibi_status status = KIBI_OK;
    if (update == NULL || bytes == NULL) {
        return kibi_refused(KIBI_ERROR_NULL);
    }
    if (update->store == NULL) {
        return kibi_refused(KIBI_ERROR_NOT_INITIALIZED);
    }
    if (offset > update->wanted) {
        return kibi_refused(KIBI_ERROR_SEQUENCE);
    }
    while (status == KIBI_OK && update->wanted - offset < count) {
        const uint32_t skipped = update->wanted - offset;
        from += skipped;
        offset += skipped;
        count -= skipped;
        status = update->end == UINT32_MAX ? take_byte(update, *from) : take_payload(update, from, count);
    }
    if (status != KIBI_OK) {
        update->store = NULL;
        return kibi_refused(status);
    }
    return KIBI_OK;
}

kibi_status kibi_update_finish(kibi_update *update)
{
    if (update == NULL) {
        return kibi_refused(KIBI_ERROR_NULL);
    }
    const kibi_store *const store = update->store;
    if (store == NULL) {
        return kibi_refused(KIBI_ERROR_NOT_INITIALIZED);
    }
    if (update->wanted != update->end || update->made != update->file_bytes) {
        return kibi_refused(KIBI_ERROR_PACKAGE);
    }
    kibi_journal *const journal = &update->of.read.journal;
    const unsigned into = update->into;
    update->store = NULL;
    (void)read_newest(store, journal);
    if (journal->package != update->sum) { /* the journal has changed since the update began */
        return kibi_refused(KIBI_ERROR_SEQUENCE);
    }
    const int is_right = is_whole(store, &update->of.read, into);
    journal->package = 0;
    if (is_right) {
        journal->active = (uint8_t)into;
        journal->trial = (uint8_t)(store->starts != 0 ? store->starts + 1u : 0u);
    }
    kibi_status status = write_record(store, journal);
    if (status == KIBI_OK && !is_right) {
        status = KIBI_ERROR_PACKAGE;
    }
    if (status != KIBI_OK) {
        return kibi_refused(status);
    }
    KIBI_EVENT(ModelInstalled, 0x193C22F0u);
    return KIBI_OK;
}
