/* AVERAGE_POOL_2D, int16, for cores with the DSP extension: two channels at once. Source of the rule: TFLM, integer_ops/pooling.h,
 * AveragePool. */
#include "kibi_pool2d.h"

#include "kibi_requantize.h"

/* What the windows of a row are divided by, and what they are cut to. */
typedef struct {
    int32_t count;
    int32_t low;
    int32_t high;
} division;

/* The part of a window that is inside the input. */
typedef struct {
    const int16_t *const *rows;
    const int16_t *const *rows_end;
    int32_t place; /* of its first column's first channel, in each row */
    int32_t columns;
} window;

/* Rounded half away from zero. */
static inline int16_t mean_of(int32_t sum, const division *by)
{
    const int32_t sign = sum >> 31;
    const int32_t half = ((by->count >> 1) ^ sign) - sign;
    return (int16_t)kibi_clamp((sum + half) / by->count, by->low, by->high);
}

/* Means of the channels of a window by pairs. Each pair is read before it is written. */
static KIBI_NOINLINE void pairs_of(int16_t *output, const window *w, int32_t channels, const division *by)
{
    const division own = *by; /* as far as the compiler knows, outputs may overwrite the caller's */
    const int32_t columns = w->columns;
    int32_t place = w->place * (int32_t)sizeof(*output);
    for (const int16_t *const end = output + (channels & ~1); output != end; output += 2) {
        const int16_t *const *row = w->rows;
        const int16_t *from;
        int32_t first = 0;
        int32_t second = 0;
        int32_t left;
        int32_t both;
        __asm__ volatile("1:\n\t" /* the next row */
                         "ldr %[from], [%[row]], #4\n\t"
                         "mov %[left], %[columns]\n\t"
                         "add %[from], %[from], %[place]\n\t"
                         "2:\n\t" /* the next column */
                         "ldr %[both], [%[from]]\n\t"
                         "add %[from], %[from], %[channels], lsl #1\n\t"
                         "sxtah %[first], %[first], %[both]\n\t"
                         "add %[second], %[second], %[both], asr #16\n\t"
                         "subs %[left], %[left], #1\n\t"
                         "bne 2b\n\t"
                         "cmp %[row], %[rows_end]\n\t"
                         "bne 1b"
                         : [row] "+r"(row), [first] "+r"(first), [second] "+r"(second), [from] "=&r"(from), [left] "=&r"(left),
                           [both] "=&r"(both)
                         : [rows_end] "r"(w->rows_end), [columns] "r"(columns), [place] "r"(place), [channels] "r"(channels)
                         : "cc", "memory");
        output[0] = mean_of(first, &own);
        output[1] = mean_of(second, &own);
        place += 2 * (int32_t)sizeof(*output);
    }
}

/* The mean of the last channel of an odd number. */
static inline int16_t last_of(const window *w, int32_t channels, const division *by)
{
    int32_t sum = 0;
    for (const int16_t *const *row = w->rows; row != w->rows_end; ++row) {
        const int16_t *from = *row + w->place + channels - 1;
        const int16_t *const stop = from + w->columns * channels;
        while (from != stop) {
            sum += *from;
            from += channels;
        }
    }
    return mean_of(sum, by);
}

void kibi_average_pool2d_s16(int16_t *output, const int16_t *const *rows, const kibi_pool_params *params, void *scratch)
{
    const kibi_pool_params *const p = params;
    const int32_t channels = p->channels;
    window w = {rows, rows + p->kernel_rows, 0, 0};
    division by = {0, p->activation_min, p->activation_max};
    int32_t start = -p->pad;
    (void)scratch;
    while (*w.rows == NULL) {
        ++w.rows;
    }
    while (w.rows_end[-1] == NULL) {
        --w.rows_end;
    }
    for (const int16_t *const end = output + p->output_width * channels; output != end; output += channels) {
        const int32_t first = start > 0 ? start : 0;
        const int32_t last = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        w.place = first * channels;
        w.columns = last - first;
        by.count = w.columns * (int32_t)(w.rows_end - w.rows);
        pairs_of(output, &w, channels, &by);
        if (channels % 2 != 0) {
            output[channels - 1] = last_of(&w, channels, &by);
        }
        start += p->stride;
    }
}
