/* MUL, int8, for cores with the DSP extension: four elements at once. Source of the rule: TFLM, integer_ops/mul.h,
 * MulElementwise. */
#include "kibi_binary.h"

#include "kibi_requantize.h"

/* Four elements at once. */
#ifndef KIBI_MUL_S8_OF_FOURS
#define KIBI_MUL_S8_OF_FOURS 1
#endif
/* Four elements at once of one input, times the same element of the other one. */
#ifndef KIBI_MUL_S8_OF_BROADCASTS
#define KIBI_MUL_S8_OF_BROADCASTS 1
#endif
/* Activations that cut these. */
#ifndef KIBI_MUL_S8_OF_ACTIVATIONS
#define KIBI_MUL_S8_OF_ACTIVATIONS 1
#endif
/* Single elements: those beyond whole fours, and all where no four are taken at once. */
#ifndef KIBI_MUL_S8_OF_SINGLES
#define KIBI_MUL_S8_OF_SINGLES 1
#endif

/* Any scales, any steps. */
static void each(int8_t *output, const int8_t *a, const int8_t *b, int32_t count, const kibi_mul_s8_params *p)
{
    const int8_t *const end = output + count;
    while (output != end) {
        const int32_t product = (*a - p->zero_point1) * (*b - p->zero_point2);
        const int32_t scaled = kibi_requantize(product, p->output_multiplier, p->output_shift);
        *output++ = (int8_t)kibi_clamp(kibi_wrapping_add(scaled, p->output_zero_point), p->activation_min, p->activation_max);
        a += p->step1;
        b += p->step2;
    }
}

/* What the assembly loads. */
typedef struct {
    int32_t count;      /* of elements, a multiple of 4, at least 4 */
    uint32_t zero1;     /* minus the zero point, in both halves */
    uint32_t zero2;
    int32_t multiplier;
    int32_t bits;       /* shifted out of a scaled product, all but one: 0 … 30 */
    uint32_t moved;     /* twice the output's zero point, and half of the last bit */
} constants;

/* Twice the product of two centred elements, in halves of words, becomes an output: the high half of its product with the
 * multiplier; 1 is taken from what is negative, so that half up is half away from zero; all but one bit is shifted out; the last
 * one goes after half of it was added, and with it twice the zero point. */
#define OUTPUT(half, first, second, place)              \
    "smul" half half " lr, " first ", " second "\n"     \
    "smmulr lr, lr, r6\n"                               \
    "add lr, lr, lr, asr #31\n"                         \
    "asr lr, lr, r7\n"                                  \
    "add lr, lr, r8\n"                                  \
    "ssat lr, #8, lr, asr #1\n"                         \
    "strb lr, [r0" place "\n"

/* Registers and stack:
 *   r0         output
 *   r1, r2     the inputs
 *   r3         before: constants; then elements left
 *   r4 … r8    zero1, zero2, multiplier, bits, moved
 *   r9, r10    four elements of each input; then the second and the fourth, centred, those of the second input twice
 *   r11, r12   the first and the third, the same
 *   lr         free
 *   sp + 0     r4 … r11, lr of the caller
 * Stack: 36 bytes. */
static KIBI_NOINLINE KIBI_NAKED void fours(KIBI_IN_REGISTER int8_t *output, KIBI_IN_REGISTER const int8_t *a,
                                           KIBI_IN_REGISTER const int8_t *b, KIBI_IN_REGISTER const constants *of)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "ldm r3, {r3, r4, r5, r6, r7, r8}\n"
        "1:\n" /* the next four elements */
        "ldr r9, [r1], #4\n"
        "ldr r10, [r2], #4\n"
        "sxtab16 r11, r4, r9\n"
        "sxtab16 r12, r5, r10\n"
        "sxtab16 r9, r4, r9, ror #8\n"
        "sxtab16 r10, r5, r10, ror #8\n"
        "sadd16 r12, r12, r12\n"
        "sadd16 r10, r10, r10\n"
        OUTPUT("b", "r11", "r12", "], #4")
        OUTPUT("b", "r9", "r10", ", #-3]")
        OUTPUT("t", "r11", "r12", ", #-2]")
        OUTPUT("t", "r9", "r10", ", #-1]")
        "subs r3, r3, #4\n"
        "bne 1b\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}

enum { COPIES = 32, LEAST = 16 }; /* copies of a single element, and elements of a row for which they pay */

/* Products of a row and one element, which is copied so that it has four at once. is_first: true if the first input is that element. */
static KIBI_NOINLINE void fours_of_one(int8_t *output, const int8_t *row, int8_t one, const constants *all, int is_first)
{
    int8_t copies[COPIES];
    constants of = *all;
    int32_t left = all->count;
    for (int32_t i = 0; i < COPIES && i < left; ++i) {
        copies[i] = one;
    }
    for (; left > 0; left -= COPIES) {
        of.count = left < COPIES ? left : (int32_t)COPIES;
        fours(output, is_first ? copies : row, is_first ? row : copies, &of);
        output += of.count;
        row += of.count;
    }
}

void kibi_mul_s8(int8_t *output, const int8_t *const *rows, const kibi_mul_s8_params *params, void *scratch)
{
    const kibi_mul_s8_params *const p = params;
    const int8_t *const *rows2 = rows + p->rows1;
    const int is_whole = p->step1 == 1 && p->step2 == 1;
    const int is_long = KIBI_MUL_S8_OF_BROADCASTS && p->step1 + p->step2 == 1 && p->elements >= LEAST;
    const int is_fast = !KIBI_MUL_S8_OF_SINGLES || (p->output_shift < 0 && (is_whole || is_long));
    const int is_cut = KIBI_MUL_S8_OF_ACTIVATIONS && (p->activation_min > -128 || p->activation_max < 127);
    const int32_t count = KIBI_MUL_S8_OF_FOURS && is_fast ? p->elements & ~3 : 0;
    const constants of = {
        count,
        ((uint32_t)-p->zero_point1 & 0xFFFFu) * 0x10001u,
        ((uint32_t)-p->zero_point2 & 0xFFFFu) * 0x10001u,
        p->output_multiplier,
        ~p->output_shift,
        2u * (uint32_t)p->output_zero_point + 1u,
    };
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int8_t *const a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const int8_t *const b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        if (count != 0 && KIBI_MUL_S8_OF_BROADCASTS && !is_whole) {
            fours_of_one(output, p->step1 == 0 ? b : a, p->step1 == 0 ? *a : *b, &of, p->step1 == 0);
        } else if (count != 0) {
            fours(output, a, b, &of);
        }
        for (int32_t i = 0; is_cut && i < count; ++i) {
            output[i] = (int8_t)kibi_clamp(output[i], p->activation_min, p->activation_max);
        }
        if (KIBI_MUL_S8_OF_SINGLES) {
            each(output + count, a + count * p->step1, b + count * p->step2, p->elements - count, p);
        }
        output += p->elements;
    }
}
