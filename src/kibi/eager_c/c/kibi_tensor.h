/* Tensors: a type, and a way to the bytes, wherever those are.
 *
 * Every tensor is a struct that begins with kibi_tensor: give &tensor.base to functions that take one. To derive a kind of your own,
 * begin a struct the same way, and give it a table of functions. */
#ifndef KIBI_TENSOR_H
#define KIBI_TENSOR_H

#include "kibi_context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Real value = scale * (element - zero_point). */
typedef struct {
    float scale;
    int32_t zero_point;
} kibi_channel;

/* What never changes: constant data in flash for a tensor that the program knows. */
typedef struct {
    uint32_t dimensions[4]; /* the last varies fastest; unused ones are 0 */
    const kibi_channel *quantization; /* NULL: none. One, or one for each part along the quantized axis */
    uint8_t rank;           /* 0 ... 4 */
    uint8_t dtype;          /* a KIBI_TYPE_... number of kibi_ids.h */
    uint8_t quantized_axis;
    uint8_t is_per_channel;
} kibi_tensor_type;

struct kibi_tensor;

/* How a kind of tensor reaches its bytes. Functions are given ranges that are the tensor's, and report what they return below
 * zero. */
typedef struct {
    /* Copies bytes of the tensor, from `offset` on. */
    kibi_status (*load)(const kibi_context *context, struct kibi_tensor *tensor, uint32_t offset, void *to, uint32_t bytes);
    /* Replaces bytes; NULL: the tensor cannot be written. */
    kibi_status (*store)(const kibi_context *context, struct kibi_tensor *tensor, uint32_t offset, const void *from,
                         uint32_t bytes);
    /* Holds a row in place, to read it, or to write all of it, and says where it is; NULL: rows have no address. */
    kibi_status (*hold)(const kibi_context *context, struct kibi_tensor *tensor, uint32_t row, int writing, void **data);
    /* Lets go of a row that is held; NULL: nothing is to be done. */
    void (*let_go)(const kibi_context *context, struct kibi_tensor *tensor);
    int is_whole; /* 1: all bytes are in one piece, so that the other rows follow one that is held */
} kibi_access;

/* What every tensor begins with. */
typedef struct kibi_tensor {
    const kibi_access *access;
    const kibi_tensor_type *type;
} kibi_tensor;

/* Bytes that do not move: constants, which are never written, or a buffer of the caller's. Initialize them as
 * {{&kibi_rom_access, &type}, bytes}. */
typedef struct {
    kibi_tensor base;
    const void *data;
} kibi_rom_tensor;
extern const kibi_access kibi_rom_access;

typedef struct {
    kibi_tensor base;
    void *data;
} kibi_buffer_tensor;
extern const kibi_access kibi_buffer_access;

/* Bytes in the RAM arena, which may move them. It begins as zeros. */
typedef struct {
    kibi_tensor base;
    kibi_handle handle;
} kibi_ram_tensor;

/* Allocates the bytes. KIBI_ERROR_MEMORY: there is no room. KIBI_ERROR_BINDING: the tensor has bytes. */
kibi_status kibi_ram_tensor_init(const kibi_context *context, kibi_ram_tensor *tensor, const kibi_tensor_type *type);

/* Frees the bytes; a second call does nothing. KIBI_ERROR_PINNED: they are in use. */
kibi_status kibi_ram_tensor_free(const kibi_context *context, kibi_ram_tensor *tensor);

/* Rows at the places of a plan, or in a ring, in memory of the caller's; a row that is written replaces those stored there. */
typedef struct {
    kibi_tensor base;
    uint8_t *data;
    const uint32_t *offsets; /* of each row; NULL: row y is where row y - slots was */
    uint32_t slots;
    uint32_t next; /* rows before it have been written; begins as 0. Rows are first written in ascending order */
} kibi_row_tensor;
extern const kibi_access kibi_row_access;

/* Rows that a function gives, in ascending order; the latest ones are kept. */
typedef struct {
    kibi_tensor base;
    int (*source)(void *state, uint32_t row, void *to); /* writes a row; returns 0 where there are no more */
    void *state;
    uint8_t *data; /* room for `slots` rows */
    uint32_t slots;
    uint32_t next; /* begins as 0 */
} kibi_camera_tensor;
extern const kibi_access kibi_camera_access;

