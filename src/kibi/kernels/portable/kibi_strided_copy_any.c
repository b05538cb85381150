/* STRIDED_SLICE, SLICE, SPLIT, SPLIT_V, UNPACK, TRANSPOSE, any type, portable. */
#include "kibi_strided_copy_any.h"

#include "kibi_move_bytes.h"

enum { MOST_AXES = 8 };

void kibi_strided_copy_any(void *output, const void *const *rows, const kibi_strided_copy_any_params *params, void *scratch)
{
    uint8_t *to = (uint8_t *)output;
    int32_t left[MOST_AXES];
    int32_t pointer = params->first_pointer;
    int32_t byte = params->first_byte;
    int32_t axis = 0;
    (void)scratch;
    KIBI_ASSERT(params->axes >= 1 && params->axes <= MOST_AXES);
    for (int32_t i = 0; i < params->axes; ++i) {
        left[i] = KIBI_AT(int32_t, params, loops)[3 * i];
    }
    while (axis >= 0) {
        to = kibi_move_bytes(to, (const uint8_t *)rows[pointer] + byte, params->bytes);
        for (axis = params->axes - 1; axis >= 0; --axis) {
            const int32_t *const loop = KIBI_AT(int32_t, params, loops) + 3 * axis;
            pointer += loop[1];
            byte += loop[2];
            if (--left[axis] > 0) {
                break;
            }
            left[axis] = loop[0];
            pointer -= loop[0] * loop[1];
            byte -= loop[0] * loop[2];
        }
    }
}
