/* What benchmarks/cycles_pqm4.py calls of a key encapsulation of pqm4: its three functions, one after another on the same buffers. */
#include <api.h>
#include <randombytes.h>
#include <stdint.h>
#include <string.h>

static unsigned char public_key[CRYPTO_PUBLICKEYBYTES], secret_key[CRYPTO_SECRETKEYBYTES];
static unsigned char ciphertext[CRYPTO_CIPHERTEXTBYTES], sent[CRYPTO_BYTES], received[CRYPTO_BYTES];
static uint32_t state = 0x2545F491u;

int randombytes(uint8_t *output, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        output[k] = (uint8_t)state;
    }
    return 0;
}

int key_pair(void)
{
    return crypto_kem_keypair(public_key, secret_key);
}

int encapsulate(void)
{
    return crypto_kem_enc(ciphertext, sent, public_key);
}

int decapsulate(void)
{
    return crypto_kem_dec(received, ciphertext, secret_key) || memcmp(sent, received, sizeof sent) != 0;
}
