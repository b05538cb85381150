/* SHA-256 as FIPS 180-4 defines it. */
#ifndef KIBI_SHA256_H
#define KIBI_SHA256_H

#include <stddef.h>
#include <stdint.h>

/* Computes the digest of bytes that are in memory. */
void kibi_sha256(uint8_t digest[32], const uint8_t *data, size_t bytes);

#endif
