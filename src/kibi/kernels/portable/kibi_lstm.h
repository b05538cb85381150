/* UNIDIRECTIONAL_SEQUENCE_LSTM: each kernel computes one time step. */
#ifndef KIBI_LSTM_H
#define KIBI_LSTM_H

#include "kibi.h"

/* Gates in the order of their biases, multipliers and shifts. */
enum { KIBI_LSTM_INPUT, KIBI_LSTM_FORGET, KIBI_LSTM_CELL, KIBI_LSTM_OUTPUT, KIBI_LSTM_GATES };

/* Of four gates comes first the input's, then the forget, the cell's and the output's. */
typedef struct {
    const float *input_to_input;      /* [units][depth] */
    const float *input_to_forget;     /* [units][depth] */
    const float *input_to_cell;       /* [units][depth] */
    const float *input_to_output;     /* [units][depth] */
    const float *recurrent_to_input;  /* [units][units] */
    const float *recurrent_to_forget; /* [units][units] */
    const float *recurrent_to_cell;   /* [units][units] */
    const float *recurrent_to_output; /* [units][units] */
    const float *input_bias;          /* [4][units], of the gates input, forget, cell and output */
    int32_t batches;
    int32_t times;                    /* vectors of a batch in this call */
    int32_t depth;                    /* elements of an input vector */
    int32_t units;
    float cell_min;                   /* the cell is clamped to cell_min ... cell_max */
    float cell_max;
} kibi_lstm_f32_params;

/* UNIDIRECTIONAL_SEQUENCE_LSTM of floats: the outputs of one step in time, or of all.
 * output: [batches][times][units]; may overlap the input where no unit is written over a vector that is still read: a vector of
 * the input is read until the last unit is computed.
 * rows: batches * times pointers to [depth].
 * Of a gate, the products of the vector are added in its order, then the bias; those of the hidden state by themselves.
 * scratch: none.
 * states: pointers to the hidden state and to the cells, both [batches][units] float. */
void kibi_lstm_f32(float *output, const float *const *rows, const kibi_lstm_f32_params *params, void *scratch,
                   void *const *states);

/* Of four gates comes first the input's, then the forget, the cell's and the output's. */
typedef struct {
    const int8_t *input_to_input;        /* [units][depth] */
    const int8_t *input_to_forget;       /* [units][depth] */
    const int8_t *input_to_cell;         /* [units][depth] */
    const int8_t *input_to_output;       /* [units][depth] */
    const int8_t *recurrent_to_input;    /* [units][units] */
    const int8_t *recurrent_to_forget;   /* [units][units] */
    const int8_t *recurrent_to_cell;     /* [units][units] */
    const int8_t *recurrent_to_output;   /* [units][units] */
    const int64_t *input_bias;           /* [4][units], of the gates input, forget, cell and output */
    const int32_t *input_multiplier;     /* [4], 0 ... 2**31 - 1 */
    const int8_t *input_shift;           /* [4], -31 ... 7 */
    const int32_t *recurrent_multiplier; /* [4], 0 ... 2**31 - 1 */
    const int8_t *recurrent_shift;       /* [4], -31 ... 7 */
    int32_t batches;
    int32_t times;                       /* vectors of a batch in this call */
    int32_t depth;                       /* elements of an input vector */
    int32_t units;
    int32_t forget_multiplier;           /* scales the products of the forget gate and the cell */
    int32_t forget_shift;
    int32_t update_multiplier;           /* scales the products of the input gate and the cell gate */
    int32_t update_shift;
    int32_t output_multiplier;           /* scales the products of the output gate and the cell's tangent */
    int32_t output_shift;
    int32_t cell_min;                    /* the cell is clamped to cell_min ... cell_max */
    int32_t cell_max;
    /* a cell is multiplied by it for its tangent; the product is below 2**31 in magnitude */
    int32_t tanh_multiplier;
    int32_t tanh_shift;                  /* 0 ... 15: the product is shifted to the right */
} kibi_lstm_s16_params;

/* UNIDIRECTIONAL_SEQUENCE_LSTM of int16 with cells of int16: the outputs of one step in time, or of all.
 * output: [batches][times][units]; may overlap the input where no unit is written over a vector that is still read: a vector of
 * the input is read until the last unit is computed.
 * rows: batches * times pointers to [depth].
 * scratch: none.
 * states: pointers to the hidden state [batches][units] int16_t, and to the cells [batches][units] int16_t. */
void kibi_lstm_s16(int16_t *output, const int16_t *const *rows, const kibi_lstm_s16_params *params, void *scratch,
                   void *const *states);

