/* UNIDIRECTIONAL_SEQUENCE_LSTM of int8 from packed weights, Armv7E-M: the same instructions from every compiler. Source of the rule:
 * TFLM, micro/kernels/lstm_eval.h. */
#include <string.h>

#include "kibi_dsp.h"
#include "kibi_lstm.h"
#include "kibi_sigmoid_s16.h"

/* A vector that all units read. */
typedef struct {
    const int8_t *x;
    int32_t weights_bytes; /* of a unit: 16 for each four elements; the last one may have one to three */
    int32_t rest;          /* elements after whole fours */
    int32_t entry;         /* where its loop begins; the assembly writes it */
    const int32_t *scales; /* [4][4] */
    int32_t is_first;
} lstm_vector;

/* What all units of a time share. */
typedef struct {
    lstm_vector input;
    lstm_vector hidden;
    const uint16_t *sigmoids;
    int16_t *cells;
    int8_t *output;
    const int8_t *output_end;
    const int32_t *weights;
    const int32_t *constants; /* update_multiplier and all after it */
} lstm_time;

/* Where the assembly reads them. */
KIBI_FIELD_AT(lstm_vector, weights_bytes, 4);
KIBI_FIELD_AT(lstm_vector, rest, 8);
KIBI_FIELD_AT(lstm_vector, entry, 12);
KIBI_FIELD_AT(lstm_vector, scales, 16);
KIBI_FIELD_AT(lstm_vector, is_first, 20);
KIBI_FIELD_AT(lstm_time, hidden, 24);
KIBI_FIELD_AT(lstm_time, sigmoids, 48);
KIBI_FIELD_AT(lstm_time, cells, 52);
KIBI_FIELD_AT(lstm_time, output, 56);
KIBI_FIELD_AT(lstm_time, output_end, 60);
KIBI_FIELD_AT(lstm_time, weights, 64);
KIBI_FIELD_AT(lstm_time, constants, 68);
/* Fields of the parameters follow one another from update_multiplier on, as the assembly reads them. */
KIBI_FIELD_AT(kibi_lstm_s8_blocks_params, update_multiplier, 24);
KIBI_FIELD_AT(kibi_lstm_s8_blocks_params, update_rounding, 28);
KIBI_FIELD_AT(kibi_lstm_s8_blocks_params, update_shift, 32);
KIBI_FIELD_AT(kibi_lstm_s8_blocks_params, cell_min, 36);
KIBI_FIELD_AT(kibi_lstm_s8_blocks_params, cell_max, 40);
KIBI_FIELD_AT(kibi_lstm_s8_blocks_params, tanh_multiplier, 44);
KIBI_FIELD_AT(kibi_lstm_s8_blocks_params, tanh_rounding, 48);
KIBI_FIELD_AT(kibi_lstm_s8_blocks_params, tanh_shift, 52);
KIBI_FIELD_AT(kibi_lstm_s8_blocks_params, output_multiplier, 56);
KIBI_FIELD_AT(kibi_lstm_s8_blocks_params, output_rounding, 60);
KIBI_FIELD_AT(kibi_lstm_s8_blocks_params, output_shift, 64);

/* Macros of the assembler, because ISO C limits how long a text may be; the function's last line forgets them.
 *
 * Four elements in r2, and their weights for four gates, of which each word is widened once: as in
 * kibi_fully_connected_s8_blocks. 60 bytes of instructions. */
#define FOUR                                \
    ".macro kibi_four\n"                    \
    "ldm.w r0!, {r8, r9, r10, r11}\n"       \
    "sxtb16 r3, r2\n"                     \
    "eor.w r2, r2, #0x007F007F\n"           \
    "smlad r4, r8, r3, r4\n"                \
    "smlad r5, r9, r3, r5\n"                \
    "smlad r6, r10, r3, r6\n"               \
    "smlad r7, r11, r3, r7\n"               \
    "sxtb16 r8, r8\n"                     \
    "sxtb16 r9, r9\n"                     \
    "sxtb16 r10, r10\n"                   \
    "sxtb16 r11, r11\n"                   \
    "smlad r4, r8, r2, r4\n"                \
    "smlad r5, r9, r2, r5\n"                \
    "smlad r6, r10, r2, r6\n"               \
    "smlad r7, r11, r2, r7\n"               \
    ".endm\n"

/* A sum in 2**-12: times the multiplier, moved by half of what is shifted out, where negative sums get a little less, which makes
 * both roundings of the rule one. */
#define SCALE                               \
    ".macro kibi_scale sum\n"               \
    "ldm r1!, {r8, r9, r10, r11}\n"         \
    "and r10, r10, \\sum, asr #31\n"        \
    "add r9, r9, r10\n"                     \
    "smmla \\sum, \\sum, r8, r9\n"          \
    "asr \\sum, \\sum, r11\n"               \
    "ssat \\sum, #16, \\sum\n"              \
    ".endm\n"

/* On the line between two entries of the table, less 2**(16 + bits): r9 becomes the word of both entries and r8 their weights,
 * 2**bits - rest in the lower half and rest in the upper one. Entries are read as numbers with a sign, 2**16 too small. r10: 0xFFFF. */
