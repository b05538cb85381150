/* Cuts the power at every program and erase of an update, a second time in what follows, and flips bits at rest. After each start the
 * old or the new model is given, whole, and the update can be finished. */
#include <string.h>

#include "campaign.h"

static blob packages[2];

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
    (void)on;
    (void)started();
}

static void confirm(device *on)
{
    check(started() == NEW && kibi_update_confirm(&on->store) == KIBI_OK, "the new model is confirmed");
}

static void use_up(device *on)
{
    for (uint32_t k = 0; k <= on->chosen.starts; ++k) {
        start(on);
    }
    check(c.boot.file != NULL && c.boot.bytes == c.files[OLD].bytes && memcmp(c.boot.file, c.files[OLD].data, c.boot.bytes) == 0,
          "a model that nobody confirms is rolled back");
}

static void reject(device *on)
{
    check(kibi_update_reject(&on->store) == KIBI_OK, "the new model is refused");
    check(started() == OLD, "a model that is refused is rolled back");
}

/* What is done after a loss of power: a start, and the update from where it was. A device without a model gets the first one again. */
static void recover(device *on)
{
    const int found = started();
    if (found == NONE) {
        const kibi_status status = receive(on, &packages[OLD]);
        check(status == KIBI_OK, "the first model can be installed after a cut");
        return;
    }
    check(kibi_update_confirm(&on->store) == KIBI_OK, "a model that works is confirmed");
    if (found == OLD) {
        kibi_status status = receive(on, &packages[NEW]);
        if (status == KIBI_ERROR_PACKAGE && c.has_flipped) { /* in what was written before: the digest says so */
            status = receive(on, &packages[NEW]);
        }
        check(status == KIBI_OK, "the update can be installed after a cut");
    }
}

/* Finishes whatever was begun, and checks that the new model is there, and stays after it was confirmed. */
static void finish(void)
{
    for (int turn = 0; turn < 2; ++turn) {
        recover(&c.device);
    }
    check(started() == NEW && c.boot.counter == 2u, "the new model is active in the end");
    check(kibi_update_confirm(&c.device.store) == KIBI_OK && c.device.least_counter == 2u, "it is confirmed");
    for (unsigned k = 0; k < 4u; ++k) {
        check(started() == NEW && c.boot.trial == 0, "a confirmed model stays");
    }
    check(receive(&c.device, &packages[OLD]) == KIBI_ERROR_OLDER && receive(&c.device, &packages[NEW]) == KIBI_ERROR_OLDER,
          "an older package, or the same one again, is refused");
}

/* Flips bits of the journal, and of both slots: each of them may be the only whole one. */
static void flip_all(const image *before, int needs_model)
{
    flip_records(before, c.device.chosen.stride / 8u + 1u);
    for (unsigned k = 0; k < 2u; ++k) {
        flip(before, c.device.store.slot[k], c.files[NEW].bytes, 8u * c.device.chosen.stride + 1u, needs_model);
    }
}

int main(void)
{
    device_make(&c.device);
    c.recover = recover;
    c.finish = finish;
    for (unsigned k = 0; k < 2u; ++k) {
        c.files[k] = read_blob();
    }
    for (unsigned k = 0; k < 2u; ++k) {
        packages[k] = read_blob();
    }
    image state = image_make(&c.device);
    image_save(&state, &c.device);
    check(started() == NONE, "erased flash has no model");
    cut(&state, install_old, 0);
    image_load(&c.device, &state);
    install_old(&c.device);
    image_save(&state, &c.device);
    flip_records(&state, c.device.chosen.every);
    image_load(&c.device, &state);
    check(started() == OLD && c.boot.counter == 1u, "the first model is there");
    check(kibi_update_confirm(&c.device.store) == KIBI_OK, "the first model is confirmed");
    image_save(&state, &c.device);
    cut(&state, install_new, 1);
    image_load(&c.device, &state);
    cut_in_the_middle(install_new);
    image middle = image_make(&c.device);
    image_save(&middle, &c.device);
    flip_all(&middle, 0);
    image_load(&c.device, &state);
    const uint32_t wear = most_wear(install_new, 0, c.device.flash.size);
    image_save(&state, &c.device);
    flip_all(&state, 1);
    cut(&state, confirm, 1);
    if (c.device.chosen.starts != 0) {
        image_load(&c.device, &state);
        check(receive(&c.device, &packages[NEW]) == KIBI_ERROR_SEQUENCE, "nothing is written over the model to go back to");
        cut(&state, use_up, 1);
        image_load(&c.device, &state);
        start(&c.device);
        image_save(&state, &c.device);
        cut(&state, reject, 1);
        image_load(&c.device, &state);
        reject(&c.device);
        image_save(&state, &c.device);
        flip_all(&state, 1);
    }
    report(wear);
    return 0;
}
