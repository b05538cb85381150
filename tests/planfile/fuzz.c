/* Opens plan files that come through standard input, and runs those that are accepted, each in memory of exactly its size.
 * A file comes as its number of bytes, 32 bits, and the bytes. Prints how many were refused and how many ran. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kibi_checkpoint.h"
#include "kibi_kernels.h"
#include "kibi_spare.h"

/* Memory of exactly so many bytes, that is not larger than what a test may use; NULL if it would be. */
static void *memory_of(size_t bytes, size_t alignment)
{
    void *found = NULL;
    if (bytes > 1u << 26 || posix_memalign(&found, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes) != 0) {
        return NULL;
    }
    memset(found, 0x5A, bytes);
    return found;
}

/* Writes into all bytes that are free for so many steps. */
static void lend(const kibi_model *model, uint32_t steps)
{
    void *from = NULL;
    size_t bytes = 0;
    if (kibi_model_spare(model, steps, &from, &bytes) == KIBI_OK) {
        memset(from, 0xA7, bytes);
    }
}

/* The slots of a checkpoint: as many bytes as one may take. */
typedef struct {
    uint8_t *data;
    size_t bytes;
} slot_memory;

static int put(void *context, unsigned slot, uint32_t offset, const void *data, uint32_t bytes)
{
    const slot_memory *const memory = (const slot_memory *)context;
    if (offset > memory->bytes || bytes > memory->bytes - offset) {
        abort(); /* more than the core promises */
    }
    memcpy(memory->data + slot * memory->bytes + offset, data, bytes);
    return 0;
}

static int get(void *context, unsigned slot, uint32_t offset, void *data, uint32_t bytes)
{
    const slot_memory *const memory = (const slot_memory *)context;
    if (offset > memory->bytes || bytes > memory->bytes - offset) {
        return 1;
    }
    memcpy(data, memory->data + slot * memory->bytes + offset, bytes);
    return 0;
}

/* Saves a paused inference, loses the arena, and goes on. */
static void lose_power(kibi_model *model, const kibi_file_header *header)
{
    slot_memory memory = {NULL, sizeof(kibi_slot_head) + header->arena_bytes + header->state_bytes};
    const kibi_slots slots = {&memory, put, get};
    memory.data = (uint8_t *)memory_of(2u * memory.bytes, 4);
    if (memory.data != NULL && kibi_model_checkpoint(model, &slots) == KIBI_OK) {
        memset(model->arena, 0x66, header->arena_bytes);
        if (kibi_model_resume(model, &slots) != KIBI_OK) {
            abort();
        }
    }
    free(memory.data);
}

/* Runs an open model, whose inputs are bytes of any kind. */
static void run(kibi_model *model, const kibi_file_header *header)
{
    void *buffers[256] = {NULL};
    size_t sizes[256] = {0};
    uint8_t row[1 << 16] = {0};
    void *const state = memory_of(header->state_bytes, 8);
    const kibi_file_external *const externals =
        (const kibi_file_external *)(const void *)((const uint8_t *)header + header->externals);
    int is_ready = header->state_bytes == 0 || kibi_model_set_state(model, state, header->state_bytes) == KIBI_OK;
    for (unsigned k = 0; k < header->external_count; ++k) {
        sizes[k] = externals[k].bytes;
        buffers[k] = memory_of(sizes[k], externals[k].alignment);
        is_ready = is_ready && buffers[k] != NULL;
    }
    if (is_ready && header->external_count != 0) {
        is_ready = kibi_model_set_external(model, buffers, sizes, header->external_count) == KIBI_OK;
    }
    for (int turn = 0; is_ready && turn < 2; ++turn) {
        kibi_port port;
        for (unsigned k = 0; k < header->input_count; ++k) {
            if (kibi_model_input(model, k, &port) == KIBI_OK && port.data != NULL) {
                for (uint32_t at = 0; at < port.bytes; ++at) {
                    ((uint8_t *)port.data)[at] = (uint8_t)(at * 37u + (unsigned)turn);
                }
            }
        }
        int input = kibi_model_expected_input(model);
        while (input >= 0 && kibi_model_input(model, (unsigned)input, &port) == KIBI_OK && port.row_bytes <= sizeof row &&
               kibi_model_push_row(model, (unsigned)input, row) == KIBI_OK) {
            input = kibi_model_expected_input(model);
        }
        kibi_status status = kibi_model_run_for(model, 3);
        if (status == KIBI_PAUSED) {
            lend(model, 5);
            lose_power(model, header);
            status = kibi_model_run_for(model, UINT32_MAX);
        } else if (status == KIBI_ERROR_SEQUENCE) { /* rows arrive one by one */
            lend(model, 1);
            status = kibi_model_invoke(model);
        }
        if (status == KIBI_OK) {
            uint32_t sum = 0;
            for (unsigned k = 0; k < (unsigned)header->port_count - header->input_count; ++k) {
                if (kibi_model_output(model, k, &port) == KIBI_OK) {
                    for (uint32_t at = 0; at < port.bytes; ++at) {
                        sum += ((const uint8_t *)port.data)[at];
                    }
                }
            }
            volatile uint32_t sink = sum; /* all output bytes were read */
            (void)sink;
        }
    }
    for (unsigned k = 0; k < header->external_count; ++k) {
        free(buffers[k]);
    }
    free(state);
}

int main(void)
{
    unsigned refused = 0, ran = 0;
    uint32_t bytes;
    while (fread(&bytes, sizeof bytes, 1, stdin) == 1) {
        void *const file = memory_of(bytes, 8);
        if (file == NULL || fread(file, 1, bytes, stdin) != bytes) {
            return 2;
        }
        kibi_file_header header;
        memset(&header, 0, sizeof header);
        memcpy(&header, file, bytes < sizeof header ? bytes : sizeof header);
        const size_t alignment = header.arena_alignment != 0 && header.arena_alignment <= 64 &&
                                         (header.arena_alignment & (header.arena_alignment - 1u)) == 0
                                     ? header.arena_alignment
                                     : 8u;
        void *const arena = memory_of(header.arena_bytes, alignment);
        kibi_model model;
        if (arena != NULL && kibi_model_open(&model, file, bytes, &kibi_core_checked_kernels, arena, header.arena_bytes) == KIBI_OK) {
            ++ran;
            run(&model, (const kibi_file_header *)file);
        } else {
            ++refused;
        }
        free(arena);
        free(file);
    }
    printf("%u %u\n", refused, ran);
    return 0;
}