#define WEIGHTS(bits, rest)                 \
    "lsr r9, r8, #" bits "\n"               \
    "ldr r9, [r3, r9, lsl #1]\n"            \
    rest                                    \
    "mla r8, r8, r10, lr\n"

/* The logistic function of a gate's sum in 2**-15. Of three times a sum in 16 bits, the table has every place. lr: 2**9. */
#define LOGISTIC                            \
    ".macro kibi_logistic gate\n"           \
    "add \\gate, \\gate, \\gate, lsl #1\n"  \
    "eor r8, \\gate, \\gate, asr #31\n"     \
    "sub r8, r8, \\gate, asr #31\n"         \
    WEIGHTS("9", "ubfx r8, r8, #0, #9\n")   \
    "smuad r8, r9, r8\n"                    \
    "eor \\gate, r8, \\gate, asr #31\n"     \
    "add \\gate, \\gate, lr\n"              \
    /* 2**25 more of what is not negative: these 15 bits are the same. */ \
    "ubfx \\gate, \\gate, #10, #15\n"       \
    ".endm\n"

/* The hyperbolic tangent of a number in 2**-15. lr: 2**8. r11: 2**23. */
#define TANH                                \
    ".macro kibi_tanh value\n"              \
    "eor r8, \\value, \\value, asr #31\n"   \
    "sub r8, r8, \\value, asr #31\n"        \
    "usat r8, #16, r8\n"                    \
    WEIGHTS("8", "uxtb r8, r8\n")           \
    "smlad r8, r9, r8, r11\n"               \
    "eor \\value, r8, \\value, asr #31\n"   \
    "add \\value, \\value, #128\n"          \
    "asr \\value, \\value, #8\n"            \
    ".endm\n"

/* Registers and stack:
 *   r0        the weights; before: time
 *   r1        elements, scales, then constants
 *   r2, r3    elements as factors; then free, and the table
 *   r4 … r7   the sums of the gates input, forget, cell and output
 *   r8 … r11  weights; else free
 *   r12       time; while the hidden state is read, its vector in there
 *   lr        where a vector's weights end; else free
 *   sp + 0    the gates' sums over the input
 *   sp + 16   r4 … r11, lr of the caller
 * Stack: 52 bytes. */
