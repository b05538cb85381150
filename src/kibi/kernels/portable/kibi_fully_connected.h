/* FULLY_CONNECTED: each kernel computes one output row, at once or adding input up. */
#ifndef KIBI_FULLY_CONNECTED_H
#define KIBI_FULLY_CONNECTED_H

#include "kibi.h"

typedef struct {
    const float *filter;     /* [output_channels][depth] */
    const float *bias;       /* [output_channels] */
    int32_t depth;           /* elements of an input vector */
    int32_t piece;           /* neighbouring elements of a vector that are read at once */
    int32_t pieces;          /* pieces of a vector: depth / piece */
    int32_t vectors;         /* input vectors, and output vectors, of a step */
    int32_t vectors_per_row; /* more than 1 only where pieces is 1; divides vectors */
    int32_t output_channels;
    float activation_min;
    float activation_max;
} kibi_fully_connected_f32_params;

/* FULLY_CONNECTED of floats: the output vectors of one step.
 * output: [vectors][output_channels]; may overlap an input row where no vector is written over one that is still read:
 * elements are written in order, and a vector of the input is read until its last channel is computed.
 * rows: the input vectors one after another, cut into pieces: vectors * pieces / vectors_per_row pointers to
 * [vectors_per_row][piece].
 * Products are added in the vector's order; the bias comes last.
 * scratch: none. */
void kibi_fully_connected_f32(float *output, const float *const *rows, const kibi_fully_connected_f32_params *params,
                              void *scratch);

typedef struct {
    const float *filter; /* [output_channels][pieces][piece] */
    const float *bias;   /* [output_channels] */
    int32_t piece;       /* elements of a row */
    int32_t pieces;      /* rows of a vector */
    int32_t vectors;     /* input vectors, and output vectors, of all steps */
    int32_t output_channels;
    float activation_min;
    float activation_max;
} kibi_fully_connected_f32_accumulate_params;

/* FULLY_CONNECTED of float vectors that are spread over several rows: row after row is added up; the last call writes the output.
 * output: [vectors][output_channels], written by the last call; may overlap the input row, which is read before.
 * rows: one pointer to [piece], the row `step` of the vectors, which are stored one after another.
 * Products are added in the vector's order; the bias comes last.
 * scratch: 4 * vectors * output_channels bytes, aligned as float; it keeps its contents from the first call to the last.
 * step: 0 … vectors * pieces - 1, ascending. */
void kibi_fully_connected_f32_accumulate(float *output, const float *const *rows,
                                         const kibi_fully_connected_f32_accumulate_params *params, void *scratch,
                                         int32_t step);

typedef struct {
    const int8_t *filter;      /* [output_channels][depth] */
    /* [output_channels], which includes -input zero point * the sum of the channel's filter */
    const int64_t *bias;
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 7 where is_wide, else -31 ... 30 */
    /* 1: sums have 64 bits and are rounded once; 0: they have 32 bits and are rounded twice */
    int32_t is_wide;
    int32_t depth;             /* elements of an input vector */
    int32_t piece;             /* neighbouring elements of a vector that are read at once */
    int32_t pieces;            /* pieces of a vector: depth / piece */
    int32_t vectors;           /* input vectors, and output vectors, of a step */
    int32_t vectors_per_row;   /* more than 1 only where pieces is 1; divides vectors */
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
} kibi_fully_connected_s16_params;

/* FULLY_CONNECTED of 16-bit elements and 8-bit weights: the output vectors of one step.
 * output: [vectors][output_channels]; may overlap an input row where no vector is written over one that is still read:
 * vectors are written in order, and one of the input is read until the last channel is written.
 * rows: the input vectors one after another, cut into pieces: vectors * pieces / vectors_per_row pointers to
 * [vectors_per_row][piece].
 * scratch: none. */
void kibi_fully_connected_s16(int16_t *output, const int16_t *const *rows,
                              const kibi_fully_connected_s16_params *params, void *scratch);

