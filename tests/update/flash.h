/* NOR flash that is simulated, and loses its power at a program or an erase. tests/update/flash.py does the same, bit for bit. */
#ifndef FLASH_H
#define FLASH_H

#include <stdint.h>

#define FLASH_NEVER UINT32_MAX

/* Bytes of which programs clear bits, unit by unit, and erases set all, sector by sector. */
typedef struct {
    uint8_t *bytes;
    uint8_t *torn;        /* of each unit: 1: its program was cut, and with has_ecc it cannot be read until it is erased */
    uint32_t *wear;       /* of each sector: how often it was erased */
    uint32_t size;        /* a multiple of sector_bytes */
    uint32_t sector_bytes;
    uint32_t unit_bytes;
    uint32_t has_ecc;
    uint32_t random;      /* the state of the generator for what a cut leaves */
    uint32_t left;        /* programs of a unit and erases until the power is cut in the middle of one; FLASH_NEVER: it is not */
    uint32_t operations;  /* programs of a unit and erases that began */
    uint32_t faults;      /* out of bounds, off a unit or a sector, or a program of what is not erased */
    uint32_t is_off;      /* the power was cut: nothing works */
    uint32_t cut_address; /* of the program or the erase that was cut last */
} flash;

/* Each returns 0, or 1 if it failed. Addresses begin at 0. */
int flash_read(flash *f, uint32_t address, void *data, uint32_t bytes);
int flash_program(flash *f, uint32_t address, const void *data, uint32_t bytes);
int flash_erase(flash *f, uint32_t address);

#endif
