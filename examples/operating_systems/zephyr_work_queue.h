/* Inferences on the system's work queue. */
#ifndef ZEPHYR_WORK_QUEUE_H
#define ZEPHYR_WORK_QUEUE_H

#include <stdint.h>

/* Initializes the model. Returns 0, or -1 after an error. */
int begin(void);

/* Runs one inference, and sleeps until it has ended. Returns the scores, valid until the next call; NULL after an error. */
const int8_t *scores_of(const int8_t *pixels);

#endif