typedef struct {
    const int8_t *filter;      /* [output_channels][pieces][piece] */
    /* [output_channels], which includes -input zero point * the sum of the channel's filter */
    const int64_t *bias;
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 7 where is_wide, else -31 ... 30 */
    /* 1: sums have 64 bits and are rounded once; 0: they have 32 bits and are rounded twice */
    int32_t is_wide;
    int32_t piece;             /* elements of a row */
    int32_t pieces;            /* rows of a vector */
    int32_t vectors;           /* input vectors, and output vectors, of all steps */
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
} kibi_fully_connected_s16_accumulate_params;

/* FULLY_CONNECTED of 16-bit vectors that are spread over several rows: row after row is added up; the last call writes the output.
 * output: [vectors][output_channels], written by the last call; may overlap the input row, which is read
 * before.
 * rows: one pointer to [piece], the row `step` of the vectors, which are stored one after another.
 * scratch: 8 * vectors * output_channels bytes, of any alignment; it keeps its contents from the first call to the last.
 * step: 0 … vectors * pieces - 1, ascending. */
void kibi_fully_connected_s16_accumulate(int16_t *output, const int16_t *const *rows,
                                         const kibi_fully_connected_s16_accumulate_params *params, void *scratch,
                                         int32_t step);

typedef struct {
    const int8_t *filter;      /* [output_channels][depth] */
    /* [output_channels], which includes -input zero point * the sum of the channel's filter */
    const int32_t *bias;
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 30 */
    int32_t depth;             /* elements of an input vector */
    int32_t piece;             /* neighbouring elements of a vector that are read at once */
    int32_t pieces;            /* pieces of a vector: depth / piece */
    int32_t vectors;           /* input vectors, and output vectors, of a step */
    int32_t vectors_per_row;   /* more than 1 only where pieces is 1; divides vectors */
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
} kibi_fully_connected_s8_params;

/* FULLY_CONNECTED: the output vectors of one step.
 * output: [vectors][output_channels]; may overlap an input row where no vector is written over one that is still read:
 * vectors are written in order, and one of the input is read until the last channel is written.
 * rows: the input vectors one after another, cut into pieces: vectors * pieces / vectors_per_row pointers to
 * [vectors_per_row][piece].
 * scratch: none. */
void kibi_fully_connected_s8(int8_t *output, const int8_t *const *rows, const kibi_fully_connected_s8_params *params,
                             void *scratch);

typedef struct {
    const int8_t *filter;      /* [output_channels][pieces][piece] */
    /* [output_channels], which includes -input zero point * the sum of the channel's filter */
    const int32_t *bias;
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 30 */
    int32_t piece;             /* elements of a row */
    int32_t pieces;            /* rows of a vector */
    int32_t vectors;           /* input vectors, and output vectors, of all steps */
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
} kibi_fully_connected_s8_accumulate_params;

/* FULLY_CONNECTED of vectors that are spread over several rows: row after row is added up; the last call writes the output.
 * output: [vectors][output_channels], written by the last call; may overlap the input row, which is read
 * before.
 * rows: one pointer to [piece], the row `step` of the vectors, which are stored one after another.
 * scratch: 4 * vectors * output_channels bytes, aligned as int32_t; it keeps its contents from the first call to the last.
 * step: 0 … vectors * pieces - 1, ascending. */
void kibi_fully_connected_s8_accumulate(int8_t *output, const int8_t *const *rows,
                                        const kibi_fully_connected_s8_accumulate_params *params, void *scratch,
                                        int32_t step);

/* Kernels in assembly know where each field is.
 * Channels come in blocks of eight, the last ones in blocks of two, a channel of zeros after an odd one. Of a block follow one
 * after another: a word for each channel to start its sum from; then, for each four elements of each piece, zeros after the
 * last, a word for each channel of packed pairs, as kibi_packed_pairs_s8.h adds them up. So a channel starts from 256
 * times its bias, with -input zero point * sum of its weights in it, minus 127 times the sum of its second weights. */
