/* A Zephyr work queue that runs inferences in slices: each work item runs some steps and submits itself again, so that other items
 * of the same queue, here a sensor's, wait for a slice and not for an inference. */
#include "zephyr_work_queue.h"

#include <zephyr/kernel.h>

#include "glyphs.h"

#define STEPS_OF_A_SLICE 8u

static uint64_t arena[(GLYPHS_ARENA_BYTES + 7u) / 8u];
static glyphs_t model;
static kibi_status status;

K_SEM_DEFINE(inference_done, 0, 1);

static void run_slice(struct k_work *work)
{
    status = glyphs_run_for(&model, STEPS_OF_A_SLICE);
    if (status == KIBI_PAUSED) {
        k_work_submit(work); /* after the items that wait already */
    } else {
        k_sem_give(&inference_done);
    }
}

K_WORK_DEFINE(inference_work, run_slice);

int begin(void)
{
    return glyphs_init(&model, arena, sizeof arena) == KIBI_OK ? 0 : -1;
}

const int8_t *scores_of(const int8_t *pixels)
{
    int8_t *const input = glyphs_input(&model, 0);
    for (size_t i = 0; i < GLYPHS_INPUT_0_ELEMENTS; ++i) {
        input[i] = pixels[i];
    }
    k_work_submit(&inference_work);
    k_sem_take(&inference_done, K_FOREVER); /* the thread sleeps; the work queue works */
    return status == KIBI_OK ? glyphs_output(&model, 0) : NULL;
}
