/* Two channels of three pixels of a convolution, Armv7E-M: the same instructions from every compiler. */
#include "kibi_conv2d_s8_int4_pixels3.h"

#include "kibi_dsp.h"

KIBI_NAKED void kibi_conv2d_s8_int4_pixels3(KIBI_IN_REGISTER kibi_conv2d_s8_pixels *task)
{
    KIBI_PIXELS3("180", KIBI_INT4_WORDS);
}
