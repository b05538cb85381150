/* What operators by hand are made of: memory for their parameters, pieces of tensors wherever these are, and the arithmetic of
 * scales. For those who write an operator of their own. */
#ifndef KIBI_OPERATOR_H
#define KIBI_OPERATOR_H

#include "kibi_tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The evaluation of one operator. Functions do nothing once one of them has failed. */
typedef struct {
    const kibi_context *context;
    kibi_handle block; /* of the metadata arena, pinned */
    uint8_t *next;
    kibi_status status;
} kibi_work;

/* Whether there are a context and operands: tensors of at least 1 byte and at most KIBI_MOST_BYTES, of which those after the first
 * `required` ones may be NULL. KIBI_ERROR_NULL, KIBI_ERROR_ARGUMENT: reported. What an operator calls before it looks at them. */
#define KIBI_MOST_BYTES (1u << 26)
kibi_status kibi_operands(const kibi_context *context, unsigned required, unsigned count, kibi_tensor *const *tensors);

/* Begins an evaluation that takes up to `bytes` bytes of metadata, each piece rounded up to kibi_room. */
void kibi_begin(kibi_work *work, const kibi_context *context, uint32_t bytes);

/* What a piece of metadata takes. */
#define KIBI_ROOM(bytes) kibi_align_up((uint32_t)(bytes), 8u)

/* The next piece, of zeros; NULL for no bytes. */
void *kibi_take(kibi_work *work, uint32_t bytes);

/* Gives the metadata back, and returns what went wrong, or KIBI_OK. */
kibi_status kibi_end(kibi_work *work);

/* Ends the evaluation with an error, which is reported. */
void kibi_give_up(kibi_work *work, kibi_status status);

/* Bytes of a copy of a piece of a tensor; 0 where the piece can be used where it is. */
uint32_t kibi_copy_bytes(const kibi_tensor *tensor, uint32_t bytes);

/* A piece of a tensor, of `bytes` bytes from `offset` on: where it is, or copied. Each needs one call of kibi_done, also where it
 * fails and gives NULL. copy: room for it where kibi_copy_bytes is not 0. */
const void *kibi_fetch(kibi_work *work, kibi_tensor *tensor, uint32_t offset, uint32_t bytes, void *copy);
void kibi_done(kibi_work *work, kibi_tensor *tensor, uint32_t bytes, const void *data);

/* The same of a piece to be written completely; kibi_put ends it. */
void *kibi_target(kibi_work *work, kibi_tensor *tensor, uint32_t offset, uint32_t bytes, void *copy);
void kibi_put(kibi_work *work, kibi_tensor *tensor, uint32_t offset, uint32_t bytes, const void *data);

/* A kernel, called with the first element that it makes and the rows that it reads. */
typedef void (*kibi_call)(void *output, const void *const *rows, const void *params);

/* Applies a kernel to pieces of the same place in input and output, one after another. */
void kibi_each_piece(kibi_work *work, kibi_tensor *output, uint32_t output_bytes, kibi_tensor *input, uint32_t input_bytes,
                     uint32_t pieces, kibi_call call, const void *params);

/* Bytes of metadata that kibi_each_piece takes. */
uint32_t kibi_each_piece_bytes(const kibi_tensor *output, uint32_t output_bytes, const kibi_tensor *input, uint32_t input_bytes);

/* An activation that is fused into an operator. */
typedef enum { KIBI_NO_ACTIVATION, KIBI_RELU, KIBI_RELU_N1_TO_1, KIBI_RELU6 } kibi_activation;

/* Whether a tensor has elements of a type, and, if these are int8 or uint8, one scale that is a positive number. */
int kibi_is(const kibi_tensor *tensor, uint8_t dtype);

/* Whether two tensors have as many elements along each axis. */
int kibi_same_shape(const kibi_tensor *a, const kibi_tensor *b);

/* A factor as multiplier and shift: multiplier * 2**(shift - 31). 0 where it is none: not finite, below 0, 2**30 or above. */
int kibi_multiplier_of(double real, int32_t *multiplier, int32_t *shift);

/* The range that outputs are clamped to, of a quantized type of 8 bits. 0 where a bound does not fit 32 bits. */
int kibi_limits(const kibi_tensor_type *type, kibi_activation activation, int32_t *low, int32_t *high);

/* The same of floats. */
void kibi_limits_f32(kibi_activation activation, float *low, float *high);

#ifdef __cplusplus
}
#endif

#endif