/* A chip, or a file, whose bytes have no address. Functions return 0 where they fail. */
typedef struct {
    int (*read)(void *state, uint32_t offset, void *to, uint32_t bytes);
    int (*write)(void *state, uint32_t offset, const void *from, uint32_t bytes); /* NULL: it cannot be written */
    void *state;
} kibi_device;

typedef struct {
    kibi_tensor base;
    const kibi_device *device;
    uint32_t offset; /* of the tensor's first byte */
} kibi_file_tensor;
extern const kibi_access kibi_file_access;

/* Facts of a type. A row is what one step of the innermost spatial loop makes: the axes after the first inner axis that is longer
 * than 1, or, where there is none, after that of the batch. */
uint32_t kibi_element_bytes(const kibi_tensor_type *type);
uint32_t kibi_elements(const kibi_tensor_type *type);
uint32_t kibi_bytes(const kibi_tensor_type *type);
uint32_t kibi_rows(const kibi_tensor_type *type);
uint32_t kibi_row_bytes(const kibi_tensor_type *type);

/* Copies or replaces bytes, `offset` from the first element on as if rows were stored one after another.
 * KIBI_ERROR_ACCESS: they are not all the tensor's. KIBI_ERROR_READ_ONLY. Else what the tensor's kind reports. */
kibi_status kibi_read(const kibi_context *context, kibi_tensor *tensor, uint32_t offset, void *to, uint32_t bytes);
kibi_status kibi_write(const kibi_context *context, kibi_tensor *tensor, uint32_t offset, const void *from, uint32_t bytes);

/* Copies or replaces a row. */
kibi_status kibi_read_row(const kibi_context *context, kibi_tensor *tensor, uint32_t row, void *to);
kibi_status kibi_write_row(const kibi_context *context, kibi_tensor *tensor, uint32_t row, const void *from);

/* Holds a row in place and says where it is, for fast access; each call that returns KIBI_OK needs one of kibi_let_go.
 * KIBI_ERROR_INDIRECT: the tensor's rows have no address; use kibi_read_row. */
kibi_status kibi_hold_row(const kibi_context *context, kibi_tensor *tensor, uint32_t row, int writing, void **data);
void kibi_let_go(const kibi_context *context, kibi_tensor *tensor);

/* The offset of an element. index: one for each dimension. KIBI_ERROR_ACCESS: there is no such element. */
kibi_status kibi_offset(const kibi_context *context, const kibi_tensor *tensor, const uint32_t *index, uint32_t *offset);

/* One element, by its index in each dimension: the slow way, which is the same wherever the bytes are. The name says the
 * element's type: KIBI_ERROR_ARGUMENT where the tensor has another. */
kibi_status kibi_get(const kibi_context *context, kibi_tensor *tensor, const uint32_t *index, uint8_t dtype, void *value);
kibi_status kibi_set(const kibi_context *context, kibi_tensor *tensor, const uint32_t *index, uint8_t dtype, const void *value);
#define KIBI_TYPED(suffix, type, dtype) \
    static inline kibi_status kibi_get_##suffix(const kibi_context *context, kibi_tensor *tensor, const uint32_t *index, \
                                                type *value) \
    { \
        return kibi_get(context, tensor, index, dtype, value); \
    } \
    static inline kibi_status kibi_set_##suffix(const kibi_context *context, kibi_tensor *tensor, const uint32_t *index, \
                                                type value) \
    { \
        return kibi_set(context, tensor, index, dtype, &value); \
    }
KIBI_TYPED(s8, int8_t, KIBI_TYPE_S8)
KIBI_TYPED(u8, uint8_t, KIBI_TYPE_U8)
KIBI_TYPED(s16, int16_t, KIBI_TYPE_S16)
KIBI_TYPED(s32, int32_t, KIBI_TYPE_S32)
KIBI_TYPED(f32, float, KIBI_TYPE_F32)
#undef KIBI_TYPED

#ifdef __cplusplus
}
#endif

#endif
