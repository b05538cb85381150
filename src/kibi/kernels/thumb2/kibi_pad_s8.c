/* PAD, int8, Thumb-2: a word at once. Source of the rule: TFLM, micro/kernels/pad_common.cc. */
#include "kibi_pad.h"

#include <string.h>

#include "kibi_move_bytes.h"

/* Returns what is after `count` bytes, each of which is that of the word. */
static inline uint8_t *fill(uint8_t *to, uint32_t word, int32_t count)
{
    for (; count >= 4; count -= 4) {
        (void)memcpy(to, &word, sizeof(word));
        to += 4;
        __asm__ volatile(""); /* else the compiler calls memset */
    }
    for (; count > 0; --count) {
        *to++ = (uint8_t)word;
        __asm__ volatile("");
    }
    return to;
}

void kibi_pad_s8(int8_t *output, const int8_t *const *rows, const kibi_pad_params *params, void *scratch)
{
    const kibi_pad_params *const p = params;
    const int32_t channels = p->before_channels + p->channels + p->after_channels;
    /* Columns without padding of their own are one run. */
    const int32_t columns = channels == p->channels ? 1 : p->width;
    const int32_t run = channels == p->channels ? p->width * channels : p->channels;
    const uint32_t value = (uint32_t)(uint8_t)p->value * 0x01010101u;
    uint8_t *to = (uint8_t *)output;
    (void)scratch;
    to = fill(to, value, p->before_width * channels);
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int8_t *input = rows[piece];
        for (int32_t column = 0; column < columns; ++column) {
            to = fill(to, value, p->before_channels);
            to = kibi_move_bytes(to, input, run);
            input += run;
            to = fill(to, value, p->after_channels);
        }
    }
    fill(to, value, p->after_width * channels);
}
