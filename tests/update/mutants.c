/* Sends packages that come through standard input to a device with the first model, each to the same state: whatever they say, a start
 * gives that model, or one of those that came with the right digest. Prints how many packages ended with each status, 0 to -63. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

static device d;
static unsigned found[64];

int main(void)
{
    device_make(&d);
    const blob files[2] = {read_blob(), read_blob()};
    const blob first = read_blob();
    kibi_boot boot;
    uint32_t bytes;
    image state = image_make(&d);
    check(receive(&d, &first) == KIBI_OK && booted(&d, files, 2, &boot) == 0, "the first model is installed");
    if (d.chosen.staging_bytes == 0) {
        check(kibi_update_confirm(&d.store) == KIBI_OK, "and confirmed");
    }
    d.store.takes_unsigned = d.chosen.trust == 1u;
    image_save(&state, &d);
    while (fread(&bytes, sizeof bytes, 1, stdin) == 1) {
        blob package = {(uint8_t *)malloc(bytes + !bytes), bytes}; /* of exactly its size: reads behind it are found */
        check(package.data != NULL && fread(package.data, 1, bytes, stdin) == bytes, "a package is complete");
        d.random = bytes ^ found[0];
        const kibi_status status = receive(&d, &package);
        ++found[-(int)status];
        check(status == KIBI_OK || status == KIBI_ERROR_PACKAGE || memcmp(d.flash.bytes, state.bytes, d.flash.size) == 0,
              "what the head says is refused before anything is written");
        check(d.chosen.staging_bytes == 0 || memcmp(d.flash.bytes, state.bytes, d.store.slot_bytes) == 0,
              "in place, nothing of the old model is overwritten before the next start");
        const int model = booted(&d, files, 2, &boot);
        check(model == (status == KIBI_OK), "a start gives the old model, or the new one, where it was installed");
        check(d.flash.faults == 0, "the flash is used as it must be");
        free(package.data);
        image_load(&d, &state);
    }
    for (unsigned k = 0; k < 64u; ++k) {
        printf("%u ", found[k]);
    }
    return 0;
}
