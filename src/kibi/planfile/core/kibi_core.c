/* Models of plan files: opening them, their memory, inputs, outputs and inferences. */
#include "kibi_core.h"

#include <string.h>

#include "kibi_features.h"
#include "kibi_lease.h"
#include "kibi_runs.h"

/* At -Os, Clang would make the code larger, so that it is faster. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#endif

KIBI_NOINLINE const kibi_kernel *kibi_kernel_of(const kibi_kernels *kernels, uint32_t id)
{
    uint32_t low = 0, high = kernels->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (kernels->kernels[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < kernels->count && kernels->kernels[low].id == id ? &kernels->kernels[low] : NULL;
}

kibi_status kibi_refused(kibi_status status)
{
    switch (status) {
    case KIBI_OK:
        break;
    case KIBI_ERROR_NULL:
        KIBI_ERROR(NullPointer, 0x7D51952Du);
        break;
    case KIBI_ERROR_ARENA_SIZE:
        KIBI_ERROR(ArenaTooSmall, 0xD39ADF79u);
        break;
    case KIBI_ERROR_ARENA_ALIGNMENT:
        KIBI_ERROR(ArenaMisaligned, 0xC01FF0A9u);
        break;
    case KIBI_ERROR_NOT_INITIALIZED:
        KIBI_ERROR(NotInitialized, 0x7293C39Cu);
        break;
    case KIBI_ERROR_LIMIT:
        KIBI_ERROR(LoopTooLong, 0x34C42F95u);
        break;
    case KIBI_ERROR_STEPS:
        KIBI_ERROR(NoSteps, 0x76988271u);
        break;
    case KIBI_ERROR_ARENA_LEASE:
        KIBI_ERROR(ArenaTaken, 0x05198F7Fu);
        break;
    case KIBI_ERROR_CHECKPOINT:
        KIBI_ERROR(NoCheckpoint, 0x91A2EB1Cu);
        break;
    case KIBI_ERROR_STORAGE:
        KIBI_ERROR(StorageFailed, 0x1954F127u);
        break;
    case KIBI_ERROR_FILE:
        KIBI_ERROR(FileRefused, 0x4FA41DC9u);
        break;
    case KIBI_ERROR_KERNEL:
        KIBI_ERROR(KernelMissing, 0xB4255028u);
        break;
    case KIBI_ERROR_PACKAGE:
        KIBI_ERROR(PackageRefused, 0x8CAD1EB1u);
        break;
    case KIBI_ERROR_SIGNATURE:
        KIBI_ERROR(SignatureRefused, 0xC8510BBBu);
        break;
    case KIBI_ERROR_OTHER_DEVICE:
        KIBI_ERROR(OtherDevice, 0xFD5BF1C3u);
        break;
    case KIBI_ERROR_OLDER:
        KIBI_ERROR(VersionTooOld, 0x3B0C8518u);
        break;
    case KIBI_ERROR_BASE:
        KIBI_ERROR(OtherBase, 0xD83B6768u);
        break;
    case KIBI_ERROR_SPACE:
        KIBI_ERROR(SlotTooSmall, 0x5C09C474u);
        break;
    case KIBI_ERROR_NO_MODEL:
        KIBI_ERROR(NoModel, 0xAEBD6757u);
        break;
    case KIBI_ERROR_ACCESS:
        KIBI_ERROR(InvalidMemoryAccess, 0x6EF4A429u);
        break;
    default:
        KIBI_ERROR(OutOfSequence, 0xECB5048Bu);
        break;
    }
    return status;
}

void kibi_model_rewind(kibi_model *model)
{
    const kibi_position start = {0, 0};
    if (model != NULL) {
        model->place = start;
        model->ended = KIBI_ENDED_DONE;
    }
}

static int is_at_start(const kibi_model *model)
{
    return (model->place.run | model->place.done) == 0;
}

/* Whether rows arrive one by one: the nodes that receive them are the first. */
static int streams(const kibi_model *model)
{
    const kibi_file_node *const nodes = (const kibi_file_node *)kibi_at(model, model->graph->nodes);
    return KIBI_CORE_STREAMS && (nodes->flags & KIBI_KIND_RECEIVES) != 0;
}

/* KIBI_OK if the model has all its memory. */
kibi_status kibi_ready(const kibi_model *model)
{
    if (model == NULL) {
        return KIBI_ERROR_NULL;
    }
    if (model->file == NULL || (KIBI_CORE_STATES && kibi_header_of(model)->state_bytes != 0 && model->state == NULL) ||
        (KIBI_CORE_EXTERNALS && kibi_header_of(model)->external_count != 0 && model->external == NULL)) {
        return KIBI_ERROR_NOT_INITIALIZED;
    }
    return KIBI_OK;
}

