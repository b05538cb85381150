/* SIGNAL_RFFT: each kernel computes one output row. */
#ifndef KIBI_SIGNAL_RFFT_H
#define KIBI_SIGNAL_RFFT_H

#include "kibi.h"

typedef struct {
    int32_t lines;
    int32_t input_elements; /* at most 2 * points; what is missing is 0 */
    int32_t points;         /* n, half as many as real numbers; it has no prime factors but 2, 3 and 5 */
    int32_t stage_count;
    const int32_t *stages;  /* [stage_count][2]: the radix, and the points of each of its parts */
    const float *twiddles;  /* [n][2]: roots of unity */
    const float *half_turn; /* [n / 2][2]: roots of unity that lead from the complex transform to the real one */
} kibi_signal_rfft_f32_params;

/* SignalRfft of float: one output row.
 * output: [lines][n + 1][2]; does not overlap the input.
 * rows: one pointer to [lines][input_elements].
 * scratch: none. */
void kibi_signal_rfft_f32(float *output, const float *const *rows, const kibi_signal_rfft_f32_params *params,
                          void *scratch);

typedef struct {
    int32_t lines;
    int32_t input_elements;   /* at most 2 * points; what is missing is 0 */
    int32_t points;           /* n, half as many as real numbers; it has no prime factors but 2, 3 and 5 */
    int32_t stage_count;
    const int32_t *stages;    /* [stage_count][2]: the radix, and the points of each of its parts */
    const int16_t *twiddles;  /* [n][2]: roots of unity */
    const int16_t *half_turn; /* [n / 2][2]: roots of unity that lead from the complex transform to the real one */
} kibi_signal_rfft_s16_params;

/* SignalRfft of int16: one output row.
 * output: [lines][n + 1][2]; does not overlap the input.
 * rows: one pointer to [lines][input_elements].
 * scratch: none. */
void kibi_signal_rfft_s16(int16_t *output, const int16_t *const *rows, const kibi_signal_rfft_s16_params *params,
                          void *scratch);

typedef struct {
    int32_t lines;
    int32_t input_elements;   /* at most 2 * points; what is missing is 0 */
    int32_t points;           /* n, half as many as real numbers; it has no prime factors but 2, 3 and 5 */
    int32_t stage_count;
    const int32_t *stages;    /* [stage_count][2]: the radix, and the points of each of its parts */
    const int32_t *twiddles;  /* [n][2]: roots of unity */
    const int32_t *half_turn; /* [n / 2][2]: roots of unity that lead from the complex transform to the real one */
} kibi_signal_rfft_s32_params;

/* SignalRfft of int32: one output row.
 * output: [lines][n + 1][2]; does not overlap the input.
 * rows: one pointer to [lines][input_elements].
 * scratch: none. */
void kibi_signal_rfft_s32(int32_t *output, const int32_t *const *rows, const kibi_signal_rfft_s32_params *params,
                          void *scratch);

#endif
