"""The examples of a model inside an operating system, with small stand-ins: on time, in slices, with the bits of Python."""

from pathlib import Path

import numpy as np
import pytest

import kibi
import kibi.demo
from kibi.runtime import seeded_inputs
from tests.packages.places import run
from tests.toolchain.tools import check_gcc

_FOLDER = Path(__file__).parents[2] / "examples" / "operating_systems"
_WARNINGS = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror")
_IMAGES = 3
_SUPERLOOP = """\
#include <stdio.h>
#include "pictures.h"
#include "superloop.h"
static uint32_t now = 0xffffff00u; /* it soon wraps around */
static int32_t least = 1000000;
static unsigned taken, steps;
/* Time passes whenever somebody looks: a slice takes between two looks at most as long as the example expects. */
uint32_t clock_us(void) { return now += 90; }
void wait_a_little(void) {}
void control_step(int32_t left_us) { ++steps; if (left_us < least) { least = left_us; } }
int take_image(int8_t *pixels, size_t bytes)
{
    if (taken == IMAGES) { return 0; }
    for (size_t i = 0; i < bytes; ++i) { pixels[i] = pictures[taken][i]; }
    ++taken;
    return 1;
}
void use_scores(const int8_t *scores, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i) { printf("%d ", scores[i]); }
    puts("");
}
int main(void)
{
    const int result = superloop(100);
    printf("steps %u late %d\\n", steps, least < -200);
    return result;
}
"""
_FREERTOS = """\
/* Stand-ins for FreeRTOS: tasks are coroutines that take turns when they wait or yield; each turn takes one tick. */
#pragma once
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
typedef uint32_t TickType_t;
typedef struct queue *QueueHandle_t;
#define configASSERT(condition) assert(condition)
#define portMAX_DELAY 0xffffffffu
#define pdMS_TO_TICKS(ms) (ms)
#define tskIDLE_PRIORITY 0
void taskYIELD(void);
TickType_t xTaskGetTickCount(void);
void vTaskDelayUntil(TickType_t *woken, TickType_t ticks);
int xTaskCreate(void (*task)(void *), const char *name, unsigned words, void *argument, int priority, void *handle);
QueueHandle_t xQueueCreate(unsigned length, size_t size);
int xQueueSend(QueueHandle_t queue, const void *item, TickType_t ticks);
int xQueueReceive(QueueHandle_t queue, void *item, TickType_t ticks);
unsigned uxQueueMessagesWaiting(QueueHandle_t queue);
void vTaskStartScheduler(void);
"""
_FREERTOS_MAIN = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include "FreeRTOS.h"
#include "freertos_task.h"
#include "pictures.h"
struct queue { unsigned length, count; size_t size; char *items; };
static struct { ucontext_t context; void (*task)(void *); TickType_t wake; int priority; } tasks[2];
static ucontext_t scheduler;
static int current, created;
static TickType_t ticks;
static unsigned steps, sent, received, dropped;
static uint32_t yields;
extern QueueHandle_t images, results;
static void turn(TickType_t wake) { tasks[current].wake = wake; swapcontext(&tasks[current].context, &scheduler); }
void taskYIELD(void) { ++yields; turn(ticks); }
TickType_t xTaskGetTickCount(void) { return ticks; }
void vTaskDelayUntil(TickType_t *woken, TickType_t delay) { *woken += delay; turn(*woken); }
static void start(int number) { tasks[number].task(NULL); }
int xTaskCreate(void (*task)(void *), const char *name, unsigned words, void *argument, int priority, void *handle)
{
    (void)name, (void)words, (void)argument, (void)handle;
    tasks[created].task = task;
    tasks[created].priority = priority;
    getcontext(&tasks[created].context);
    tasks[created].context.uc_stack.ss_sp = malloc(1 << 18);
    tasks[created].context.uc_stack.ss_size = 1 << 18;
    makecontext(&tasks[created].context, (void (*)(void))start, 1, created);
    ++created;
    return 1;
}
QueueHandle_t xQueueCreate(unsigned length, size_t size)
{
    QueueHandle_t made = calloc(1, sizeof *made);
    made->length = length, made->size = size, made->items = malloc(length * size);
    return made;
}
int xQueueSend(QueueHandle_t queue, const void *item, TickType_t wait)
{
    (void)wait;
    while (queue->count == queue->length) { turn(ticks); }
    memcpy(queue->items + queue->count++ * queue->size, item, queue->size);
    return 1;
}
int xQueueReceive(QueueHandle_t queue, void *item, TickType_t wait)
{
    (void)wait;
    while (queue->count == 0) { turn(ticks); }
    memcpy(item, queue->items, queue->size);
    memmove(queue->items, queue->items + queue->size, --queue->count * queue->size);
    return 1;
}
unsigned uxQueueMessagesWaiting(QueueHandle_t queue) { return queue->count; }
void control_step(void) { ++steps; }
static void send(unsigned number)
{
    image_t image = {.number = number};
    memcpy(image.pixels, pictures[number % IMAGES], sizeof image.pixels);
    xQueueSend(images, &image, 0);
}
void vTaskStartScheduler(void)
{
    for (; received + dropped < IMAGES + 3; ++ticks) {
        /* First one image after the other; then three at once, of which the first is soon out of date. */
        if (sent < IMAGES && sent == received) { send(sent++); }
        if (sent == IMAGES && received == IMAGES) { send(sent++); }
        if (sent > IMAGES && sent < IMAGES + 3 && images->count < images->length) { send(sent++); }
        for (current = 0; current < created; ++current) { /* the higher priority was created first */
            if ((int32_t)(ticks - tasks[current].wake) >= 0) { swapcontext(&scheduler, &tasks[current].context); }
        }
        while (results->count > 0) {
            result_t result;
            xQueueReceive(results, &result, 0);
            if (!result.is_complete) { ++dropped; continue; }
            ++received;
            for (size_t i = 0; i < sizeof result.scores && received <= IMAGES; ++i) { printf("%d ", result.scores[i]); }
            if (received <= IMAGES) { puts(""); }
        }
    }
}
int main(void)
{
    create_tasks();
    vTaskStartScheduler();
    printf("missed %d sliced %d dropped %u\\n", (int)(ticks - steps), yields > 20, dropped);
    return 0;
}
"""
_ZEPHYR = """\
/* Stand-ins for Zephyr: one work queue, whose items run while the thread sleeps at a semaphore. */
#pragma once
#include <stddef.h>
struct k_work { void (*handler)(struct k_work *); struct k_work *next; };
struct k_sem { int count; };
#define K_FOREVER 0
#define K_WORK_DEFINE(name, function) struct k_work name = {function, NULL}
#define K_SEM_DEFINE(name, first, most) struct k_sem name = {first}
int k_work_submit(struct k_work *work);
int k_sem_take(struct k_sem *semaphore, int wait);
void k_sem_give(struct k_sem *semaphore);
"""
_ZEPHYR_MAIN = """\
#include <stdio.h>
#include <zephyr/kernel.h>
#include "pictures.h"
#include "zephyr_work_queue.h"
static struct k_work *first, **last = &first;
static unsigned sensed, slices;
static void sense(struct k_work *work) { ++sensed; if (sensed < 1000) { k_work_submit(work); } }
static K_WORK_DEFINE(sensor, sense);
int k_work_submit(struct k_work *work) { work->next = NULL; *last = work; last = &work->next; return 1; }
void k_sem_give(struct k_sem *semaphore) { ++semaphore->count; }
int k_sem_take(struct k_sem *semaphore, int wait)
{
    (void)wait;
    while (semaphore->count == 0) {
        struct k_work *const work = first;
        first = work->next;
        if (first == NULL) { last = &first; }
        slices += work != &sensor;
        work->handler(work);
    }
    --semaphore->count;
    return 0;
}
int main(void)
{
    k_work_submit(&sensor);
    if (begin() != 0) { return 1; }
    for (unsigned number = 0; number < IMAGES; ++number) {
        const int8_t *const scores = scores_of(pictures[number]);
        for (unsigned i = 0; scores != NULL && i < 10; ++i) { printf("%d ", scores[i]); }
        puts("");
    }
    printf("the sensor waited for slices %d\\n", slices > 20 && sensed + 1 >= slices);
    return 0;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> kibi.Library:
    """The shipped model with slices, for this machine."""
    folder = tmp_path_factory.mktemp("sliced")
    return kibi.compile(kibi.load(kibi.demo.model_path()), None, folder, target="host", slices=True, package=None)


def _printed(library: kibi.Library, example: str, folder: Path, main: str, **headers: str) -> list[str]:
    """What an example prints that was built with a program around it."""
    check_gcc()
    assert library.directory is not None
    graph = library.model.planned.model
    images = [seeded_inputs(graph, seed)[0].reshape(-1) for seed in range(_IMAGES)]
    rows = ", ".join("{" + ", ".join(map(str, image)) + "}" for image in images)
    text = f"#include <stdint.h>\n#define IMAGES {_IMAGES}u\nstatic const int8_t pictures[][{images[0].size}] = {{{rows}}};\n"
    (folder / "pictures.h").write_text(text, encoding="utf-8")
    (folder / "main.c").write_text(main, encoding="utf-8")
    for name, header in headers.items():
        path = folder / f"{name.replace('__', '/')}.h"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(header, encoding="utf-8")
    sources = [folder / "main.c", _FOLDER / example, *(library.directory / source for source in library.sources)]
    includes = [f"-I{path}" for path in (folder, _FOLDER, library.directory)]
    run(["gcc", *_WARNINGS, *includes, *sources, "-o", folder / "program"])
    lines = run([folder / "program"]).splitlines()
    wanted = [kibi.run(graph, None, [image.reshape(1, 28, 28, 1)])[0].reshape(-1) for image in images]
    found = [np.array(line.split(), np.int8) for line in lines[:_IMAGES]]
    np.testing.assert_array_equal(found, wanted)
    return lines[_IMAGES:]


def test_superloop_is_on_time_and_gives_the_bits_of_python(library: kibi.Library, tmp_path: Path) -> None:
    """A hundred control steps, also while the clock wraps around: none is late by more than a look at the clock."""
    assert _printed(library, "superloop.c", tmp_path, _SUPERLOOP) == ["steps 100 late 0"]


def test_freertos_task_lets_the_faster_one_run_and_drops_old_images(library: kibi.Library, tmp_path: Path) -> None:
    """The control task misses no tick, inferences run in slices, and the queue that fills up ends the one under way."""
    headers = {"FreeRTOS": _FREERTOS, "task": "#pragma once\n", "queue": "#pragma once\n"}
    assert _printed(library, "freertos_task.c", tmp_path, _FREERTOS_MAIN, **headers) == ["missed 0 sliced 1 dropped 1"]


def test_zephyr_work_item_lets_others_run_between_slices(library: kibi.Library, tmp_path: Path) -> None:
    """The sensor's item ran between every two slices."""
    lines = _printed(library, "zephyr_work_queue.c", tmp_path, _ZEPHYR_MAIN, zephyr__kernel=_ZEPHYR)
    assert lines == ["the sensor waited for slices 1"]
