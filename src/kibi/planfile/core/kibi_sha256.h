/* SHA-256 of plan files. Their check includes it, and updates do. */
#ifndef KIBI_SHA256_H
#define KIBI_SHA256_H

#include <stdint.h>

#define KIBI_SHA256_WORK 40 /* words of memory that it takes */

/* Whether a digest, 32 bytes, is that of so many words, fewer than 2^27: files have whole words. work: is overwritten. */
int kibi_sha256_is(const uint32_t digest[8], const uint32_t *data, uint32_t words, uint32_t work[KIBI_SHA256_WORK]);

#endif
