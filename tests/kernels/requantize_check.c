/* Prints what the roundings of kibi_requantize_s16.h give for triples of int32_t on standard input. */
#include <stdint.h>
#include <stdio.h>

#include "kibi_requantize_s16.h"

int main(void)
{
    int32_t in[3];
    while (fread(in, sizeof(int32_t), 3, stdin) == 3) {
        const int32_t right = in[2] < 0 ? -in[2] : in[2];
        const int32_t narrow = in[2] > 7 ? 7 : in[2];
        const int32_t out[4] = {kibi_requantize(in[0], in[1], in[2]), kibi_multiply_high(in[0], in[1]),
                                kibi_divide_by_power(in[0], right),
                                kibi_requantize_wide((int64_t)in[0] * 0xFFFF, in[1], narrow)};
        if (fwrite(out, sizeof(int32_t), 4, stdout) != 4) {
            return 1;
        }
    }
    return 0;
}
