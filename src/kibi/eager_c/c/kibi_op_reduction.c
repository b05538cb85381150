/* SUM, MEAN, REDUCE_MAX and REDUCE_MIN by hand: row after row of the input goes into what has grown, in the metadata arena. */
#include "kernels/kibi_reduction.h"

#include "kibi_operators.h"

typedef void (*kernel)(void *output, const void *const *rows, const void *params, void *scratch, int32_t step);

#define REDUCTION(name, type, kind) \
    static void call_##name(void *output, const void *const *rows, const void *params, void *scratch, int32_t step) \
    { \
        kibi_##name((type *)output, (const type *const *)(const void *)rows, (const kind *)params, scratch, step); \
    }
REDUCTION(sum_f32, float, kibi_reduction_params)
REDUCTION(mean_f32, float, kibi_mean_f32_params)
REDUCTION(mean_s8, int8_t, kibi_mean_params)
REDUCTION(reduce_extreme_f32, float, kibi_reduce_extreme_params)
REDUCTION(reduce_extreme_s8, int8_t, kibi_reduce_extreme_params)

/* A reduction, and the fields with which all parameters begin. */
typedef struct {
    kibi_reduction_params loops;
    int32_t count; /* elements of the input for each of the output */
} reduction;

/* Whether a shape is another without axes, or with ones for them. */
static int is_reduced(const kibi_tensor_type *made, const kibi_tensor_type *from, unsigned axes, unsigned keeps)
{
    unsigned at = 0;
    for (unsigned axis = 0; axis < from->rank; ++axis) {
        const unsigned is_out = axes >> axis & 1u;
        if (is_out != 0 && keeps == 0) {
            continue;
        }
        if (at == made->rank || made->dimensions[at++] != (is_out != 0 ? 1 : from->dimensions[axis])) {
            return 0;
        }
    }
    return at == made->rank;
}

/* Describes the input as four nested loops, the outermost first: two over the axes before a row, two over the axes inside it. */
static void find_loops(kibi_reduction_params *loops, const kibi_tensor_type *type, unsigned axes)
{
    int32_t sizes[4] = {1, 1, 1, 1};
    int32_t steps[4] = {0, 0, 0, 0};
    uint32_t inside = kibi_row_bytes(type) / kibi_element_bytes(type);
    int32_t step = 1;
    unsigned level = 4;
    for (unsigned axis = type->rank; axis-- > 0;) {
        const uint32_t size = type->dimensions[axis];
        const int is_out = (axes >> axis & 1u) != 0;
        if (size > 1) {
            level = inside == 1 && level > 2 ? 2 : level;
            inside = inside > 1 ? inside / size : 1;
            sizes[--level] = (int32_t)size;
            steps[level] = is_out ? 0 : step;
        }
        step *= is_out ? 1 : (int32_t)size;
    }
    loops->size1 = sizes[1];
    loops->size2 = sizes[2];
    loops->size3 = sizes[3];
    loops->step0 = steps[0];
    loops->step1 = steps[1];
    loops->step2 = steps[2];
    loops->step3 = steps[3];
}

/* Whether tensors and axes are those of a reduction. */
static int is_reduction(reduction *r, const kibi_tensor *output, const kibi_tensor *input, const uint8_t *axes, unsigned count)
{
    const kibi_tensor_type *const type = input->type;
    unsigned out = 0;
    if ((axes == NULL && count != 0) || (type->dtype != KIBI_TYPE_S8 && type->dtype != KIBI_TYPE_F32) || !kibi_is(input, type->dtype) ||
        !kibi_is(output, type->dtype) || type->rank == 0 || kibi_elements(type) == 0) {
        return 0;
    }
    for (unsigned k = 0; k < count; ++k) {
        if (axes[k] >= type->rank) {
            return 0;
        }
        out |= 1u << axes[k];
    }
    if (!is_reduced(output->type, type, out, 0) && !is_reduced(output->type, type, out, 1)) {
        return 0;
    }
    find_loops(&r->loops, type, out);
    r->loops.steps = (int32_t)kibi_rows(type);
    r->loops.output_elements = (int32_t)kibi_elements(output->type);
    r->count = (int32_t)(kibi_elements(type) / kibi_elements(output->type));
    return 1;
}

/* Finds the reduction of a call's tensors and axes; else reports what is wrong with them. */
static kibi_status find_reduction(reduction *r, const kibi_context *context, kibi_tensor *output, kibi_tensor *input,
                                  const uint8_t *axes, unsigned count)
{
    kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw == KIBI_OK && !is_reduction(r, output, input, axes, count)) {
        flaw = axes == NULL && count != 0 ? KIBI_ERROR_NULL : KIBI_ERROR_ARGUMENT;
        (void)kibi_fail(context->handler, flaw); /* returns `flaw`, which compilers cannot know */
    }
    return flaw;
}

