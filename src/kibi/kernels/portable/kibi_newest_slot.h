/* Two slots of memory that keeps its bytes without power, and the newest valid checkpoint in them. */
#ifndef KIBI_NEWEST_SLOT_H
#define KIBI_NEWEST_SLOT_H

#include "kibi.h"
#include "kibi_crc32.h"

/* Your functions for the slots 0 and 1. Each returns 0, or anything else if it failed. A write may be cut at any byte. */
typedef struct {
    void *context; /* is passed to the functions */
    int (*write)(void *context, unsigned slot, uint32_t offset, const void *data, uint32_t bytes);
    int (*read)(void *context, unsigned slot, uint32_t offset, void *data, uint32_t bytes);
} kibi_slots;

/* The first bytes of a slot. They are written last. */
typedef struct {
    uint32_t identity; /* of the model and its plan */
    uint32_t sequence; /* grows by 1 with each checkpoint; never 0; odd in slot 1 */
    uint32_t place;    /* the number of steps that the inference has run */
    uint32_t bytes;    /* after this struct */
    uint32_t crc;      /* of these bytes, then of the fields above */
} kibi_slot_head;

/* Finds the newest slot with a complete checkpoint of a model. Returns its number, and its first bytes in `head`; -1 if neither
 * slot has one.
 * identity: of the model.
 * most: the most bytes that its checkpoints have after the head. */
int kibi_newest_slot(const kibi_slots *slots, uint32_t identity, uint32_t most, kibi_slot_head *head);

#endif
