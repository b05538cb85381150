#include "speech.h"

#include <string.h>

size_t speech_bytes(void)
{
    return sizeof(speech);
}

kibi_status speech_init(speech *it)
{
    kibi_status status;
    memset(it->features, 0, sizeof it->features);
    status = front_end_init(&it->front_end, it->arena, sizeof it->arena);
    return status != KIBI_OK ? status : micro_speech_init(&it->network, it->arena, sizeof it->arena);
}

kibi_status speech_hear(speech *it, const int16_t *window)
{
    enum { KEPT = (SPEECH_FRAMES - 1) * SPEECH_FEATURES };
    kibi_status status;
    memcpy(front_end_input(&it->front_end, 0), window, FRONT_END_INPUT_0_BYTES);
    status = front_end_invoke(&it->front_end);
    if (status == KIBI_OK) {
        memmove(it->features, it->features + SPEECH_FEATURES, KEPT);
        memcpy(it->features + KEPT, front_end_output(&it->front_end, 0), FRONT_END_OUTPUT_0_BYTES);
    }
    return status;
}

int32_t speech_label(speech *it)
{
    kibi_status status;
    int32_t best = 0;
    memcpy(micro_speech_input(&it->network, 0), it->features, sizeof it->features);
    status = micro_speech_invoke(&it->network);
    if (status != KIBI_OK) {
        return status;
    }
    memcpy(it->scores, micro_speech_output(&it->network, 0), sizeof it->scores);
    for (int32_t label = 1; label < SPEECH_LABELS; ++label) {
        best = it->scores[label] > it->scores[best] ? label : best;
    }
    return best;
}

int32_t speech_listen(speech *it, const int16_t *samples, int32_t count)
{
    kibi_status status = speech_init(it);
    for (int32_t start = 0; status == KIBI_OK && start + SPEECH_WINDOW <= count; start += SPEECH_STRIDE) {
        status = speech_hear(it, samples + start);
    }
    return status != KIBI_OK ? status : speech_label(it);
}
