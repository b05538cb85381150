/* DEPTHWISE_CONV_2D, int8, for cores with the DSP extension: four channels at once. Source of the rule: TFLM,
 * integer_ops/depthwise_conv.h. */
#include "kibi_depthwise_conv2d.h"

#include <string.h>

#include "kibi_add_product.h"
#include "kibi_requantize_s8.h"

/* Channels beyond whole fours. */
#ifndef KIBI_DEPTHWISE_CONV2D_S8_OF_SINGLES
#define KIBI_DEPTHWISE_CONV2D_S8_OF_SINGLES 1
#endif
/* Three taps at once, where a window has three neighbouring columns and all are inside. */
#ifndef KIBI_DEPTHWISE_CONV2D_S8_OF_THREES
#define KIBI_DEPTHWISE_CONV2D_S8_OF_THREES 1
#endif

/* Channels that are summed before they are scaled together; a multiple of four. */
enum { BLOCK = 32 };

static inline uint32_t load4(const int8_t *bytes)
{
    uint32_t word;
    (void)memcpy(&word, bytes, sizeof(word));
    return word;
}

/* sums[i] += x[i] * w[i] for four signed bytes: eight instructions, whatever the compiler. */
static inline void multiply_add4(int32_t *sums, uint32_t x, uint32_t w)
{
    uint32_t odd_x;
    uint32_t odd_w;
    __asm__("sxtb16 %[odd_x], %[x], ror #8\n\t"
            "sxtb16 %[odd_w], %[w], ror #8\n\t"
            "sxtb16 %[x], %[x]\n\t"
            "sxtb16 %[w], %[w]\n\t"
            "smlabb %[s1], %[odd_x], %[odd_w], %[s1]\n\t"
            "smlabb %[s0], %[x], %[w], %[s0]\n\t"
            "smlatt %[s3], %[odd_x], %[odd_w], %[s3]\n\t"
            "smlatt %[s2], %[x], %[w], %[s2]"
            : [s0] "+r"(sums[0]), [s1] "+r"(sums[1]), [s2] "+r"(sums[2]), [s3] "+r"(sums[3]), [x] "+r"(x),
              [w] "+r"(w), [odd_x] "=&r"(odd_x), [odd_w] "=&r"(odd_w));
}

/* The sums of `count` channels, four at once, of any window. Taps beside the input meet the zero point, as the folded bias
 * expects. */
static KIBI_NOINLINE void add_taps(int32_t *sums, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_params *p,
                                   int32_t start, int32_t c, int32_t count)
{
    const int32_t channels = p->channels;
    const uint32_t zeros = (uint32_t)(uint8_t)p->input_zero_point * 0x01010101u;
    const int8_t *const *const rows_end = rows + p->kernel_rows;
    for (int32_t i = 0; i < count; i += 4) {
        const int32_t *const bias = KIBI_AT(int32_t, p, bias) + c + i;
        const int8_t *w = KIBI_AT(int8_t, p, filter) + c + i;
        int32_t s[4] = {bias[0], bias[1], bias[2], bias[3]};
        for (const int8_t *const *row = rows; row != rows_end; ++row) {
            int32_t column = start;
            for (int32_t tap = p->kernel_width; tap != 0; --tap) {
                uint32_t x = zeros;
                if ((uint32_t)column < (uint32_t)p->input_width) {
                    x = load4(*row + column * channels + c + i);
                }
                multiply_add4(s, x, load4(w));
                w += channels;
                column += p->dilation;
            }
        }
        (void)memcpy(sums + i, s, sizeof(s));
    }
}