/* What the end of an inference means for the caller. */
static kibi_status ended_as(int ended)
{
    const int how = KIBI_CORE_STREAMS ? ended & ~KIBI_TAGS : ended;
    if (how == KIBI_ENDED_WAITS) {
        KIBI_EVENT(MoreInputNeeded, 0x929C4799u);
        return KIBI_NEED_MORE_INPUT;
    }
    if (how == KIBI_ENDED_AT_LIMIT) {
        return kibi_refused(KIBI_ERROR_LIMIT);
    }
    if (KIBI_CORE_WEIGHTS && ended == KIBI_TAGS) {
        KIBI_EVENT(InferenceMixed, 0x6A88703Bu);
        return KIBI_DIRTY;
    }
    KIBI_EVENT(InferenceEnded, 0x5E804AC0u);
    return KIBI_OK;
}

void kibi_model_close(kibi_model *model)
{
    if (model != NULL) {
        const kibi_model closed = {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, {0, 0}, KIBI_ENDED_DONE, 0};
        *model = closed;
    }
}

int kibi_is_file(const void *file, size_t bytes)
{
    const kibi_file_header *const header = (const kibi_file_header *)file;
    return bytes >= sizeof *header && (uintptr_t)file % 4u == 0 && header->magic == KIBI_FILE_MAGIC &&
           header->version == KIBI_FILE_VERSION && header->required == 0 && header->file_bytes <= bytes &&
           ((uintptr_t)file & (header->alignment - 1u)) == 0;
}

kibi_status kibi_model_arena(const void *file, size_t bytes, size_t *arena_bytes, size_t *alignment)
{
    const kibi_file_header *const header = (const kibi_file_header *)file;
    if (file == NULL || arena_bytes == NULL || alignment == NULL) {
        return kibi_refused(KIBI_ERROR_NULL);
    }
    if (!kibi_is_file(file, bytes)) {
        return kibi_refused(KIBI_ERROR_FILE);
    }
    *arena_bytes = (size_t)header->arena_bytes + KIBI_LEAD_BYTES(header);
    *alignment = KIBI_CORE_LEASE != 0 ? KIBI_LEAD_BYTES(header) : header->arena_alignment;
    return KIBI_OK;
}

void kibi_expect_kernels(kibi_model *model)
{
    const kibi_file_graph *graph = model->graph;
    for (uint32_t k = kibi_header_of(model)->graph_count; k != 0; --k, ++graph) {
        const kibi_file_node *node = (const kibi_file_node *)kibi_at(model, graph->nodes);
        for (uint32_t left = graph->node_count; left != 0; --left, ++node) {
            const int is_there =
                node->place < model->kernels->count && model->kernels->kernels[node->place].id == node->kernel_id;
            if (!is_there && node->kernel_id != 0) { /* a node that receives a row has no kernel */
                return;
            }
        }
    }
    model->calls = model->kernels->calls;
}

kibi_status kibi_open_file(kibi_model *model, const void *file, size_t bytes, const kibi_kernels *kernels, void *arena,
                           size_t arena_bytes)
{
    if (model == NULL) {
        return kibi_refused(KIBI_ERROR_NULL);
    }
    kibi_model_close(model);
    if (file == NULL || kernels == NULL || arena == NULL) {
        return kibi_refused(KIBI_ERROR_NULL);
    }
    const kibi_file_header *const header = (const kibi_file_header *)file;
    if (!kibi_is_file(file, bytes)) {
        return kibi_refused(KIBI_ERROR_FILE);
    }
    if (arena_bytes < KIBI_LEAD_BYTES(header) || arena_bytes - KIBI_LEAD_BYTES(header) < header->arena_bytes) {
        return kibi_refused(KIBI_ERROR_ARENA_SIZE);
    }
    if (((uintptr_t)arena & (header->arena_alignment - 1u)) != 0 || (KIBI_CORE_LEASE != 0 && (uintptr_t)arena % 4u != 0)) {
        return kibi_refused(KIBI_ERROR_ARENA_ALIGNMENT);
    }
    const uint32_t *const ids = (const uint32_t *)(const void *)((const uint8_t *)file + header->kernels);
    for (uint32_t k = 0; k < header->kernel_count; ++k) {
        if (kibi_kernel_of(kernels, ids[k]) == NULL) {
            return kibi_refused(KIBI_ERROR_KERNEL);
        }
    }
    if (header->most_slots > KIBI_CORE_SLOTS) {
        return kibi_refused(KIBI_ERROR_KERNEL);
    }
    model->file = (const uint8_t *)file;
    model->kernels = kernels;
    model->graph = (const kibi_file_graph *)kibi_at(model, header->graphs);
    model->arena = (uint8_t *)arena + KIBI_LEAD_BYTES(header);
    return KIBI_OK;
}

