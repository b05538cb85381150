/* CONV_2D, int16, with windows of three by three on one input channel, for cores with the DSP extension: a window in five registers,
 * of which all channels are computed. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel of int16_t. */
#include "kibi_conv2d_s16_packed.h"

#include "kibi_dsp.h"

/* Parts that a library leaves out where no layer needs them: channels by fours, other numbers of channels, activations that leave
 * nothing out, or the negative numbers. */
#ifndef KIBI_CONV2D_S16_3X3X1_BY_FOURS
#define KIBI_CONV2D_S16_3X3X1_BY_FOURS 1
#endif
#ifndef KIBI_CONV2D_S16_3X3X1_BY_ONES
#define KIBI_CONV2D_S16_3X3X1_BY_ONES 1
#endif
#ifndef KIBI_CONV2D_S16_3X3X1_OF_ALL_NUMBERS
#define KIBI_CONV2D_S16_3X3X1_OF_ALL_NUMBERS 1
#endif
#ifndef KIBI_CONV2D_S16_3X3X1_OF_RELU
#define KIBI_CONV2D_S16_3X3X1_OF_RELU 1
#endif

enum { PIXELS = 8, AT_LEFT = 1, AT_RIGHT = 2 };

/* Neighbouring pixels, at least one of whose windows is inside. */
typedef struct {
    const int16_t *rows[3];    /* of the first window that is inside */
    const int16_t *end;        /* that many elements after the first row's, as windows are inside */
    const int32_t *channels;   /* as in kibi_conv2d_s16_3x3x1_params */
    int32_t edges;             /* AT_LEFT: a pixel before these, with a column outside; AT_RIGHT: one after them */
    int16_t *output;
} pixels_task;

KIBI_FIELD_AT(pixels_task, rows, 0);
KIBI_FIELD_AT(pixels_task, end, 12);
KIBI_FIELD_AT(pixels_task, channels, 16);
KIBI_FIELD_AT(pixels_task, edges, 20);
KIBI_FIELD_AT(pixels_task, output, 24);

/* An output: nine products, in words of two; the high half of the sum times the factor, rounded half up; cut. */
#define CHANNEL(cut)                                       \
    "ldm r9!, {r5, r6, r7, r8, r10, r11, lr}\n"            \
    "smlad r5, r0, r7, r5\n"                               \
    "smlad r5, r1, r8, r5\n"                               \
    "smlad r5, r2, r10, r5\n"                              \
    "smlad r5, r3, r11, r5\n"                              \
    "smlad r5, r4, lr, r5\n"                               \
    "smmulr r5, r5, r6\n"                                  \
    cut " r5\n"                                            \
    "strh r5, [r12], #2\n"

/* Computes the pixels.
 * Registers and stack:
 *   r0 … r4                       a window: the first two elements of each row, then the third ones of two rows, and of the last;
 *                                 before: r0 task
 *   r5, r6                        a sum and a factor; between pixels the first two rows
 *   r7, r8, r10, r11, lr          weights; between pixels r7 the third row, r8 end
 *   r9                            channels
 *   r12                           output
 *   sp + 0                        rows, end, channels, edges
 *   sp + 24                       r4 … r11, lr of the caller
 * Stack: 60 bytes. */
