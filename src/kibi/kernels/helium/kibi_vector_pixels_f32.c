/* Outputs of one or three pixels of a convolution of floats, Armv8.1-M with MVE: channels in the lanes of sums. */
#include "kibi_vector_pixels_f32.h"

#include "kibi_assembly.h"
#include "kibi_float_flags.h"

/* Parts that only some layers need: blocks of three pixels, and runs that are no whole fours of elements. */
#ifndef KIBI_VECTOR_PIXELS_F32_OF_3
#define KIBI_VECTOR_PIXELS_F32_OF_3 1
#endif
#ifndef KIBI_VECTOR_PIXELS_F32_OF_1
#define KIBI_VECTOR_PIXELS_F32_OF_1 1
#endif
#ifndef KIBI_VECTOR_PIXELS_F32_OF_RESTS
#define KIBI_VECTOR_PIXELS_F32_OF_RESTS 1
#endif

KIBI_FIELD_AT(kibi_vector_pixels_f32_task, rows, 0);
KIBI_FIELD_AT(kibi_vector_pixels_f32_task, rows_end, 4);
KIBI_FIELD_AT(kibi_vector_pixels_f32_task, place, 8);
KIBI_FIELD_AT(kibi_vector_pixels_f32_task, step, 12);
KIBI_FIELD_AT(kibi_vector_pixels_f32_task, run, 16);
KIBI_FIELD_AT(kibi_vector_pixels_f32_task, skipped, 20);
KIBI_FIELD_AT(kibi_vector_pixels_f32_task, weights, 24);
KIBI_FIELD_AT(kibi_vector_pixels_f32_task, weight_step, 28);
KIBI_FIELD_AT(kibi_vector_pixels_f32_task, bias, 32);
KIBI_FIELD_AT(kibi_vector_pixels_f32_task, output, 36);
KIBI_FIELD_AT(kibi_vector_pixels_f32_task, output_step, 40);
KIBI_FIELD_AT(kibi_vector_pixels_f32_task, channels, 44);
KIBI_FIELD_AT(kibi_vector_pixels_f32_task, low, 48);
KIBI_FIELD_AT(kibi_vector_pixels_f32_task, high, 52);

/* An element in a register times weights, added to sums. */
#define PRODUCT(sums, weights, element)     \
    "vmul.f32 q7, " weights ", " element "\n" \
    "vadd.f32 " sums ", " sums ", q7\n"
#define FOUR_ELEMENTS(pointer, sums)        \
    "ldm " pointer "!, {r4, r5, r6, r7}\n"  \
    PRODUCT(sums, "q3", "r4")               \
    PRODUCT(sums, "q4", "r5")               \
    PRODUCT(sums, "q5", "r6")               \
    PRODUCT(sums, "q6", "r7")
#define ONE_ELEMENT(pointer, sums)          \
    "ldr r4, [" pointer "], #4\n"           \
    PRODUCT(sums, "q3", "r4")

/* The elements after whole fours of a run. */
#if KIBI_VECTOR_PIXELS_F32_OF_RESTS
#define REST(elements)                      \
    "ldr r4, [r0, #16]\n"                   \
    "and r4, r4, #3\n"                      \
    "wls lr, r4, 5f\n"                      \
    "4:\n"                                  \
    "vldrw.32 q3, [r1], #16\n"              \
    elements                                \
    "le lr, 4b\n"                           \
    "5:\n"
#else
#define REST(elements) ""
#endif

/* Bounds: only what is greater changes, so that a NaN stays. */
#define CUT(sums)                           \
    "vpt.f32 gt, q4, " sums "\n"            \
    "vmovt " sums ", q4\n"                  \
    "vpt.f32 gt, " sums ", q5\n"            \
    "vmovt " sums ", q5\n"

/* The channels that are left, by fours. Returns 0; or 1 at four channels of which an operand or a result is a denormal number, which vectors
 * take for zero: nothing is written of these.
 *   zeros      sets the sums to zero
 *   pointers   makes those to the elements of each pixel from r2, r9: the first one's
 *   fours      adds four products to each sum
 *   elements   adds one
 *   biases     adds the biases in q3
 *   cut        cuts the sums
 *   stores     writes them from r5 on by steps of r6, by four predicated instructions at most
 * Registers and stack:
 *   r0            task
 *   r1            weights
 *   r2, r3, r12   elements of each pixel
 *   r4 … r7       elements, and free
 *   r8            pointers to rows
 *   r10           skipped
 *   r11           whole fours of a run
 *   lr            fours or elements left
 *   q0, q1, q2    sums of each pixel
 *   q3 … q6       weights; after the sums biases and bounds
 *   q7            products
 *   sp            q4 … q7, then r4 … r12 and lr of the caller
 * Stack: 104 bytes. */
