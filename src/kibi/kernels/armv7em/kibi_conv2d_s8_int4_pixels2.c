/* Two channels of two pixels of a convolution, Armv7E-M: the same instructions from every compiler. */
#include "kibi_conv2d_s8_int4_pixels2.h"

#include "kibi_dsp.h"

KIBI_NAKED void kibi_conv2d_s8_int4_pixels2(KIBI_IN_REGISTER kibi_conv2d_s8_pixels *task)
{
    KIBI_PIXELS2_OF_INT4("144");
}
