/* A device in simulated flash that receives packages; what the test programs of updates share. */
#ifndef DEVICE_H
#define DEVICE_H

#include <setjmp.h>

#include "flash.h"
#include "kibi_kernels.h"
#include "kibi_update.h"

/* Bytes that came through standard input. */
typedef struct {
    uint8_t *data;
    uint32_t bytes;
} blob;

/* Sizes of the device, and what it gets: all of it comes through standard input, in this order. */
typedef struct {
    uint32_t sector_bytes, unit_bytes, slot_bytes, journal_bytes, has_ecc, starts, seed, every, stride, trust, staging_bytes;
} settings;

typedef struct {
    settings chosen;
    flash flash;
    kibi_store store;
    jmp_buf cut;             /* where the program goes on when the power was cut */
    uint32_t least_counter;  /* in memory that no cut harms */
    uint32_t random;         /* of the sizes of chunks */
} device;

/* All that a device keeps without power. */
typedef struct {
    uint8_t *bytes;
    uint8_t *torn;
    uint32_t least_counter;
} image;

enum { TARGET = 0x54455354, MODEL = 0x4D4F444C, ARENA_BYTES = 1 << 16 };

uint32_t read_number(void);
blob read_blob(void);
void device_make(device *d);
image image_make(const device *d);
void image_save(image *to, const device *d);
void image_load(device *d, const image *from);
uint32_t drawn(uint32_t *state, uint32_t below);

/* Sends all of a package in chunks of any sizes, some of them twice, and finishes. */
kibi_status receive(device *d, const blob *package);

/* The model that a start gives: -1 if none, else which of the files it is, byte for byte. Aborts if it is any other, if a file that is
 * no model is given, or if the core cannot open it. */
int booted(device *d, const blob *files, unsigned count, kibi_boot *boot);

void check(int is_right, const char *what);

#endif
