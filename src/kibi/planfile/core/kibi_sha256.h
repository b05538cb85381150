/* SHA-256 of plan files. Their check includes it, and updates do. */
#ifndef KIBI_SHA256_H
#define KIBI_SHA256_H

#include "kernels/kibi.h"

#define KIBI_SHA256_WORK 48 /* words of memory that it takes: 8 of the hash so far, 8 of the block, 16 of the message, twice */

/* Whether a digest, 32 bytes, is that of so many words, fewer than 2^27: files have whole words. work: is overwritten. */
int kibi_sha256_is(const uint32_t digest[8], const uint32_t *data, uint32_t words, uint32_t work[KIBI_SHA256_WORK]);

/* The hash of no words: what work begins with. */
extern const uint32_t kibi_sha256_first[8];

/* Adds 16 words, which are at the end of work, the first byte of each the highest. */
void kibi_sha256_block(uint32_t work[KIBI_SHA256_WORK]);

/* A number of a file as the hash takes it: the first byte is the highest. */
static inline uint32_t kibi_sha256_turned(uint32_t word)
{
    return word << 24 | (word << 8 & 0xFF0000u) | (word >> 8 & 0xFF00u) | word >> 24;
}

#endif