kibi_status kibi_model_open_trusted(kibi_model *model, const void *file, size_t bytes, const kibi_kernels *kernels,
                                    void *arena, size_t arena_bytes)
{
    const kibi_status status = kibi_open_file(model, file, bytes, kernels, arena, arena_bytes);
    if (KIBI_CORE_STATES && status == KIBI_OK) {
        kibi_expect_kernels(model);
    }
    return status;
}

kibi_status kibi_model_reset(kibi_model *model)
{
    const kibi_status status = kibi_ready(model);
    if (status != KIBI_OK) {
        return kibi_refused(status);
    }
    kibi_model_rewind(model);
    const kibi_file_variable *variable = (const kibi_file_variable *)kibi_at(model, kibi_header_of(model)->variables);
    for (uint32_t k = KIBI_CORE_STATES ? kibi_header_of(model)->variable_count : 0; k != 0; --k, ++variable) {
        uint8_t *const to = model->state + variable->place;
        if (variable->initial != 0) {
            memcpy(to, kibi_at(model, variable->initial), variable->bytes);
        } else {
            memset(to, (int)variable->fill, variable->bytes);
        }
    }
    return KIBI_OK;
}

kibi_status kibi_model_set_state(kibi_model *model, void *state, size_t bytes)
{
    if (model == NULL || state == NULL) {
        return kibi_refused(KIBI_ERROR_NULL);
    }
    if (model->file == NULL) {
        return kibi_refused(KIBI_ERROR_NOT_INITIALIZED);
    }
    if (bytes < kibi_header_of(model)->state_bytes) {
        return kibi_refused(KIBI_ERROR_ARENA_SIZE);
    }
    if ((uintptr_t)state % 8u != 0) {
        return kibi_refused(KIBI_ERROR_ARENA_ALIGNMENT);
    }
    void *const *const external = model->external;
    model->state = (uint8_t *)state;
    model->external = external != NULL ? external : (void *const *)&model->arena; /* variables do not need them */
    const kibi_status status = kibi_model_reset(model);
    model->external = external;
    return status;
}

kibi_status kibi_model_set_external(kibi_model *model, void *const *buffers, const size_t *bytes, unsigned count)
{
    if (model == NULL || buffers == NULL || bytes == NULL) {
        return kibi_refused(KIBI_ERROR_NULL);
    }
    if (model->file == NULL) {
        return kibi_refused(KIBI_ERROR_NOT_INITIALIZED);
    }
    const kibi_file_external *const needed =
        (const kibi_file_external *)kibi_at(model, kibi_header_of(model)->externals);
    if (count != (KIBI_CORE_EXTERNALS ? kibi_header_of(model)->external_count : 0u)) {
        return kibi_refused(KIBI_ERROR_SEQUENCE);
    }
    for (unsigned k = 0; k < count; ++k) {
        if (buffers[k] == NULL) {
            return kibi_refused(KIBI_ERROR_NULL);
        }
        if (bytes[k] < needed[k].bytes) {
            return kibi_refused(KIBI_ERROR_ARENA_SIZE);
        }
        if ((uintptr_t)buffers[k] % needed[k].alignment != 0) {
            return kibi_refused(KIBI_ERROR_ARENA_ALIGNMENT);
        }
    }
    model->external = buffers;
    return KIBI_OK;
}

static kibi_status describe(const kibi_model *model, unsigned index, unsigned first, uint32_t count, kibi_port *port)
{
    if (index >= count || port == NULL) {
        return kibi_refused(KIBI_ERROR_NULL);
    }
    const kibi_file_port *const from = (const kibi_file_port *)kibi_at(model, kibi_header_of(model)->ports) + first + index;
    port->data = kibi_bytes_at(model, from->memory, from->place);
    port->shape = (const uint32_t *)kibi_at(model, from->shape);
    port->name = from->name == 0 ? NULL : (const char *)kibi_at(model, from->name);
    port->scale = from->scale;
    port->zero_point = from->zero_point;
    port->bytes = from->bytes;
    port->row_bytes = from->row_bytes;
    port->type = from->type;
    port->rank = from->rank;
    return KIBI_OK;
}

kibi_status kibi_model_input(kibi_model *model, unsigned index, kibi_port *port)
{
    const kibi_status status = kibi_ready(model);
    if (status != KIBI_OK) {
        return kibi_refused(status);
    }
    const kibi_status described = describe(model, index, 0, kibi_header_of(model)->input_count, port);
    if (KIBI_CORE_LEASE != 0 && described == KIBI_OK) {
        kibi_lease_hand_over(model, index);
    }
    return described;
}

