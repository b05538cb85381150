/* SVDF: each kernel computes one output row. */
#ifndef KIBI_SVDF_H
#define KIBI_SVDF_H

#include "kibi.h"

typedef struct {
    const float *weights_feature; /* [filters][depth] */
    const float *weights_time;    /* [filters][memory] */
    const float *bias;            /* [units] */
    int32_t batches;
    int32_t depth;                /* elements of an input vector */
    int32_t units;
    int32_t filters_per_unit;
    int32_t memory;               /* results of each filter that are kept: the newest ones */
    int32_t has_activation;       /* 0: outputs are the sums, and the kernel does not read the fields below */
    float activation_min;
    float activation_max;
    float activation_of_nan;      /* the output where the sum is a NaN */
} kibi_svdf_f32_params;

/* SVDF of floats: the whole output.
 * output: [batches][units]; may overlap the input where no unit is written over a vector that is still read: a vector of the
 * input is read until the last unit is computed.
 * rows: one pointer to [batches][depth].
 * Products are added in the vector's order, and the sums of a unit's filters in theirs, to the bias.
 * scratch: none.
 * states: one pointer to [batches][filters][memory] float, the oldest first. */
void kibi_svdf_f32(float *output, const float *const *rows, const kibi_svdf_f32_params *params, void *scratch,
                   void *const *states);

typedef struct {
    const int8_t *weights_feature; /* [filters][depth] */
    const int32_t *feature_bias;   /* [filters], -input zero point * the sum of the filter's weights */
    const int8_t *weights_time;    /* [filters][memory] */
    const int32_t *bias;           /* [units] */
    int32_t batches;
    int32_t depth;                 /* elements of an input vector */
    int32_t units;
    int32_t filters_per_unit;
    int32_t memory;                /* results of each filter that are kept: the newest ones */
    int32_t state_zero_point;
    int32_t feature_multiplier;    /* 0 ... 2**31 - 1 */
    int32_t feature_shift;         /* -31 ... 30 */
    int32_t output_multiplier;     /* 0 ... 2**31 - 1 */
    int32_t output_shift;          /* -31 ... 30 */
    int32_t output_zero_point;
} kibi_svdf_s8_params;

/* SVDF: the whole output; input, output and memory of int8.
 * output: [batches][units]; may overlap the input where no unit is written over a vector that is still read: a vector of the
 * input is read until the last unit is computed.
 * rows: one pointer to [batches][depth].
 * scratch: none.
 * states: one pointer to [batches][filters][memory] int8_t, the oldest first. */
void kibi_svdf_s8(int8_t *output, const int8_t *const *rows, const kibi_svdf_s8_params *params, void *scratch,
                  void *const *states);

typedef struct {
    const int8_t *weights_feature; /* [filters][depth] */
    const int32_t *feature_bias;   /* [filters], -input zero point * the sum of the filter's weights */
    const int16_t *weights_time;   /* [filters][memory] */
    const int32_t *bias;           /* [units] */
    int32_t batches;
    int32_t depth;                 /* elements of an input vector */
    int32_t units;
    int32_t filters_per_unit;
    int32_t memory;                /* results of each filter that are kept: the newest ones */
    int32_t feature_multiplier;    /* 0 ... 2**31 - 1 */
    int32_t feature_shift;         /* -31 ... 30 */
    int32_t output_multiplier;     /* 0 ... 2**31 - 1 */
    int32_t output_shift;          /* -31 ... 30 */
    int32_t output_zero_point;
} kibi_svdf_s8_s16_params;

/* SVDF: the whole output; input and output of int8, memory of int16.
 * output: [batches][units]; may overlap the input where no unit is written over a vector that is still read: a vector of the
 * input is read until the last unit is computed.
 * rows: one pointer to [batches][depth].
 * scratch: none.
 * states: one pointer to [batches][filters][memory] int16_t, the oldest first. */
void kibi_svdf_s8_s16(int8_t *output, const int8_t *const *rows, const kibi_svdf_s8_s16_params *params, void *scratch,
                      void *const *states);

/* A block of weights of the kernels below is that of four units with one filter each. It has four words that the sums over the input
 * start from, a word whose lowest bit is its form, then four words for each four elements, one of each filter: of packed pairs, as of
 * kibi_fully_connected_s8_blocks, if the bit is 0, else with the first element's weight in the lowest byte. If elements are left after
 * whole fours, they come first, with zeros as weights of what is after them. Sums are 256 times the true ones, plus what they start
 * from. Then it has for each unit what its results are weighted with. */

typedef struct {
    const int32_t *weights;   /* blocks of units; the kernel's header describes a block */
    int32_t batches;
    int32_t depth;            /* elements of an input vector */
    int32_t units;            /* a multiple of 4 */
    int32_t memory;           /* results of each filter that are kept, the newest ones: a multiple of 4, at least 8 */
    int32_t paired_blocks;    /* of packed pairs; the others have a weight in each byte */
    int32_t state_zero_point; /* -128 ... 127 */
    int32_t result_factor;    /* 0 ... 2**31 - 1: rule N55, of results, with 12 bits of a fraction */
    int32_t result_switch;    /* 0 ... 4096 */
    int32_t output_factor;    /* 0 ... 2**31 - 1: the same of outputs, with 8 bits of a fraction */
    int32_t output_switch;    /* -32768 ... 32767: 0 ... 31, plus 256 times the output's zero point */
} kibi_svdf_s8_blocks_params;

/* SVDF of int8 with a state of int8 and one filter a unit, from packed weights: output, rows and scratch as of kibi_svdf_s8; states,
 * too, aligned to 4. In the weights a unit has the words of all but the last eight results that are kept, with a weight in each byte, a
 * word that their sum starts from, which includes -zero point of the state * the sum of the weights, and the last two words. All sums
 * start from an addend, too: rule N55. */
void kibi_svdf_s8_blocks(int8_t *output, const int8_t *const *rows, const kibi_svdf_s8_blocks_params *params, void *scratch,
                         void *const *states);

typedef struct {
    const int32_t *weights;    /* blocks of units; the kernel's header describes a block */
    int32_t batches;
    int32_t depth;             /* elements of an input vector */
    int32_t units;             /* a multiple of 4 */
    int32_t memory;            /* results of each filter that are kept, the newest ones: a multiple of 4, at least 8 */
    int32_t paired_blocks;     /* of packed pairs; the others have a weight in each byte */
    int32_t result_multiplier; /* 0 ... 2**31 - 1 */
    int32_t result_shift;      /* -31 ... 6 */
    int32_t output_multiplier; /* 2**30 ... 2**31 - 1 */
    int32_t output_shift;      /* -31 ... -1 */
    int32_t output_zero_point; /* -128 ... 127 */
} kibi_svdf_s8_s16_blocks_params;

/* SVDF of int8 with a state of int16 and one filter a unit, from packed weights: output, rows and scratch as of kibi_svdf_s8_s16; states,
 * too, aligned to 4. In the weights a unit has a word that the sum of its results starts from, then words with two weights each. */
void kibi_svdf_s8_s16_blocks(int8_t *output, const int8_t *const *rows, const kibi_svdf_s8_s16_blocks_params *params, void *scratch,
                             void *const *states);

#endif