/* Adds up row after row. The output is held while the last one is added. */
static kibi_status reduce(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, kernel call, const void *params)
{
    const uint32_t row_bytes = kibi_row_bytes(input->type);
    const uint32_t bytes = kibi_bytes(output->type);
    const uint32_t scratch_bytes = 4 * kibi_elements(output->type);
    const uint32_t rows = kibi_rows(input->type);
    kibi_work work;
    void *scratch;
    void *row_copy;
    void *copy;
    kibi_begin(&work, context, KIBI_ROOM(scratch_bytes) + kibi_each_piece_bytes(output, bytes, input, row_bytes));
    scratch = kibi_take(&work, scratch_bytes);
    row_copy = kibi_take(&work, kibi_copy_bytes(input, row_bytes));
    copy = kibi_take(&work, kibi_copy_bytes(output, bytes));
    for (uint32_t k = 0; k < rows && work.status == KIBI_OK; ++k) {
        const void *const row = kibi_fetch(&work, input, k * row_bytes, row_bytes, row_copy);
        void *const target = k + 1 == rows ? kibi_target(&work, output, 0, bytes, copy) : NULL;
        if (work.status == KIBI_OK) {
            call(target, &row, params, scratch, (int32_t)k);
        }
        if (target != NULL) {
            kibi_put(&work, output, 0, bytes, target);
        }
        kibi_done(&work, input, row_bytes, row);
    }
    return kibi_end(&work);
}

/* Sums and means of int8: scaled once, by a factor with 1 / divisor in it. */
static kibi_status scaled(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, const reduction *r, int32_t divisor)
{
    const kibi_channel *const from = input->type->quantization;
    const kibi_channel *const to = output->type->quantization;
    kibi_mean_params params = {
        r->loops.size1, r->loops.size2, r->loops.size3, r->loops.step0, r->loops.step1, r->loops.step2, r->loops.step3,
        r->loops.steps, r->loops.output_elements, 0, 0, 0, 0};
    int32_t shift = 0;
    if (!kibi_multiplier_of((double)from->scale / (double)to->scale, &params.multiplier, &params.shift)) {
        return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
    }
    /* Source of the rule: TFLM, reference/reduce.h, QuantizedMeanOrSum. */
    while (shift < 31 + params.shift && divisor >> shift > 1) {
        ++shift;
    }
    params.multiplier = (int32_t)(((int64_t)params.multiplier << shift) / divisor);
    params.shift -= shift;
    params.start = (int32_t)(0u - (uint32_t)r->count * (uint32_t)from->zero_point);
    params.output_zero_point = to->zero_point;
    return reduce(context, output, input, call_mean_s8, &params);
}

kibi_status kibi_op_sum(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, const uint8_t *axes, unsigned count)
{
    reduction r;
    const kibi_status flaw = find_reduction(&r, context, output, input, axes, count);
    if (flaw != KIBI_OK) {
        return flaw;
    }
    return input->type->dtype == KIBI_TYPE_F32 ? reduce(context, output, input, call_sum_f32, &r.loops)
                                               : scaled(context, output, input, &r, 1);
}

kibi_status kibi_op_mean(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, const uint8_t *axes, unsigned count)
{
    reduction r;
    const kibi_status flaw = find_reduction(&r, context, output, input, axes, count);
    if (flaw != KIBI_OK) {
        return flaw;
    }
    if (input->type->dtype == KIBI_TYPE_F32) {
        const kibi_mean_f32_params params = {
            r.loops.size1, r.loops.size2, r.loops.size3, r.loops.step0, r.loops.step1, r.loops.step2, r.loops.step3,
            r.loops.steps, r.loops.output_elements, (float)r.count};
        return reduce(context, output, input, call_mean_f32, &params);
    }
    return scaled(context, output, input, &r, r.count);
}

static kibi_status extreme(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, const uint8_t *axes,
                           unsigned count, int32_t is_max)
{
    reduction r;
    const kibi_status flaw = find_reduction(&r, context, output, input, axes, count);
    if (flaw != KIBI_OK) {
        return flaw;
    }
    const kibi_channel *const from = input->type->quantization;
    const kibi_channel *const to = output->type->quantization;
    if (input->type->dtype == KIBI_TYPE_S8 && (from->scale != to->scale || from->zero_point != to->zero_point)) {
        return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
    }
    const kibi_reduce_extreme_params params = {
        r.loops.size1, r.loops.size2, r.loops.size3, r.loops.step0, r.loops.step1, r.loops.step2, r.loops.step3,
        r.loops.steps, r.loops.output_elements, is_max};
    return reduce(context, output, input,
                  input->type->dtype == KIBI_TYPE_F32 ? call_reduce_extreme_f32 : call_reduce_extreme_s8, &params);
}

kibi_status kibi_op_reduce_max(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, const uint8_t *axes,
                               unsigned count)
{
    return extreme(context, output, input, axes, count, 1);
}

kibi_status kibi_op_reduce_min(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, const uint8_t *axes,
                               unsigned count)
{
    return extreme(context, output, input, axes, count, 0);
}