typedef struct {
    /* blocks of channels, with what their sums start from; the kernel's header describes a block */
    const int32_t *filter;
    /* for two channels: a word with ~shift of both in its two lowest bytes, each 0 ... 30, where shifts are to the
     * right by at least 1; and both multipliers, 0 ... 2**31 - 1; then those of the next two channels, or the same
     * three words are those of all */
    const int32_t *scales;
    /* bytes from the words of two channels to those of the next two: 12, or 0 where all channels share them */
    int32_t scale_step;
    int32_t piece;         /* neighbouring elements of an input vector */
    int32_t pieces;        /* pieces of a vector */
    int32_t vectors;       /* input vectors, and output vectors, of a step */
    int32_t row_elements;  /* elements that follow one another in memory: more than piece only where pieces is 1 */
    int32_t output_channels;
    int32_t rounding;      /* twice the output's zero point, plus 1 */
    /* 0: outputs are clamped to the range of int8 alone; 1: to activation_min ... activation_max */
    int32_t clamps;
    int32_t activation_min;
    int32_t activation_max;
    /* 1: outputs are rounded once, with a fraction of 11 bits, and instead of multipliers scales has factors as
     * kibi_round_once wants them; 0: twice */
    int32_t rounds_once;
} kibi_fully_connected_s8_blocks_params;

/* FULLY_CONNECTED, or CONV_2D to rows of one pixel, from weights that were packed ahead of time.
 * The true sums are below 2**23 in magnitude, whatever the inputs are.
 * output: [vectors][output_channels]; may overlap an input row where no vector is written over one that is still read:
 * vectors are written in order, and one of the input is read until the last block of eight channels, or of all that are left
 * after these, is written.
 * rows: the input vectors one after another, cut into pieces: vectors * pieces * piece / row_elements pointers to
 * [row_elements].
 * scratch: none. */
void kibi_fully_connected_s8_blocks(int8_t *output, const int8_t *const *rows,
                                    const kibi_fully_connected_s8_blocks_params *params, void *scratch);

/* Channels come in blocks of eight. Of a block follow one after another: for each four channels, what the two sums start from that
 * kibi_nonzero_sums_s8.h describes; then, for each element, its weights for the channels, from the lowest byte to the highest, all
 * 128 higher than they are. So the first sum starts from the channels' biases times 1, 2**8, 2**16 and 2**24, and the second one from
 * that of the third channel and, times 2**24, that of the second one. */
typedef struct {
    /* blocks of channels, with what their sums start from; the kernel's header describes a block */
    const int64_t *filter;
    /* for two channels: a word with ~shift of both in its two lowest bytes, each 0 ... 30, where shifts are to the
     * right by at least 1; and both multipliers, 0 ... 2**31 - 1; then those of the next two channels, or the same
     * three words are those of all */
    const int32_t *scales;
    /* bytes from the words of two channels to those of the next two: 12, or 0 where all channels share them */
    int32_t scale_step;
    int32_t piece;           /* neighbouring elements of an input vector */
    int32_t pieces;          /* pieces of a vector */
    int32_t vectors;         /* input vectors, and output vectors, of a step */
    int32_t row_elements;    /* elements that follow one another in memory: more than piece only where pieces is 1 */
    int32_t output_channels; /* a multiple of 8 */
    int32_t rounding;        /* twice the output's zero point, plus 1 */
    /* 0: outputs are clamped to the range of int8 alone; 1: to activation_min ... activation_max */
    int32_t clamps;
    int32_t activation_min;
    int32_t activation_max;
} kibi_fully_connected_s8_nonzero_params;

/* FULLY_CONNECTED of vectors many of whose elements are the least of int8, their zero point. Where enough are, only
 * the others are multiplied, so its time depends on the elements. The true sums are below 2**23 in magnitude, whatever the inputs are.
 * output: [vectors][output_channels]; may overlap an input row where no vector is written over one that is still read:
 * vectors are written in order, and one of the input is read before its outputs are written.
 * rows: as of kibi_fully_connected_s8_blocks.
 * scratch: words for 2 more than pieces * piece bytes, and words for pieces * piece bytes. */
void kibi_fully_connected_s8_nonzero(int8_t *output, const int8_t *const *rows,
                                     const kibi_fully_connected_s8_nonzero_params *params, void *scratch);

