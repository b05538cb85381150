/* Runs kernels with their output at distances below an input row, and writes for each distance whether the result is that
 * of the same call without overlap. The test adds the kernels' headers in front, the probes behind.
 * Of long outputs not all distances are tried: those near the declared one, and some of the others; the rest counts as right. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One call of a kernel, and the row that its output is laid over. */
typedef struct {
    void (*run)(void *output, const void *const *rows, void *scratch);
    size_t output_bytes;
    size_t scratch_bytes;
    size_t row_bytes;
    size_t row_count;
    size_t pointer_count;
    const int32_t *pointers; /* [pointer_count][2]: row and byte in it; row -1: null, -2: the constant row */
    size_t over;             /* the row */
    int fill;                /* the constant row's bytes */
    int32_t step;            /* distances are multiples of it, from -step to output_bytes rounded up */
    size_t trials;           /* contents of the rows, from standard input */
    int32_t declared;        /* the least distance at which the result must be right */
} probe;

static void *bytes(size_t count)
{
    void *const made = calloc(1, count + 64);
    if (made == NULL) {
        exit(1);
    }
    return made;
}

/* Calls the kernel on copies of the rows, that of number `over` at `place`. */
static void call(const probe *p, const uint8_t *data, uint8_t *place, uint8_t *output)
{
    uint8_t *const copies = bytes(p->row_count * p->row_bytes);
    uint8_t *const constant = bytes(p->row_bytes);
    void *const scratch = bytes(p->scratch_bytes);
    const void **const rows = bytes(p->pointer_count * sizeof(*rows));
    memcpy(copies, data, p->row_count * p->row_bytes);
    memcpy(place, data + p->over * p->row_bytes, p->row_bytes);
    memset(constant, p->fill, p->row_bytes);
    for (size_t i = 0; i < p->pointer_count; ++i) {
        const int32_t row = p->pointers[2 * i];
        const uint8_t *const start = row == (int32_t)p->over ? place : copies + (size_t)(row < 0 ? 0 : row) * p->row_bytes;
        rows[i] = row == -1 ? NULL : (row == -2 ? constant : start + p->pointers[2 * i + 1]);
    }
    p->run(output, rows, scratch);
    free(copies);
    free(constant);
    free(scratch);
    free(rows);
}

enum { SHORT = 64, NEAR = 16, SOME = 32 };

static int is_tried(const probe *p, int32_t distance, int32_t most)
{
    const int32_t number = distance / p->step, count = most / p->step;
    const int32_t away = number - p->declared / p->step;
    return count <= SHORT || number < 1 || (-NEAR <= away && away <= NEAR) || number % (count / SOME) == 0;
}

static void check(const probe *p)
{
    const size_t sent = p->row_count * p->row_bytes;
    const int32_t most = ((int32_t)p->output_bytes + p->step - 1) / p->step * p->step;
    uint8_t *const data = bytes(sent * p->trials);
    uint8_t *const apart = bytes(p->row_bytes);
    uint8_t *const wanted = bytes(p->output_bytes * p->trials);
    uint8_t *const arena = bytes(p->row_bytes + 2 * p->output_bytes + 64);
    if (fread(data, 1, sent * p->trials, stdin) != sent * p->trials) {
        exit(1);
    }
    for (size_t trial = 0; trial < p->trials; ++trial) {
        call(p, data + trial * sent, apart, wanted + trial * p->output_bytes);
    }
    for (int32_t distance = -p->step; distance <= most; distance += p->step) {
        uint8_t *const row = arena + most;
        int is_same = 1;
        for (size_t trial = 0; is_same && trial < p->trials && is_tried(p, distance, most); ++trial) {
            call(p, data + trial * sent, row, row - distance);
            is_same = memcmp(row - distance, wanted + trial * p->output_bytes, p->output_bytes) == 0;
        }
        putchar(is_same);
    }
    free(data);
    free(apart);
    free(wanted);
    free(arena);
}
