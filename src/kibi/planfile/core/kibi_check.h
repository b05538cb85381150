/* What the parts of the check of plan files share. Only they include it. */
#ifndef KIBI_CHECK_H
#define KIBI_CHECK_H

#include "kibi_core.h"

/* What is checked, and with what. */
typedef struct {
    const uint8_t *file;
    const kibi_file_header *header;
    const kibi_file_graph *graph; /* the one that is looked at */
    uint32_t end;                 /* bytes of the file without its digest */
    const kibi_kernels *kernels;
    const uint8_t *const *contracts; /* of each kernel */
    uint32_t *done;                  /* steps of nodes that the order has had: in the arena, */
    uint32_t room;                   /* for so many nodes at a time */
} kibi_checker;

/* Whether so many records of a size are in the file. */
int kibi_is_inside(const kibi_checker *c, uint32_t offset, uint32_t count, uint32_t size, uint32_t alignment);

/* Whether the places of a tensor's rows are multiples of an alignment. */
int kibi_is_aligned(const kibi_checker *c, const kibi_file_tensor *tensor, uint32_t alignment);

/* How many rows from one on are stored one after another, at most `count`. */
uint32_t kibi_together(const kibi_checker *c, const kibi_file_tensor *tensor, uint32_t row, uint32_t count);

/* Whether a step may be given a null pointer in place of a row outside of the input. */
int kibi_may_be_null(const kibi_file_node *node, const kibi_file_window *window);

/* Whether each step reads one row at least that is inside of the input: a kernel may look for it. */
int kibi_always_reaches(const kibi_file_node *node, const kibi_file_window *window);

/* What each step of a node reads of an input: a window of one row where it needs none of its own. */
kibi_file_window kibi_window_of(const kibi_checker *c, const kibi_file_node *node, const kibi_file_read *read);

/* Whether a node keeps to the contract of its kernel. Its records are right. */
int kibi_contract_holds(const kibi_checker *c, const kibi_file_node *node, const uint8_t *contract);

#endif
