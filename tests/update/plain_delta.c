#include "kibi_delta.h"

void kibi_delta_begin(kibi_delta *delta, const uint8_t *base, uint32_t base_bytes, uint32_t new_bytes, uint32_t block_bytes,
                      uint32_t made)
{
    const kibi_delta begun = {base, base_bytes, made, 0, 0, {0, 0}};
    (void)new_bytes;
    (void)block_bytes;
    *delta = begun;
}

kibi_status kibi_delta_make(kibi_delta *delta, const uint8_t **payload, uint32_t *payload_bytes, uint8_t **made,
                            uint32_t *made_bytes)
{
    while (*made_bytes != 0) {
        if (delta->copies != 0) {
            if (delta->made >= delta->base_bytes) {
                return KIBI_ERROR_PACKAGE;
            }
            --delta->copies;
            *(*made)++ = delta->base[delta->made++];
            --*made_bytes;
        } else if (*payload_bytes == 0) {
            return KIBI_OK;
        } else {
            const uint8_t byte = *(*payload)++;
            --*payload_bytes;
            if (delta->literals != 0) {
                --delta->literals;
                ++delta->made;
                *(*made)++ = byte;
                --*made_bytes;
            } else if (byte < 128u) {
                delta->literals = (uint8_t)(byte + 1u);
            } else {
                delta->copies = (uint8_t)(byte - 127u);
            }
        }
    }
    return KIBI_OK;
}
