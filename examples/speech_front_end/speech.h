/* From audio to a label with two models that share an arena: a front end of Signal operators, and a network. */
#ifndef SPEECH_H
#define SPEECH_H

#include "front_end.h"
#include "micro_speech.h"

/* 30 ms of 16 kHz, every 20 ms; the network looks at 49 of these frames, which is one second. */
enum {
    SPEECH_WINDOW = FRONT_END_INPUT_0_ELEMENTS,
    SPEECH_STRIDE = 320,
    SPEECH_FEATURES = FRONT_END_OUTPUT_0_ELEMENTS,
    SPEECH_FRAMES = MICRO_SPEECH_INPUT_0_ELEMENTS / FRONT_END_OUTPUT_0_ELEMENTS,
    SPEECH_LABELS = MICRO_SPEECH_OUTPUT_0_ELEMENTS,
    SPEECH_ARENA_BYTES = FRONT_END_ARENA_BYTES > MICRO_SPEECH_ARENA_BYTES ? FRONT_END_ARENA_BYTES : MICRO_SPEECH_ARENA_BYTES
};

/* All memory that there is. */
typedef struct {
    front_end_t front_end;
    micro_speech_t network;
    int8_t features[SPEECH_FRAMES * SPEECH_FEATURES]; /* of the last frames, the oldest first */
    int8_t scores[SPEECH_LABELS];
    uint64_t arena[(SPEECH_ARENA_BYTES + 7) / 8];
} speech;

/* Bytes of a `speech`, for callers that do not know its fields. */
size_t speech_bytes(void);

/* Forgets all that was heard. */
kibi_status speech_init(speech *it);

/* Takes the next window [SPEECH_WINDOW], which begins SPEECH_STRIDE samples behind the one before. */
kibi_status speech_hear(speech *it, const int16_t *window);

/* The label of the last SPEECH_FRAMES windows, or a status below 0; `scores` are there then. */
int32_t speech_label(speech *it);

/* All of this for a recording: the label of its last second. */
int32_t speech_listen(speech *it, const int16_t *samples, int32_t count);

#endif
