/* Makes files from an older one and payloads that come through standard input, and begins anew at some blocks. Writes a status for each, and the file if it was made: 1 means that bytes are missing, or too many. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kibi_delta.h"

static uint32_t word(void)
{
    uint32_t found = 0;
    if (fread(&found, sizeof found, 1, stdin) != 1) {
        exit(0);
    }
    return found;
}

/* Bytes in memory of exactly their size: accesses next to it are found. */
static uint8_t *read_bytes(uint32_t count)
{
    uint8_t *const data = (uint8_t *)malloc(count + !count);
    if (data == NULL || fread(data, 1, count, stdin) != count) {
        exit(2);
    }
    return data;
}

static uint32_t drawn;

static uint32_t draw(uint32_t below)
{
    drawn = drawn * 1664525u + 1013904223u;
    return (drawn >> 8) % below;
}

int main(void)
{
    const uint32_t base_bytes = word();
    uint8_t *const base = read_bytes(base_bytes);
    for (;;) {
        const uint32_t new_bytes = word(), block_bytes = word(), payload_bytes = word();
        uint8_t *const payload = read_bytes(payload_bytes), *const made = (uint8_t *)calloc(new_bytes + !new_bytes, 1);
        uint32_t used = 0, done = 0;
        kibi_status status = KIBI_OK;
        kibi_delta delta;
        drawn = payload_bytes;
        kibi_delta_begin(&delta, base, base_bytes, new_bytes, block_bytes, 0);
        while (status == KIBI_OK && done != new_bytes) {
            const int byte = kibi_delta_next(&delta);
            if (byte == KIBI_DELTA_WAITS) {
                if (used == payload_bytes) {
                    break;
                }
                delta.given = payload[used++] | 256u;
            } else if (byte < 0) {
                status = KIBI_ERROR_PACKAGE;
            } else {
                made[done++] = (uint8_t)byte;
                if (done % block_bytes == 0 && draw(3) == 0) { /* as after a loss of power */
                    used -= delta.given != 0;
                    kibi_delta_begin(&delta, base, base_bytes, new_bytes, block_bytes, done);
                }
            }
        }
        used -= status == KIBI_OK && delta.given != 0;
        const int32_t told = status != KIBI_OK ? (int32_t)status : done == new_bytes && used == payload_bytes ? 0 : 1;
        fwrite(&told, sizeof told, 1, stdout);
        if (told == 0) {
            fwrite(made, 1, new_bytes, stdout);
        }
        free(payload);
        free(made);
    }
}