static KIBI_NOINLINE KIBI_NAKED __attribute__((aligned(4))) void all_units(KIBI_IN_REGISTER lstm_time *time)
{
    __asm__ volatile(
        ".syntax unified\n" FOUR SCALE LOGISTIC TANH);
    __asm__ volatile(
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "sub sp, sp, #16\n"
        "mov r12, r0\n"
        "ldr r0, [r12, #64]\n" /* weights */
        /* Where loops begin: before the last fours of an iteration of four; elements that are left are the first. */
        "adr.w r1, 10f\n"
        "orr r1, r1, #1\n"
        "movs r4, #2\n"
        "1:\n" /* the next vector */
        "ldrd r2, r3, [r12, #4]\n" /* weights_bytes, rest */
        "rsb r2, r2, #0\n"
        "ubfx r2, r2, #4, #2\n"
        "add r2, r1, r2, lsl #6\n"
        "cbz r3, 2f\n"
        "adr.w r2, 7f\n"
        "orr r2, r2, #1\n"
        "2:\n"
        "str r2, [r12, #12]\n" /* entry */
        "add r12, r12, #24\n"
        "subs r4, r4, #1\n"
        "bne 1b\n"
        "sub r12, r12, #48\n"
        "3:\n" /* the next vector of a unit */
        "ldm r0!, {r4, r5, r6, r7}\n"
        "ldr r1, [r12]\n" /* x */
        "ldr lr, [r12, #4]\n" /* weights_bytes */
        "add lr, lr, r0\n"
        "ldr pc, [r12, #12]\n"
        "7:\n" /* one to three elements after whole fours, zeros after them */
        "ldr r2, [r12, #4]\n"
        "ldr r3, [r12, #8]\n"
        "add r8, r1, r2, lsr #2\n"
        "subs r8, r8, #4\n"
        "rsb r9, r2, #0\n"
        "ubfx r9, r9, #4, #2\n"
        "movs r2, #0\n"
        "8:\n" /* the next byte, from the last one back */
        "subs r3, r3, #1\n"
        "ldrb r10, [r8, r3]\n"
        "orr r2, r10, r2, lsl #8\n"
        "bne 8b\n"
        /* After the load of the first four that is entered. */
        "adr.w r3, 10f\n"
        "add r3, r3, r9, lsl #6\n"
        "add r3, r3, #5\n"
        "bx r3\n"
        ".p2align 2\n"
        "10:\n" /* four fours an iteration, each of 64 bytes */
        "ldr.w r2, [r1], #4\n" "kibi_four\n"
        "ldr.w r2, [r1], #4\n" "kibi_four\n"
        "ldr.w r2, [r1], #4\n" "kibi_four\n"
        "ldr.w r2, [r1], #4\n" "kibi_four\n"
        "cmp r0, lr\n"
        "bne 10b\n"
        "ldrd r1, r2, [r12, #16]\n" /* scales, is_first */
        "kibi_scale r4\n"
        "kibi_scale r5\n"
        "kibi_scale r6\n"
        "kibi_scale r7\n"
        "cbz r2, 12f\n"
        "stm sp, {r4, r5, r6, r7}\n"
        "add r12, r12, #24\n"
        "b 3b\n"
        "12:\n" /* both parts of the gates */
        "ldm sp, {r8, r9, r10, r11}\n"
        "sub r12, r12, #24\n"
        "add r4, r4, r8\n"
        "ssat r4, #16, r4\n"
        "add r5, r5, r9\n"
        "ssat r5, #16, r5\n"
        "add r6, r6, r10\n"
        "ssat r6, #16, r6\n"
        "add r7, r7, r11\n"
        "ssat r7, #16, r7\n");
    __asm__ volatile(
        "ldrd r3, r2, [r12, #48]\n" /* sigmoids, cells */
        "movw r10, #0xFFFF\n"
        "mov lr, #0x200\n"
        "mov r11, #0x800000\n"
        "kibi_logistic r4\n"
        "kibi_logistic r5\n"
        "kibi_logistic r7\n"
        "lsr lr, lr, #1\n"
        "add r6, r6, r6, lsl #1\n"
        "kibi_tanh r6\n"
        /* The forget gate times the cell, in 2**-15: 2**14 is half, and 1 more or less makes both roundings one. */
        "ldrsh r8, [r2]\n"
        "mul r5, r5, r8\n"
        "asr r8, r8, #31\n"
        "orr r8, r8, #1\n"
        "add r5, r5, r8\n"
        "add r5, r5, #0x4000\n"
        "ssat r5, #16, r5, asr #15\n"
        /* The input gate times the cell's: twice the product, so that the high half of its product is rounded. */
        "ldr r1, [r12, #68]\n" /* constants */
        "mul r4, r4, r6\n"
        "ldm r1!, {r6, r8, r9}\n" /* update_multiplier, update_rounding, update_shift */
        "lsl r4, r4, #1\n"
        "add r8, r8, r4, asr #31\n"
        "smmlar r4, r4, r6, r8\n"
        "asr r4, r4, r9\n"
        "ssat r4, #16, r4\n"
        "qadd16 r4, r4, r5\n"
        "ldm r1!, {r5, r6}\n" /* cell_min, cell_max */
        "ssub16 r8, r4, r6\n"
        "sel r4, r6, r4\n"
        "ssub16 r8, r4, r5\n"
        "sel r4, r4, r5\n"
        "sxth r4, r4\n"
        "strh r4, [r2], #2\n"
        "ldm r1!, {r5, r6, r8}\n" /* tanh_multiplier, tanh_rounding, tanh_shift */
        "mla r4, r4, r5, r6\n"
        "asr r4, r4, r8\n"
        "kibi_tanh r4\n"
        "mul r4, r4, r7\n"
        "ldm r1, {r5, r6, r8}\n" /* output_multiplier, output_rounding, output_shift */
        "lsl r4, r4, #1\n"
        "add r6, r6, r4, asr #31\n"
        "smmlar r4, r4, r5, r6\n"
        "asr r4, r4, r8\n"
        "ssat r4, #8, r4\n"
        "ldrd r5, r6, [r12, #56]\n" /* output, output_end */
        "strb r4, [r5], #1\n"
        "strd r2, r5, [r12, #52]\n" /* cells, output */
        "cmp r5, r6\n"
        "bne 3b\n"
        "add sp, sp, #16\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"
        ".purgem kibi_four\n"
        ".purgem kibi_scale\n"
        ".purgem kibi_logistic\n"
        ".purgem kibi_tanh\n");
}

static lstm_vector vector_of(int32_t count, const int32_t *scales, int32_t is_first)
{
    const lstm_vector made = {NULL, (count + 3) / 4 * 16, count % 4, 0, scales, is_first};
    return made;
}

void kibi_lstm_s8_blocks(int8_t *output, const int8_t *const *rows, const kibi_lstm_s8_blocks_params *params, void *scratch,
                         void *const *states)
{
    const kibi_lstm_s8_blocks_params *const p = params;
    const int32_t *const scales = KIBI_AT(int32_t, p, scales);
    int8_t *hidden = (int8_t *)states[0];
    lstm_time time;
    time.input = vector_of(p->depth, scales, 1);
    time.hidden = vector_of(p->units, scales + 16, 0);
    time.sigmoids = kibi_sigmoids_s16;
    time.cells = (int16_t *)states[1];
    time.output = output;
    time.weights = KIBI_AT(int32_t, p, weights);
    time.constants = &p->update_multiplier;
    (void)scratch;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        int16_t *const cells = time.cells;
        time.hidden.x = hidden;
        for (int32_t number = 0; number < p->times; ++number) {
            time.input.x = *rows++;
            time.cells = cells;
            time.output_end = time.output + p->units;
            all_units(&time);
            (void)memcpy(hidden, time.output - p->units, (size_t)p->units);
        }
        hidden += p->units;
    }
}