kibi_status kibi_model_output(const kibi_model *model, unsigned index, kibi_port *port)
{
    const kibi_status status = kibi_ready(model);
    if (status != KIBI_OK) {
        return kibi_refused(status);
    }
    const uint32_t inputs = kibi_header_of(model)->input_count;
    const kibi_status described = describe(model, index, inputs, kibi_header_of(model)->port_count - inputs, port);
    if (KIBI_CORE_LEASE != 0 && described == KIBI_OK && !kibi_lease_holds(model)) {
        port->data = NULL;
        return kibi_refused(KIBI_ERROR_ARENA_LEASE);
    }
    return described;
}

kibi_status kibi_model_run_for(kibi_model *model, uint32_t steps)
{
    const kibi_status status = kibi_ready(model);
    if (status != KIBI_OK) {
        return kibi_refused(status);
    }
    if (steps == 0 || streams(model)) {
        return kibi_refused(steps == 0 ? KIBI_ERROR_STEPS : KIBI_ERROR_SEQUENCE);
    }
    if (KIBI_CORE_LEASE != 0 && !kibi_lease_begins(model)) {
        return kibi_refused(KIBI_ERROR_ARENA_LEASE);
    }
    if (is_at_start(model)) {
        KIBI_EVENT(InferenceStarted, 0x4ACF8CB9u);
    }
    const int ended = kibi_run_model(model, NULL, steps);
    if (ended == KIBI_ENDED_PAUSED) {
        return KIBI_PAUSED;
    }
    const int tags = KIBI_CORE_WEIGHTS ? model->ended : 0; /* where rows do not arrive one by one, it is nothing else */
    kibi_model_rewind(model);
    return ended_as(ended != KIBI_ENDED_DONE ? ended : tags);
}

/* The node of the next run. */
static uint32_t next_node(const kibi_model *model)
{
    return kibi_number(model->graph, model->file + model->graph->runs + model->place.run) / 2u;
}

/* Whether nothing is computed before the first row arrives. */
static int row_is_first(const kibi_model *model)
{
    const kibi_file_node *const nodes = (const kibi_file_node *)kibi_at(model, model->graph->nodes);
    return is_at_start(model) && (nodes[next_node(model)].flags & KIBI_KIND_RECEIVES) != 0;
}

int kibi_model_expected_input(kibi_model *model)
{
    if (kibi_ready(model) != KIBI_OK || !streams(model) || (model->ended & ~KIBI_TAGS) != KIBI_ENDED_DONE) {
        return -1;
    }
    if (KIBI_CORE_LEASE != 0 && !row_is_first(model) && !kibi_lease_begins(model)) {
        (void)kibi_refused(KIBI_ERROR_ARENA_LEASE);
        return -1;
    }
    const int ended = kibi_run_model(model, NULL, UINT32_MAX); /* all steps that need no row */
    if (ended == KIBI_ENDED_NEEDS_ROW) {
        return (int)next_node(model);
    }
    model->ended = ended | (model->ended & KIBI_TAGS);
    return -1;
}

kibi_status kibi_model_push_row(kibi_model *model, unsigned input, const void *row)
{
    const kibi_status status = kibi_ready(model);
    if (status != KIBI_OK || row == NULL) {
        return kibi_refused(status != KIBI_OK ? status : KIBI_ERROR_NULL);
    }
    if (KIBI_CORE_LEASE != 0 && streams(model) && !kibi_lease_begins(model)) {
        return kibi_refused(KIBI_ERROR_ARENA_LEASE);
    }
    if (kibi_model_expected_input(model) != (int)input) {
        return kibi_refused(KIBI_ERROR_SEQUENCE);
    }
    KIBI_EVENT(RowReceived, 0xC63A22A4u);
    const int ended = kibi_run_model(model, row, UINT32_MAX);
    model->ended = (ended == KIBI_ENDED_NEEDS_ROW ? KIBI_ENDED_DONE : ended) | (model->ended & KIBI_TAGS);
    return KIBI_OK;
}

kibi_status kibi_model_invoke(kibi_model *model)
{
    if (kibi_ready(model) == KIBI_OK && streams(model)) {
        if (KIBI_CORE_LEASE != 0 && !is_at_start(model) && !kibi_lease_holds(model)) {
            return kibi_refused(KIBI_ERROR_ARENA_LEASE);
        }
        if (kibi_model_expected_input(model) >= 0) {
            return kibi_refused(KIBI_ERROR_SEQUENCE);
        }
        const int ended = model->ended;
        kibi_model_rewind(model);
        return ended_as(ended);
    }
    kibi_model_rewind(model);
    return kibi_model_run_for(model, UINT32_MAX);
}

#if defined(__clang__)
#pragma clang attribute pop
#endif
