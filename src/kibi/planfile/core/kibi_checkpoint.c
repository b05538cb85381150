/* Checkpoints: the variables, and those bytes of the arena that a later step reads, in two slots by turns. */
#include "kibi_checkpoint.h"

#include "kibi_lease.h"
#include "kibi_lives.h"
#include "kibi_runs.h"

/* Another number where other bytes are saved than by earlier cores: their checkpoints are refused then. */
#define FORMAT (2u + KIBI_CORE_WEIGHTS)
#define DIGEST_BYTES 32u

/* What tells the checkpoints of a file from those of others: a part of its digest. */
static uint32_t identity_of(const kibi_model *model)
{
    return *(const uint32_t *)(const void *)(model->file + kibi_header_of(model)->file_bytes - DIGEST_BYTES) ^ FORMAT;
}

/* Whether a model can be saved. */
static kibi_status may_save(const kibi_model *model)
{
    const kibi_status status = kibi_ready(model);
    if (status != KIBI_OK) {
        return status;
    }
    const kibi_file_node *const nodes = (const kibi_file_node *)(const void *)(model->file + model->graph->nodes);
    const int streams = (nodes->flags & KIBI_KIND_RECEIVES) != 0;
    return streams || (KIBI_CORE_EXTERNALS && kibi_header_of(model)->external_count != 0) ? KIBI_ERROR_SEQUENCE : KIBI_OK;
}

/* Writes or reads some bytes, and adds them to the sum; without slots counts them. */
static int move(const kibi_slots *slots, unsigned slot, kibi_slot_head *head, int is_written, uint8_t *data, uint32_t bytes)
{
    const uint32_t place = (uint32_t)sizeof *head + head->bytes;
    int failed = 0;
    head->bytes += bytes;
    if (slots != NULL) {
        failed = is_written ? slots->write(slots->context, slot, place, data, bytes)
                            : slots->read(slots->context, slot, place, data, bytes);
        head->crc = kibi_crc32(head->crc, data, bytes);
    }
    return failed;
}

/* The tags of an inference, and in the other bits a sum of the file's bytes as they are now: its digest is that of the bytes before any
 * was written. Of 2^30 other files one has the same sum. A CRC-32 takes 7 times as long. */
static uint32_t tags_of(const kibi_model *model)
{
    const uint32_t *word = (const uint32_t *)(const void *)model->file;
    const uint32_t *const end = (const uint32_t *)kibi_at(model, kibi_header_of(model)->file_bytes);
    uint32_t sum = 0;
    do {
        sum = (sum ^ *word) * 2654435761u;
        sum ^= sum >> 15;
    } while (++word < end);
    return (sum & ~(uint32_t)KIBI_TAGS) | (uint32_t)model->ended;
}

/* Writes or reads all that the inference needs at its place; fills in the head. Not 0 if one of your functions failed. */
static KIBI_NOINLINE int move_all(kibi_model *model, const kibi_slots *slots, unsigned slot, kibi_slot_head *head, int is_written)
{
    const uint32_t state_bytes = KIBI_CORE_STATES ? kibi_header_of(model)->state_bytes : 0;
    kibi_parts parts;
    int failed = 0;
    head->place = kibi_steps_done(model);
    const uint32_t found = KIBI_CORE_WEIGHTS != 0 && head->place != 0 ? tags_of(model) : 0; /* before that, nothing was read */
    uint32_t tags = found;
    head->bytes = 0;
    head->crc = 0;
    if (state_bytes != 0) {
        failed = move(slots, slot, head, is_written, model->state, state_bytes);
    }
    kibi_parts_of(&parts, model, 0);
    for (uint32_t part = 0; part < parts.count + KIBI_CORE_WEIGHTS && failed == 0; ++part) {
        const int is_last = KIBI_CORE_WEIGHTS != 0 && part == parts.count;
        if (is_last || parts.use[part] == KIBI_TAKEN) {
            failed = move(slots, slot, head, is_written, is_last ? (uint8_t *)&tags : model->arena + parts.first[part],
                          is_last ? (uint32_t)sizeof tags : parts.first[part + 1u] - parts.first[part]);
        }
    }
    if (KIBI_CORE_WEIGHTS != 0) {
        tags ^= found; /* more than tags only if the sums differ: steps that ran and steps that are left read other weights */
        model->ended |= (int32_t)((tags & ~(uint32_t)KIBI_TAGS) == 0 ? tags : (uint32_t)KIBI_TAGS);
    }
    head->crc = kibi_crc32(head->crc, head, (uint32_t)offsetof(kibi_slot_head, crc));
    return failed;
}

