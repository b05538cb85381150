/* Runs cases of kibi_fully_connected_s8_rice from the input, each array in a block of its own, and writes the outputs. A case is
 * twelve numbers of 32 bits and the bytes of the arrays. */
#include "kibi_fully_connected.h"

#include <stdio.h>
#include <stdlib.h>

static void *block(size_t size)
{
    void *const found = malloc(size);
    if (found == NULL || fread(found, 1, size, stdin) != size) {
        exit(2);
    }
    return found;
}

int main(void)
{
    int32_t n[12];
    while (fread(n, sizeof n[0], 12, stdin) == 12) {
        kibi_fully_connected_s8_rice_params p;
        const size_t channels = (size_t)n[6], scales = n[1] ? channels : 1u, row_bytes = (size_t)(n[5] * n[2]);
        const int32_t count = n[4] / n[5] * n[3];
        int8_t *rows[64];
        int8_t *const output = (int8_t *)malloc(channels * (size_t)n[4]);
        void *arrays[5];
        arrays[0] = block((size_t)n[0]);
        arrays[1] = block(channels);
        arrays[2] = block(4 * channels);
        arrays[3] = block(4 * scales);
        arrays[4] = block(scales);
        for (int32_t row = 0; row < count; ++row) {
            rows[row] = (int8_t *)block(row_bytes);
        }
        p.weights = (const int8_t *)arrays[0];
        p.codings = (const int8_t *)arrays[1];
        p.bias = (const int32_t *)arrays[2];
        p.multiplier = (const int32_t *)arrays[3];
        p.shift = (const int8_t *)arrays[4];
        p.weights_bytes = n[0];
        p.scale_step = n[1];
        p.piece = n[2];
        p.pieces = n[3];
        p.vectors = n[4];
        p.vectors_per_row = n[5];
        p.output_channels = n[6];
        p.output_zero_point = n[7];
        p.activation_min = n[8];
        p.activation_max = n[9];
        kibi_fully_connected_s8_rice(output, (const int8_t *const *)rows, &p, NULL);
        fwrite(output, 1, channels * (size_t)n[4], stdout);
        for (int32_t row = 0; row < count; ++row) {
            free(rows[row]);
        }
        for (int32_t each = 0; each < 5; ++each) {
            free(arrays[each]);
        }
        free(output);
    }
    return 0;
}
