/* Sums of two channels of two pixels over a piece of their windows, for many pairs of channels. */
#ifndef KIBI_ADD_PIECES_S8_H
#define KIBI_ADD_PIECES_S8_H

#include "kibi.h"

/* A piece of both windows, and the channels; the kernel in assembly knows where each field is. */
typedef struct {
    const int16_t *windows;     /* [groups of four elements], as kibi_widen2_s8 writes them */
    const int32_t *filter;      /* [pairs of channels][groups][2] words of four weights in packed pairs */
    int32_t *sums;              /* [pairs of channels][2 pixels][2 channels] */
    const int16_t *windows_end; /* after at least one group */
    const int32_t *sums_end;    /* after at least one pair */
} kibi_add_pieces;

/* Adds to each sum 256 times the products of the piece, and 127 times the second weights. */
void kibi_add_pieces_s8(const kibi_add_pieces *task);

#endif
