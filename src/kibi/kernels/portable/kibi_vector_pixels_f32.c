/* Outputs of one or three pixels of a convolution of floats, portable. */
#include "kibi_vector_pixels_f32.h"

void kibi_vector_pixels_f32(kibi_vector_pixels_f32_task *task, int32_t pixels)
{
    do {
        kibi_four_channels_f32(task, pixels);
    } while (task->channels > 0);
}
