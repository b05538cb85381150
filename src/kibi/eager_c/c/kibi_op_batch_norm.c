/* Batch normalization of floats by hand. Each step is rounded to float, in this order. */
#include "kernels/kibi_quotient_f32.h"

#include "kernels/kibi_float.h"
#include "kernels/kibi_square_root.h"
#include "kibi_operators.h"

/* What is done with the elements of a channel. */
typedef struct {
    float mean;
    float factor;
    float offset;
} channel;

typedef struct {
    const channel *channels;
    uint32_t depth;
    uint32_t elements; /* of a row */
} task;

static void call_normalize(void *output, const void *const *rows, const void *params)
{
    const task *const t = (const task *)params;
    const float *const input = (const float *)rows[0];
    float *const to = (float *)output;
    for (uint32_t k = 0; k < t->elements; ++k) {
        const channel *const c = t->channels + k % t->depth;
        const float centred = input[k] - c->mean;
        const float scaled = centred * c->factor;
        to[k] = scaled + c->offset;
    }
}

/* Whether a tensor has one float for each channel. */
static int is_each(const kibi_tensor *tensor, uint32_t depth)
{
    return kibi_is(tensor, KIBI_TYPE_F32) && kibi_elements(tensor->type) == depth;
}

/* Reads one number for each channel into a field of the channels; `plain` where there is no tensor. */
static void fill(kibi_work *work, kibi_tensor *tensor, float plain, float *field, uint32_t depth)
{
    for (uint32_t k = 0; k < depth && work->status == KIBI_OK; ++k) {
        float value = plain;
        if (tensor != NULL) {
            work->status = kibi_read(work->context, tensor, 4 * k, &value, sizeof value);
        }
        field[k * (sizeof(channel) / sizeof(float))] = value;
    }
}

kibi_status kibi_op_batch_norm(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, kibi_tensor *mean,
                               kibi_tensor *variance, kibi_tensor *gamma, kibi_tensor *beta, float epsilon)
{
    const kibi_status flaw =
        kibi_operands(context, 4, 6, (kibi_tensor *const[]){output, input, mean, variance, gamma, beta});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    const kibi_tensor_type *const type = input->type;
    const uint32_t bytes = kibi_row_bytes(output->type);
    uint32_t depth;
    channel *channels;
    kibi_work work;
    if (!kibi_is(output, KIBI_TYPE_F32) || !kibi_is(input, KIBI_TYPE_F32) || !kibi_same_shape(output, input) || type->rank == 0 ||
        kibi_elements(type) == 0) {
        return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
    }
    depth = type->dimensions[type->rank - 1];
    if (!is_each(mean, depth) || !is_each(variance, depth) || (gamma != NULL && !is_each(gamma, depth)) ||
        (beta != NULL && !is_each(beta, depth))) {
        return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
    }
    kibi_begin(&work, context,
               KIBI_ROOM(depth * (uint32_t)sizeof *channels) + kibi_each_piece_bytes(output, bytes, input, bytes));
    channels = (channel *)kibi_take(&work, depth * (uint32_t)sizeof *channels);
    if (work.status == KIBI_OK) {
        fill(&work, mean, 0.0f, &channels->mean, depth);
        fill(&work, variance, 1.0f, &channels->offset, depth);
        fill(&work, gamma, 1.0f, &channels->factor, depth);
        for (uint32_t k = 0; k < depth; ++k) {
            const float deviation = kibi_square_root(channels[k].offset + epsilon);
            channels[k].factor = KIBI_QUOTIENT(channels[k].factor, deviation);
        }
        fill(&work, beta, 0.0f, &channels->offset, depth);
    }
    {
        const task t = {channels, depth, bytes / 4};
        kibi_each_piece(&work, output, bytes, input, bytes, kibi_rows(output->type), call_normalize, &t);
    }
    return kibi_end(&work);
}
