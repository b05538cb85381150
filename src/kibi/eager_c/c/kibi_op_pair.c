/* Functions of two elements by hand: row by row where both inputs have the output's shape, else along its last axis. */
#include "kernels/kibi_binary.h"

#include "kibi_operators.h"

#define PAIR(kernel, type, kind) \
    static void call_##kernel(void *output, const void *const *rows, const void *params) \
    { \
        kibi_##kernel((type *)output, (const type *const *)(const void *)rows, (const kind *)params, NULL); \
    }
PAIR(add_s8, int8_t, kibi_scaled_sum_params)
PAIR(add_f32, float, kibi_clamped_pair_f32_params)
PAIR(sub_s8, int8_t, kibi_scaled_sum_params)
PAIR(sub_f32, float, kibi_clamped_pair_f32_params)
PAIR(mul_s8, int8_t, kibi_mul_s8_params)
PAIR(mul_f32, float, kibi_clamped_pair_f32_params)
PAIR(div_f32, float, kibi_clamped_pair_f32_params)
PAIR(maximum_s8, int8_t, kibi_pair_params)
PAIR(maximum_f32, float, kibi_pair_params)
PAIR(minimum_s8, int8_t, kibi_pair_params)
PAIR(minimum_f32, float, kibi_pair_params)

/* Two inputs, and how they meet the output. */
typedef struct {
    kibi_tensor *output;
    kibi_tensor *inputs[2];
    uint32_t pieces;    /* of the output */
    uint32_t elements;  /* of a piece */
    uint32_t lengths[2]; /* elements of the inputs for a piece: as many, or 1 */
} pair;

/* The size along an axis of the output, of a tensor whose last axes meet the output's last axes. */
static uint32_t size_along(const kibi_tensor_type *type, unsigned rank, unsigned axis)
{
    return axis + type->rank >= rank ? type->dimensions[axis + type->rank - rank] : 1;
}

/* Whether inputs of a type broadcast to the output. */
static int is_pair(pair *p, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2, uint8_t dtype)
{
    const kibi_tensor_type *const type = output->type;
    const unsigned rank = type->rank;
    p->output = output;
    p->inputs[0] = input1;
    p->inputs[1] = input2;
    if (!kibi_is(output, dtype) || !kibi_is(input1, dtype) || !kibi_is(input2, dtype)) {
        return 0;
    }
    for (unsigned k = 0; k < 2; ++k) {
        if (p->inputs[k]->type->rank > rank) {
            return 0;
        }
        for (unsigned axis = 0; axis < rank; ++axis) {
            const uint32_t size = size_along(p->inputs[k]->type, rank, axis);
            const uint32_t other = size_along(p->inputs[1 - k]->type, rank, axis);
            if ((size != type->dimensions[axis] && size != 1) || (size == 1 && other == 1 && type->dimensions[axis] != 1)) {
                return 0;
            }
        }
        if (p->inputs[k] == output && !kibi_same_shape(input1, input2)) {
            return 0; /* elements would be written before they are read */
        }
    }
    if (kibi_same_shape(output, input1) && kibi_same_shape(output, input2)) {
        p->pieces = kibi_rows(type);
        p->elements = kibi_row_bytes(type) / kibi_element_bytes(type);
        p->lengths[0] = p->elements;
        p->lengths[1] = p->elements;
    } else {
        p->elements = type->dimensions[rank - 1];
        p->pieces = kibi_elements(type) / p->elements;
        p->lengths[0] = size_along(input1->type, rank, rank - 1);
        p->lengths[1] = size_along(input2->type, rank, rank - 1);
    }
    return 1;
}

/* Where the elements of an input for a piece of the output begin. */
static uint32_t offset_of(const pair *p, unsigned input, uint32_t piece)
{
    const kibi_tensor_type *const type = p->inputs[input]->type;
    const unsigned rank = p->output->type->rank;
    uint32_t offset = 0;
    uint32_t stride = p->lengths[input];
    if (kibi_same_shape(p->inputs[input], p->output)) {
        return piece * p->elements;
    }
    for (unsigned axis = rank - 1; axis-- > 0;) {
        const uint32_t size = size_along(type, rank, axis);
        offset += size > 1 ? piece % p->output->type->dimensions[axis] * stride : 0;
        piece /= p->output->type->dimensions[axis];
        stride *= size;
    }
    return offset;
}

