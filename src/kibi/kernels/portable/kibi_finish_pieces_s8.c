/* Outputs of two channels of two pixels, portable. */
#include "kibi_finish_pieces_s8.h"

#include "kibi_requantize.h"
#include "kibi_round_once.h"

/* An output before the activation cuts it. */
static int32_t scaled(int32_t sum, int32_t multiplier, const kibi_finish_pieces *task)
{
    if (KIBI_CONV2D_PIECES_ROUNDED_ONCE && (task->rounds_once != 0 || !KIBI_CONV2D_PIECES_ROUNDED_TWICE)) {
        return ((int32_t)((int64_t)sum * multiplier >> 32) + task->zero_point) >> KIBI_CONV2D_FRACTION_BITS;
    }
    /* As in kibi_requantize, with a shift to the right. */
    const int32_t high = kibi_multiply_high(sum >> 8, multiplier);
    return ((((high + (high >> 31)) >> (sum & 31)) + 1) >> 1) + task->zero_point;
}

void kibi_finish_pieces_s8(const kibi_finish_pieces *task)
{
    const int32_t *channel = task->channels;
    int8_t *output = task->output;
    for (const int32_t *sums = task->sums; sums != task->sums_end; sums += 4) {
        for (int32_t i = 3; i >= 0; --i) {
            const int32_t value = scaled(sums[i], channel[2 + (i & 1)], task);
            output[(i & 1) + (i >> 1) * task->second] = (int8_t)kibi_clamp(value, (int8_t)task->low, (int8_t)task->high);
        }
        channel += 4;
        output += 2;
    }
}
