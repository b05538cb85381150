/* Cuts the power at every program and erase of an update, a second time in what follows, and flips bits at rest. After each start the
 * old or the new model is given, whole, and the update can be finished.
 * Prints: how often the power was cut once, how often twice, how many bits were flipped, how many programs and erases there were, and
 * the most erases of a sector in a run that is not cut. */
#include <stdio.h>
#include <string.h>

#include "device.h"

enum { OLD, NEW, NONE = -1 };

typedef void action(device *);

static device d;
static blob files[2], packages[2];
static kibi_boot boot;
static unsigned cuts, second_cuts, flips;
static int has_flipped;

static void install_old(device *on)
{
    check(receive(on, &packages[OLD]) == KIBI_OK, "the first model is installed");
}

static void install_new(device *on)
{
    check(receive(on, &packages[NEW]) == KIBI_OK, "the update is installed");
}

static void start(device *on)
{
    (void)booted(on, files, 2, &boot);
}

static void confirm(device *on)
{
    check(booted(on, files, 2, &boot) == NEW && kibi_update_confirm(&on->store) == KIBI_OK, "the new model is confirmed");
}

static void use_up(device *on)
{
    for (uint32_t k = 0; k <= on->chosen.starts; ++k) {
        start(on);
    }
    check(boot.file != NULL && boot.bytes == files[OLD].bytes && memcmp(boot.file, files[OLD].data, boot.bytes) == 0,
          "a model that nobody confirms is rolled back");
}

static void reject(device *on)
{
    check(kibi_update_reject(&on->store) == KIBI_OK, "the new model is refused");
    check(booted(on, files, 2, &boot) == OLD, "a model that is refused is rolled back");
}

/* A run whose power is cut, or not: whether it was. */
static int runs_until(action *act, uint32_t operations)
{
    d.flash.left = operations;
    if (setjmp(d.cut) == 0) {
        act(&d);
        d.flash.left = FLASH_NEVER;
        return 0;
    }
    d.flash.is_off = 0;
    d.flash.left = FLASH_NEVER;
    return 1;
}

/* What is done after a loss of power: a start, and the update from where it was. A device without a model gets the first one again. */
static void recover(device *on)
{
    const int found = booted(on, files, 2, &boot);
    if (found == NONE) {
        const kibi_status status = receive(on, &packages[OLD]);
        check(status == KIBI_OK, "the first model can be installed after a cut");
        return;
    }
    check(kibi_update_confirm(&on->store) == KIBI_OK, "a model that works is confirmed");
    if (found == OLD) {
        kibi_status status = receive(on, &packages[NEW]);
        if (status == KIBI_ERROR_PACKAGE && has_flipped) { /* in what was written before: the digest says so */
            status = receive(on, &packages[NEW]);
        }
        check(status == KIBI_OK, "the update can be installed after a cut");
    }
}

/* Finishes whatever was begun, and checks that the new model is there, and stays after it was confirmed. */
static void finish(void)
{
    for (int turn = 0; turn < 2; ++turn) {
        recover(&d);
    }
    check(booted(&d, files, 2, &boot) == NEW && boot.counter == 2u, "the new model is active in the end");
    check(kibi_update_confirm(&d.store) == KIBI_OK && d.least_counter == 2u, "it is confirmed");
    for (unsigned k = 0; k < 4u; ++k) {
        check(booted(&d, files, 2, &boot) == NEW && boot.trial == 0, "a confirmed model stays");
    }
    check(receive(&d, &packages[OLD]) == KIBI_ERROR_OLDER && receive(&d, &packages[NEW]) == KIBI_ERROR_OLDER,
          "an older package, or the same one again, is refused");
}

/* Checks what is there now, and finishes. */
static void outcome(int needs_model)
{
    check(booted(&d, files, 2, &boot) != NONE || !needs_model, "at every instant a verified model can be opened");
    finish();
}

