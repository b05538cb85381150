/* Sums of products with Golomb-Rice codes. A function of its own, so that its loop has all registers. */
#ifndef KIBI_DOT_RICE_S8_H
#define KIBI_DOT_RICE_S8_H

#include "kibi.h"

/* Most bits of a code, so that two of them are in any 25 bits; and most zeros at the start of one. */
enum { KIBI_RICE_BITS = 12, KIBI_RICE_ZEROS = KIBI_RICE_BITS - 1 };

/* Codes, and the next one of them. */
typedef struct {
    const uint8_t *end;      /* codes start before it: from the highest bit of each byte to the lowest, and on in the byte before */
    const int8_t *multiples; /* [KIBI_RICE_BITS]: the multiple of 2**k for each number of zeros that a code starts with */
    uint32_t at;             /* number of the bit at which the next code starts */
    uint32_t last;           /* number of the bit at which the last window of four bytes may start */
    uint32_t k;              /* bits of a code after its first one, 0 ... 7 */
} kibi_rice_codes;

/* Returns start plus the sum of `count` products, at least one, modulo 2**32: each element times the value of the next code. The value is
 * the multiple of 2**k that the number of zeros selects, plus the last k + 1 bits of the code. Moves `from` to the code after them. */
uint32_t kibi_dot_rice_s8(uint32_t start, const int8_t *x, int32_t count, kibi_rice_codes *from);

#endif
