#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kibi_crc32.h"
#include "kibi_update_in_place.h"

static const uint32_t targets[2] = {0x0u, TARGET};

void check(int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

uint32_t read_number(void)
{
    uint32_t number = 0;
    check(fread(&number, sizeof number, 1, stdin) == 1, "the input is too short");
    return number;
}

blob read_blob(void)
{
    blob found = {NULL, read_number()};
    void *memory = NULL;
    check(posix_memalign(&memory, 8, found.bytes + 8u) == 0, "there is not enough memory");
    found.data = (uint8_t *)memory;
    check(fread(found.data, 1, found.bytes, stdin) == found.bytes, "the input is too short");
    return found;
}

uint32_t drawn(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

/* What a function of the device returns, unless the power was cut in it: then nothing returns. */
static int unless_cut(device *d, int result)
{
    if (d->flash.is_off) {
        longjmp(d->cut, 1);
    }
    return result;
}

static int read_flash(void *context, uint32_t address, void *data, uint32_t bytes)
{
    device *const d = (device *)context;
    return unless_cut(d, flash_read(&d->flash, address, data, bytes));
}

static int program_flash(void *context, uint32_t address, const void *data, uint32_t bytes)
{
    device *const d = (device *)context;
    check((uintptr_t)data % 4u == 0, "data is aligned");
    return unless_cut(d, flash_program(&d->flash, address, data, bytes));
}

static int erase_flash(void *context, uint32_t address)
{
    device *const d = (device *)context;
    return unless_cut(d, flash_erase(&d->flash, address));
}

/* A signature for tests: 16 check sums, each with its number. */
static int verify(void *context, const void *message, uint32_t bytes, const uint8_t signature[KIBI_SIGNATURE_BYTES])
{
    (void)context;
    for (uint32_t k = 0; k < KIBI_SIGNATURE_BYTES / 4u; ++k) {
        const uint32_t sum = kibi_crc32(k, message, bytes);
        if (memcmp(signature + 4u * k, &sum, sizeof sum) != 0) {
            return 1;
        }
    }
    return 0;
}

static uint32_t least_counter(void *context)
{
    return ((const device *)context)->least_counter;
}

static int raise_counter(void *context, uint32_t counter)
{
    device *const d = (device *)context;
    check(counter > d->least_counter, "a counter is raised, and never lowered");
    d->least_counter = counter;
    return 0;
}

static void *memory_of(size_t bytes, int value)
{
    void *found = NULL;
    check(posix_memalign(&found, 64, bytes) == 0, "there is not enough memory");
    memset(found, value, bytes);
    return found;
}

/* A device whose flash is erased: slot, journal, and another slot, or a staging area with a scratch sector. */
void device_make(device *d)
{
    settings *const s = &d->chosen;
    memset(d, 0, sizeof *d);
    s->sector_bytes = read_number();
    s->unit_bytes = read_number();
    s->slot_bytes = read_number();
    s->journal_bytes = read_number();
    s->has_ecc = read_number();
    s->starts = read_number();
    s->seed = read_number();
    s->every = read_number();
    s->stride = read_number();
    s->trust = read_number();
    s->staging_bytes = read_number();
    flash *const f = &d->flash;
    f->size = s->slot_bytes + s->journal_bytes + (s->staging_bytes != 0 ? s->staging_bytes + s->sector_bytes : s->slot_bytes);
    f->sector_bytes = s->sector_bytes;
    f->unit_bytes = s->unit_bytes;
    f->has_ecc = s->has_ecc;
    f->random = s->seed;
    f->left = FLASH_NEVER;
    f->bytes = (uint8_t *)memory_of(f->size, 0xFF);
    f->torn = (uint8_t *)memory_of(f->size / f->unit_bytes, 0);
    f->wear = (uint32_t *)memory_of(f->size / f->sector_bytes * sizeof(uint32_t), 0);
    kibi_store *const store = &d->store;
    store->context = d;
    store->read = read_flash;
    store->program = program_flash;
    store->erase = erase_flash;
    store->verify = s->trust == 0 ? verify : NULL;
    store->takes_unsigned = s->trust != 0;
    store->least_counter = least_counter;
    store->raise_counter = raise_counter;
    store->kernels = &kibi_core_kernels;
    store->targets = targets;
    store->target_count = 2;
    store->model = MODEL;
    for (unsigned k = 0; k < 2u; ++k) {
        store->slot[k] = k * (s->slot_bytes + s->journal_bytes);
        store->mapped[k] = f->bytes + store->slot[k];
    }
    store->journal = s->slot_bytes;
    store->slot_bytes = s->slot_bytes;
    store->journal_bytes = s->journal_bytes;
    store->sector_bytes = s->sector_bytes;
    store->program_bytes = s->unit_bytes;
    store->arena_bytes = ARENA_BYTES;
    store->starts = s->starts;
    store->staging_bytes = s->staging_bytes;
    d->random = s->seed;
}

image image_make(const device *d)
{
    image made = {(uint8_t *)memory_of(d->flash.size, 0), (uint8_t *)memory_of(d->flash.size / d->flash.unit_bytes, 0), 0};
    return made;
}

void image_save(image *to, const device *d)
{
    memcpy(to->bytes, d->flash.bytes, d->flash.size);
    memcpy(to->torn, d->flash.torn, d->flash.size / d->flash.unit_bytes);
    to->least_counter = d->least_counter;
}

void image_load(device *d, const image *from)
{
    memcpy(d->flash.bytes, from->bytes, d->flash.size);
    memcpy(d->flash.torn, from->torn, d->flash.size / d->flash.unit_bytes);
    d->least_counter = from->least_counter;
    d->flash.is_off = 0;
    d->flash.left = FLASH_NEVER;
}

/* The functions of updates, with two slots or in place. */
typedef struct {
    kibi_status (*boot)(const kibi_store *store, kibi_boot *boot);
    kibi_status (*begin)(kibi_update *update, const kibi_store *store);
    kibi_status (*write)(kibi_update *update, uint32_t offset, const void *bytes, uint32_t count);
    uint32_t (*wanted)(const kibi_update *update);
    kibi_status (*finish)(kibi_update *update);
} functions;

static const functions *functions_of(const device *d)
{
    static const functions two_slots = {kibi_update_boot, kibi_update_begin, kibi_update_write, kibi_update_wanted, kibi_update_finish};
    static const functions in_place = {kibi_in_place_boot, kibi_in_place_begin, kibi_in_place_write, kibi_in_place_wanted,
                                       kibi_in_place_finish};
    return d->chosen.staging_bytes != 0 ? &in_place : &two_slots;
}

static int is_incomplete(const device *d, const kibi_update *update)
{
    return update->within == 0 || (d->chosen.staging_bytes != 0
                                       ? update->wanted < update->until
                                       : update->newest.record.made < update->newest.record.files[1].bytes);
}

kibi_status receive(device *d, const blob *package)
{
    static kibi_update update; /* static: a sanitizer need not know that its stack frame is left by a jump */
    const functions *const call = functions_of(d);
    memset(&update, 0xA5, sizeof update);
    kibi_status status = call->begin(&update, &d->store);
    uint32_t at = 0;
    while (status == KIBI_OK && at < package->bytes) {
        uint32_t count = 1u + drawn(&d->random, drawn(&d->random, 8) == 0 ? 700u : 48u);
        const uint32_t wanted = call->wanted(&update);
        if (drawn(&d->random, 2) == 0) { /* a sender that asks; others send all */
            at = wanted;
        } else if (drawn(&d->random, 16) == 0) { /* something is sent again */
            at -= at < 20u ? at : 20u;
        }
        if (drawn(&d->random, 16) == 0 && wanted < package->bytes) { /* something is lost */
            check(call->write(&update, wanted + 1u, package->data, 1) == KIBI_ERROR_SEQUENCE, "a gap is noticed");
            check(call->wanted(&update) == wanted, "a gap changes nothing");
        }
        count = count < package->bytes - at ? count : package->bytes - at;
        status = call->write(&update, at, package->data + at, count);
        at += count;
        if (status == KIBI_OK && is_incomplete(d, &update) && drawn(&d->random, 4) == 0) {
            check(call->finish(&update) == KIBI_ERROR_PACKAGE, "an update that is not complete cannot be finished");
        }
    }
    return status == KIBI_OK ? call->finish(&update) : status;
}

int booted(device *d, const blob *files, unsigned count, kibi_boot *boot)
{
    static uint64_t arena[ARENA_BYTES / 8];
    kibi_model model;
    const kibi_status status = functions_of(d)->boot(&d->store, boot);
    if (status == KIBI_ERROR_NO_MODEL) {
        check(boot->file == NULL, "no model is given where there is none");
        return -1;
    }
    check(status == KIBI_OK, "a start gives a model, or says that there is none");
    for (unsigned k = 0; k < count; ++k) {
        if (boot->bytes == files[k].bytes && memcmp(boot->file, files[k].data, boot->bytes) == 0) {
            check(kibi_model_open(&model, boot->file, boot->bytes, &kibi_core_checked_kernels, arena, sizeof arena) == KIBI_OK,
                  "the model can be opened");
            return (int)k;
        }
    }
    check(0, "a start gives the old or the new model, whole");
    return -1;
}
