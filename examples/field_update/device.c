/* The device of field_update.py: an inference in slices, a serial line between them, and an update that any cut may interrupt. */
#include "device.h"

#include <string.h>

#include "kernels/kibi_crc32.h"
#include "kibi_kernels.h"
#include "settings.h"

#define MARK 0x7Eu

/* Flash as the emulator has it: memory, whose bits programming can only clear. Your device has its own functions here. */
static int read_flash(void *flash, uint32_t address, void *data, uint32_t bytes)
{
    memcpy(data, (const uint8_t *)flash + address, bytes);
    return 0;
}

static int program_flash(void *flash, uint32_t address, const void *data, uint32_t bytes)
{
    for (uint32_t k = 0; k < bytes; ++k) {
        ((uint8_t *)flash)[address + k] &= ((const uint8_t *)data)[k];
    }
    return memcmp((const uint8_t *)flash + address, data, bytes) != 0;
}

static int erase_flash(void *flash, uint32_t address)
{
    memset((uint8_t *)flash + address, 0xFF, SECTOR_BYTES);
    return 0;
}

static void describe(kibi_store *store, uint8_t *flash)
{
    static const uint32_t targets[] = {DEVICE_TARGET};
    memset(store, 0, sizeof *store);
    store->context = flash;
    store->read = read_flash;
    store->program = program_flash;
    store->erase = erase_flash;
    store->takes_unsigned = 1; /* a device in the field has `verify` instead: see kibi_verify_monocypher.c and kibi_verify_psa.c */
    store->kernels = &kibi_core_kernels;
    store->targets = targets;
    store->target_count = 1;
    store->slot[1] = SLOT_BYTES;
    store->mapped[0] = flash;
    store->mapped[1] = flash + SLOT_BYTES;
    store->slot_bytes = SLOT_BYTES;
    store->journal = 2u * SLOT_BYTES;
    store->journal_bytes = 2u * SECTOR_BYTES;
    store->sector_bytes = SECTOR_BYTES;
    store->program_bytes = 8;
    store->arena_bytes = ARENA_BYTES;
    store->model = DEVICE_MODEL;
    store->starts = STARTS;
}

int32_t device_start(device *d, uint8_t *flash)
{
    memset(d, 0, sizeof *d);
    describe(&d->store, flash);
    const kibi_status booted = kibi_update_boot(&d->store, &d->boot);
    const kibi_status ready = kibi_update_begin(&d->update, &d->store);
    if (ready != KIBI_OK && ready != KIBI_ERROR_SEQUENCE) { /* a model on trial is confirmed before the next one comes */
        return ready;
    }
    if (booted != KIBI_OK) {
        return booted;
    }
    const kibi_status opened =
        kibi_model_open(&d->model, d->boot.file, d->boot.bytes, &kibi_core_checked_kernels, d->arena.bytes, ARENA_BYTES);
    if (opened != KIBI_OK) {
        (void)kibi_update_reject(&d->store); /* the next start gives the older model */
        return opened;
    }
    return (int32_t)d->boot.counter;
}

kibi_status device_see(device *d, const int8_t *picture, uint32_t bytes)
{
    kibi_port input;
    const kibi_status status = kibi_model_input(&d->model, 0, &input);
    if (status == KIBI_OK) {
        memcpy(input.data, picture, bytes < input.bytes ? bytes : input.bytes);
    }
    return status;
}

int32_t device_think(device *d, uint32_t steps)
{
    kibi_port output;
    const kibi_status status = kibi_model_run_for(&d->model, steps);
    if (status != KIBI_OK) {
        return status == KIBI_PAUSED ? KIBI_CLASSES : (int32_t)status;
    }
    (void)kibi_model_output(&d->model, 0, &output);
    const int8_t *const scores = (const int8_t *)output.data;
    int32_t best = 0;
    for (uint32_t k = 1; k < output.bytes; ++k) {
        best = scores[k] > scores[best] ? (int32_t)k : best;
    }
    return best;
}

static uint32_t number_at(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Takes a frame that is complete, if nothing on the line has changed it. */
static void take_frame(device *d, uint32_t count)
{
    const uint8_t *const bytes = d->frame.bytes;
    if (kibi_crc32(0, bytes, FRAME_HEAD + count) != number_at(bytes + FRAME_HEAD + count)) {
        return; /* it will be sent again */
    }
    const kibi_status status = kibi_update_write(&d->update, number_at(bytes + 2), bytes + FRAME_HEAD, count);
    if (status != KIBI_OK && status != KIBI_ERROR_SEQUENCE) {
        d->refused = status;
        (void)kibi_update_begin(&d->update, &d->store);
    }
}

uint32_t device_hear(device *d, const uint8_t *bytes, uint32_t count)
{
    for (; count != 0; --count, ++bytes) {
        if (d->received == 0 && *bytes != MARK) {
            continue; /* what is left of a damaged frame */
        }
        d->frame.bytes[d->received++] = *bytes;
        const uint32_t length = d->frame.bytes[1];
        if (d->received > 1u && length > FRAME_BYTES) {
            d->received = 0;
        } else if (d->received == FRAME_HEAD + length + 4u) {
            d->received = 0;
            take_frame(d, length);
        }
    }
    return kibi_update_wanted(&d->update);
}

kibi_status device_finish(device *d)
{
    return kibi_update_finish(&d->update);
}

kibi_status device_confirm(device *d)
{
    return kibi_update_confirm(&d->store);
}

uint32_t device_bytes(void)
{
    return (uint32_t)sizeof(device);
}
