/* Checks Ed25519 signatures of packages with Monocypher. Add this file, monocypher.c and optional/monocypher-ed25519.c of Monocypher
 * (version 4) to your build; it needs their header monocypher-ed25519.h. kibi_store: `.verify = kibi_verify_monocypher`. */
#include "kibi_update.h"
#include "monocypher-ed25519.h"

extern const uint8_t kibi_public_key[32]; /* yours, in flash that updates cannot write */

int kibi_verify_monocypher(void *context, const void *message, uint32_t bytes, const uint8_t signature[KIBI_SIGNATURE_BYTES]);

int kibi_verify_monocypher(void *context, const void *message, uint32_t bytes, const uint8_t signature[KIBI_SIGNATURE_BYTES])
{
    (void)context;
    return crypto_ed25519_check(signature, kibi_public_key, (const uint8_t *)message, bytes);
}
