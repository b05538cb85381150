/* Opens the plan file that the command line names, runs it once on inputs of zeros, and prints its first output. */
#include <stdio.h>
#include <string.h>

#include "kibi_kernels.h"

/* The caller owns all memory; words align it. On a device the file is in flash, and needs no copy. */
static uint64_t file[1 << 18], arena[1 << 16], state[1 << 13];
static uint8_t row[1 << 16];

int main(int count, char **words)
{
    kibi_model model;
    kibi_port port;
    FILE *const stream = count == 2 ? fopen(words[1], "rb") : NULL;
    const size_t bytes = stream != NULL ? fread(file, 1, sizeof file, stream) : 0;
    if (stream == NULL || fclose(stream) != 0) {
        fprintf(stderr, "give the path of a plan file that can be read\n");
        return 2;
    }
    kibi_status status = kibi_model_open(&model, file, bytes, &kibi_core_checked_kernels, arena, sizeof arena);
    if (status == KIBI_OK && kibi_model_invoke(&model) == KIBI_ERROR_NOT_INITIALIZED) {
        status = kibi_model_set_state(&model, state, sizeof state);
    }
    if (status != KIBI_OK) {
        fprintf(stderr, "the plan file cannot be opened: status %d\n", (int)status);
        return 1;
    }
    for (unsigned k = 0; kibi_model_input(&model, k, &port) == KIBI_OK; ++k) {
        if (port.data != NULL) {
            memset(port.data, 0, port.bytes); /* write real inputs here */
        }
    }
    for (int k = kibi_model_expected_input(&model); k >= 0; k = kibi_model_expected_input(&model)) {
        if (kibi_model_push_row(&model, (unsigned)k, row) != KIBI_OK) { /* real rows come from a sensor */
            return 1;
        }
    }
    if (kibi_model_invoke(&model) != KIBI_OK || kibi_model_output(&model, 0, &port) != KIBI_OK) {
        return 1;
    }
    for (uint32_t k = 0; k < port.bytes; ++k) {
        printf("%02x%s", ((const uint8_t *)port.data)[k], k + 1 < port.bytes ? " " : "\n");
    }
    return 0;
}
