/* QUANTIZE from int32 to int16: one output row. */
#ifndef KIBI_QUANTIZE_S32_S16_H
#define KIBI_QUANTIZE_S32_S16_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements;   /* of a row */
    int32_t zero_point; /* above -2**31 */
    int32_t output_zero_point;
    int32_t multiplier; /* 0 ... 2**31 - 1 */
    int32_t shift;      /* -31 ... 30; negative is to the right */
} kibi_quantize_s32_s16_params;

/* output: [elements]; may begin at the input row, or below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_quantize_s32_s16(int16_t *output, const int32_t *const *rows, const kibi_quantize_s32_s16_params *params,
                           void *scratch);

#ifdef __cplusplus
}
#endif

#endif
