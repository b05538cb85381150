/* SHA-256, written for few bytes of code. */
#include "kibi_sha256.h"

#include <string.h>

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

/* Mixes one block of 64 bytes into the state. */
static void mix(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[16], s[8];
    memcpy(s, state, sizeof s);
    for (unsigned t = 0; t < 64u; ++t) {
        if (t < 16u) {
            w[t] = (uint32_t)block[4u * t] << 24 | (uint32_t)block[4u * t + 1u] << 16 |
                   (uint32_t)block[4u * t + 2u] << 8 | block[4u * t + 3u];
        } else {
            const uint32_t a = w[(t + 1u) % 16u], b = w[(t + 14u) % 16u];
            w[t % 16u] += (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) + w[(t + 9u) % 16u] +
                          (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
        }
        const uint32_t first = s[7] + (rotated(s[4], 6) ^ rotated(s[4], 11) ^ rotated(s[4], 25)) +
                               ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[t] + w[t % 16u];
        const uint32_t second = (rotated(s[0], 2) ^ rotated(s[0], 13) ^ rotated(s[0], 22)) +
                                ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        for (unsigned k = 7; k != 0; --k) {
            s[k] = s[k - 1u];
        }
        s[4] += first;
        s[0] = first + second;
    }
    for (unsigned k = 0; k < 8u; ++k) {
        state[k] += s[k];
    }
}

void kibi_sha256(uint8_t digest[32], const uint8_t *data, size_t bytes)
{
    uint32_t state[8] = {0x6A09E667u, 0xBB67AE85u, 0x3C6EF372u, 0xA54FF53Au,
                         0x510E527Fu, 0x9B05688Cu, 0x1F83D9ABu, 0x5BE0CD19u};
    uint8_t end[128] = {0};
    size_t left = bytes;
    for (; left >= 64u; left -= 64u, data += 64) {
        mix(state, data);
    }
    memcpy(end, data, left);
    end[left] = 0x80u;
    uint8_t *const last = end + (left < 56u ? 56 : 120);
    const uint64_t bits = (uint64_t)bytes * 8u;
    for (unsigned k = 0; k < 8u; ++k) {
        last[k] = (uint8_t)(bits >> (56u - 8u * k));
    }
    for (uint8_t *block = end; block < last; block += 64) {
        mix(state, block);
    }
    for (unsigned k = 0; k < 32u; ++k) {
        digest[k] = (uint8_t)(state[k / 4u] >> (24u - 8u * (k % 4u)));
    }
}
