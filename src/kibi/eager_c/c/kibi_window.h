/* Windows over the rows of an image: what convolutions and pools by hand share. */
#ifndef KIBI_WINDOW_H
#define KIBI_WINDOW_H

#include "kibi_operators.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A window along one axis. */
typedef struct {
    int32_t input;
    int32_t output;
    int32_t kernel;
    int32_t stride;
    int32_t dilation;
    int32_t pad; /* before the first element */
} kibi_along;

/* A window on its input [batches, rows, columns, channels]. */
typedef struct {
    uint32_t batches;
    kibi_along rows;
    kibi_along columns;
    kibi_activation activation;
    uint32_t input_bytes;  /* of a row */
    uint32_t output_bytes; /* of a row */
} kibi_window;

/* The window of an operator; 0 where tensors are not of rank 4, or the output has not the shape that the window makes of the input,
 * apart from its channels. options: NULL for the usual ones. */
int kibi_window_of(kibi_window *window, const kibi_tensor *output, const kibi_tensor *input, uint32_t height, uint32_t width,
                   const kibi_window_options *options);

/* The most neighbouring columns of a window outside of the input, on one side. */
int32_t kibi_columns_outside(const kibi_window *window);

/* Bytes of metadata that kibi_slide takes. */
uint32_t kibi_slide_bytes(const kibi_window *window, const kibi_tensor *output, const kibi_tensor *input);

/* Calls a kernel for each output row with the input's rows under it. outside: a row outside of the input. */
void kibi_slide(kibi_work *work, const kibi_window *window, kibi_tensor *output, kibi_tensor *input, const void *outside,
                kibi_call call, const void *params);

#ifdef __cplusplus
}
#endif

#endif
