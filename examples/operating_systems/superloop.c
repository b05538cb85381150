/* A bare superloop with a deadline: a control step each millisecond, and between two of them as many slices of the inference as fit.
 * No slice begins that could make the next control step late: LONGEST_SLICE_US is the longest step of `kibi plan`, at your clock. */
#include "superloop.h"

#include "glyphs.h"

#define PERIOD_US 1000u
#define LONGEST_SLICE_US 200u

static uint64_t arena[(GLYPHS_ARENA_BYTES + 7u) / 8u];
static glyphs_t model;

/* Microseconds that are left until a time; the clock may wrap around. */
static int32_t left_until(uint32_t time_us)
{
    return (int32_t)(time_us - clock_us());
}

int superloop(uint32_t control_steps)
{
    if (glyphs_init(&model, arena, sizeof arena) != KIBI_OK) {
        return -1;
    }
    int is_running = 0;
    uint32_t deadline = clock_us();
    for (uint32_t i = 0; i < control_steps; ++i) {
        control_step(left_until(deadline));
        deadline += PERIOD_US;
        while (left_until(deadline) > (int32_t)LONGEST_SLICE_US) {
            if (!is_running && !take_image(glyphs_input(&model, 0), GLYPHS_INPUT_0_BYTES)) {
                break; /* nothing to do before the next step */
            }
            const kibi_status status = glyphs_run_for(&model, 1);
            if (status < KIBI_OK) {
                return -1;
            }
            is_running = status == KIBI_PAUSED;
            if (!is_running) {
                use_scores(glyphs_output(&model, 0), GLYPHS_OUTPUT_0_BYTES);
            }
        }
        while (left_until(deadline) > 0) {
            wait_a_little();
        }
    }
    return 0;
}
