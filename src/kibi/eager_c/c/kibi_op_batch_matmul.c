/* BATCH_MATMUL by hand: one product of matrices after another. */
#include "kernels/kibi_batch_matmul.h"

#include "kibi_operators.h"

static void call_s8(void *output, const void *const *rows, const void *params)
{
    kibi_batch_matmul_s8((int8_t *)output, (const int8_t *const *)(const void *)rows,
                         (const kibi_batch_matmul_s8_params *)params, NULL);
}

static void call_f32(void *output, const void *const *rows, const void *params)
{
    kibi_batch_matmul_f32((float *)output, (const float *const *)(const void *)rows,
                          (const kibi_batch_matmul_f32_params *)params, NULL);
}

/* Both matrices begin at the first element of the only pointer to their input. */
static const int32_t matrices[4] = {0, 0, 0, 0};

/* Tensors and the sizes of their matrices: of the output, input 1 and input 2. */
typedef struct {
    kibi_tensor *tensors[3];
    uint32_t elements[3]; /* of a matrix */
    uint32_t rows;
    uint32_t columns;
    uint32_t depth;
} product;

/* The size of a batch along an axis of the output, which may have more of them. */
static uint32_t batch_along(const kibi_tensor_type *type, unsigned rank, unsigned axis)
{
    return axis + type->rank >= rank ? type->dimensions[axis + type->rank - rank] : 1;
}

/* Whether batches of the inputs broadcast to those of the output. */
static int has_batches(const product *p)
{
    const kibi_tensor_type *const made = p->tensors[0]->type;
    const kibi_tensor_type *const a = p->tensors[1]->type;
    const kibi_tensor_type *const b = p->tensors[2]->type;
    if (made->rank != (a->rank > b->rank ? a->rank : b->rank)) {
        return 0;
    }
    for (unsigned axis = 0; axis + 2 < made->rank; ++axis) {
        const uint32_t first = batch_along(a, made->rank, axis);
        const uint32_t second = batch_along(b, made->rank, axis);
        if ((first != second && first != 1 && second != 1) || made->dimensions[axis] != (first != 1 ? first : second)) {
            return 0;
        }
    }
    return 1;
}

static int is_product(product *p, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2, unsigned adjoint)
{
    const uint8_t dtype = input1->type->dtype;
    const kibi_tensor_type *const made = output->type;
    const kibi_tensor_type *const a = input1->type;
    const kibi_tensor_type *const b = input2->type;
    p->tensors[0] = output;
    p->tensors[1] = input1;
    p->tensors[2] = input2;
    if ((dtype != KIBI_TYPE_S8 && dtype != KIBI_TYPE_F32) || !kibi_is(output, dtype) || !kibi_is(input1, dtype) ||
        !kibi_is(input2, dtype) || a->rank < 2 || b->rank < 2 || output == input1 || output == input2 || !has_batches(p)) {
        return 0;
    }
    p->rows = a->dimensions[a->rank - ((adjoint & KIBI_ADJOINT_1) != 0 ? 1 : 2)];
    p->depth = a->dimensions[a->rank - ((adjoint & KIBI_ADJOINT_1) != 0 ? 2 : 1)];
    p->columns = b->dimensions[b->rank - ((adjoint & KIBI_ADJOINT_2) != 0 ? 2 : 1)];
    p->elements[0] = p->rows * p->columns;
    p->elements[1] = p->rows * p->depth;
    p->elements[2] = p->depth * p->columns;
    return b->dimensions[b->rank - ((adjoint & KIBI_ADJOINT_2) != 0 ? 1 : 2)] == p->depth && kibi_elements(made) != 0 &&
           p->depth != 0 && made->dimensions[made->rank - 2] == p->rows && made->dimensions[made->rank - 1] == p->columns;
}

/* The number of an input's matrix for one of the output's. */
static uint32_t matrix_of(const product *p, unsigned input, uint32_t matrix)
{
    const kibi_tensor_type *const type = p->tensors[input]->type;
    const kibi_tensor_type *const made = p->tensors[0]->type;
    uint32_t number = 0;
    uint32_t stride = 1;
    for (unsigned axis = made->rank - 2u; axis-- > 0;) {
        const uint32_t size = batch_along(type, made->rank, axis);
        number += size > 1 ? matrix % made->dimensions[axis] * stride : 0;
        matrix /= made->dimensions[axis];
        stride *= size;
    }
    return number;
}

