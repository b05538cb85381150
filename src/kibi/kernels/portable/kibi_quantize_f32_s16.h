/* QUANTIZE from float to int16: one output row. */
#ifndef KIBI_QUANTIZE_F32_S16_H
#define KIBI_QUANTIZE_F32_S16_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements; /* of a row */
    float scale;      /* positive */
    int32_t zero_point;
} kibi_quantize_f32_s16_params;

/* output: [elements]; may begin at the input row, or below it.
 * rows: one pointer to [elements]; a NaN becomes the zero point.
 * scratch: none. */
void kibi_quantize_f32_s16(int16_t *output, const float *const *rows, const kibi_quantize_f32_s16_params *params,
                          void *scratch);

#ifdef __cplusplus
}
#endif

#endif
