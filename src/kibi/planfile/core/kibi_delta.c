/* Decodes deltas, as kibi.update.delta.form describes them: numbers whose bits come from a range coder, and changes of words. */
#include "kibi_delta.h"

#include <string.h>

/* Flash is slower than any of this: at -Os, Clang would make the code larger, so that it is faster. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#endif

enum { RAW = 0, BYTES = 1, HALVES = 2, SAME = 3, SUMS = 5 };
enum { COMMAND = 0, SMALL = 1, WORD = 2, REST = 3 };
enum { CLASSES = 2, SIZES = 8, DIGITS = 8, PAIRS = CLASSES + SIZES + DIGITS };
enum { MOST_SIZE = 31, HAS_SIZE = 32, LIMIT = 250, PERIOD_BITS = 5 };
#define LEAST_RANGE (1u << 24)

/* Goes to the state at the start of a block. */
static KIBI_NOINLINE void begin_block(kibi_delta *d)
{
    memset(d->counts, 1, sizeof d->counts);
    d->place = d->made;
    d->range = 1;
    d->code = 0;
    d->unit = 0;
    d->shift = 0;
}

void kibi_delta_begin(kibi_delta *delta, const uint8_t *base, uint32_t base_bytes, uint32_t new_bytes, uint32_t block_bytes,
                      uint32_t made)
{
    memset(delta, 0, sizeof *delta);
    delta->base = base;
    delta->base_bytes = base_bytes;
    delta->new_bytes = new_bytes;
    delta->block_bytes = block_bytes;
    delta->made = made;
    delta->number = 1;
    begin_block(delta);
}

/* Goes on to the next word. */
static void end_word(kibi_delta *d)
{
    --d->words;
    d->column = (uint8_t)((d->column == 0 ? d->period : d->column) - 1u);
    if ((d->made & (d->block_bytes - 1u)) == 0) {
        begin_block(d);
    }
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The number with sign of one without: 0, 1, 2, ... are 0, -1, 1, ... */
static uint32_t unfolded(uint32_t number)
{
    return number >> 1 ^ (0u - (number & 1u));
}

/* Reads a number of a set, whose first bit has a class. 1: it is read, into `number`; 0: bytes are missing. */
static KIBI_NOINLINE int read_number(kibi_delta *d, uint32_t set, uint32_t first)
{
    uint8_t (*const counts)[2] = d->counts + PAIRS * set;
    uint32_t at = d->at;
    if (at == 0) {
        d->number = 1;
    }
    do {
        uint32_t pair = first;
        if (at > HAS_SIZE) {
            pair = CLASSES + SIZES - 1u + least(at - HAS_SIZE, DIGITS);
        } else if (at != 0) {
            pair = CLASSES - 1u + least(at, SIZES);
        }
        uint8_t *const its = counts[pair];
        while (d->range < LEAST_RANGE) {
            const uint32_t given = d->given;
            if (given == 0) {
                return 0;
            }
            d->range <<= 8;
            d->code = d->code << 8 | (given & 0xFFu);
            d->given = 0;
        }
        const uint32_t bound = d->range / ((uint32_t)its[0] + its[1]) * its[0], bit = d->code >= bound;
        if (bit != 0) {
            d->code -= bound;
            d->range -= bound;
        } else {
            d->range = bound;
        }
        its[bit] = (uint8_t)(its[bit] + 2u);
        if (its[bit] > LIMIT) {
            its[0] = (uint8_t)((its[0] + 1u) >> 1);
            its[1] = (uint8_t)((its[1] + 1u) >> 1);
        }
        if (at > HAS_SIZE) {
            d->number = d->number << 1 | bit;
            --at;
        } else {
            at += bit;
            if (bit == 0 || at == MOST_SIZE) {
                at += HAS_SIZE;
            }
        }
        d->at = (uint8_t)at;
    } while (at != HAS_SIZE);
    d->at = 0;
    --d->number;
    return 1;
}

/* Reads a number of a command and does what it says. 1: it is done; 0: bytes are missing; -1: it is wrong. */
static KIBI_NOINLINE int read_command(kibi_delta *d)
{
    if (!read_number(d, COMMAND, d->kinds_left != 0)) {
        return 0;
    }
    const uint32_t number = d->number;
    if (d->kinds_left == 0) {
        const uint32_t in_block = d->block_bytes - (d->made & (d->block_bytes - 1u));
        d->words = number >> PERIOD_BITS;
        d->period = (uint8_t)((number & (KIBI_DELTA_PERIOD - 1u)) + 1u);
        d->kinds_left = d->period;
        return d->words > least(in_block, d->new_bytes - d->made) / 4u ? -1 : 1;
    }
    d->kinds_left = (uint8_t)(d->kinds_left - 1u);
    if (d->words != 0) {
        d->kinds[d->kinds_left] = (uint8_t)number;
        d->column = (uint8_t)(d->period - 1u);
        return number > SUMS ? -1 : 1;
    }
    if ((number & 1u) != 0) {
        d->shift = (uint8_t)(number >> 1 & 31u);
        d->unit = number >> 6;
    } else {
        d->place += 4u * unfolded(number >> 1);
    }
    return 1;
}

/* Makes an element. 1: it is ready; 0: bytes are missing; -1: the older file does not have it. */
static KIBI_NOINLINE int make_element(kibi_delta *d)
{
    const uint32_t kind = d->kinds[d->column];
    const uint32_t width = kind <= BYTES ? 1u : kind == HALVES ? 2u : 4u;
    uint32_t element = 0;
    if (kind != RAW) {
        if (d->place >= d->base_bytes) { /* words are there or not, as both are multiples of 4 where a word begins */
            return -1;
        }
        for (uint32_t k = width; k-- != 0;) {
            element = element << 8 | d->base[d->place + k];
        }
    }
    if (kind != SAME) {
        if (d->has_sum == 0) {
            if (!read_number(d, kind == RAW ? REST : kind <= HALVES ? SMALL : WORD, kind == RAW || element != 0)) {
                return 0;
            }
            d->sum = unfolded(d->number);
            d->has_sum = 1;
        }
        if (kind == SUMS) {
            if (!read_number(d, REST, 0)) {
                return 0;
            }
            d->sum = (d->sum << d->shift) + d->unit * unfolded(d->number);
        }
        d->has_sum = 0;
        element += d->sum;
    }
    d->element = element;
    d->ready = (uint8_t)width;
    d->place += width;
    return 1;
}

int kibi_delta_next(kibi_delta *delta)
{
    int goes_on = 1;
    while (delta->ready == 0 && goes_on > 0) {
        goes_on = delta->words == 0 || delta->kinds_left != 0 ? read_command(delta) : make_element(delta);
    }
    if (goes_on <= 0) {
        return goes_on - 1;
    }
    const uint32_t element = delta->element;
    delta->element = element >> 8;
    delta->ready = (uint8_t)(delta->ready - 1u);
    if ((++delta->made & 3u) == 0) {
        end_word(delta);
    }
    return (int)(element & 0xFFu);
}

#if defined(__clang__)
#pragma clang attribute pop
#endif
