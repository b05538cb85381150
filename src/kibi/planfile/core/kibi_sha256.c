/* SHA-256, written for few bytes of code. */
#include "kibi_sha256.h"

#include <string.h>

/* At -Os, Clang would make the code larger, so that it is faster. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#endif

/* The first 32 bits after the point of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
    0x428A2F98u, 0x71374491u, 0xB5C0FBCFu, 0xE9B5DBA5u, 0x3956C25Bu, 0x59F111F1u, 0x923F82A4u, 0xAB1C5ED5u,
    0xD807AA98u, 0x12835B01u, 0x243185BEu, 0x550C7DC3u, 0x72BE5D74u, 0x80DEB1FEu, 0x9BDC06A7u, 0xC19BF174u,
    0xE49B69C1u, 0xEFBE4786u, 0x0FC19DC6u, 0x240CA1CCu, 0x2DE92C6Fu, 0x4A7484AAu, 0x5CB0A9DCu, 0x76F988DAu,
    0x983E5152u, 0xA831C66Du, 0xB00327C8u, 0xBF597FC7u, 0xC6E00BF3u, 0xD5A79147u, 0x06CA6351u, 0x14292967u,
    0x27B70A85u, 0x2E1B2138u, 0x4D2C6DFCu, 0x53380D13u, 0x650A7354u, 0x766A0ABBu, 0x81C2C92Eu, 0x92722C85u,
    0xA2BFE8A1u, 0xA81A664Bu, 0xC24B8B70u, 0xC76C51A3u, 0xD192E819u, 0xD6990624u, 0xF40E3585u, 0x106AA070u,
    0x19A4C116u, 0x1E376C08u, 0x2748774Cu, 0x34B0BCB5u, 0x391C0CB3u, 0x4ED8AA4Au, 0x5B9CCA4Fu, 0x682E6FF3u,
    0x748F82EEu, 0x78A5636Fu, 0x84C87814u, 0x8CC70208u, 0x90BEFFFAu, 0xA4506CEBu, 0xBEF9A3F7u, 0xC67178F2u,
};

static uint32_t rotated(uint32_t x, unsigned count)
{
    return x >> count | x << (32u - count);
}

const uint32_t kibi_sha256_first[8] = {0x6A09E667u, 0xBB67AE85u, 0x3C6EF372u, 0xA54FF53Au,
                                       0x510E527Fu, 0x9B05688Cu, 0x1F83D9ABu, 0x5BE0CD19u};

KIBI_NOINLINE void kibi_sha256_block(uint32_t work[KIBI_SHA256_WORK])
{
    uint32_t *const s = work + 8; /* then 16 words of the message, twice: so the last ones are always one after another */
    memcpy(s, work, 8u * sizeof s[0]);
    for (uint32_t t = 0; t < 64u; ++t) {
        uint32_t *const w = s + t % 16u, word = w[24]; /* w[8] is the 16th word before this one, w[24] this one */
        if (t >= 16u) {
            const uint32_t a = w[9], b = w[22];
            word = w[8] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) + w[17] + (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
        }
        w[8] = w[24] = word;
        const uint32_t last = s[7];
        memmove(&s[1], &s[0], 7u * sizeof s[0]);
        const uint32_t first_sum = last + (rotated(s[5], 6) ^ rotated(s[5], 11) ^ rotated(s[5], 25)) +
                                   ((s[5] & (s[6] ^ s[7])) ^ s[7]) + constants[t] + word;
        const uint32_t second_sum = (rotated(s[1], 2) ^ rotated(s[1], 13) ^ rotated(s[1], 22)) +
                                    ((s[1] & (s[2] ^ s[3])) ^ (s[2] & s[3]));
        s[4] += first_sum;
        s[0] = first_sum + second_sum;
    }
    for (uint32_t k = 0; k < 8u; ++k) {
        work[k] += s[k];
    }
}

int kibi_sha256_is(const uint32_t digest[8], const uint32_t *data, uint32_t words, uint32_t work[KIBI_SHA256_WORK])
{
    const uint32_t last = (words + 2u) | 15u; /* the words that are hashed end with the number of bits, below 2^32 */
    memcpy(work, kibi_sha256_first, sizeof kibi_sha256_first);
    for (uint32_t k = 0; k <= last; ++k) {
        work[32u + k % 16u] = k < words    ? kibi_sha256_turned(data[k])
                                    : k == words ? 0x80000000u
                                    : k == last  ? words << 5
                                                 : 0u;
        if (k % 16u == 15u) {
            kibi_sha256_block(work);
        }
    }
    for (uint32_t k = 0; k < 8u; ++k) {
        if (work[k] != kibi_sha256_turned(digest[k])) {
            return 0;
        }
    }
    return 1;
}

#if defined(__clang__)
#pragma clang attribute pop
#endif
