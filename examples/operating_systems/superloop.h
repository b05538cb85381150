/* What the board provides: a clock, the control step, images and a use for scores. */
#ifndef SUPERLOOP_H
#define SUPERLOOP_H

#include <stddef.h>
#include <stdint.h>

/* Microseconds since some moment; it wraps around. */
uint32_t clock_us(void);

/* Sleeps until the next interrupt, or does nothing. */
void wait_a_little(void);

/* What must happen on time. `left_us` is how much earlier than its time it begins; below zero it is late. */
void control_step(int32_t left_us);

/* Copies the next image, and returns 1. Before an image has come it returns 0. */
int take_image(int8_t *pixels, size_t bytes);

/* Takes the scores of an image. */
void use_scores(const int8_t *scores, size_t bytes);

/* Runs that many control steps, and inferences between them. Returns 0, or -1 after an error of the model. */
int superloop(uint32_t control_steps);

#endif
