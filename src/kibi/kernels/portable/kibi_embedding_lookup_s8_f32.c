/* EMBEDDING_LOOKUP, int8 to float, portable: rule N18 of Kibi's numerics. Source: TFLM, micro/kernels/embedding_lookup.cc. */
#include "kibi_embedding_lookup_s8_f32.h"

#include "kibi_float.h"

void kibi_embedding_lookup_s8_f32(void *output, const void *const *rows,
                                  const kibi_embedding_lookup_s8_f32_params *params, void *scratch)
{
    const kibi_embedding_lookup_s8_f32_params *const p = params;
    const int32_t *const numbers = (const int32_t *)rows[0];
    float *to = (float *)output;
    (void)scratch;
    for (int32_t i = 0; i < p->lookups; ++i) {
        const int32_t number = numbers[i];
        const int32_t is_there = number >= 0 && number < p->items;
        for (int32_t piece = 0; piece < p->pieces; ++piece) {
            const int32_t at = is_there ? (number * p->pieces + piece) * p->elements : 0;
            const int8_t *const from = (const int8_t *)rows[1 + at / p->row_elements] + at % p->row_elements;
            for (int32_t k = 0; k < p->elements; ++k) {
                *to++ = is_there ? p->scale * (float)from[k] : 0.0f;
            }
        }
    }
}
