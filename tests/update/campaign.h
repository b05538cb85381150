/* Cuts the power of a device at every program and erase of what it does, a second time in what follows, and flips bits at rest. */
#ifndef CAMPAIGN_H
#define CAMPAIGN_H

#include "device.h"

enum { OLD, NEW, NONE = -1 };

typedef void action(device *);

/* What is tried, and how often so far. The program that has it says what is done after a loss of power, and what is the end of that. */
typedef struct {
    device device;
    blob files[2]; /* the old and the new model */
    kibi_boot boot;
    unsigned cuts, second_cuts, flips;
    int has_flipped; /* 1: a bit was flipped, and what was written before may be refused once */
    action *recover; /* a start, and the update from where it was */
    void (*finish)(void); /* finishes whatever was begun, and checks that the new model is there, and stays */
} campaign;

extern campaign c;

/* Starts the device: which model it gives. */
int started(void);

/* A run whose power is cut, or not: whether it was. */
int runs_until(action *act, uint32_t operations);

/* A run whose power is cut after half of its operations, and not in the middle of a record. */
void cut_in_the_middle(action *act);

/* Cuts an action at every so many of its operations, and after each cut what follows at every so many of its own. */
void cut(const image *before, action *act, int needs_model);

/* Flips each so many bits of some bytes, each by itself. */
void flip(const image *before, uint32_t first, uint32_t bytes, uint32_t every, int needs_model);

/* Flips bits of the journal's records, and of the place for the next one. */
void flip_records(const image *before, uint32_t every);

/* Does something, and returns the most erases of a sector among some. */
uint32_t most_wear(action *act, uint32_t first, uint32_t bytes);

/* Prints how often the power was cut once, how often twice, how many bits were flipped, how many programs and erases there were, and
 * the most erases of a sector in an update that is not cut. */
void report(uint32_t wear);

#endif
