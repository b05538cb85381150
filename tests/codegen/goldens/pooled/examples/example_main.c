/* SPDX-License-Identifier: Apache-2.0 */
/* kibi compile pooled.tflite --target cortex-m0plus */
/* pooled.tflite: SHA-256 of the graph as text 3336d83f6e142f3c450ead890e9268ad6b6f97e2e8b71392b00a2069751e0d5c */
#include <stdio.h>

#include "pooled.h"

/* The caller owns all memory; words align it. */
static uint64_t arena[(POOLED_ARENA_BYTES + 7u) / 8u];
static pooled_t model;

/* Word `index` of input `number` of the golden vector; any order of rows gives the same. */
static uint32_t golden_word(uint32_t number, uint32_t index)
{
    uint32_t word = number * 0x9e3779b9u + (index + 1u) * 0x85ebca6bu;
    word = (word ^ (word >> 15)) * 0x2c1b3c6du;
    word = (word ^ (word >> 12)) * 0x297a2d39u;
    return word ^ (word >> 15);
}

/* The CRC-32 of further bytes, as zip files have it. */
static uint32_t checksum(uint32_t crc, const void *data, size_t size)
{
    const uint8_t *const bytes = (const uint8_t *)data;
    crc = ~crc;
    for (size_t i = 0; i < size; ++i) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
        }
    }
    return ~crc;
}

/* Runs one inference on the golden vector. Returns 0 if its outputs have the bits that Kibi computed when it wrote this
 * file, 1 if they have others, -1 after an error. */
static int run_golden(void)
{
    if (pooled_init(&model, arena, sizeof arena) != KIBI_OK) {
        return -1;
    }
    int8_t *const input_0 = (int8_t *)pooled_input(&model, 0); /* write real data here */
    for (uint32_t i = 0; i < POOLED_INPUT_0_ELEMENTS; ++i) {
        const uint32_t word = golden_word(0u, i);
        input_0[i] = (int8_t)((int)(word >> 24) - 128);
    }
    if (pooled_invoke(&model) != KIBI_OK) {
        return -1;
    }
    uint32_t crc = 0;
    crc = checksum(crc, pooled_output(&model, 0), POOLED_OUTPUT_0_BYTES);
    return crc == 0x42a7ae45u ? 0 : 1;
}

int main(void)
{
    const int result = run_golden();
    if (result < 0) {
        return 2;
    }
    const int8_t *const output = (const int8_t *)pooled_output(&model, 0);
    for (unsigned i = 0; i < POOLED_OUTPUT_0_ELEMENTS; ++i) {
        printf("%d\n", (int)output[i]);
    }
    puts(result == 0 ? "pooled: same bits" : "pooled: other bits");
    return result;
}
