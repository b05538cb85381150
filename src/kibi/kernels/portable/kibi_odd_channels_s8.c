/* Output channels that a fast kernel cannot compute, int8, portable. */
#include "kibi_odd_channels_s8.h"

#include "kibi_add_product.h"
#include "kibi_dot_1x1_s8.h"
#include "kibi_requantize.h"

/* Elements from which on a function for sums of products pays. */
enum { LEAST_RUN = 4 };

/* Elements of a window that are read as one, and how far apart they are: those of a row, or of a column where it reaches outside. */
typedef struct {
    int32_t columns; /* runs of a row */
    int32_t count;
    int32_t step;
} run;

/* Adds the products of neighbouring weights and evenly spaced elements; with a step of 0, of one element. */
static inline int32_t add_run(int32_t sum, const int8_t *w, const int8_t *x, int32_t count, int32_t step)
{
    const int8_t *const end = w + count;
    if (step == 1 && count >= LEAST_RUN) {
        return kibi_dot_1x1_s8(sum, w, x, count);
    }
    do {
        sum = kibi_add_product(sum, *x, *w++);
        x += step;
    } while (w != end);
    return sum;
}

/* Finds the runs of the window that starts at column `start`. */
static inline run find_runs(const kibi_odd_channels *odd, int32_t start)
{
    const int32_t last = start + (odd->kernel_width - 1) * odd->dilation;
    const int is_single = odd->depth == 1;
    const int is_row = start >= 0 && last < odd->input_width && (is_single || odd->dilation == 1);
    const run found = {is_row ? 1 : odd->kernel_width, is_row ? odd->kernel_width * odd->depth : odd->depth,
                       is_single ? odd->dilation * odd->input_channels : 1};
    return found;
}

void kibi_odd_channels_s8(int8_t *made, const int8_t *const *rows, const kibi_odd_channels *odd)
{
    const int8_t *const *const rows_end = rows + odd->kernel_rows;
    const int8_t outside = (int8_t)odd->input_zero_point;
    int32_t start = -odd->pad;
    for (int32_t x = 0; x < odd->output_width; ++x) {
        const run runs = find_runs(odd, start);
        const int8_t *w = odd->filter;
        for (int32_t i = 0; i < odd->count; ++i) {
            const int32_t first = odd->depth == odd->input_channels ? 0 : odd->numbers[i];
            int32_t sum = odd->bias[i];
            for (const int8_t *const *row = rows; row != rows_end; ++row) {
                int32_t column = start;
                for (int32_t kx = 0; kx < runs.columns; ++kx) {
                    const int is_inside = column >= 0 && column < odd->input_width;
                    const int8_t *const from = is_inside ? *row + column * odd->input_channels + first : &outside;
                    sum = add_run(sum, w, from, runs.count, is_inside ? runs.step : 0);
                    w += runs.count;
                    column += odd->dilation;
                }
            }
            kibi_requantize_channels(made++, &sum, 1, odd->multiplier + i, odd->shift + i, odd->output_zero_point,
                                     odd->activation_min, odd->activation_max);
        }
        start += odd->stride;
    }
}
