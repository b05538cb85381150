/* Copies of neighbouring windows of a convolution, portable. */
#include "kibi_copy_windows.h"

#include <string.h>

void kibi_copy_windows(const kibi_copied_windows *task)
{
    int8_t *to = task->to;
    for (int32_t window = 0; window < task->windows; ++window) {
        for (int32_t row = 0; row < task->row_count; ++row) {
            (void)memcpy(to, task->rows[row] + task->place + window * task->advance, (size_t)task->run);
            to += task->run;
        }
    }
}
