/* CONV_2D with weights of int4, int8, from constants that are packed for blocks, in plain C: for cores without the instructions that
 * the blocks are made for. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d.h"

#include "kibi_conv2d_s8_block_rows.h"

void kibi_conv2d_s8_int4_blocks(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_blocks_params *params,
                                void *scratch)
{
    kibi_conv2d_block_row(output, rows, params, scratch, 1);
}