/* Of four gates comes first the input's, then the forget, the cell's and the output's. */
typedef struct {
    const int8_t *input_to_input;        /* [units][depth] */
    const int8_t *input_to_forget;       /* [units][depth] */
    const int8_t *input_to_cell;         /* [units][depth] */
    const int8_t *input_to_output;       /* [units][depth] */
    const int8_t *recurrent_to_input;    /* [units][units] */
    const int8_t *recurrent_to_forget;   /* [units][units] */
    const int8_t *recurrent_to_cell;     /* [units][units] */
    const int8_t *recurrent_to_output;   /* [units][units] */
    /* [4][units], of the gates input, forget, cell and output, which includes -zero point of the input * the sum of
     * the weights */
    const int32_t *input_bias;
    const int32_t *recurrent_bias;       /* [4][units], -zero point of the hidden state * the sum of the weights */
    const int32_t *input_multiplier;     /* [4], 0 ... 2**31 - 1 */
    const int8_t *input_shift;           /* [4], -31 ... 30 */
    const int32_t *recurrent_multiplier; /* [4], 0 ... 2**31 - 1 */
    const int8_t *recurrent_shift;       /* [4], -31 ... 30 */
    int32_t batches;
    int32_t times;                       /* vectors of a batch in this call */
    int32_t depth;                       /* elements of an input vector */
    int32_t units;
    int32_t forget_multiplier;           /* scales the products of the forget gate and the cell */
    int32_t forget_shift;
    int32_t update_multiplier;           /* scales the products of the input gate and the cell gate */
    int32_t update_shift;
    int32_t output_multiplier;           /* scales the products of the output gate and the cell's tangent */
    int32_t output_shift;
    int32_t output_zero_point;
    int32_t cell_min;                    /* the cell is clamped to cell_min ... cell_max */
    int32_t cell_max;
    /* a cell is multiplied by it for its tangent; the product is below 2**31 in magnitude */
    int32_t tanh_multiplier;
    int32_t tanh_shift;                  /* 0 ... 15: the product is shifted to the right */
} kibi_lstm_s8_params;

/* UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with cells of int16: the outputs of one step in time, or of all.
 * output: [batches][times][units]; may overlap the input where no unit is written over a vector that is still read: a vector of
 * the input is read until the last unit is computed.
 * rows: batches * times pointers to [depth].
 * scratch: none.
 * states: pointers to the hidden state [batches][units] int8_t, and to the cells [batches][units] int16_t. */
void kibi_lstm_s8(int8_t *output, const int8_t *const *rows, const kibi_lstm_s8_params *params, void *scratch,
                  void *const *states);

typedef struct {
    const int32_t *weights;    /* blocks of units; the kernel's header describes a block */
    /* [2][4][4], of the input, then of the hidden state; of the gates input, forget, cell and output: the
     * multiplier, 0 ... 2**31 - 1; what is added; what of it is taken away from a negative sum, as a mask; and what
     * is shifted out, 1 ... 30 */
    const int32_t *scales;
    int32_t batches;
    int32_t times;             /* vectors of a batch in this call */
    int32_t depth;             /* elements of an input vector */
    int32_t units;
    int32_t update_multiplier; /* 0 ... 2**31 - 1: scales the products of the input gate and the cell gate */
    int32_t update_rounding;   /* 2**(update_shift - 1) */
    int32_t update_shift;      /* 1 ... 30: to the right */
    int32_t cell_min;          /* -32768 ... 32767: the cell is clamped to cell_min ... cell_max */
    int32_t cell_max;          /* -32768 ... 32767 */
    /* a cell is multiplied by it for its tangent; the product is below 2**31 in magnitude */
    int32_t tanh_multiplier;
    int32_t tanh_rounding;     /* half of 2**tanh_shift, 0 where that is 1 */
    int32_t tanh_shift;        /* 0 ... 15: the product is shifted to the right */
    int32_t output_multiplier; /* 0 ... 2**31 - 1: scales the products of the output gate and the cell's tangent */
    int32_t output_rounding;   /* 2**(output_shift - 1) + 2**output_shift * the zero point */
    int32_t output_shift;      /* 1 ... 30: to the right */
} kibi_lstm_s8_blocks_params;

/* UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with cells of int16, from packed weights: output, rows, scratch and states as above.
 * A block of weights is that of a unit. It has twice, for the input and for the hidden state, four words that the sums of its gates
 * start from, then four words for each four elements, one of each gate: 256 * the first weight + the second in the lower half, and
 * the other two in the upper one. If elements are left after whole fours, they come first, with zeros as weights of what is after
 * them. Sums are 256 times the true ones: rule N19; all true sums are below 2**23 in magnitude. Cells are kept as rule N37 says, with
 * a forget gate in units of 2**-15. */
void kibi_lstm_s8_blocks(int8_t *output, const int8_t *const *rows, const kibi_lstm_s8_blocks_params *params, void *scratch,
                         void *const *states);

#endif
