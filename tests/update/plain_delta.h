/* A payload for tests that makes a file from an older one: a byte below 128 is how many bytes less one follow as they are; another one is
 * how many bytes, less one, and plus 128, are those of the older file at the same place. */
#ifndef KIBI_DELTA_H
#define KIBI_DELTA_H

#include "kibi_core.h"

typedef struct {
    const uint8_t *base;
    uint32_t base_bytes, made;
    uint8_t literals, copies;
    uint8_t reserved[2];
} kibi_delta;

void kibi_delta_begin(kibi_delta *delta, const uint8_t *base, uint32_t base_bytes, uint32_t new_bytes, uint32_t block_bytes,
                      uint32_t made);
kibi_status kibi_delta_make(kibi_delta *delta, const uint8_t **payload, uint32_t *payload_bytes, uint8_t **made,
                            uint32_t *made_bytes);

#endif
