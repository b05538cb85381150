/* Copies of neighbouring windows of a convolution. */
#ifndef KIBI_COPY_WINDOWS_H
#define KIBI_COPY_WINDOWS_H

#include "kibi.h"

/* Windows, each a piece of several rows; kernels in assembly know where each field is. All are at least 1, but places. */
typedef struct {
    int8_t *to;               /* the windows are written one after another, and overlap no row */
    int32_t run;              /* bytes of a row's piece */
    const int8_t *const *rows;
    int32_t place;            /* of the first window's piece in each row */
    int32_t row_count;
    int32_t windows;
    int32_t advance;          /* from a window's place to that of the next one */
} kibi_copied_windows;

/* Copies the windows. */
void kibi_copy_windows(const kibi_copied_windows *task);

#endif
