/* QUANTIZE from int8 to int32: one output row. */
#ifndef KIBI_QUANTIZE_S8_S32_H
#define KIBI_QUANTIZE_S8_S32_H

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
} kibi_quantize_s8_s32_params;

/* output: [elements]; may overlap the input row where it begins at least 3 * (elements - 1) bytes below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_quantize_s8_s32(int32_t *output, const int8_t *const *rows, const kibi_quantize_s8_s32_params *params,
                          void *scratch);

#ifdef __cplusplus
}
#endif

#endif
