/* A core that runs plan files in place: one set of kernels, any number of models. The caller owns all memory. */
#ifndef KIBI_CORE_H
#define KIBI_CORE_H

#include "kernels/kibi_subgraph.h"
#include "kibi_plan_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 1: weights may be written while inference runs, see kibi_weights.h; 0: no byte of code. All files of a core are compiled with the
 * same. */
#ifndef KIBI_CORE_WEIGHTS
#define KIBI_CORE_WEIGHTS 0
#endif

/* The most graphs that a kernel runs, and slots for them: each has five pointers, and a pointer leads to it. */
#define KIBI_MOST_BODIES 2u
#define KIBI_GRAPH_SLOTS 12u

/* What some kernels need besides: it is stored directly before the pointers of a step, which are those to the rows that it reads, to
 * its variables, and to the first row of each output. */
typedef struct {
    const kibi_file_node *node; /* whose step it is */
    intptr_t step;              /* its number */
} kibi_rest;

static inline kibi_rest *kibi_rest_of(void **slots)
{
    return (kibi_rest *)(void *)slots - 1;
}

/* The node whose step has these pointers. */
static inline const kibi_file_node *kibi_node_of(const void *const *rows)
{
    return ((const kibi_rest *)(const void *)rows - 1)->node;
}

/* The number of the step. */
static inline int32_t kibi_step(const void *const *rows)
{
    return (int32_t)((const kibi_rest *)(const void *)rows - 1)->step;
}

/* The node's variables. */
static inline void *const *kibi_states(const void *const *rows)
{
    return (void *const *)(rows + kibi_node_of(rows)->rows);
}

/* The first row of each output. */
static inline void *const *kibi_outputs(const void *const *rows)
{
    return kibi_states(rows) + kibi_node_of(rows)->state_count;
}

/* Pointers to the graphs that the node runs. */
static inline void *const *kibi_bodies(const void *const *rows)
{
    return (void *const *)(rows + kibi_node_of(rows)->pointers + KIBI_GRAPH_SLOTS - KIBI_MOST_BODIES);
}

/* A kernel: its id, and what its parameters are. Or a part of kernels that is not in every core: its id alone. */
typedef struct {
    uint32_t id;            /* hash of its name and of the layout of its parameters */
    uint8_t words;          /* 32-bit words of its parameters in a file */
    uint8_t first_subgraph; /* the first word that is the number of a graph, as all after it are; 255: none is */
    uint8_t conditions;     /* the first of these graphs only say whether the others run: one output, of one byte */
    uint8_t kind;           /* flags that its nodes must have */
} kibi_kernel;

/* Calls a kernel with the first row that the step makes, the rows that it reads, input after input, its parameters in the file, its
 * scratch. */
typedef void (*kibi_call)(void *output, const void *const *rows, const void *params, void *scratch);

/* The kernels of a core, by ascending id, and the functions that call them. */
typedef struct {
    const kibi_kernel *kernels;
    const kibi_call *calls;
    uint32_t count;
} kibi_kernels;

/* A place in an order. */
typedef struct {
    uint32_t run;  /* byte of the graph's runs at which the next one begins, */
    uint32_t done; /* and how many of its steps are done */
} kibi_position;

/* An open model. The caller owns it; no field is for the caller's use. */
typedef struct {
    const uint8_t *file;
    const kibi_kernels *kernels;
    const kibi_file_graph *graph;
    uint8_t *arena;
    uint8_t *state;          /* NULL where the file has no variables */
    void *const *external;   /* the caller's buffers; NULL until they are set */
    const kibi_call *calls;  /* of the kernels, if each is where the file expects it; else NULL */
    const void *row;         /* that the caller pushed; NULL: none */
    uint32_t budget;         /* so many steps may run */
    kibi_position place;     /* the next step */
    int32_t ended;           /* not 0: an operator ended the inference, or weights were written in it */
    uint32_t sequence;       /* of the newest checkpoint; 0: it is not known */
} kibi_model;