/* sums[i] += three taps of four channels each, `step` bytes apart in both x and w: 30 instructions, whatever the compiler. */
static inline void multiply_add_three4(int32_t *sums, const int8_t *x, const int8_t *w, int32_t step)
{
    uint32_t even_x;
    uint32_t odd_x;
    uint32_t even_w;
    uint32_t odd_w;
    __asm__("ldr %[even_x], [%[x]]\n\t"
            "ldr %[even_w], [%[w]]\n\t"
            "sxtb16 %[odd_x], %[even_x], ror #8\n\t"
            "sxtb16 %[odd_w], %[even_w], ror #8\n\t"
            "sxtb16 %[even_x], %[even_x]\n\t"
            "sxtb16 %[even_w], %[even_w]\n\t"
            "smlabb %[s1], %[odd_x], %[odd_w], %[s1]\n\t"
            "smlabb %[s0], %[even_x], %[even_w], %[s0]\n\t"
            "smlatt %[s3], %[odd_x], %[odd_w], %[s3]\n\t"
            "smlatt %[s2], %[even_x], %[even_w], %[s2]\n\t"
            "ldr %[even_x], [%[x], %[step]]\n\t"
            "ldr %[even_w], [%[w], %[step]]\n\t"
            "sxtb16 %[odd_x], %[even_x], ror #8\n\t"
            "sxtb16 %[odd_w], %[even_w], ror #8\n\t"
            "sxtb16 %[even_x], %[even_x]\n\t"
            "sxtb16 %[even_w], %[even_w]\n\t"
            "smlabb %[s1], %[odd_x], %[odd_w], %[s1]\n\t"
            "smlabb %[s0], %[even_x], %[even_w], %[s0]\n\t"
            "smlatt %[s3], %[odd_x], %[odd_w], %[s3]\n\t"
            "smlatt %[s2], %[even_x], %[even_w], %[s2]\n\t"
            "ldr %[even_x], [%[x], %[step], lsl #1]\n\t"
            "ldr %[even_w], [%[w], %[step], lsl #1]\n\t"
            "sxtb16 %[odd_x], %[even_x], ror #8\n\t"
            "sxtb16 %[odd_w], %[even_w], ror #8\n\t"
            "sxtb16 %[even_x], %[even_x]\n\t"
            "sxtb16 %[even_w], %[even_w]\n\t"
            "smlabb %[s1], %[odd_x], %[odd_w], %[s1]\n\t"
            "smlabb %[s0], %[even_x], %[even_w], %[s0]\n\t"
            "smlatt %[s3], %[odd_x], %[odd_w], %[s3]\n\t"
            "smlatt %[s2], %[even_x], %[even_w], %[s2]"
            : [s0] "+r"(sums[0]), [s1] "+r"(sums[1]), [s2] "+r"(sums[2]), [s3] "+r"(sums[3]), [even_x] "=&r"(even_x),
              [even_w] "=&r"(even_w), [odd_x] "=&r"(odd_x), [odd_w] "=&r"(odd_w)
            : [x] "r"(x), [w] "r"(w), [step] "r"(step)
            : "memory");
}

/* The same for three taps in a row, one after another, all inside. */
static KIBI_NOINLINE void add_three_taps(int32_t *sums, const int32_t *begin, const int8_t *const *rows,
                                         const kibi_depthwise_conv2d_s8_params *p, int32_t offset, int32_t c, int32_t count)
{
    const int32_t *const sums_end = sums + count;
    const int8_t *const *const rows_end = rows + p->kernel_rows;
    const int32_t channels = p->channels;
    const int8_t *filter = KIBI_AT(int8_t, p, filter) + c;
    offset += c;
    while (sums != sums_end) {
        int32_t s[4] = {begin[0], begin[1], begin[2], begin[3]};
        const int8_t *w = filter;
        const int8_t *const *row = rows;
        do {
            multiply_add_three4(s, *row++ + offset, w, channels);
            w += channels;
            w += 2 * channels;
        } while (row != rows_end);
        sums[0] = s[0];
        sums[1] = s[1];
        sums[2] = s[2];
        sums[3] = s[3];
        sums += 4;
        begin += 4;
        filter += 4;
        offset += 4;
    }
}

/* The sums of `count` channels, one after another. */
static KIBI_NOINLINE void add_single(int32_t *sums, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_params *p,
                                     int32_t start, int32_t c, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        const int8_t *w = KIBI_AT(int8_t, p, filter) + c + i;
        int32_t sum = KIBI_AT(int32_t, p, bias)[c + i];
        for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
            int32_t column = start;
            for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
                const int is_inside = (uint32_t)column < (uint32_t)p->input_width;
                sum = kibi_add_product(sum, is_inside ? rows[ky][column * p->channels + c + i] : p->input_zero_point, *w);
                w += p->channels;
                column += p->dilation;
            }
        }
        sums[i] = sum;
    }
}

void kibi_depthwise_conv2d_s8(int8_t *output, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_params *params,
                              void *scratch)
{
    const kibi_depthwise_conv2d_s8_params *const p = params;
    const int is_three = p->kernel_width == 3 && p->dilation == 1;
    int32_t sums[BLOCK];
    int32_t start = -p->pad;
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int is_inside = start >= 0 && start + 3 <= p->input_width;
        int32_t count = BLOCK;
        for (int32_t c = 0; c < p->channels; c += count) {
            if (p->channels - c < count) {
                count = p->channels - c;
            }
            const int32_t whole = count & -4;
            if (KIBI_DEPTHWISE_CONV2D_S8_OF_THREES && is_three && is_inside) {
                add_three_taps(sums, KIBI_AT(int32_t, p, bias) + c, rows, p, start * p->channels, c, whole);
            } else {
                add_taps(sums, rows, p, start, c, whole);
            }
            if (KIBI_DEPTHWISE_CONV2D_S8_OF_SINGLES && whole != count) {
                add_single(sums + whole, rows, p, start, c + whole, count - whole);
            }
            kibi_requantize_s8(output, sums, count, KIBI_AT(int32_t, p, multiplier) + c, KIBI_AT(int8_t, p, shift) + c,
                               p->output_zero_point, p->activation_min, p->activation_max);
            output += count;
        }
        start += p->stride;
    }
}
