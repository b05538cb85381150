/* Calls kernels for another process, which runs on another processor: requests on standard input, outputs on standard output.
 *
 * A request has 32-bit numbers, lowest byte first: the kernel's, the bytes of its parameters, these; how many of their fields are
 * pointers, and for each its offset, how many bytes it points to, and these; how many rows there are, and for each its bytes,
 * or -1 for null, and these; the bytes of the output. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void kernel(void *output, const void *const *rows, const void *params, void *scratch);

#define MOST 4096

extern kernel kibi_add_f32_lanes, kibi_add_s8_lanes, kibi_add_s8_linear, kibi_conv2d_f32_lanes, kibi_conv2d_s8_lanes,
    kibi_depthwise_conv2d_f32_lanes, kibi_depthwise_conv2d_s8_lanes;

/* In the order of their names. */
static kernel *const kernels[] = {
    kibi_add_f32_lanes,    kibi_add_s8_lanes,    kibi_add_s8_linear,
    kibi_conv2d_f32_lanes, kibi_conv2d_s8_lanes, kibi_depthwise_conv2d_f32_lanes,
    kibi_depthwise_conv2d_s8_lanes,
};

static int32_t number(void)
{
    int32_t value;
    if (fread(&value, sizeof value, 1, stdin) != 1) {
        exit(0);
    }
    return value;
}

/* A block of exactly so many bytes; null for -1. */
static void *bytes(int32_t count)
{
    void *const block = count < 0 ? NULL : malloc((size_t)count + (count == 0));
    if (count > 0 && fread(block, (size_t)count, 1, stdin) != 1) {
        exit(1);
    }
    return block;
}

int main(void)
{
    static void *pointers[MOST];
    for (;;) {
        kernel *const called = kernels[number()];
        char *const params = (char *)bytes(number());
        const int32_t fields = number();
        void *held[16];
        for (int32_t i = 0; i < fields; ++i) {
            const int32_t offset = number();
            held[i] = bytes(number());
            memcpy(params + offset, &held[i], sizeof held[i]);
        }
        const int32_t rows = number();
        if (rows > MOST || fields > 16) {
            return 1;
        }
        for (int32_t i = 0; i < rows; ++i) {
            pointers[i] = bytes(number());
        }
        const int32_t made = number();
        char *const output = (char *)malloc((size_t)made);
        void *const scratch = malloc((size_t)number());
        called(output, (const void *const *)pointers, params, scratch);
        fwrite(output, (size_t)made, 1, stdout);
        fflush(stdout);
        free(output);
        free(scratch);
        for (int32_t i = 0; i < rows; ++i) {
            free(pointers[i]);
        }
        for (int32_t i = 0; i < fields; ++i) {
            free(held[i]);
        }
        free(params);
    }
}
