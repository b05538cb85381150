/* Cuts the power at every program and erase of a first installation and of an update in place, a second time in what follows, and flips
 * bits at rest. After each start the old or the new model is given, whole; or none, where flash has lost a bit that is nowhere else.
 * Then a whole package can be installed. */
#include <string.h>

#include "campaign.h"

static blob packages[3]; /* the old model, what makes the new one in its place, and the new one */
enum { WHOLE = 2 };

static void install_old(device *on)
{
    check(receive(on, &packages[OLD]) == KIBI_OK, "the first model is installed");
}

/* The update, from the first byte of the package to the last sector of the slot. */
static void update(device *on)
{
    check(receive(on, &packages[NEW]) == KIBI_OK, "the update is taken");
    check(receive(on, &packages[NEW]) == KIBI_ERROR_SEQUENCE, "an update that is taken is applied first");
    check(started() == NEW, "the update is applied");
}

static void apply(device *on)
{
    (void)on;
    check(started() == NEW, "the update is applied");
}

/* What is done after a loss of power: a start, and the update from where it was. A device without a model gets a whole one. */
static void recover(device *on)
{
    const int found = started();
    if (found == NONE) {
        if (receive(on, &packages[OLD]) != KIBI_OK) {
            check(receive(on, &packages[WHOLE]) == KIBI_OK, "a device without a model takes a whole one");
        }
    } else if (found == OLD) {
        kibi_status status = receive(on, &packages[NEW]);
        if (status == KIBI_ERROR_PACKAGE && c.has_flipped) { /* in what was staged before: trying it says so */
            check(started() == OLD, "a delta that does not make the new model changes nothing");
            status = receive(on, &packages[NEW]);
        }
        check(status == KIBI_OK, "the update can be taken after a cut");
    }
    (void)started();
}

/* Finishes whatever was begun, and checks that the new model is there, and stays. */
static void finish(void)
{
    for (int turn = 0; turn < 2; ++turn) {
        recover(&c.device);
    }
    for (unsigned k = 0; k < 3u; ++k) {
        check(started() == NEW && c.boot.counter == 2u && c.boot.trial == 0, "the new model is there in the end, and stays");
    }
    check(c.device.least_counter == 2u, "its version is the least one");
    for (unsigned k = 0; k < 3u; ++k) {
        check(receive(&c.device, &packages[k]) == KIBI_ERROR_OLDER, "an older package, or the same one again, is refused");
    }
}

/* Flips bits of the journal, which has all that counts twice; and then of what it may be that is nowhere else. */
static void flip_all(const image *before, int needs_model)
{
    const settings *const s = &c.device.chosen;
    flip_records(before, s->stride / 8u + 1u);
    flip(before, c.device.store.slot[0], s->slot_bytes, 8u * s->stride + 1u, 0);
    flip(before, c.device.store.slot[1], s->staging_bytes + s->sector_bytes, 8u * s->stride + 1u, needs_model);
}

int main(void)
{
    device *const d = &c.device;
    device_make(d);
    c.recover = recover;
    c.finish = finish;
    for (unsigned k = 0; k < 2u; ++k) {
        c.files[k] = read_blob();
    }
    for (unsigned k = 0; k < 3u; ++k) {
        packages[k] = read_blob();
    }
    image state = image_make(d);
    image_save(&state, d);
    check(started() == NONE, "erased flash has no model");
    cut(&state, install_old, 0);
    image_load(d, &state);
    install_old(d);
    image_save(&state, d);
    flip_all(&state, 1);
    image_load(d, &state);
    check(started() == OLD && c.boot.counter == 1u, "the first model is there");
    check(receive(d, &packages[WHOLE]) == KIBI_ERROR_SPACE, "there is no room for a whole model beside another one");
    image_save(&state, d);
    cut(&state, update, 1);
    image_load(d, &state);
    const uint32_t wear = most_wear(update, 0, d->chosen.slot_bytes);
    image done = image_make(d);
    image_save(&done, d);
    flip_all(&done, 1);
    image_load(d, &state);
    check(receive(d, &packages[NEW]) == KIBI_OK, "the update is taken");
    image_save(&state, d);
    flip_all(&state, 0); /* the delta is nowhere else */
    for (unsigned k = 1; k < 4u; ++k) { /* in the middle of applying it, three times */
        image middle = image_make(d);
        image_load(d, &state);
        for (unsigned turn = 0; turn < k; ++turn) {
            cut_in_the_middle(apply);
        }
        image_save(&middle, d);
        flip_all(&middle, 0);
    }
    report(wear);
    return 0;
}
