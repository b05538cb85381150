/* Makes a plan file from an older one and the payload of a package, in one pass and in few bytes of RAM. */
#ifndef KIBI_DELTA_H
#define KIBI_DELTA_H

#include "kernels/kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KIBI_DELTA_PAIRS 72u  /* of counts of zeros and ones: 18 for each of 4 sets of numbers */
#define KIBI_DELTA_PERIOD 32u /* words after which a pattern repeats at most */

#define KIBI_DELTA_WAITS (-1)
#define KIBI_DELTA_WRONG (-2)

/* A file that is being made. The caller owns it; no field but the first one is for the caller's use. */
typedef struct {
    uint32_t given;     /* the byte of the payload that comes next, plus 256: give it; 0: it is used */
    uint8_t at;         /* of the number: its size so far; once it is known, 32 plus the digits that are not read yet */
    uint8_t has_sum;    /* 1: the first part of a change is known */
    uint8_t ready;      /* bytes of the element that remain */
    uint8_t period;     /* of the pattern, */
    uint8_t column;     /* and the word of it that is made: its last one comes first */
    uint8_t kinds_left; /* that the command has yet to say */
    uint8_t shift;      /* of the first parts of sums */
    uint32_t unit;      /* of the second ones */
    const uint8_t *base;
    uint32_t base_bytes;
    uint32_t new_bytes;
    uint32_t block_bytes;
    uint32_t made;      /* bytes of the new file */
    uint32_t place;     /* the byte of the older file that comes next */
    uint32_t range;     /* of the interval; the payload is at `code` of it */
    uint32_t code;
    uint32_t number;    /* that is being read: its highest bit and the digits so far */
    uint32_t words;     /* that the command has yet to make; 0: a command comes next */
    uint32_t sum;       /* the first part of a change */
    uint32_t element;   /* that has been made: its lowest byte comes next */
    uint8_t kinds[KIBI_DELTA_PERIOD];
    uint8_t counts[KIBI_DELTA_PAIRS][2];
} kibi_delta;

/* Begins to make a file of `new_bytes` from `base`, from its byte `made` on: 0, or a multiple of `block_bytes`. All these are
 * multiples of 4, and `block_bytes` is a power of two. */
void kibi_delta_begin(kibi_delta *delta, const uint8_t *base, uint32_t base_bytes, uint32_t new_bytes, uint32_t block_bytes,
                      uint32_t made);

/* The next byte of the new file, of which there must be one. KIBI_DELTA_WAITS: give the next byte of the payload first.
 * KIBI_DELTA_WRONG: the payload asks for what cannot be. Where a block ends, no byte of the next block is used, and the two offsets are
 * all that must be kept to go on from there. */
int kibi_delta_next(kibi_delta *delta);

#ifdef __cplusplus
}
#endif

#endif