/* The fields with which all parameters begin. */
static kibi_pair_params steps_of(const pair *p)
{
    const kibi_pair_params steps = {
        .pieces = 1,
        .elements = (int32_t)p->elements,
        .rows1 = 1,
        .step1 = p->lengths[0] == p->elements,
        .step2 = p->lengths[1] == p->elements,
    };
    return steps;
}

static kibi_status evaluate(const kibi_context *context, const pair *p, kibi_call call, const void *params)
{
    const uint32_t element = kibi_element_bytes(p->output->type);
    const uint32_t bytes = p->elements * element;
    const uint32_t lengths[2] = {p->lengths[0] * element, p->lengths[1] * element};
    void *copies[2];
    void *copy;
    kibi_work work;
    kibi_begin(&work, context,
               kibi_copy_bytes(p->output, bytes) + kibi_copy_bytes(p->inputs[0], lengths[0]) +
                   kibi_copy_bytes(p->inputs[1], lengths[1]));
    copy = kibi_take(&work, kibi_copy_bytes(p->output, bytes));
    for (unsigned k = 0; k < 2; ++k) {
        copies[k] = kibi_take(&work, kibi_copy_bytes(p->inputs[k], lengths[k]));
    }
    for (uint32_t piece = 0; piece < p->pieces && work.status == KIBI_OK; ++piece) {
        const void *rows[2];
        void *target;
        for (unsigned k = 0; k < 2; ++k) {
            rows[k] = kibi_fetch(&work, p->inputs[k], offset_of(p, k, piece) * element, lengths[k], copies[k]);
        }
        target = kibi_target(&work, p->output, piece * bytes, bytes, copy);
        if (work.status == KIBI_OK) {
            call(target, rows, params);
        }
        kibi_put(&work, p->output, piece * bytes, bytes, target);
        for (unsigned k = 0; k < 2; ++k) {
            kibi_done(&work, p->inputs[k], lengths[k], rows[k]);
        }
    }
    return kibi_end(&work);
}

static kibi_status refuse(const kibi_context *context)
{
    return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
}

static kibi_status floats(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2,
                          kibi_activation activation, kibi_call call)
{
    pair p;
    if (activation > KIBI_RELU6 || !is_pair(&p, output, input1, input2, KIBI_TYPE_F32)) {
        return refuse(context);
    }
    {
        const kibi_pair_params steps = steps_of(&p);
        kibi_clamped_pair_f32_params params = {
            .pieces = 1, .elements = steps.elements, .rows1 = 1, .step1 = steps.step1, .step2 = steps.step2};
        kibi_limits_f32(activation, &params.activation_min, &params.activation_max);
        return evaluate(context, &p, call, &params);
    }
}

/* The sum or difference of int8 on twice the larger scale. Source of the rule: TFLM, micro/kernels/add_common.cc. */
static kibi_status scaled_sum(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2,
                              kibi_activation activation, kibi_call call)
{
    pair p;
    if (!is_pair(&p, output, input1, input2, KIBI_TYPE_S8)) {
        return refuse(context);
    }
    {
        const kibi_channel *const a = input1->type->quantization;
        const kibi_channel *const b = input2->type->quantization;
        const kibi_channel *const sum = output->type->quantization;
        const double twice = 2.0 * (double)(a->scale > b->scale ? a->scale : b->scale);
        const kibi_pair_params steps = steps_of(&p);
        kibi_scaled_sum_params params = {
            .pieces = 1, .elements = steps.elements, .rows1 = 1, .step1 = steps.step1, .step2 = steps.step2};
        params.zero_point1 = a->zero_point;
        params.zero_point2 = b->zero_point;
        params.output_zero_point = sum->zero_point;
        if (!kibi_multiplier_of((double)a->scale / twice, &params.multiplier1, &params.shift1) ||
            !kibi_multiplier_of((double)b->scale / twice, &params.multiplier2, &params.shift2) ||
            !kibi_multiplier_of(twice / (1048576.0 * (double)sum->scale), &params.output_multiplier, &params.output_shift) ||
            params.shift1 > 0 || params.shift2 > 0 || params.output_shift > 0 ||
            !kibi_limits(output->type, activation, &params.activation_min, &params.activation_max)) {
            return refuse(context);
        }
        return evaluate(context, &p, call, &params);
    }
}

