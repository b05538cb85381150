/* Elementwise int8 functions by table, Thumb-2: four elements at once. */
#include "kibi_unary.h"

/* Four elements at once. */
#ifndef KIBI_TABLE_S8_OF_FOURS
#define KIBI_TABLE_S8_OF_FOURS 1
#endif
/* Single elements: those beyond whole fours, and all where no four are taken at once. */
#ifndef KIBI_TABLE_S8_OF_SINGLES
#define KIBI_TABLE_S8_OF_SINGLES 1
#endif

/* As many elements, a multiple of four, at least four: 15 instructions for each four. */
static inline void fours(int8_t *output, const int8_t *input, const int8_t *centre, int32_t count)
{
    const int8_t *const end = output + count;
    uint32_t word;
    uint32_t a;
    uint32_t b;
    uint32_t c;
    __asm__ volatile("1:\n\t" /* the next four elements */
                     "ldr %[word], [%[input]], #4\n\t"
                     "sxtb %[a], %[word]\n\t"
                     "sxtb %[b], %[word], ror #8\n\t"
                     "sxtb %[c], %[word], ror #16\n\t"
                     "asr %[word], %[word], #24\n\t"
                     "ldrb %[a], [%[centre], %[a]]\n\t"
                     "ldrb %[b], [%[centre], %[b]]\n\t"
                     "ldrb %[c], [%[centre], %[c]]\n\t"
                     "ldrb %[word], [%[centre], %[word]]\n\t"
                     "orr %[a], %[a], %[b], lsl #8\n\t"
                     "orr %[a], %[a], %[c], lsl #16\n\t"
                     "orr %[a], %[a], %[word], lsl #24\n\t"
                     "str %[a], [%[output]], #4\n\t"
                     "cmp %[output], %[end]\n\t"
                     "bne 1b"
                     : [output] "+r"(output), [input] "+r"(input), [word] "=&r"(word), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c)
                     : [centre] "r"(centre), [end] "r"(end)
                     : "cc", "memory");
}

void kibi_table_s8(int8_t *output, const int8_t *const *rows, const kibi_table_s8_params *params, void *scratch)
{
    const int8_t *const centre = KIBI_AT(int8_t, params, table) + 128;
    const int8_t *const input = rows[0];
    const int32_t elements = params->elements;
    const int32_t count = KIBI_TABLE_S8_OF_FOURS ? elements & ~3 : 0;
    (void)scratch;
    if (KIBI_TABLE_S8_OF_FOURS && count != 0) {
        fours(output, input, centre, count);
    }
    for (int32_t i = count; KIBI_TABLE_S8_OF_SINGLES && i < elements; ++i) {
        output[i] = centre[input[i]];
    }
}
