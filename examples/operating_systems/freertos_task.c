/* A FreeRTOS task that runs inferences in slices. A control task of a higher priority interrupts it at any time, as FreeRTOS does
 * with all tasks; the slices let tasks of the same priority run, too, and end an inference whose image is out of date. */
#include "freertos_task.h"

#include "FreeRTOS.h"
#include "queue.h"
#include "task.h"

#include "glyphs.h"

#define STEPS_OF_A_SLICE 8u
#define STACK_WORDS 512u /* `kibi measure` says how many bytes the model needs */

static uint64_t arena[(GLYPHS_ARENA_BYTES + 7u) / 8u];
static glyphs_t model;
QueueHandle_t images, results;

static void inference_task(void *unused)
{
    (void)unused;
    if (glyphs_init(&model, arena, sizeof arena) != KIBI_OK) {
        configASSERT(0);
    }
    static image_t image;
    for (;;) {
        xQueueReceive(images, &image, portMAX_DELAY);
        int8_t *const input = glyphs_input(&model, 0);
        for (size_t i = 0; i < sizeof image.pixels; ++i) {
            input[i] = image.pixels[i];
        }
        kibi_status status = KIBI_PAUSED;
        while (status == KIBI_PAUSED) {
            status = glyphs_run_for(&model, STEPS_OF_A_SLICE);
            if (status == KIBI_PAUSED) {
                taskYIELD();
                if (uxQueueMessagesWaiting(images) == IMAGES_WAITING) {
                    glyphs_rewind(&model); /* too late for this image */
                    break;
                }
            }
        }
        result_t result = {.number = image.number, .is_complete = status == KIBI_OK};
        if (result.is_complete) {
            const int8_t *const scores = glyphs_output(&model, 0);
            for (size_t i = 0; i < sizeof result.scores; ++i) {
                result.scores[i] = scores[i];
            }
        }
        xQueueSend(results, &result, portMAX_DELAY);
    }
}

static void control_task(void *unused)
{
    (void)unused;
    TickType_t woken = xTaskGetTickCount();
    for (;;) {
        control_step();
        vTaskDelayUntil(&woken, pdMS_TO_TICKS(1));
    }
}

void create_tasks(void)
{
    images = xQueueCreate(IMAGES_WAITING, sizeof(image_t));
    results = xQueueCreate(RESULTS_WAITING, sizeof(result_t));
    configASSERT(images != NULL && results != NULL);
    xTaskCreate(control_task, "control", STACK_WORDS, NULL, tskIDLE_PRIORITY + 2, NULL);
    xTaskCreate(inference_task, "inference", STACK_WORDS, NULL, tskIDLE_PRIORITY + 1, NULL);
}
