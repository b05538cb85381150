/* The firmware on a computer. */
#include <stdio.h>

#include "firmware.h"

int main(void)
{
    static firmware f;
    int8_t image[16 * 16];
    int8_t scores[10] = {0};
    kibi_status status;
    for (int y = 0; y < 16; ++y) {
        for (int x = 0; x < 16; ++x) {
            image[16 * y + x] = (int8_t)((x * 5 + y * y * 3) % 256 - 128);
        }
    }
    status = firmware_run(&f, image, scores);
    printf("status %d\nscores", (int)status);
    for (int k = 0; k < 10; ++k) {
        printf(" %d", scores[k]);
    }
    printf("\nno room %lu times, the log moved by %ld bytes, %lu of them wrong\n", (unsigned long)f.out_of_memory, (long)f.moved,
           (unsigned long)f.log_errors);
    return status == KIBI_OK ? 0 : 1;
}
