/* What the parts of the check of plan files share. Only they include it. */
#ifndef KIBI_CHECK_H
#define KIBI_CHECK_H

#include "kibi_open.h"
#include "kibi_runs.h"
#include "kibi_sha256.h"

/* Parts of a file: what must stay as it is, the constants of a node, and those of graphs inside of operators. */
enum { KIBI_PART_FIXED = 1, KIBI_PART_CONSTANT = 2, KIBI_PART_INNER = 4 };

/* Bytes of a file that are to be written, and what the check finds of them: kibi_weights.c. */
typedef struct {
    const kibi_model *model;
    uint32_t first, end; /* the bytes: offsets in the file */
    uint32_t covered;    /* the bytes before this one are constants */
    uint32_t part;       /* what is looked at */
    uint32_t used;       /* the parts that have some of the bytes */
    int32_t tags;        /* what the inference does with them: KIBI_TAG_... numbers */
    uint32_t steps;      /* of the order that have been looked at */
    uint32_t until;      /* after so many steps the inference does not read the bytes any more */
} kibi_written;

/* What is checked, and with what. */
typedef struct {
    const uint8_t *file;
    const kibi_file_header *header;
    const kibi_file_graph *graph; /* the one that is looked at */
    uint32_t end;                 /* bytes of the file without its digest */
    const kibi_kernels *kernels;
    const uint8_t *const *contracts; /* of each kernel */
    uint8_t *marks;                  /* the arena: what each of its bytes holds at this place in the order */
    uint32_t work[KIBI_SHA256_WORK];
    kibi_written *written;           /* what is to be written, while the arena is in use; NULL: a file is opened. Read it by the macro */
} kibi_checker;

/* What is to be written. Where KIBI_CORE_WEIGHTS is 0, compilers see that nothing ever is, and drop all code for it. */
#define KIBI_WRITTEN(c) (KIBI_CORE_WEIGHTS ? (c)->written : (kibi_written *)NULL)

/* Whether so many records of a size are in the file, at a multiple of 4 or, if they are smaller, of their size. */
int kibi_is_inside(const kibi_checker *c, uint32_t offset, uint32_t count, uint32_t size);

/* Whether a node keeps to the contract of its kernel. Its groups are in the file. */
int kibi_contract_holds(const kibi_checker *c, const kibi_file_node *node, const uint8_t *contract);

/* Opens a model as kibi_model_open does. If something is to be written, checks the file of an open model again, but for its digest, and
 * leaves the arena alone; `model` is another struct then. kibi_open.c. */
kibi_status kibi_open_checked(kibi_model *model, const void *file, size_t bytes, const kibi_checked_kernels *kernels, void *arena,
                              size_t arena_bytes, kibi_written *written);

/* What the check tells of bytes that are to be written: kibi_weights.c. Some bytes belong to a part. */
void kibi_use(const kibi_checker *c, uint32_t offset, uint32_t bytes, uint32_t part);

/* A node has been looked at: whether its steps read some of what is written. */
int kibi_node_reads(const kibi_checker *c, const kibi_file_node *node);

/* A run, and the step of one, have been looked at; `begin` is the byte of the runs where it begins. */
void kibi_use_run(const kibi_checker *c, const kibi_run *run, uint32_t begin);
void kibi_use_step(const kibi_checker *c, uint32_t begin, uint32_t further, int reads);

#endif
