/* CONV_2D, int8, Armv7E-M, from constants that are packed for blocks. Source of the rule: TFLM,
 * integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d.h"

#include "kibi_conv2d_s8_pixels2.h"
#include "kibi_conv2d_s8_pixels3.h"
#include "kibi_conv2d_s8_pixels4.h"

#define KIBI_BLOCK_OF_2 kibi_conv2d_s8_pixels2
#define KIBI_BLOCK_OF_3 kibi_conv2d_s8_pixels3
#define KIBI_BLOCK_OF_4 kibi_conv2d_s8_pixels4
#define KIBI_BLOCK_WORDS 2
#include "kibi_conv2d_s8_block_rows.h"

void kibi_conv2d_s8_blocks(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_blocks_params *params,
                           void *scratch)
{
    kibi_conv2d_block_row(output, rows, params, scratch);
}
