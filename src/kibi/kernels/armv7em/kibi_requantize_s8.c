/* Accumulators as int8 outputs, four channels at once: rules N2 to N4 of Kibi's numerics. */
#include "kibi_requantize_s8.h"

#include "kibi_requantize.h"

/* Four channels at once. */
#ifndef KIBI_REQUANTIZE_S8_OF_FOURS
#define KIBI_REQUANTIZE_S8_OF_FOURS 1
#endif

/* As many whole fours of channels as come before one whose shift is not to the right; returns how many channels.
 * One channel: the high half of 2 * acc * multiplier, as kibi_multiply_high; 1 is taken from what is negative, so that half
 * up is half away from zero; all but one bit is shifted out; the last one goes after half of it was added, and with it twice
 * the zero point. That sum saturates where it is far outside int8 anyway. */
static int32_t fours(int8_t *output, const int32_t *sums, int32_t count, const int32_t *multiplier, const int8_t *shift,
                     int32_t zero_point, int32_t low, int32_t high)
{
    const uint32_t each = 0x01010101u;
    const int8_t *const start = output;
    const int8_t *const end = output + (count & ~3);
    int32_t packed;
    int32_t shifts;
    int32_t a;
    int32_t m;
    int32_t t;
    if (output == end) {
        return 0;
    }
    __asm__ volatile("1:\n\t" /* the next four channels */
                     "ldr %[shifts], [%[shift]], #4\n\t"
                     /* A shift to the right becomes one bit less; any other one becomes below 0. */
                     "mvn %[shifts], %[shifts]\n\t"
                     "tst %[shifts], #0x80808080\n\t"
                     "bne 2f\n\t"
                     "ldr %[a], [%[sums]], #4\n\t"
                     "ldr %[m], [%[multiplier]], #4\n\t"
                     /* Read as a signed number, this may be 2**32 too small: then the sum is added. */
                     "lsl %[m], %[m], #1\n\t"
                     "and %[t], %[a], %[m], asr #31\n\t"
                     "smmlar %[a], %[a], %[m], %[t]\n\t"
                     "add %[a], %[a], %[a], asr #31\n\t"
                     /* A shift by a register looks at its lowest byte alone. */
                     "asr %[a], %[a], %[shifts]\n\t"
                     "qadd %[a], %[a], %[moved]\n\t"
                     "ssat %[packed], #8, %[a], asr #1\n\t"
                     /* The second channel. */
                     "ldr %[a], [%[sums]], #4\n\t"
                     "ldr %[m], [%[multiplier]], #4\n\t"
                     "lsl %[m], %[m], #1\n\t"
                     "and %[t], %[a], %[m], asr #31\n\t"
                     "smmlar %[a], %[a], %[m], %[t]\n\t"
                     "add %[a], %[a], %[a], asr #31\n\t"
                     "lsr %[m], %[shifts], #8\n\t"
                     "asr %[a], %[a], %[m]\n\t"
                     "qadd %[a], %[a], %[moved]\n\t"
                     "ssat %[a], #8, %[a], asr #1\n\t"
                     "bfi %[packed], %[a], #8, #8\n\t"
                     /* The third channel. */
                     "ldr %[a], [%[sums]], #4\n\t"
                     "ldr %[m], [%[multiplier]], #4\n\t"
                     "lsl %[m], %[m], #1\n\t"
                     "and %[t], %[a], %[m], asr #31\n\t"
                     "smmlar %[a], %[a], %[m], %[t]\n\t"
                     "add %[a], %[a], %[a], asr #31\n\t"
                     "lsr %[m], %[shifts], #16\n\t"
                     "asr %[a], %[a], %[m]\n\t"
                     "qadd %[a], %[a], %[moved]\n\t"
                     "ssat %[a], #8, %[a], asr #1\n\t"
                     "bfi %[packed], %[a], #16, #8\n\t"
                     /* The fourth channel. */
                     "ldr %[a], [%[sums]], #4\n\t"
                     "ldr %[m], [%[multiplier]], #4\n\t"
                     "lsl %[m], %[m], #1\n\t"
                     "and %[t], %[a], %[m], asr #31\n\t"
                     "smmlar %[a], %[a], %[m], %[t]\n\t"
                     "add %[a], %[a], %[a], asr #31\n\t"
                     "lsr %[m], %[shifts], #24\n\t"
                     "asr %[a], %[a], %[m]\n\t"
                     "qadd %[a], %[a], %[moved]\n\t"
                     "ssat %[a], #8, %[a], asr #1\n\t"
                     "bfi %[packed], %[a], #24, #8\n\t"
                     /* Cut to low … high: `sel` takes the first operand where no difference is below 0. */
                     "ssub8 %[t], %[packed], %[low]\n\t"
                     "sel %[packed], %[packed], %[low]\n\t"
                     "ssub8 %[t], %[high], %[packed]\n\t"
                     "sel %[packed], %[packed], %[high]\n\t"
                     "str %[packed], [%[output]], #4\n\t"
                     "cmp %[output], %[end]\n\t"
                     "bne 1b\n"
                     "2:" /* four are done, or a shift is not to the right */
                     : [output] "+r"(output), [sums] "+r"(sums), [multiplier] "+r"(multiplier), [shift] "+r"(shift),
                       [packed] "=&r"(packed), [shifts] "=&r"(shifts), [a] "=&r"(a), [m] "=&r"(m), [t] "=&r"(t)
                     : [moved] "r"(2 * zero_point + 1), [low] "r"((uint32_t)(uint8_t)low * each),
                       [high] "r"((uint32_t)(uint8_t)high * each), [end] "r"(end)
                     : "cc", "memory");
    return (int32_t)(output - start);
}

void kibi_requantize_s8(int8_t *output, const int32_t *sums, int32_t count, const int32_t *multiplier, const int8_t *shift,
                        int32_t zero_point, int32_t low, int32_t high)
{
    const int32_t done =
        KIBI_REQUANTIZE_S8_OF_FOURS ? fours(output, sums, count, multiplier, shift, zero_point, low, high) : 0;
    if (done != count) {
        kibi_requantize_channels(output + done, sums + done, count - done, multiplier + done, shift + done, zero_point, low,
                                 high);
    }
}
