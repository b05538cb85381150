/* Listens for a wake word: slices of features come in on standard input, a line for each of them goes out.

   The C library beside it was written for a model named `detector`. What it remembers from slice to slice lies in the struct, the
   arena is free in between. WINDOW probabilities, in 256ths, are averaged, as their sum; above CUTOFF_SUM the word has been
   heard. A line holds the probability, and 1 where it has. */
#include "detector.h"

#include <stdint.h>
#include <stdio.h>

#ifndef WINDOW
#define WINDOW 5
#endif
#ifndef CUTOFF_SUM
#define CUTOFF_SUM 1088u /* 5 * 0.85 * 256 */
#endif

static uint64_t arena[(DETECTOR_ARENA_BYTES + 7u) / 8u];
static detector_t detector;

int main(void)
{
    uint8_t recent[WINDOW] = {0};
    unsigned sum = 0, count = 0;
    if (detector_init(&detector, arena, sizeof arena) != KIBI_OK) {
        return 1;
    }
    while (fread(detector_input(&detector, 0), 1, DETECTOR_INPUT_0_BYTES, stdin) == DETECTOR_INPUT_0_BYTES) {
        if (detector_invoke(&detector) != KIBI_OK) {
            return 1;
        }
        const uint8_t probability = *detector_output(&detector, 0);
        sum += probability;
        sum -= recent[count % WINDOW];
        recent[count % WINDOW] = probability;
        ++count;
        printf("%u %u\n", (unsigned)probability, (unsigned)(count >= WINDOW && sum > CUTOFF_SUM));
    }
    return 0;
}
