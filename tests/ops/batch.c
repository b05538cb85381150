/* Runs models for tests: inputs come on standard input, statuses and outputs go to standard output, model after model. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kibi.h"

enum { GUARD_BYTES = 64, CANARY = 0xC5, OTHER_CONTENTS = 0x3A };

typedef struct {
    const char *name;
    size_t state_bytes;
    size_t arena_bytes;
    size_t alignment;
    kibi_status (*init)(void *state, void *arena, size_t arena_bytes);
    kibi_status (*invoke)(void *state);
    void *(*input)(void *state, unsigned index);
    const void *(*output)(const void *state, unsigned index);
} entry;

/* The entry points of a model, behind one type for all. */
#define MODEL(prefix, UPPER)                                                                                           \
    static kibi_status prefix##_do_init(void *state, void *arena, size_t arena_bytes)                                  \
    {                                                                                                                  \
        return prefix##_init((prefix##_t *)state, arena, arena_bytes);                                                 \
    }                                                                                                                  \
    static kibi_status prefix##_do_invoke(void *state) { return prefix##_invoke((prefix##_t *)state); }                \
    static void *prefix##_do_input(void *state, unsigned index) { return prefix##_input((prefix##_t *)state, index); } \
    static const void *prefix##_do_output(const void *state, unsigned index)                                           \
    {                                                                                                                  \
        return prefix##_output((const prefix##_t *)state, index);                                                      \
    }                                                                                                                  \
    static const entry prefix##_entry = {#prefix,                                                                      \
                                         sizeof(prefix##_t),                                                           \
                                         UPPER##_ARENA_BYTES,                                                          \
                                         UPPER##_ARENA_ALIGNMENT,                                                      \
                                         prefix##_do_init,                                                             \
                                         prefix##_do_invoke,                                                           \
                                         prefix##_do_input,                                                            \
                                         prefix##_do_output};

/* Bytes between canaries. */
typedef struct {
    uint8_t *block;
    size_t block_bytes;
    uint8_t *start;
    size_t bytes;
} guarded;

static void expect(int is_right, const entry *model, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "%s: %s\n", model->name, what);
        exit(1);
    }
}

/* Bytes at an odd multiple of the alignment, so that code that relies on more is found out. */
static guarded guard(const entry *model, size_t bytes, size_t alignment)
{
    guarded made = {NULL, 3 * GUARD_BYTES + bytes, NULL, bytes};
    expect(alignment > 0 && alignment < GUARD_BYTES, model, "an alignment is out of range");
    made.block = (uint8_t *)malloc(made.block_bytes);
    expect(made.block != NULL, model, "out of memory");
    memset(made.block, CANARY, made.block_bytes);
    made.start = made.block + 2 * GUARD_BYTES - (uintptr_t)made.block % GUARD_BYTES - alignment;
    return made;
}

static void release(const entry *model, const guarded *made, const char *what)
{
    for (const uint8_t *byte = made->block; byte != made->block + made->block_bytes; ++byte) {
        const int is_inside = byte >= made->start && byte < made->start + made->bytes;
        expect(is_inside || *byte == CANARY, model, what);
    }
    free(made->block);
}

static void put(const void *data, size_t bytes, const entry *model)
{
    expect(fwrite(data, 1, bytes, stdout) == bytes, model, "standard output is closed");
}

/* Writes what the entry points say to wrong arguments: see `Outcome` in batch.py. */
static void check_statuses(const entry *model)
{
    const guarded state = guard(model, model->state_bytes, sizeof(uint64_t));
    const guarded arena = guard(model, model->arena_bytes, model->alignment);
    const size_t bytes = model->arena_bytes;
    int8_t statuses[7];
    memset(state.start, 0, state.bytes);
    statuses[0] = (int8_t)model->init(NULL, arena.start, bytes);
    statuses[1] = (int8_t)model->init(state.start, NULL, bytes);
    statuses[2] = (int8_t)model->init(state.start, arena.start, bytes - 1);
    statuses[3] = (int8_t)(model->alignment == 1 ? KIBI_ERROR_ARENA_ALIGNMENT
                                                 : model->init(state.start, arena.start + 1, bytes));
    statuses[4] = (int8_t)model->invoke(NULL);
    statuses[5] = (int8_t)model->invoke(state.start);
    int found = model->input(NULL, 0) != NULL || model->output(NULL, 0) != NULL;
    found = found || model->input(state.start, 0) != NULL || model->output(state.start, 0) != NULL;
    expect(model->init(state.start, arena.start, bytes) == KIBI_OK, model, "init failed");
    found = found || model->input(state.start, 99) != NULL || model->output(state.start, 99) != NULL;
    statuses[6] = (int8_t)found;
    put(statuses, sizeof(statuses), model);
    release(model, &arena, "init wrote into the arena's surroundings");
    release(model, &state, "init wrote outside the state");
}

/* Runs in that arena as many times as there are inputs for, and writes the status of each,
 * and outputs where there are any. */
static void run(const entry *model, uint8_t *arena, uint32_t count, const uint8_t *inputs, const size_t *input_bytes,
                const size_t *output_bytes)
{
    const guarded state = guard(model, model->state_bytes, sizeof(uint64_t));
    expect(model->init(state.start, arena, model->arena_bytes) == KIBI_OK, model, "init failed");
    for (; count != 0; --count) {
        for (unsigned i = 0; input_bytes[i] != 0; ++i) {
            memcpy(model->input(state.start, i), inputs, input_bytes[i]);
            inputs += input_bytes[i];
        }
        const int8_t status = (int8_t)model->invoke(state.start);
        expect(status == KIBI_OK || status == KIBI_NEED_MORE_INPUT, model, "invoke failed");
        put(&status, sizeof(status), model);
        for (unsigned i = 0; status == KIBI_OK && output_bytes[i] != 0; ++i) {
            put(model->output(state.start, i), output_bytes[i], model);
        }
    }
    release(model, &state, "invoke wrote outside the state");
}

static void take(void *data, size_t bytes, const entry *model)
{
    expect(fread(data, 1, bytes, stdin) == bytes, model, "standard input has ended");
}

/* Runs a model twice: between canaries; and, where a sanitizer knows its bounds, in a block of its own with other contents.
 * The sizes end with a 0. */
static void check(const entry *model, const size_t *input_bytes, const size_t *output_bytes)
{
    size_t bytes = 0;
    uint32_t count;
    for (unsigned i = 0; input_bytes[i] != 0; ++i) {
        bytes += input_bytes[i];
    }
    take(&count, sizeof(count), model);
    uint8_t *const inputs = (uint8_t *)malloc(count * bytes + 1);
    expect(inputs != NULL, model, "out of memory");
    take(inputs, count * bytes, model);
    check_statuses(model);
    const guarded between = guard(model, model->arena_bytes, model->alignment);
    run(model, between.start, count, inputs, input_bytes, output_bytes);
    put(between.start, model->arena_bytes, model);
    release(model, &between, "invoke wrote outside the arena");
    uint8_t *const alone = (uint8_t *)malloc(model->arena_bytes);
    expect(alone != NULL, model, "out of memory");
    memset(alone, OTHER_CONTENTS, model->arena_bytes);
    run(model, alone, count, inputs, input_bytes, output_bytes);
    free(alone);
    free(inputs);
}