/* An input or an output of a model. */
typedef struct {
    void *data;            /* its elements; NULL: they arrive by the row, or external buffers are not set yet */
    const uint32_t *shape; /* sizes of its axes */
    const char *name;      /* NULL: the file has no names */
    float scale;           /* real value = scale * (element - zero_point); 0: it is not quantized */
    int32_t zero_point;
    uint32_t bytes;        /* of all elements */
    uint32_t row_bytes;    /* of one row */
    uint8_t type;          /* a KIBI_TYPE_... number */
    uint8_t rank;          /* how many axes it has */
} kibi_port;

/* The arena that a file needs. KIBI_ERROR_FILE for bytes that are no plan file of this version. */
kibi_status kibi_model_arena(const void *file, size_t bytes, size_t *arena_bytes, size_t *alignment);

/* Opens a model whose file is trusted: it was made by Kibi for kernels such as these, and nobody has changed it since. Only sizes
 * and ids are compared. A file that came from outside goes through kibi_model_open.
 * file: aligned as its header says, and unchanged as long as the model is used. arena: of the bytes and the alignment that
 * kibi_model_arena says; it belongs to the model from the moment that inputs are written until outputs have been read. */
kibi_status kibi_model_open_trusted(kibi_model *model, const void *file, size_t bytes, const kibi_kernels *kernels,
                                    void *arena, size_t arena_bytes);

/* Closes a model: every call but those that open one is refused. Nothing has to be freed. */
void kibi_model_close(kibi_model *model);

/* A kernel by its id; NULL where the table has none. */
const kibi_kernel *kibi_kernel_of(const kibi_kernels *kernels, uint32_t id);

/* Reports a status as an event if it is an error, and returns it. */
kibi_status kibi_refused(kibi_status status);

/* Gives a model the memory of its variables, and them their first values: KIBI_ERROR_NOT_INITIALIZED before. The bytes belong to
 * the model as long as it is used. state: aligned to 8. */
kibi_status kibi_model_set_state(kibi_model *model, void *state, size_t bytes);

/* Gives a model its external buffers, in their order: KIBI_ERROR_NOT_INITIALIZED before. The table must stay. */
kibi_status kibi_model_set_external(kibi_model *model, void *const *buffers, const size_t *bytes, unsigned count);

/* Describes input or output `index`. KIBI_ERROR_NULL where there is none.
 * Of a core with leases (KIBI_CORE_LEASE=1): kibi_model_input makes the arena's bytes the model's. Call it for each input before each
 * inference, and write the input then. If somebody else uses the arena after that, calls that compute, and kibi_model_output, whose
 * port has no data then, return KIBI_ERROR_ARENA_LEASE. */
kibi_status kibi_model_input(kibi_model *model, unsigned index, kibi_port *port);
kibi_status kibi_model_output(const kibi_model *model, unsigned index, kibi_port *port);

/* One inference of inputs that are written; of inputs by the row it ends one, and KIBI_ERROR_SEQUENCE says that rows are missing.
 * KIBI_NEED_MORE_INPUT and KIBI_ERROR_LIMIT: an operator ended it, and the outputs are not valid. */
kibi_status kibi_model_invoke(kibi_model *model);

/* Runs up to `steps` row steps of an inference: KIBI_PAUSED while there are more, else as kibi_model_invoke. The first call
 * begins an inference. KIBI_ERROR_STEPS for 0 steps, KIBI_ERROR_SEQUENCE for a model whose inputs arrive by the row. */
kibi_status kibi_model_run_for(kibi_model *model, uint32_t steps);

/* The number of the input whose row must come next; -1: all rows have come, or the model takes none. */
int kibi_model_expected_input(kibi_model *model);

/* Hands over the next row of the input that is expected: it is copied, and all is computed that can be before the next one. */
kibi_status kibi_model_push_row(kibi_model *model, unsigned input, const void *row);

/* Forgets an inference that was begun: the next one begins anew. Variables stay as they are. */
void kibi_model_rewind(kibi_model *model);

/* Forgets an inference that was begun, and gives variables their first values. */
kibi_status kibi_model_reset(kibi_model *model);

#ifdef __cplusplus
}
#endif

#endif
