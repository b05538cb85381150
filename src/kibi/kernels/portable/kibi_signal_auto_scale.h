/* By how much samples can grow (rule N43). */
#ifndef KIBI_SIGNAL_AUTO_SCALE_H
#define KIBI_SIGNAL_AUTO_SCALE_H

#include "kibi.h"

/* Bits by which the largest magnitude may be shifted left; -32768 has one that wraps, as in TFLM. */
static inline int32_t kibi_signal_auto_scale(const int16_t *input, int32_t elements)
{
    int16_t largest = 0;
    int32_t bits = 15;
    for (int32_t i = 0; i < elements; ++i) {
        if (input[i] > largest) {
            largest = input[i];
        } else if (-input[i] > largest) {
            largest = (int16_t)-input[i];
        } else {
            /* another one is as large */
        }
    }
    if (largest <= 0) {
        return 0;
    }
    while (largest > 0) {
        largest >>= 1;
        --bits;
    }
    return bits;
}

#endif