#define COMPUTE(channels)                                                                   \
    __asm__ volatile(                                                                       \
        ".syntax unified\n"                                                                 \
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"                                     \
        "sub sp, sp, #24\n"                                                                 \
        "ldm r0, {r5, r6, r7, r8, r9, r10, r12}\n"                                          \
        "stm sp, {r5, r6, r7, r8, r9, r10}\n"                                               \
        "lsls r10, r10, #31\n"                                                              \
        "bpl 1f\n"                                                                          \
        "ldrh r0, [r5]\n" /* the pixel at the left edge: column -1 has zeros */             \
        "ldrh r1, [r6]\n"                                                                   \
        "ldrh r2, [r7]\n"                                                                   \
        "lsls r0, r0, #16\n"                                                                \
        "lsls r1, r1, #16\n"                                                                \
        "lsls r2, r2, #16\n"                                                                \
        "ldrh r3, [r5, #2]\n"                                                               \
        "ldrh r10, [r6, #2]\n"                                                              \
        "ldrh r4, [r7, #2]\n"                                                               \
        "b 2f\n"                                                                            \
        "1:\n" /* the next pixel */                                                         \
        "ldm sp, {r5, r6, r7, r8, r9}\n"                                                    \
        "cmp r5, r8\n"                                                                      \
        "beq 4f\n"                                                                          \
        "ldr r0, [r5], #2\n"                                                                \
        "ldr r1, [r6], #2\n"                                                                \
        "ldr r2, [r7], #2\n"                                                                \
        "ldrh r3, [r5, #2]\n"                                                               \
        "ldrh r10, [r6, #2]\n"                                                              \
        "ldrh r4, [r7, #2]\n"                                                               \
        "stm sp, {r5, r6, r7}\n"                                                            \
        "2:\n"                                                                              \
        "pkhbt r3, r3, r10, lsl #16\n"                                                      \
        "3:\n"                                                                              \
        channels                                                                            \
        "cmp lr, #0x10000\n" /* the upper half of the last channel's last word is 1 */      \
        "blo 3b\n"                                                                          \
        "b 1b\n"                                                                            \
        "4:\n"                                                                              \
        "ldr r10, [sp, #20]\n"                                                              \
        "bics r10, r10, #1\n"                                                               \
        "beq 5f\n"                                                                          \
        "movs r3, #0\n"                                                                     \
        "str r3, [sp, #20]\n"                                                               \
        "ldr r0, [r5]\n" /* the pixel at the right edge: its last column has zeros */       \
        "ldr r1, [r6]\n"                                                                    \
        "ldr r2, [r7]\n"                                                                    \
        "movs r4, #0\n"                                                                     \
        "b 3b\n"                                                                            \
        "5:\n"                                                                              \
        "add sp, sp, #24\n"                                                                 \
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n")

#define NOT_NEGATIVE CHANNEL("usat r5, #15,")
#define ANY CHANNEL("ssat r5, #16,")

static KIBI_NOINLINE KIBI_NAKED void compute_fours_not_negative(KIBI_IN_REGISTER const pixels_task *task)
{
    COMPUTE(NOT_NEGATIVE NOT_NEGATIVE NOT_NEGATIVE NOT_NEGATIVE);
}

static KIBI_NOINLINE KIBI_NAKED void compute_fours(KIBI_IN_REGISTER const pixels_task *task)
{
    COMPUTE(ANY ANY ANY ANY);
}

static KIBI_NOINLINE KIBI_NAKED void compute_not_negative(KIBI_IN_REGISTER const pixels_task *task)
{
    COMPUTE(NOT_NEGATIVE);
}

static KIBI_NOINLINE KIBI_NAKED void compute_ones(KIBI_IN_REGISTER const pixels_task *task)
{
    COMPUTE(ANY);
}

static void compute(const pixels_task *task, int by_fours, int is_relu)
{
    if (KIBI_CONV2D_S16_3X3X1_BY_FOURS && (!KIBI_CONV2D_S16_3X3X1_BY_ONES || by_fours)) {
        if (KIBI_CONV2D_S16_3X3X1_OF_RELU && (!KIBI_CONV2D_S16_3X3X1_OF_ALL_NUMBERS || is_relu)) {
            compute_fours_not_negative(task);
        } else if (KIBI_CONV2D_S16_3X3X1_OF_ALL_NUMBERS) {
            compute_fours(task);
        }
    } else if (KIBI_CONV2D_S16_3X3X1_BY_ONES) {
        if (KIBI_CONV2D_S16_3X3X1_OF_RELU && (!KIBI_CONV2D_S16_3X3X1_OF_ALL_NUMBERS || is_relu)) {
            compute_not_negative(task);
        } else if (KIBI_CONV2D_S16_3X3X1_OF_ALL_NUMBERS) {
            compute_ones(task);
        }
    }
}

void kibi_conv2d_s16_3x3x1(int16_t *output, const int16_t *const *rows, const kibi_conv2d_s16_3x3x1_params *params, void *scratch)
{
    const kibi_conv2d_s16_3x3x1_params *const p = params;
    static const int16_t zeros[PIXELS + 2] = {0};
    const int32_t channels = p->output_channels;
    const int is_whole = rows[0] != NULL && rows[1] != NULL && rows[2] != NULL;
    const int32_t inside = p->input_width - 2;
    int32_t count;
    pixels_task task;
    (void)scratch;
    task.channels = KIBI_AT(int32_t, p, channels);
    task.output = output;
    for (int32_t x = 0; x < inside; x += count) {
        /* A row outside is as short as its zeros. */
        count = is_whole || inside - x < PIXELS ? inside - x : (int32_t)PIXELS;
        for (int32_t row = 0; row < 3; ++row) {
            task.rows[row] = rows[row] != NULL ? rows[row] + x : zeros;
        }
        task.end = task.rows[0] + count;
        task.edges = x == 0 ? p->pad : 0;
        if (x + count == inside && p->output_width > inside + p->pad) {
            task.edges |= AT_RIGHT;
        }
        compute(&task, channels % 4 == 0, p->activation_min == 0);
        task.output += (count + (task.edges & AT_LEFT) + task.edges / AT_RIGHT) * channels;
    }
}
