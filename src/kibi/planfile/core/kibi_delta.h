/* Makes a plan file from an older one and the payload of a package, in one pass and in few bytes of RAM. */
#ifndef KIBI_DELTA_H
#define KIBI_DELTA_H

#include "kernels/kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the elements of a class are stored. */
typedef struct {
    uint8_t width; /* bytes of an element: 1, 2 or 4 */
    uint8_t run;   /* the k of the numbers of elements that stay the same */
    uint8_t value; /* the k of differences */
    uint8_t shift; /* all differences, or their first parts, are multiples of 2^shift */
    uint8_t unit;  /* what their second parts count; 0: they have none */
    uint8_t rest;  /* the k of the second parts */
    uint32_t limit; /* the largest quotient of a difference */
    uint32_t same;  /* elements that stay the same before the next difference, and 1 more; 0: not known yet */
} kibi_delta_class;

/* A file that is being made. The caller owns it; no field is for the caller's use. */
typedef struct {
    const uint8_t *base;
    uint32_t base_bytes;
    uint32_t new_bytes;
    uint32_t block_bytes;
    uint32_t made;     /* bytes of the new file */
    uint32_t place;    /* the byte of the older file that comes next */
    uint32_t left;     /* bytes that the command has yet to make */
    uint32_t done;     /* bytes that it has made */
    uint32_t number;   /* that is being read */
    uint32_t mask;     /* which words of the pattern have the second class */
    uint8_t state;     /* what comes next */
    uint8_t kind;      /* of the command */
    uint8_t taken;     /* bytes or bits of the number */
    uint8_t period;    /* words after which the pattern repeats */
    uint8_t byte;      /* of the payload, of which there are */
    uint8_t bits;      /* bits that are not used */
    uint8_t ready;     /* bytes of an element that has been made, */
    uint8_t has_first; /* 1: the first part of a difference is known: */
    uint32_t first;
    kibi_delta_class classes[2];
    uint32_t element;  /* and the element: its lowest byte comes next */
} kibi_delta;

/* Begins to make a file of `new_bytes` from `base`, from its byte `made` on: 0, or a multiple of `block_bytes`, which is not 0. */
void kibi_delta_begin(kibi_delta *delta, const uint8_t *base, uint32_t base_bytes, uint32_t new_bytes, uint32_t block_bytes,
                      uint32_t made);

/* Uses bytes of the payload and makes bytes of the new file, as many as both allow; moves both pointers on and lowers both counts.
 * KIBI_ERROR_PACKAGE: the payload asks for what cannot be. No byte of a command is used before there is room for what it makes: where the
 * room ends with a block, no byte of the next block is used, and the two offsets are all that must be kept to go on from there. */
kibi_status kibi_delta_make(kibi_delta *delta, const uint8_t **payload, uint32_t *payload_bytes, uint8_t **made, uint32_t *made_bytes);

#ifdef __cplusplus
}
#endif

#endif