typedef struct {
    const int8_t *indices;     /* of [output_channels][depth] values, packed as kibi_codebook_s8.h says */
    const int8_t *tables;      /* the values of each channel, or those that all channels share */
    /* [output_channels], which includes -input zero point * the sum of the channel's filter */
    const int32_t *bias;
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 30 */
    int32_t bits;              /* bits of an index, 1 ... 7 */
    int32_t values;            /* values from one channel's table to the next; 0: all channels share one table */
    int32_t depth;             /* elements of an input vector */
    int32_t piece;             /* neighbouring elements of a vector that are read at once */
    int32_t pieces;            /* pieces of a vector: depth / piece */
    int32_t vectors;           /* input vectors, and output vectors, of a step */
    int32_t vectors_per_row;   /* more than 1 only where pieces is 1; divides vectors */
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
} kibi_fully_connected_s8_codebook_params;

/* FULLY_CONNECTED with a filter of indices into tables: the output vectors of one step.
 * output: [vectors][output_channels]; may overlap an input row where no vector is written over one that is still read:
 * vectors are written in order, and one of the input is read until the last channel is written.
 * rows: the input vectors one after another, cut into pieces: vectors * pieces / vectors_per_row pointers to
 * [vectors_per_row][piece].
 * scratch: none. */
void kibi_fully_connected_s8_codebook(int8_t *output, const int8_t *const *rows,
                                      const kibi_fully_connected_s8_codebook_params *params, void *scratch);

typedef struct {
    /* [blocks of four channels][pieces][words for piece elements], as kibi_int4_s8.h says; of
     * kibi_fully_connected_s8_int4_blocks words for four elements */
    const int32_t *filter;
    /* [output_channels], which includes -input zero point * the sum of the channel's filter */
    const int32_t *bias;
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 30 */
    int32_t piece;             /* neighbouring elements of an input vector that are read at once */
    int32_t pieces;            /* pieces of a vector */
    int32_t vectors;           /* input vectors, and output vectors, of a step */
    int32_t vectors_per_row;   /* more than 1 only where pieces is 1; divides vectors */
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
} kibi_fully_connected_s8_int4_params;

/* FULLY_CONNECTED with a filter of int4, which is unpacked as it is used: the output vectors of one step.
 * output: [vectors][output_channels]; may overlap an input row where no vector is written over one that is still read:
 * vectors are written in order, and one of the input is read until the last block of up to four channels is written.
 * rows: the input vectors one after another, cut into pieces: vectors * pieces / vectors_per_row pointers to
 * [vectors_per_row][piece].
 * scratch: none. */
void kibi_fully_connected_s8_int4(int8_t *output, const int8_t *const *rows,
                                  const kibi_fully_connected_s8_int4_params *params, void *scratch);

/* The same from words for four elements. */
void kibi_fully_connected_s8_int4_blocks(int8_t *output, const int8_t *const *rows,
                                         const kibi_fully_connected_s8_int4_params *params, void *scratch);

typedef struct {
    /* [blocks of four channels][pieces][words for piece elements], as kibi_int4_s8.h says; of
     * kibi_fully_connected_s8_int4_blocks_accumulate words for four elements */
    const int32_t *filter;
    /* [output_channels], which includes -input zero point * the sum of the channel's filter */
    const int32_t *bias;
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 30 */
    int32_t piece;             /* elements of a row */
    int32_t pieces;            /* rows of a vector */
    int32_t vectors;           /* input vectors, and output vectors, of all steps */
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
} kibi_fully_connected_s8_int4_accumulate_params;

/* FULLY_CONNECTED of vectors that are spread over several rows, with a filter of int4: row after row is added up; the last call
 * writes the output.
 * output: [vectors][output_channels], written by the last call; may overlap the input row, which is read before.
 * rows: one pointer to [piece], the row `step` of all vectors.
 * scratch: 4 * vectors * output_channels bytes, aligned as int32_t; it keeps its contents from the first call to the last.
 * step: 0 … vectors * pieces - 1, ascending. */
void kibi_fully_connected_s8_int4_accumulate(int8_t *output, const int8_t *const *rows,
                                             const kibi_fully_connected_s8_int4_accumulate_params *params, void *scratch,
                                             int32_t step);