static kibi_status plain(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2,
                         kibi_call call_s8, kibi_call call_f32)
{
    pair p;
    const uint8_t dtype = input1->type->dtype;
    if ((dtype != KIBI_TYPE_S8 && dtype != KIBI_TYPE_F32) || !is_pair(&p, output, input1, input2, dtype)) {
        return refuse(context);
    }
    {
        const kibi_pair_params params = steps_of(&p);
        return evaluate(context, &p, dtype == KIBI_TYPE_F32 ? call_f32 : call_s8, &params);
    }
}

kibi_status kibi_op_add(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2,
                        kibi_activation activation)
{
    const kibi_status flaw = kibi_operands(context, 3, 3, (kibi_tensor *const[]){output, input1, input2});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    return input1->type->dtype == KIBI_TYPE_F32 ? floats(context, output, input1, input2, activation, call_add_f32)
                                                : scaled_sum(context, output, input1, input2, activation, call_add_s8);
}

kibi_status kibi_op_sub(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2,
                        kibi_activation activation)
{
    const kibi_status flaw = kibi_operands(context, 3, 3, (kibi_tensor *const[]){output, input1, input2});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    return input1->type->dtype == KIBI_TYPE_F32 ? floats(context, output, input1, input2, activation, call_sub_f32)
                                                : scaled_sum(context, output, input1, input2, activation, call_sub_s8);
}

kibi_status kibi_op_mul(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2,
                        kibi_activation activation)
{
    const kibi_status flaw = kibi_operands(context, 3, 3, (kibi_tensor *const[]){output, input1, input2});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    pair p;
    if (input1->type->dtype == KIBI_TYPE_F32) {
        return floats(context, output, input1, input2, activation, call_mul_f32);
    }
    if (!is_pair(&p, output, input1, input2, KIBI_TYPE_S8)) {
        return refuse(context);
    }
    {
        const kibi_channel *const a = input1->type->quantization;
        const kibi_channel *const b = input2->type->quantization;
        const kibi_channel *const product = output->type->quantization;
        const kibi_pair_params steps = steps_of(&p);
        kibi_mul_s8_params params = {
            .pieces = 1, .elements = steps.elements, .rows1 = 1, .step1 = steps.step1, .step2 = steps.step2};
        params.zero_point1 = a->zero_point;
        params.zero_point2 = b->zero_point;
        params.output_zero_point = product->zero_point;
        if (!kibi_multiplier_of((double)a->scale * (double)b->scale / (double)product->scale, &params.output_multiplier,
                                &params.output_shift) ||
            !kibi_limits(output->type, activation, &params.activation_min, &params.activation_max)) {
            return refuse(context);
        }
        return evaluate(context, &p, call_mul_s8, &params);
    }
}

kibi_status kibi_op_div(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2,
                        kibi_activation activation)
{
    const kibi_status flaw = kibi_operands(context, 3, 3, (kibi_tensor *const[]){output, input1, input2});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    return floats(context, output, input1, input2, activation, call_div_f32);
}

kibi_status kibi_op_maximum(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2)
{
    const kibi_status flaw = kibi_operands(context, 3, 3, (kibi_tensor *const[]){output, input1, input2});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    return plain(context, output, input1, input2, call_maximum_s8, call_maximum_f32);
}

kibi_status kibi_op_minimum(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2)
{
    const kibi_status flaw = kibi_operands(context, 3, 3, (kibi_tensor *const[]){output, input1, input2});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    return plain(context, output, input1, input2, call_minimum_s8, call_minimum_f32);
}
