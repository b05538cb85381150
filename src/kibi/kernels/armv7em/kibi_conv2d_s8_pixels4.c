/* Two channels of four pixels of a convolution, Armv7E-M: the same instructions from every compiler. */
#include "kibi_conv2d_s8_pixels4.h"

#include "kibi_dsp.h"

KIBI_NAKED void kibi_conv2d_s8_pixels4(KIBI_IN_REGISTER kibi_conv2d_s8_pixels *task)
{
    KIBI_PIXELS4("184", KIBI_WORDS);
}
