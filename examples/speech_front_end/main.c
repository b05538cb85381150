/* speech FILE.wav: the label of the last second; the file has 16 kHz, 16 bits, one channel, and a header of 44 bytes. */
#include "speech.h"

#include <stdio.h>

enum { HEADER_BYTES = 44, MOST_SAMPLES = 160000 };

int main(int argc, char **argv)
{
    static const char *const names[SPEECH_LABELS] = {"silence", "unknown", "yes", "no"};
    static int16_t samples[MOST_SAMPLES];
    static speech listener;
    FILE *const file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    int32_t label = -1;
    if (file == NULL) {
        fprintf(stderr, "usage: speech FILE.wav\n");
        return 1;
    }
    if (fseek(file, HEADER_BYTES, SEEK_SET) == 0) {
        label = speech_listen(&listener, samples, (int32_t)fread(samples, sizeof samples[0], MOST_SAMPLES, file));
    }
    fclose(file);
    if (label < 0) {
        fprintf(stderr, "%s cannot be heard: %d\n", argv[1], (int)label);
        return 1;
    }
    printf("%s %d %d %d %d\n", names[label], listener.scores[0], listener.scores[1], listener.scores[2], listener.scores[3]);
    return 0;
}
