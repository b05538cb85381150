/* What a program by hand works in: two arenas and who receives its events. After uTensor's Context; a program may have several. */
#ifndef KIBI_CONTEXT_H
#define KIBI_CONTEXT_H

#include "kibi_arena.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    kibi_arena *metadata; /* what operators prepare: small and steady; 8-byte aligned */
    kibi_arena *ram;      /* tensors' data: large and varying */
    kibi_handler *handler; /* of tensors and operators; arenas have their own; NULL: nobody */
} kibi_context;

#ifdef __cplusplus
}
#endif

#endif
