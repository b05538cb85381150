/* A program by hand: tensors in a small arena, which moves them to make room, and an error that is told. */
#include <stdio.h>

#include "kibi_handle_arena.h"
#include "kibi_tensor.h"

static void tell(void *state, uint32_t id)
{
    (void)state;
    printf("error %08lx%s\n", (unsigned long)id, id == KIBI_EVENT_OUT_OF_MEMORY ? ": out of memory" : "");
}

int main(void)
{
    static union {
        double aligned;
        uint8_t bytes[256];
    } ram, metadata;
    static kibi_block ram_blocks[8];
    static kibi_block metadata_blocks[8];
    static uint32_t ids[16];
    static const kibi_tensor_type type = {{1, 4, 4, 4}, NULL, 4, KIBI_TYPE_S8, 0, 0};
    const kibi_arena_memory ram_memory = {ram.bytes, sizeof ram.bytes, ram_blocks, 8, 8};
    const kibi_arena_memory metadata_memory = {metadata.bytes, sizeof metadata.bytes, metadata_blocks, 8, 8};
    kibi_history history;
    kibi_arena ram_arena;
    kibi_arena metadata_arena;
    kibi_ram_tensor tensors[5] = {{{NULL, NULL}, {NULL, 0}}};
    const uint32_t index[] = {0, 3, 3, 3};
    int8_t value = 0;

    (void)kibi_history_init(&history, ids, 16, tell, NULL);
    if (kibi_handle_arena_init(&ram_arena, &ram_memory, &history.handler) != KIBI_OK ||
        kibi_handle_arena_init(&metadata_arena, &metadata_memory, &history.handler) != KIBI_OK) {
        return 1;
    }
    const kibi_context context = {&metadata_arena, &ram_arena, &history.handler};
    for (int k = 0; k < 5; ++k) {
        if (kibi_ram_tensor_init(&context, &tensors[k], &type) == KIBI_OK) {
            (void)kibi_set_s8(&context, &tensors[k].base, index, (int8_t)(10 + k));
        } else { /* the fifth has no room: its error was told */
            (void)kibi_ram_tensor_free(&context, &tensors[0]);
            (void)kibi_rebalance(&ram_arena);
            (void)kibi_ram_tensor_init(&context, &tensors[k], &type);
        }
    }
    (void)kibi_get_s8(&context, &tensors[3].base, index, &value);
    printf("the last element of tensor 3 is %d, at byte %ld of the arena\n", value,
           (long)kibi_address(&ram_arena, &tensors[3].handle));
    return value == 13 ? 0 : 1;
}