uint32_t kibi_model_checkpoint_bytes(const kibi_model *model)
{
    kibi_slot_head head = {0, 0, 0, 0, 0};
    if (may_save(model) != KIBI_OK) {
        return 0;
    }
    (void)move_all((kibi_model *)(uintptr_t)model, NULL, 0, &head, 1); /* without slots nothing of it changes */
    return (uint32_t)sizeof head + head.bytes;
}

/* The most bytes that a checkpoint has after its head. */
static uint32_t most_bytes(const kibi_model *model)
{
    return kibi_header_of(model)->arena_bytes + kibi_header_of(model)->state_bytes + KIBI_CORE_WEIGHTS * 4u;
}

static kibi_status checked(const kibi_model *model, const kibi_slots *slots)
{
    const kibi_status status = may_save(model);
    if (status != KIBI_OK) {
        return status;
    }
    return slots == NULL || slots->write == NULL || slots->read == NULL ? KIBI_ERROR_NULL : KIBI_OK;
}

kibi_status kibi_model_checkpoint(kibi_model *model, const kibi_slots *slots)
{
    const kibi_status status = checked(model, slots);
    kibi_slot_head head;
    if (status != KIBI_OK) {
        return kibi_refused(status);
    }
    if (KIBI_CORE_LEASE != 0 && !kibi_lease_holds(model)) {
        return kibi_refused(KIBI_ERROR_ARENA_LEASE);
    }
    if (model->sequence == 0 && kibi_newest_slot(slots, identity_of(model), most_bytes(model), &head) >= 0) {
        model->sequence = head.sequence;
    }
    head.identity = identity_of(model);
    head.sequence = model->sequence + (model->sequence == UINT32_MAX ? 3u : 1u); /* never 0, and the other slot */
    const unsigned slot = head.sequence & 1u;
    if (move_all(model, slots, slot, &head, 1) != 0 ||
        slots->write(slots->context, slot, 0, &head, (uint32_t)sizeof head) != 0) {
        return kibi_refused(KIBI_ERROR_STORAGE);
    }
    model->sequence = head.sequence;
    KIBI_EVENT(CheckpointWritten, 0xD30C29CAu);
    return KIBI_OK;
}

kibi_status kibi_model_resume(kibi_model *model, const kibi_slots *slots)
{
    const kibi_status status = checked(model, slots);
    kibi_slot_head head, found;
    if (status != KIBI_OK) {
        return kibi_refused(status);
    }
    kibi_model_rewind(model);
    const int slot = kibi_newest_slot(slots, identity_of(model), most_bytes(model), &found);
    if (slot < 0) {
        return kibi_refused(KIBI_ERROR_CHECKPOINT);
    }
    head = found;
    if (kibi_advance(model, &model->place, found.place) != found.place ||
        kibi_model_checkpoint_bytes(model) != (uint32_t)sizeof head + found.bytes) {
        kibi_model_rewind(model);
        return kibi_refused(KIBI_ERROR_CHECKPOINT);
    }
    if (move_all(model, slots, (unsigned)slot, &head, 0) != 0 || head.crc != found.crc) {
        (void)kibi_model_reset(model);
        return kibi_refused(KIBI_ERROR_STORAGE);
    }
    model->sequence = found.sequence;
    if (KIBI_CORE_LEASE != 0) {
        kibi_lease_take(model);
    }
    KIBI_EVENT(CheckpointRead, 0x25EB4DA3u);
    return KIBI_OK;
}
