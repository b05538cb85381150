/* Output rows that are put together from runs of elements. */
#ifndef KIBI_GATHER_RUNS_H
#define KIBI_GATHER_RUNS_H

#include "kibi.h"

typedef struct {
    const int32_t *outer; /* [outer_count][2]: pointer, and place in its row, counted in elements */
    int32_t outer_count;
    /* [inner_count][2]: the same, to be added; where the sum of the places is below 0, the run is filled */
    const int32_t *inner;
    int32_t inner_count;
    int32_t elements;     /* of a run */
    int32_t bytes;        /* of an element: 1 to 8 */
    const int8_t *filler; /* [bytes]: the element that runs are filled with */
} kibi_gather_runs_any_params;

/* Operators that only move elements: what one step makes, from places in input rows that are the sums of two tables.
 * output: [outer_count][inner_count][elements][bytes]; may overlap an input row where no run is written over one that is still
 * to be read: they are written in order, each as if it had been read before.
 * rows: as many pointers as the tables name; the runs of a null pointer are filled.
 * scratch: none. */
void kibi_gather_runs_any(void *output, const void *const *rows, const kibi_gather_runs_any_params *params,
                          void *scratch);

typedef struct {
    const int32_t *outer; /* [outer_count][2]: pointer, and place in its row, counted in elements */
    int32_t outer_count;
    /* [inner_count][2]: the same, to be added; where the sum of the places is below 0, the run is filled */
    const int32_t *inner;
    int32_t inner_count;
    int32_t elements;     /* of a run */
    const float *filler;  /* [1]: the element that runs are filled with */
} kibi_gather_runs_f32_params;

/* Operators that only move elements: what one step makes, from places in input rows that are the sums of two tables.
 * output: [outer_count][inner_count][elements]; may overlap an input row where no run is written over one that is still to be
 * read: they are written in order, each as if it had been read before.
 * rows: as many pointers as the tables name; the runs of a null pointer are filled.
 * scratch: none. */
void kibi_gather_runs_f32(float *output, const float *const *rows, const kibi_gather_runs_f32_params *params,
                          void *scratch);

typedef struct {
    const int32_t *outer;  /* [outer_count][2]: pointer, and place in its row, counted in elements */
    int32_t outer_count;
    /* [inner_count][2]: the same, to be added; where the sum of the places is below 0, the run is filled */
    const int32_t *inner;
    int32_t inner_count;
    int32_t elements;      /* of a run */
    const int16_t *filler; /* [1]: the element that runs are filled with */
} kibi_gather_runs_s16_params;

/* Operators that only move elements: what one step makes, from places in input rows that are the sums of two tables.
 * output: [outer_count][inner_count][elements]; may overlap an input row where no run is written over one that is still to be
 * read: they are written in order, each as if it had been read before.
 * rows: as many pointers as the tables name; the runs of a null pointer are filled.
 * scratch: none. */
void kibi_gather_runs_s16(int16_t *output, const int16_t *const *rows, const kibi_gather_runs_s16_params *params,
                          void *scratch);

typedef struct {
    const int32_t *outer;  /* [outer_count][2]: pointer, and place in its row, counted in elements */
    int32_t outer_count;
    /* [inner_count][2]: the same, to be added; where the sum of the places is below 0, the run is filled */
    const int32_t *inner;
    int32_t inner_count;
    int32_t elements;      /* of a run */
    const int32_t *filler; /* [1]: the element that runs are filled with */
} kibi_gather_runs_s32_params;

/* Operators that only move elements: what one step makes, from places in input rows that are the sums of two tables.
 * output: [outer_count][inner_count][elements]; may overlap an input row where no run is written over one that is still to be
 * read: they are written in order, each as if it had been read before.
 * rows: as many pointers as the tables name; the runs of a null pointer are filled.
 * scratch: none. */
void kibi_gather_runs_s32(int32_t *output, const int32_t *const *rows, const kibi_gather_runs_s32_params *params,
                          void *scratch);

typedef struct {
    const int32_t *outer; /* [outer_count][2]: pointer, and place in its row, counted in elements */
    int32_t outer_count;
    /* [inner_count][2]: the same, to be added; where the sum of the places is below 0, the run is filled */
    const int32_t *inner;
    int32_t inner_count;
    int32_t elements;     /* of a run */
    const int8_t *filler; /* [1]: the element that runs are filled with */
} kibi_gather_runs_s8_params;

/* Operators that only move elements: what one step makes, from places in input rows that are the sums of two tables.
 * output: [outer_count][inner_count][elements]; may overlap an input row where no run is written over one that is still to be
 * read: they are written in order, each as if it had been read before.
 * rows: as many pointers as the tables name; the runs of a null pointer are filled.
 * scratch: none. */
void kibi_gather_runs_s8(int8_t *output, const int8_t *const *rows, const kibi_gather_runs_s8_params *params,
                         void *scratch);

typedef struct {
    /* [outer_count][2]: pointer, and place in its row, counted in elements; below 0 where all is filled */
    const int32_t *outer;
    int32_t outer_count;
    int32_t runs;         /* neighbouring runs at each entry */
    int32_t elements;     /* 1 ... 32: of a run */
    int32_t repeats;      /* how often each run is written */
    const int8_t *filler; /* [1]: the element that runs are filled with */
} kibi_repeat_runs_s8_params;

/* The same of neighbouring runs, each of which is written several times before the next one.
 * output: [outer_count][runs][repeats][elements]; may overlap an input row as that of kibi_gather_runs_s8 may.
 * rows: as many pointers as the table names; the runs of a null pointer are filled.
 * scratch: none. */
void kibi_repeat_runs_s8(int8_t *output, const int8_t *const *rows, const kibi_repeat_runs_s8_params *params, void *scratch);

#endif
