/* Copies of runs of bytes to one place after another, Thumb-2: a word at once. */
#ifndef KIBI_COPY_RUNS_H
#define KIBI_COPY_RUNS_H

#include "kibi_move_bytes.h"

/* Runs and where they are; kernels in assembly know where each field is. */
typedef struct {
    uint8_t *to;                /* where the next run goes */
    const int32_t *entry;       /* of the next run: pointer, and place in its row, counted in elements */
    const int32_t *entries_end;
    const void *const *rows;
    int32_t place;              /* is added to that of each run */
    int32_t element_bytes;
    int32_t run_bytes;          /* at least 1 */
} kibi_copied_runs;

/* Copies runs until one that is in no row, or which overlaps its copy, or until the last one. to and entry are then after the last one
 * that was copied. Returns entry. */
const int32_t *kibi_copy_runs(kibi_copied_runs *runs);

/* Copies runs until the next one is in no row, which is null or before which it begins, or until the last one. to and entry are then
 * after the last one that was copied. Each is copied as if it had been read before. */
static inline void kibi_copy_all_runs(kibi_copied_runs *runs)
{
    while (kibi_copy_runs(runs) != runs->entries_end) {
        const uint8_t *const row = (const uint8_t *)runs->rows[runs->entry[0]];
        const int32_t place = runs->place + runs->entry[1];
        if (row == NULL || place < 0) {
            return;
        }
        runs->to = kibi_move_bytes(runs->to, row + place * runs->element_bytes, runs->run_bytes);
        runs->entry += 2;
    }
}

#endif
