/* DEQUANTIZE of uint8: one output row. */
#ifndef KIBI_DEQUANTIZE_U8_F32_H
#define KIBI_DEQUANTIZE_U8_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements; /* of a row */
    float scale;      /* positive */
    int32_t zero_point;
} kibi_dequantize_u8_f32_params;

/* output: [elements]; may overlap the input row where it begins at least 3 * (elements - 1) bytes below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_dequantize_u8_f32(float *output, const uint8_t *const *rows, const kibi_dequantize_u8_f32_params *params,
                            void *scratch);

#ifdef __cplusplus
}
#endif

#endif
