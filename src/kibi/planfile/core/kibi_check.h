/* What the parts of the check of plan files share. Only they include it. */
#ifndef KIBI_CHECK_H
#define KIBI_CHECK_H

#include "kibi_open.h"
#include "kibi_runs.h"
#include "kibi_sha256.h"

/* In the operand of an array: its contract looks at none of its elements. */
#define KIBI_ANY_ELEMENTS 32u

/* What is checked, and with what. */
typedef struct {
    const uint8_t *file;
    const kibi_file_graph *graph; /* the one that is looked at */
    uint32_t end;                 /* bytes of the file without its digest */
    const kibi_kernels *kernels;
    const uint8_t *const *contracts; /* of each kernel */
    uint8_t *marks;                  /* the arena: what each of its bytes holds at this place in the order */
#if KIBI_CORE_WEIGHTS
    uint32_t weights_end;            /* the bytes before this one, and after the header, may be written afterwards; 0: none */
#endif
    uint32_t work[KIBI_SHA256_WORK];
} kibi_checker;

KIBI_INLINE const kibi_file_header *kibi_head(const kibi_checker *c)
{
    return (const kibi_file_header *)(const void *)c->file;
}

/* Whether so many records of a size are in the file, at a multiple of 4 or, if they are smaller, of their size. */
int kibi_is_inside(const kibi_checker *c, uint32_t offset, uint32_t count, uint32_t size);

/* Whether a node keeps to the contract of its kernel. Its groups are in the file. */
int kibi_contract_holds(const kibi_checker *c, const kibi_file_node *node, const uint8_t *contract);

#endif
