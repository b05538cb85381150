/* A firmware with a network by hand. It has no globals: all its memory is in one struct. */
#ifndef FIRMWARE_H
#define FIRMWARE_H

#include "kibi_handle_arena.h"

enum { FIRMWARE_BLOCKS = 6, FIRMWARE_EVENTS = 16, FIRMWARE_CACHE_BYTES = 512, FIRMWARE_LOG_BYTES = 256 };

typedef struct {
    uint32_t out_of_memory; /* how often the RAM arena had no room */
    int32_t moved;          /* by how many bytes the log was moved down */
    uint32_t log_errors;    /* bytes of the log that changed when it moved: none */
    kibi_history history;
    uint32_t ids[FIRMWARE_EVENTS];
    kibi_arena ram_arena;
    kibi_arena metadata_arena;
    kibi_block ram_blocks[FIRMWARE_BLOCKS];
    kibi_block metadata_blocks[1];
    kibi_handle cache;
    kibi_handle log;
    union {
        double aligned;
        uint8_t bytes[1920];
    } ram;
    union {
        double aligned;
        uint8_t bytes[1024];
    } metadata;
} firmware;

/* Classifies a picture of 16 by 16; scores has room for 10. Returns KIBI_OK, or what was wrong. */
kibi_status firmware_run(firmware *f, const int8_t *image, int8_t *scores);

/* sizeof(firmware), for who must give it the memory. */
uint32_t firmware_bytes(void);

#endif
