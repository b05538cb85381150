/* The blocks of neighbouring pixels into which a row falls. */
#ifndef KIBI_BLOCK_PIXELS_H
#define KIBI_BLOCK_PIXELS_H

#include <stdint.h>

/* How many of the pixels that are left the next block has: of rows of blocks of four, and of three and two for the rest; of blocks of
 * three, and of two for the rest; or of blocks of two.
 * left: at least 2.
 * pixels: of the largest block. */
static inline int32_t kibi_block_pixels(int32_t left, int32_t pixels)
{
    if (pixels == 4) {
        const int32_t is_four = left >= 4 && ((left + 1) & 2) == 0; /* a rest of 0 or 3 */
        return is_four ? 4 : left == 2 ? 2 : 3;
    }
    return left == 2 || left == 4 ? 2 : pixels;
}

#endif
