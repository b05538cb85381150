/* SignalPCAN: all at once. */
#ifndef KIBI_SIGNAL_PCAN_U32_H
#define KIBI_SIGNAL_PCAN_U32_H

#include "kibi.h"

typedef struct {
    int32_t elements;
    int32_t snr_shift;       /* 0 to 63: the product with the gain is shifted to the right */
    const int16_t *gain_lut; /* [125] */
} kibi_signal_pcan_u32_params;

/* output: [elements]; may be an input, or begin below it.
 * rows: two pointers to [elements]: the signal, and the estimate of the noise.
 * scratch: none. */
void kibi_signal_pcan_u32(uint32_t *output, const uint32_t *const *rows,
                          const kibi_signal_pcan_u32_params *params, void *scratch);

#endif
