/* A device that classifies pictures, and gets new models over a serial line meanwhile. All its memory is in one struct. */
#ifndef DEVICE_H
#define DEVICE_H

#include "kibi_update.h"

enum {
    SECTOR_BYTES = 1024,
    SLOT_BYTES = 20 * SECTOR_BYTES,
    FLASH_BYTES = 2 * SLOT_BYTES + 2 * SECTOR_BYTES, /* two slots, then two sectors of the journal */
    ARENA_BYTES = 4096,
    FRAME_BYTES = 64, /* the most bytes of a package in a frame */
    FRAME_HEAD = 6,   /* a mark, how many bytes of the package it has, the offset of the first one */
    STARTS = 3        /* of a model on trial */
};

typedef struct {
    kibi_store store;
    kibi_update update;
    kibi_model model;
    kibi_boot boot;
    uint32_t received; /* bytes of the frame that is arriving */
    int32_t refused;   /* the last status that was no success */
    union {
        uint32_t aligned;
        uint8_t bytes[FRAME_HEAD + FRAME_BYTES + 4];
    } frame;
    union {
        double aligned;
        uint8_t bytes[ARENA_BYTES];
    } arena;
} device;

/* Starts the device with what is in its flash. Returns the counter of its model's version, or a negative status. */
int32_t device_start(device *d, uint8_t *flash);

/* Writes a picture into the model's input, which begins an inference. */
kibi_status device_see(device *d, const int8_t *picture, uint32_t bytes);

/* Goes on with the inference for so many row steps: the class of the picture, KIBI_CLASSES while it is not known, or a negative
 * status. */
#define KIBI_CLASSES 1000
int32_t device_think(device *d, uint32_t steps);

/* Takes bytes of the serial line. Returns the offset in the package from which the device wants bytes. */
uint32_t device_hear(device *d, const uint8_t *bytes, uint32_t count);

/* Ends the update: the new model is started next time. */
kibi_status device_finish(device *d);

/* The model that runs is good. */
kibi_status device_confirm(device *d);

/* sizeof(device), for who must give it the memory. */
uint32_t device_bytes(void);

#endif