/* Cuts an action at every so many of its operations, and after each cut what follows at every so many of its own. */
static void cut(const image *before, action *act, int needs_model)
{
    static image after;
    uint32_t at = d.chosen.seed % d.chosen.every;
    if (after.bytes == NULL) {
        after = image_make(&d);
    }
    for (int was_cut = 1; was_cut; at += d.chosen.every) {
        image_load(&d, before);
        d.random = d.chosen.seed + at;
        was_cut = runs_until(act, at);
        image_save(&after, &d);
        if (was_cut) {
            ++cuts;
            for (uint32_t again = at % d.chosen.stride; d.chosen.stride != 0; again += d.chosen.stride) {
                image_load(&d, &after);
                d.random = d.chosen.seed + again;
                if (!runs_until(recover, again)) {
                    break;
                }
                ++second_cuts;
                outcome(needs_model);
            }
            image_load(&d, &after);
        }
        outcome(needs_model || !was_cut);
    }
}

/* Flips each bit of some bytes by itself. */
static void flip(const image *before, uint32_t first, uint32_t bytes, uint32_t every, int needs_model)
{
    for (uint32_t bit = d.chosen.seed % every; bit < 8u * bytes; bit += every) {
        image_load(&d, before);
        d.flash.bytes[first + bit / 8u] ^= (uint8_t)(1u << bit % 8u);
        ++flips;
        has_flipped = 1;
        outcome(needs_model);
        has_flipped = 0;
    }
}

/* Flips bits of the journal's records, and of the place for the next one. */
static void flip_records(const image *before, uint32_t every)
{
    uint32_t bytes = d.store.journal_bytes;
    while (bytes > sizeof(kibi_journal) && before->bytes[d.store.journal + bytes - sizeof(kibi_journal) - 1u] == 0xFFu) {
        --bytes;
    }
    flip(before, d.store.journal, bytes, every, 1);
}

/* Flips bits of the journal, and of both slots: each of them may be the only whole one. */
static void flip_all(const image *before, int needs_model)
{
    flip_records(before, d.chosen.stride / 8u + 1u);
    for (unsigned k = 0; k < 2u; ++k) {
        flip(before, d.store.slot[k], files[NEW].bytes, 8u * d.chosen.stride + 1u, needs_model);
    }
}

/* An update whose power is cut in the middle. */
static void half(device *on)
{
    const uint32_t operations = on->flash.operations;
    image saved = image_make(on);
    image_save(&saved, on);
    install_new(on);
    const uint32_t all = on->flash.operations - operations;
    image_load(on, &saved);
    check(runs_until(install_new, all / 2u), "the update is cut");
}

int main(void)
{
    device_make(&d);
    for (unsigned k = 0; k < 2u; ++k) {
        files[k] = read_blob();
    }
    for (unsigned k = 0; k < 2u; ++k) {
        packages[k] = read_blob();
    }
    image state = image_make(&d);
    image_save(&state, &d);
    check(booted(&d, files, 2, &boot) == NONE, "erased flash has no model");
    cut(&state, install_old, 0);
    image_load(&d, &state);
    install_old(&d);
    image_save(&state, &d);
    flip_records(&state, d.chosen.every);
    image_load(&d, &state);
    check(booted(&d, files, 2, &boot) == OLD && boot.counter == 1u, "the first model is there");
    check(kibi_update_confirm(&d.store) == KIBI_OK, "the first model is confirmed");
    image_save(&state, &d);
    cut(&state, install_new, 1);
    image_load(&d, &state);
    half(&d);
    image middle = image_make(&d);
    image_save(&middle, &d);
    flip_all(&middle, 0);
    image_load(&d, &state);
    memset(d.flash.wear, 0, d.flash.size / d.flash.sector_bytes * sizeof(uint32_t));
    install_new(&d);
    uint32_t wear = 0;
    for (uint32_t k = 0; k < d.flash.size / d.flash.sector_bytes; ++k) {
        wear = d.flash.wear[k] > wear ? d.flash.wear[k] : wear;
    }
    image_save(&state, &d);
    flip_all(&state, 1);
    cut(&state, confirm, 1);
    if (d.chosen.starts != 0) {
        image_load(&d, &state);
        check(receive(&d, &packages[NEW]) == KIBI_ERROR_SEQUENCE, "nothing is written over the model to go back to");
        cut(&state, use_up, 1);
        image_load(&d, &state);
        start(&d);
        image_save(&state, &d);
        cut(&state, reject, 1);
        image_load(&d, &state);
        reject(&d);
        image_save(&state, &d);
        flip_all(&state, 1);
    }
    check(d.flash.faults == 0, "the flash is used as it must be");
    printf("%u %u %u %u %u\n", cuts, second_cuts, flips, d.flash.operations, wear);
    return 0;
}
