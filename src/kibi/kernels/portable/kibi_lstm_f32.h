/* UNIDIRECTIONAL_SEQUENCE_LSTM of floats: the outputs of one step in time, or of all. */
#ifndef KIBI_LSTM_F32_H
#define KIBI_LSTM_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* output: [batches][times][units]; may overlap the input where no unit is written over a vector that is still read: a vector of
 * the input is read until the last unit is computed.
 * rows: batches * times pointers to [depth].
 * Of a gate, the products of the vector are added in its order, then the bias; those of the hidden state by themselves.
 * scratch: none.
 * states: pointers to the hidden state and to the cells, both [batches][units] float. */
void kibi_lstm_f32(float *output, const float *const *rows, const kibi_lstm_f32_params *params, void *scratch,
                   void *const *states);

#ifdef __cplusplus
}
#endif

#endif
