/* SignalIrfft of int16: one output row. */
#ifndef KIBI_SIGNAL_IRFFT_S16_H
#define KIBI_SIGNAL_IRFFT_S16_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t lines;
    int32_t points;           /* n, half as many as real numbers; it has no prime factors but 2, 3 and 5 */
    int32_t stage_count;
    const int32_t *stages;    /* [stage_count][2]: the radix, and the points of each of its parts */
    const int16_t *twiddles;  /* [n][2]: roots of unity */
    const int16_t *half_turn; /* [n / 2][2]: roots of unity that lead from the real transform to the complex one */
} kibi_signal_irfft_s16_params;

/* output: [lines][2 * n]; lies apart from the input.
 * rows: one pointer to [lines][n + 1][2].
 * scratch: none. */
void kibi_signal_irfft_s16(int16_t *output, const int16_t *const *rows,
                           const kibi_signal_irfft_s16_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