/* The same from words for four elements. */
void kibi_fully_connected_s8_int4_blocks_accumulate(int8_t *output, const int8_t *const *rows,
                                                    const kibi_fully_connected_s8_int4_accumulate_params *params,
                                                    void *scratch, int32_t step);

/* Codes follow one another from the last byte to the first, from the highest bit of each byte to the lowest: channel after
 * channel, weight after weight. The byte of a channel in `codings` is 2**k + offset, with an offset below 2**k. A weight moved
 * by the offset, w + offset, has a multiple m = (w + offset) >> k and k low bits. Its code is a number q of zeros, which is 0,
 * 1, 2, 3, 4 ... for an m of 0, 1, -1, 2, -2 ...; then a one; then the low bits. It has at most 12 bits. */
typedef struct {
    /* [weights_bytes], codes of [output_channels][pieces][piece] weights; the kernel's header describes them */
    const int8_t *weights;
    const int8_t *codings;     /* [output_channels], without sign: 2**k + offset of each channel's codes */
    /* [output_channels], which includes -input zero point * the sum of the channel's filter */
    const int32_t *bias;
    const int32_t *multiplier; /* 0 ... 2**31 - 1, of each channel, or one of all */
    const int8_t *shift;       /* -31 ... 30, of each channel, or one of all */
    int32_t piece;             /* neighbouring elements of an input vector that are read at once */
    int32_t pieces;            /* pieces of a vector */
    int32_t vectors;           /* input vectors, and output vectors, of a step */
    int32_t vectors_per_row;   /* more than 1 only where pieces is 1; divides vectors */
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    int32_t weights_bytes;     /* of all codes, with at least 3 more before them */
    int32_t scale_step;        /* 1: each channel has its multiplier and shift; 0: all channels share them */
} kibi_fully_connected_s8_rice_params;

/* FULLY_CONNECTED with a filter of Golomb-Rice codes, which are decoded as they are used: the output vectors of one step.
 * output: [vectors][output_channels]; may overlap an input row where no vector is written over one that is still read:
 * vectors are written in order, and one of the input is read until the last channel is written.
 * rows: the input vectors one after another, cut into pieces: vectors * pieces / vectors_per_row pointers to
 * [vectors_per_row][piece].
 * scratch: none. */
void kibi_fully_connected_s8_rice(int8_t *output, const int8_t *const *rows,
                                  const kibi_fully_connected_s8_rice_params *params, void *scratch);

typedef struct {
    /* [weights_bytes], codes of [pieces][output_channels][piece] weights; the kernel's header describes them */
    const int8_t *weights;
    const int8_t *codings;     /* [output_channels], without sign: 2**k + offset of each channel's codes */
    /* [output_channels], which includes -input zero point * the sum of the channel's filter */
    const int32_t *bias;
    const int32_t *multiplier; /* 0 ... 2**31 - 1, of each channel, or one of all */
    const int8_t *shift;       /* -31 ... 30, of each channel, or one of all */
    int32_t weights_bytes;     /* of all codes, with at least 3 more before them */
    int32_t scale_step;        /* 1: each channel has its multiplier and shift; 0: all channels share them */
    int32_t piece;             /* elements of a row */
    int32_t pieces;            /* rows of the vector */
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
} kibi_fully_connected_s8_rice_accumulate_params;

/* FULLY_CONNECTED of one vector that is spread over several rows, with a filter of Golomb-Rice codes as above, but piece after
 * piece, and in each of these channel after channel: row after row is added up; the last call writes the output.
 * output: [output_channels], written by the last call; may overlap the input row, which is read before.
 * rows: one pointer to [piece], the row `step` of the vector.
 * scratch: 4 * output_channels + 4 bytes, aligned as int32_t; it keeps its contents from the first call to the last.
 * step: 0 … pieces - 1, ascending. */
void kibi_fully_connected_s8_rice_accumulate(int8_t *output, const int8_t *const *rows,
                                             const kibi_fully_connected_s8_rice_accumulate_params *params, void *scratch,
                                             int32_t step);

