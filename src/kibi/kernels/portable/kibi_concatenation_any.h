/* CONCATENATION, PACK: one output row from pieces of rows of several inputs. */
#ifndef KIBI_CONCATENATION_ANY_H
#define KIBI_CONCATENATION_ANY_H

#include "kibi.h"

typedef struct {
    int32_t repeats;       /* how often the inputs take turns */
    int32_t inputs;        /* how many there are */
    const int32_t *pieces; /* [inputs][2]: pointers of an input; bytes that each gives in a turn */
} kibi_concatenation_any_params;

/* output: [repeats][inputs][pointers][bytes]; may overlap an input row where no piece is written over one that is still to be
 * read: they are written in order, each as if it had been read before.
 * rows: of each input its pointers to [repeats][bytes]; null where the row has nothing of the input, which then is left out.
 * scratch: none. */
void kibi_concatenation_any(void *output, const void *const *rows, const kibi_concatenation_any_params *params, void *scratch);

#endif
