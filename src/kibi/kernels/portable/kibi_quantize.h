/* QUANTIZE and DEQUANTIZE: each kernel computes one output row. */
#ifndef KIBI_QUANTIZE_H
#define KIBI_QUANTIZE_H

#include "kibi.h"

typedef struct {
    int32_t elements; /* of a row */
    float scale;      /* positive */
    int32_t zero_point;
} kibi_quantize_f32_params;

/* DEQUANTIZE of int16: one output row.
 * output: [elements]; may overlap the input row where it begins at least 2 * (elements - 1) bytes below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_dequantize_s16_f32(float *output, const int16_t *const *rows, const kibi_quantize_f32_params *params,
                             void *scratch);

/* Each of the following:
 * output: [elements]; may overlap the input row where it begins at least 3 * (elements - 1) bytes below it.
 * rows: one pointer to [elements].
 * scratch: none. */

/* DEQUANTIZE. */
void kibi_dequantize_s8_f32(float *output, const int8_t *const *rows, const kibi_quantize_f32_params *params,
                            void *scratch);

/* DEQUANTIZE of uint8. */
void kibi_dequantize_u8_f32(float *output, const uint8_t *const *rows, const kibi_quantize_f32_params *params,
                            void *scratch);

/* Each of the following:
 * output: [elements]; may begin at the input row, or below it.
 * rows: one pointer to [elements]; a NaN becomes the zero point.
 * scratch: none. */

/* QUANTIZE from float to int16. */
void kibi_quantize_f32_s16(int16_t *output, const float *const *rows, const kibi_quantize_f32_params *params,
                           void *scratch);

/* QUANTIZE from float. */
void kibi_quantize_f32_s8(int8_t *output, const float *const *rows, const kibi_quantize_f32_params *params,
                          void *scratch);

typedef struct {
    int32_t elements;   /* of a row */
    int32_t zero_point;
    int32_t output_zero_point;
    int32_t multiplier; /* 0 ... 2**31 - 1 */
    int32_t shift;      /* -31 ... 30; negative is to the right */
} kibi_requantize_params;

/* Each of the following:
 * output: [elements]; may begin at the input row, or below it.
 * rows: one pointer to [elements].
 * scratch: none. */

/* QUANTIZE from int16 to int16. */
void kibi_quantize_s16_s16(int16_t *output, const int16_t *const *rows, const kibi_requantize_params *params,
                           void *scratch);

/* QUANTIZE from int16 to int8. */
void kibi_quantize_s16_s8(int8_t *output, const int16_t *const *rows, const kibi_requantize_params *params,
                          void *scratch);

/* QUANTIZE from int32 to int16. */
void kibi_quantize_s32_s16(int16_t *output, const int32_t *const *rows, const kibi_requantize_params *params,
                           void *scratch);

/* QUANTIZE from int32 to int8. */
void kibi_quantize_s32_s8(int8_t *output, const int32_t *const *rows, const kibi_requantize_params *params,
                          void *scratch);

/* QUANTIZE from int8 to uint8. */
void kibi_quantize_s8_u8(uint8_t *output, const int8_t *const *rows, const kibi_requantize_params *params,
                         void *scratch);

/* QUANTIZE from uint8 to int8. */
void kibi_quantize_u8_s8(int8_t *output, const uint8_t *const *rows, const kibi_requantize_params *params,
                         void *scratch);

/* QUANTIZE from int16 to int32: one output row.
 * output: [elements]; may overlap the input row where it begins at least 2 * (elements - 1) bytes below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_quantize_s16_s32(int32_t *output, const int16_t *const *rows, const kibi_requantize_params *params,
                           void *scratch);

/* QUANTIZE from int8 to int16: one output row.
 * output: [elements]; may overlap the input row where it begins at least 1 * (elements - 1) bytes below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_quantize_s8_s16(int16_t *output, const int8_t *const *rows, const kibi_requantize_params *params,
                          void *scratch);

/* QUANTIZE from int8 to int32: one output row.
 * output: [elements]; may overlap the input row where it begins at least 3 * (elements - 1) bytes below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_quantize_s8_s32(int32_t *output, const int8_t *const *rows, const kibi_requantize_params *params,
                          void *scratch);

#endif
