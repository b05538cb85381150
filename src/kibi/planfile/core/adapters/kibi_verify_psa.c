/* Checks Ed25519 signatures of packages with an implementation of the PSA Certified Crypto API, version 1.1 or later, which has
 * PSA_ALG_PURE_EDDSA: for instance that of Zephyr's and Nordic's secure firmware. It needs its header psa/crypto.h. Mbed TLS alone has
 * Ed25519 only where a driver adds it. kibi_store: `.verify = kibi_verify_psa`. */
#include "kibi_update.h"
#include "psa/crypto.h"

extern const uint8_t kibi_public_key[32]; /* yours, in flash that updates cannot write */

int kibi_verify_psa(void *context, const void *message, uint32_t bytes, const uint8_t signature[KIBI_SIGNATURE_BYTES]);

int kibi_verify_psa(void *context, const void *message, uint32_t bytes, const uint8_t signature[KIBI_SIGNATURE_BYTES])
{
    psa_key_attributes_t attributes = PSA_KEY_ATTRIBUTES_INIT;
    psa_key_id_t key = 0;
    (void)context;
    psa_set_key_type(&attributes, PSA_KEY_TYPE_ECC_PUBLIC_KEY(PSA_ECC_FAMILY_TWISTED_EDWARDS));
    psa_set_key_bits(&attributes, 255);
    psa_set_key_usage_flags(&attributes, PSA_KEY_USAGE_VERIFY_MESSAGE);
    psa_set_key_algorithm(&attributes, PSA_ALG_PURE_EDDSA);
    if (psa_crypto_init() != PSA_SUCCESS ||
        psa_import_key(&attributes, kibi_public_key, sizeof kibi_public_key, &key) != PSA_SUCCESS) {
        return 1;
    }
    const psa_status_t status =
        psa_verify_message(key, PSA_ALG_PURE_EDDSA, (const uint8_t *)message, bytes, signature, KIBI_SIGNATURE_BYTES);
    const psa_status_t destroyed = psa_destroy_key(key);
    return status != PSA_SUCCESS || destroyed != PSA_SUCCESS;
}
