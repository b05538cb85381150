/* What the parts of the check of plan files share. Only they include it. */
#ifndef KIBI_CHECK_H
#define KIBI_CHECK_H

#include "kibi_core.h"

#if KIBI_CORE_WEIGHTS
/* Parts of a file: what must stay as it is, the constants of a node, and those of graphs inside of operators. */
enum { KIBI_PART_FIXED = 1, KIBI_PART_CONSTANT = 2, KIBI_PART_INNER = 4 };

/* Bytes of a file that are to be written, and what is found of them. */
typedef struct {
    const kibi_model *model;
    uint32_t first, end;   /* the bytes: offsets in the file */
    uint32_t covered;      /* the bytes before this one are constants */
    uint32_t part;         /* what is looked at */
    uint32_t used;         /* the parts that have some of the bytes */
    int32_t tags;          /* what the inference does with them: KIBI_TAG_... numbers */
    uint32_t until;        /* after so many steps it does not read them any more */
} kibi_written;
#endif

/* What is checked, and with what. */
typedef struct {
    const uint8_t *file;
    const kibi_file_header *header;
    const kibi_file_graph *graph; /* the one that is looked at */
    uint32_t end;                 /* bytes of the file without its digest */
    const kibi_kernels *kernels;
    const uint8_t *const *contracts; /* of each kernel */
    uint8_t *marks;                  /* the arena: what each of its bytes holds at this place in the order */
#if KIBI_CORE_WEIGHTS
    kibi_written *written;           /* NULL: nothing is to be written */
#endif
} kibi_checker;

/* Whether so many records of a size are in the file, at a multiple of 4 or, if they are smaller, of their size. */
int kibi_is_inside(const kibi_checker *c, uint32_t offset, uint32_t count, uint32_t size);

/* Whether a node keeps to the contract of its kernel. Its groups are in the file. */
int kibi_contract_holds(const kibi_checker *c, const kibi_file_node *node, const uint8_t *contract);

#if KIBI_CORE_WEIGHTS
/* Whether a file is right, but for its digest and its steps: no constant has a part in these. kibi_open.c. */
int kibi_file_holds(kibi_checker *c);

/* Finds the steps of a node that read what is to be written; its parameters and its arrays have been looked at. kibi_weights.c. */
void kibi_find_steps(const kibi_checker *c, const kibi_file_node *node);
#endif

#endif
