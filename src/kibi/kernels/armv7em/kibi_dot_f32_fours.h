/* Products of floats of four channels, Armv7E-M with a floating-point unit: text of assembly.
 *   r1, r4, r5, r2   weights of the channels
 *   r3               elements
 *   s0 ... s3        the sums
 *   s4 ... s15       elements and weights */
#ifndef KIBI_DOT_F32_FOURS_H
#define KIBI_DOT_F32_FOURS_H

/* Four weights of each of two channels, times s4 … s7: VMLA rounds the product, then the sum. */
#define KIBI_DOT_F32_TWO_CHANNELS(first_w, second_w, first, second)\
    "vldm " first_w "!, {s8-s11}\n"                         \
    "vldm " second_w "!, {s12-s15}\n"                       \
    "vmla.f32 " first ", s8, s4\n"                          \
    "vmla.f32 " second ", s12, s4\n"                        \
    "vmla.f32 " first ", s9, s5\n"                          \
    "vmla.f32 " second ", s13, s5\n"                        \
    "vmla.f32 " first ", s10, s6\n"                         \
    "vmla.f32 " second ", s14, s6\n"                        \
    "vmla.f32 " first ", s11, s7\n"                         \
    "vmla.f32 " second ", s15, s7\n"

#define KIBI_DOT_F32_FOUR_ELEMENTS                          \
    "vldm r3!, {s4-s7}\n"                                   \
    KIBI_DOT_F32_TWO_CHANNELS("r1", "r4", "s0", "s1")       \
    KIBI_DOT_F32_TWO_CHANNELS("r5", "r2", "s2", "s3")

#define KIBI_DOT_F32_ONE_ELEMENT                            \
    "vldm r3!, {s4}\n"                                      \
    "vldm r1!, {s8}\n"                                      \
    "vldm r4!, {s9}\n"                                      \
    "vldm r5!, {s10}\n"                                     \
    "vldm r2!, {s11}\n"                                     \
    "vmla.f32 s0, s8, s4\n"                                 \
    "vmla.f32 s1, s9, s4\n"                                 \
    "vmla.f32 s2, s10, s4\n"                                \
    "vmla.f32 s3, s11, s4\n"

#endif