typedef struct {
    /* blocks of channels, with what their sums start from; the kernel's header describes a block */
    const int32_t *filter;
    /* for two channels: a word with ~shift of both in its two lowest bytes, each 0 ... 30, where shifts are to the
     * right by at least 1; and both multipliers, 0 ... 2**31 - 1; then those of the next two channels, or the same
     * three words are those of all */
    const int32_t *scales;
    /* bytes from the words of two channels to those of the next two: 12, or 0 where all channels share them */
    int32_t scale_step;
    int32_t piece;                 /* neighbouring elements of an input vector */
    int32_t pieces;                /* pieces of a vector */
    int32_t vectors;               /* input vectors, and output vectors, of a step */
    /* elements that follow one another in memory: more than piece only where pieces is 1 */
    int32_t row_elements;
    int32_t output_channels;
    int32_t rounding;              /* twice the output's zero point, plus 1 */
    /* 0: outputs are clamped to the range of int8 alone; 1: to activation_min ... activation_max */
    int32_t clamps;
    int32_t activation_min;
    int32_t activation_max;
    /* 1: outputs are rounded once, with a fraction of 11 bits, and instead of multipliers scales has factors as
     * kibi_round_once wants them; 0: twice */
    int32_t rounds_once;
    int32_t odd_count;             /* channels that the fast kernel's other constants do not describe, at least 1 */
    const int8_t *odd_filter;      /* [odd_count][pieces][piece] */
    const int32_t *odd_numbers;    /* [odd_count]: the numbers of the channels */
    /* [odd_count], which includes -input_zero_point * the sum of the channel's filter */
    const int32_t *odd_bias;
    const int32_t *odd_multiplier; /* [odd_count], 0 ... 2**31 - 1 */
    const int8_t *odd_shift;       /* [odd_count], -31 ... 30 */
} kibi_fully_connected_s8_blocks_odd_params;

/* What kibi_fully_connected_s8_blocks computes, of a layer some of whose channels its constants cannot describe: those are computed
 * one by one before it writes to the row. Output and rows as of kibi_fully_connected_s8_blocks.
 * scratch: aligned as words. odd_count * vectors bytes, rounded up to whole words; then that of kibi_fully_connected_s8_blocks. */
void kibi_fully_connected_s8_blocks_odd(int8_t *output, const int8_t *const *rows,
                                        const kibi_fully_connected_s8_blocks_odd_params *params, void *scratch);

typedef struct {
    /* [blocks of eight channels][elements][2]: 128 more than the weights of four channels in the bytes of a word,
     * from the lowest one on. Zeros are the weights of channels after the last one */
    const int32_t *filter;
    /* [blocks of eight channels][numbers, and words for a bit for each element, from the highest one on]: a bit is 1
     * where sums of products end. They end with a vector in any case. From one end to the next, sums fit 16 bits.
     * The first number says how much elements that are 128 higher may be together so that their sums fit, the second
     * one how often sums end by the bits; then follow biases for such elements */
    const int32_t *breaks;
    const int32_t *bias;       /* [whole blocks], which includes -input zero point * the sum of the channel's filter */
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 30 */
    int32_t piece;             /* neighbouring elements of a vector that are read at once */
    int32_t pieces;            /* pieces of a vector */
    int32_t vectors;           /* input vectors, and output vectors, of a step */
    int32_t vectors_per_row;   /* more than 1 only where pieces is 1; divides vectors */
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    int32_t numbers;           /* of a block, before its bits: 10 if vectors are weighed first, and else 0 */
} kibi_fully_connected_s8_halves_params;

/* FULLY_CONNECTED with two output channels in the halves of a word, eight channels at once.
 * output: [vectors][output_channels]; may overlap an input row where no channel is written over elements that are still read: a vector
 * is read again for each block of eight channels, before these are written.
 * rows: pointers to pieces of vectors, in order. scratch: none. */
void kibi_fully_connected_s8_halves(int8_t *output, const int8_t *const *rows,
                                    const kibi_fully_connected_s8_halves_params *params, void *scratch);

#endif
