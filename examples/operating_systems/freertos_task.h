/* The tasks and their messages. */
#ifndef FREERTOS_TASK_H
#define FREERTOS_TASK_H

#include <stdint.h>

#include "glyphs.h"

#define IMAGES_WAITING 2u
#define RESULTS_WAITING 4u

typedef struct {
    uint32_t number;
    int8_t pixels[GLYPHS_INPUT_0_ELEMENTS];
} image_t;

typedef struct {
    uint32_t number;
    int is_complete; /* 0: a newer image came first */
    int8_t scores[GLYPHS_OUTPUT_0_ELEMENTS];
} result_t;

/* What must happen each millisecond; the application provides it. */
void control_step(void);

/* Makes the queues `images` and `results`, and the tasks; vTaskStartScheduler() comes after it. */
void create_tasks(void);

#endif
