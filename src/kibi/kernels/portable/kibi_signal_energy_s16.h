/* SignalEnergy: all at once. */
#ifndef KIBI_SIGNAL_ENERGY_S16_H
#define KIBI_SIGNAL_ENERGY_S16_H

#include "kibi.h"

typedef struct {
    int32_t elements; /* of the output */
    int32_t start;    /* first element that is computed; those before it are 0 */
    int32_t end;      /* first element after those that are computed; from it on all are 0 */
} kibi_signal_energy_s16_params;

/* output: [elements]; may be the input, or begin below it.
 * rows: one pointer to [end][2] at least.
 * scratch: none. */
void kibi_signal_energy_s16(uint32_t *output, const int16_t *const *rows,
                            const kibi_signal_energy_s16_params *params, void *scratch);

#endif
