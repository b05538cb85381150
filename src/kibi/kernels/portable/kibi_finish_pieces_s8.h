/* Outputs of two channels of two pixels, for many pairs of channels. */
#ifndef KIBI_FINISH_PIECES_S8_H
#define KIBI_FINISH_PIECES_S8_H

#include "kibi.h"

/* Parts that a library leaves out where no layer needs them: outputs that are rounded once, those that are rounded twice, and activations
 * with another range than int8. */
#ifndef KIBI_CONV2D_PIECES_ROUNDED_ONCE
#define KIBI_CONV2D_PIECES_ROUNDED_ONCE 1
#endif
#ifndef KIBI_CONV2D_PIECES_ROUNDED_TWICE
#define KIBI_CONV2D_PIECES_ROUNDED_TWICE 1
#endif
#ifndef KIBI_CONV2D_PIECES_OF_CLAMPS
#define KIBI_CONV2D_PIECES_OF_CLAMPS 1
#endif

/* The sums of both pixels over their whole windows, and where their outputs are; the kernel in assembly knows where each
 * field is. */
typedef struct {
    int32_t zero_point;      /* the output's; where outputs are rounded once, with a fraction of KIBI_CONV2D_FRACTION_BITS */
    const int32_t *channels; /* as in kibi_conv2d_s8_pieces_params, for the first pair of channels */
    int8_t *output;          /* of the first pixel */
    int32_t second;          /* bytes from there to the second pixel's */
    const int32_t *sums;     /* [pairs of channels][2 pixels][2 channels] */
    const int32_t *sums_end; /* after at least one pair */
    int32_t rounds_once;     /* as in kibi_conv2d_s8_pieces_params */
    uint32_t low;            /* the activation's range, in each byte */
    uint32_t high;
} kibi_finish_pieces;

/* Writes both outputs of each pair of channels, of the second pixel first. */
void kibi_finish_pieces_s8(const kibi_finish_pieces *task);

#endif