static kibi_status multiply(const kibi_context *context, const product *p, kibi_call call, const void *params)
{
    const uint32_t element = kibi_element_bytes(p->tensors[0]->type);
    const uint32_t count = kibi_elements(p->tensors[0]->type) / p->elements[0];
    uint32_t bytes[3];
    void *copies[3];
    uint32_t room = 0;
    kibi_work work;
    for (unsigned k = 0; k < 3; ++k) {
        bytes[k] = p->elements[k] * element;
        room += kibi_copy_bytes(p->tensors[k], bytes[k]);
    }
    kibi_begin(&work, context, room);
    for (unsigned k = 0; k < 3; ++k) {
        copies[k] = kibi_take(&work, kibi_copy_bytes(p->tensors[k], bytes[k]));
    }
    for (uint32_t matrix = 0; matrix < count && work.status == KIBI_OK; ++matrix) {
        const void *inputs[2];
        void *target;
        for (unsigned k = 0; k < 2; ++k) {
            const uint32_t offset = matrix_of(p, k + 1, matrix) * bytes[k + 1];
            inputs[k] = kibi_fetch(&work, p->tensors[k + 1], offset, bytes[k + 1], copies[k + 1]);
        }
        target = kibi_target(&work, p->tensors[0], matrix * bytes[0], bytes[0], copies[0]);
        if (work.status == KIBI_OK) {
            call(target, inputs, params);
        }
        kibi_put(&work, p->tensors[0], matrix * bytes[0], bytes[0], target);
        for (unsigned k = 0; k < 2; ++k) {
            kibi_done(&work, p->tensors[k + 1], bytes[k + 1], inputs[k]);
        }
    }
    return kibi_end(&work);
}

kibi_status kibi_op_batch_matmul(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2,
                                 unsigned adjoint)
{
    const kibi_status flaw = kibi_operands(context, 3, 3, (kibi_tensor *const[]){output, input1, input2});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    product p;
    if (!is_product(&p, output, input1, input2, adjoint)) {
        return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
    }
    {
        const int is_adjoint1 = (adjoint & KIBI_ADJOINT_1) != 0;
        const int is_adjoint2 = (adjoint & KIBI_ADJOINT_2) != 0;
        kibi_batch_matmul_s8_params params = {
            .matrices = matrices, .matrix_count = 1, .rows = (int32_t)p.rows, .columns = (int32_t)p.columns,
            .depth = (int32_t)p.depth, .pointers1 = 1,
            .row_step = is_adjoint1 ? 1 : (int32_t)p.depth, .depth1_step = is_adjoint1 ? (int32_t)p.rows : 1,
            .depth2_step = is_adjoint2 ? 1 : (int32_t)p.columns, .column_step = is_adjoint2 ? (int32_t)p.depth : 1};
        if (input1->type->dtype == KIBI_TYPE_F32) {
            const kibi_batch_matmul_f32_params plain = {
                .matrices = matrices, .matrix_count = 1, .rows = params.rows, .columns = params.columns, .depth = params.depth,
                .pointers1 = 1, .row_step = params.row_step, .depth1_step = params.depth1_step,
                .depth2_step = params.depth2_step, .column_step = params.column_step};
            return multiply(context, &p, call_f32, &plain);
        }
        {
            const kibi_channel *const a = input1->type->quantization;
            const kibi_channel *const b = input2->type->quantization;
            const kibi_channel *const to = output->type->quantization;
            const float scale = a->scale * b->scale; /* rounded to float, as TFLM does */
            params.zero_point1 = a->zero_point;
            params.zero_point2 = b->zero_point;
            params.output_zero_point = to->zero_point;
            if (!kibi_multiplier_of((double)scale / (double)to->scale, &params.output_multiplier, &params.output_shift)) {
                return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
            }
        }
        return multiply(context, &p, call_s8, &params);
    }
}
