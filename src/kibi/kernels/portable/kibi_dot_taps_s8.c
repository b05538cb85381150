/* Sums of products of int8, portable. */
#include "kibi_dot_taps_s8.h"

#include "kibi_add_product.h"

const int8_t *kibi_dot_taps_s8(int32_t sums[4], const int32_t start[4], const int8_t *w, const kibi_dot_taps_s8_inputs *x)
{
    int32_t s0 = start[0];
    int32_t s1 = start[1];
    int32_t s2 = start[2];
    int32_t s3 = start[3];
    const int8_t *const *tap = x->taps;
    const int8_t *const *const end = x->end;
    const int32_t channel = x->channel;
    const int32_t channels = x->channels;
    const int8_t *const outside = x->outside;
    do {
        const int8_t *inputs = *tap++;
        inputs = inputs != NULL ? inputs + channel : outside;
        s0 = kibi_add_product(s0, inputs[0], w[0]);
        s1 = kibi_add_product(s1, inputs[1], w[1]);
        s2 = kibi_add_product(s2, inputs[2], w[2]);
        s3 = kibi_add_product(s3, inputs[3], w[3]);
        w += channels;
    } while (tap != end);
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
    return w;
}
