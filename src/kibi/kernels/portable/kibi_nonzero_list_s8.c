/* The list of elements that are not zero, portable. */
#include "kibi_nonzero_sums_s8.h"

void kibi_nonzero_list_s8(uint8_t *list, const uint8_t *raised, int32_t words, int32_t *count)
{
    /* A step is below KIBI_NONZERO_LAST: where one could not be after the next word, a zero is one of the elements. */
    const uint32_t longest = KIBI_NONZERO_LAST - 4 * KIBI_NONZERO_STEP;
    uint8_t *pair = list;
    uint32_t step = 0, value = 0;
    for (const uint8_t *const end = raised + 4 * words; raised != end; ++raised) {
        const uint32_t next = *raised;
        if ((end - raised) % 4 == 0 && step >= longest) {
            *pair++ = (uint8_t)step;
            *pair++ = (uint8_t)value;
            step = 0;
            value = 0;
        }
        step += KIBI_NONZERO_STEP;
        if (next != 0u) {
            *pair++ = (uint8_t)step;
            *pair++ = (uint8_t)value;
            step = 0;
            value = next;
        }
    }
    if (pair == list) { /* All are zero: the first one is listed. */
        *pair++ = KIBI_NONZERO_STEP;
        *pair++ = 0;
    }
    *pair++ = KIBI_NONZERO_LAST;
    *pair++ = (uint8_t)value;
    *count = (int32_t)(pair - list) / 2 - 1;
}