#define CHANNELS(zeros, pointers, fours, elements, biases, cut, stores) \
    __asm__ volatile(                       \
        ".syntax unified\n"                 \
        "push {r4, r5, r6, r7, r8, r9, r10, r11, r12, lr}\n" \
        "vpush {d8, d9, d10, d11, d12, d13, d14, d15}\n" \
        KIBI_CLEAR_DENORMAL_FLAGS("r4")     \
        "ldrd r11, r10, [r0, #16]\n"        \
        "lsr r11, r11, #2\n"                \
        "1:\n" /* the next four channels */ \
        "ldr r1, [r0, #24]\n"               \
        "ldr r8, [r0]\n"                    \
        zeros                               \
        "2:\n" /* the next row */           \
        "ldr r2, [r8], #4\n"                \
        "ldrd r4, r5, [r0, #8]\n"           \
        "cmp r2, #0\n"                      \
        "beq 6f\n"                          \
        "add r2, r2, r4\n"                  \
        pointers                            \
        "wls lr, r11, 7f\n"                 \
        "3:\n"                              \
        "vldrw.32 q3, [r1], #64\n"          \
        "vldrw.32 q4, [r1, #-48]\n"         \
        "vldrw.32 q5, [r1, #-32]\n"         \
        "vldrw.32 q6, [r1, #-16]\n"         \
        fours                               \
        "le lr, 3b\n"                       \
        "7:\n"                              \
        REST(elements)                      \
        "8:\n"                              \
        "ldr r4, [r0, #4]\n"                \
        "add r1, r1, r10\n"                 \
        "cmp r8, r4\n"                      \
        "bne 2b\n"                          \
        "b 9f\n"                            \
        "6:\n" /* a row outside */          \
        "ldr r4, [r0, #16]\n"               \
        "add r1, r1, r4, lsl #4\n"          \
        "b 8b\n"                            \
        "9:\n"                              \
        "ldrd r4, r5, [r0, #32]\n"          \
        "ldrd r6, r7, [r0, #40]\n"          \
        "ldrd r2, r3, [r0, #48]\n"          \
        "vldrw.32 q3, [r4], #16\n"          \
        "vdup.32 q4, r2\n"                  \
        "vdup.32 q5, r3\n"                  \
        biases                              \
        cut                                 \
        KIBI_READ_DENORMAL_FLAGS("r2")      \
        "bne 10f\n"                         \
        "add r3, r5, #16\n"                 \
        "vctp.32 r7\n"                      \
        stores                              \
        "ldrd r1, r2, [r0, #24]\n"          \
        "subs r7, r7, #4\n"                 \
        "strd r4, r3, [r0, #32]\n"          \
        "add r1, r1, r2\n"                  \
        "str r7, [r0, #44]\n"               \
        "str r1, [r0, #24]\n"               \
        "bgt 1b\n"                          \
        "movs r0, #0\n"                     \
        "b 11f\n"                           \
        "10:\n"                             \
        "movs r0, #1\n"                     \
        "11:\n"                             \
        "vpop {d8, d9, d10, d11, d12, d13, d14, d15}\n" \
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, r12, pc}\n")

#if KIBI_VECTOR_PIXELS_F32_OF_3
static KIBI_NOINLINE KIBI_NAKED int32_t pixels_3(KIBI_IN_REGISTER kibi_vector_pixels_f32_task *task)
{
    CHANNELS("vmov.i32 q0, #0\n" "vmov.i32 q1, #0\n" "vmov.i32 q2, #0\n",
             "add r3, r2, r5\n" "add r12, r3, r5\n",
             FOUR_ELEMENTS("r2", "q0") FOUR_ELEMENTS("r3", "q1") FOUR_ELEMENTS("r12", "q2"),
             ONE_ELEMENT("r2", "q0") ONE_ELEMENT("r3", "q1") ONE_ELEMENT("r12", "q2"),
             "vadd.f32 q0, q0, q3\n" "vadd.f32 q1, q1, q3\n" "vadd.f32 q2, q2, q3\n",
             CUT("q0") CUT("q1") CUT("q2"),
             "add r1, r5, r6\n" "add r6, r6, r1\n"
             "vpsttt\n" "vstrwt.32 q0, [r5]\n" "vstrwt.32 q1, [r1]\n" "vstrwt.32 q2, [r6]\n");
}
#endif

#if KIBI_VECTOR_PIXELS_F32_OF_1
static KIBI_NOINLINE KIBI_NAKED int32_t pixels_1(KIBI_IN_REGISTER kibi_vector_pixels_f32_task *task)
{
    CHANNELS("vmov.i32 q0, #0\n", "", FOUR_ELEMENTS("r2", "q0"), ONE_ELEMENT("r2", "q0"), "vadd.f32 q0, q0, q3\n", CUT("q0"),
             "vpst\n" "vstrwt.32 q0, [r5]\n");
}
#endif

static int32_t compute(kibi_vector_pixels_f32_task *task, int32_t pixels)
{
    (void)pixels;
#if KIBI_VECTOR_PIXELS_F32_OF_3
    if (pixels == KIBI_MOST_F32_PIXELS) {
        return pixels_3(task);
    }
#endif
#if KIBI_VECTOR_PIXELS_F32_OF_1
    return pixels_1(task);
#else
    return 1;
#endif
}

void kibi_vector_pixels_f32(kibi_vector_pixels_f32_task *task, int32_t pixels)
{
    const uint32_t flags = kibi_float_flags();
    do {
        if (compute(task, pixels) != 0) {
            kibi_four_channels_f32(task, pixels);
        }
    } while (task->channels > 0);
    kibi_raise_float_flags(flags);
}
