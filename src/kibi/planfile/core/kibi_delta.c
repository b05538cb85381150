/* Decodes deltas: commands, and Rice codes of differences, as kibi.update.delta.form describes them. */
#include "kibi_delta.h"

#include <string.h>

enum { COPY = 0, RAW = 1, CHANGE = 2, PATTERN = 3, MOVES = 4 };
enum { MOST_PERIOD = 32, UNLIMITED = 15, CLASS_BYTES = 3, UNIT_BYTES = 2, MOST_K = 31 };

/* What comes next in the payload. */
enum { LENGTH, MOVE, PERIOD, MASK, FIRST_CLASS, FIRST_PARTS, SECOND_CLASS, SECOND_PARTS, BYTES };

/* The bytes that are given and wanted. */
typedef struct {
    const uint8_t *from;
    const uint8_t *from_end;
    uint8_t *to;
    uint8_t *to_end;
} streams;

void kibi_delta_begin(kibi_delta *delta, const uint8_t *base, uint32_t base_bytes, uint32_t new_bytes, uint32_t block_bytes,
                      uint32_t made)
{
    memset(delta, 0, sizeof *delta);
    delta->base = base;
    delta->base_bytes = base_bytes;
    delta->new_bytes = new_bytes;
    delta->block_bytes = block_bytes;
    delta->made = made;
    delta->place = made;
}

/* The number with sign of one without: 0, 1, 2, ... are 0, -1, 1, ... */
static uint32_t unfolded(uint32_t number)
{
    return number >> 1 ^ (0u - (number & 1u));
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Reads a number of up to so many groups of 7 bits. 1: it is read; 0: bytes are missing; -1: it is too long. */
static int read_number(kibi_delta *d, streams *s, uint32_t most)
{
    while (s->from != s->from_end) {
        const uint32_t byte = *s->from++;
        d->number |= (byte & 0x7Fu) << 7u * d->taken;
        d->taken = (uint8_t)(d->taken + 1u);
        if (byte < 0x80u) {
            return 1;
        }
        if (d->taken == most) {
            return -1;
        }
    }
    return 0;
}

/* Reads a number of so many bytes. 1: it is read. */
static int read_bytes(kibi_delta *d, streams *s, uint32_t count)
{
    while (d->taken != count && s->from != s->from_end) {
        d->number |= (uint32_t)*s->from++ << 8u * d->taken;
        d->taken = (uint8_t)(d->taken + 1u);
    }
    return d->taken == count;
}

/* Reads a bit; -1: none is there. */
static int read_bit(kibi_delta *d, streams *s)
{
    if (d->bits == 0) {
        if (s->from == s->from_end) {
            return -1;
        }
        d->byte = *s->from++;
        d->bits = 8;
    }
    d->bits = (uint8_t)(d->bits - 1u);
    return d->byte >> d->bits & 1;
}

/* Reads a Rice code into the number. 1: it is read; 0: bytes are missing. `taken` is 1 more than the lowest bits that are read. */
static KIBI_NOINLINE int read_code(kibi_delta *d, streams *s, uint32_t k, uint32_t limit)
{
    while (d->taken <= k) {
        if (d->taken == 0) {
            if (d->number == limit) {
                d->taken = 1;
                continue;
            }
        }
        const int bit = read_bit(d, s);
        if (bit < 0) {
            return 0;
        }
        if (d->taken != 0) {
            d->number = d->number << 1 | (uint32_t)bit;
            d->taken = (uint8_t)(d->taken + 1u);
        } else if (bit != 0) {
            d->number += 1u;
        } else {
            d->taken = 1;
        }
    }
    return 1;
}

static void end_number(kibi_delta *d)
{
    d->number = 0;
    d->taken = 0;
}

/* Begins to make the bytes of a command, whose head is read. */
static kibi_status begin_bytes(kibi_delta *d)
{
    const uint32_t unit = d->kind == PATTERN ? 4u : d->kind == CHANGE ? d->classes[0].width : 1u;
    if ((d->kind != RAW && (d->left > d->base_bytes || d->place > d->base_bytes - d->left)) || d->left % unit != 0) {
        return KIBI_ERROR_PACKAGE;
    }
    d->done = 0;
    d->bits = 0;
    d->state = BYTES;
    return KIBI_OK;
}

static kibi_status read_class(kibi_delta *d, kibi_delta_class *its)
{
    const uint32_t limit = d->number >> 11 & 15u;
    if ((d->number & 3u) == 3u || d->number >> 21 != 0) {
        return KIBI_ERROR_PACKAGE;
    }
    its->width = (uint8_t)(1u << (d->number & 3u));
    its->run = (uint8_t)(d->number >> 2 & 15u);
    its->value = (uint8_t)(d->number >> 6 & 31u);
    its->shift = (uint8_t)(d->number >> 15 & 31u);
    its->unit = 0;
    its->limit = limit == UNLIMITED ? UINT32_MAX : limit;
    its->same = 0;
    return KIBI_OK;
}

/* Reads a part of a command's head. 1: it is read; 0: bytes are missing; -1: it is wrong. */
static KIBI_NOINLINE int read_head(kibi_delta *d, streams *s)
{
    int is_read;
    switch (d->state) {
    case LENGTH:
        is_read = read_number(d, s, 3);
        if (is_read > 0) {
            const uint32_t block_left = least(d->block_bytes - d->made % d->block_bytes, d->new_bytes - d->made);
            if (d->made % d->block_bytes == 0) {
                d->place = d->made;
            }
            d->kind = (uint8_t)(d->number & 3u);
            d->left = d->number >> 3;
            d->period = 1;
            d->mask = 0;
            d->state = (d->number & MOVES) != 0 ? MOVE : d->kind == PATTERN ? PERIOD : d->kind == CHANGE ? FIRST_CLASS : BYTES;
            if (d->left - 1u >= block_left || (d->state == BYTES && begin_bytes(d) != KIBI_OK)) {
                return -1;
            }
        }
        break;
    case MOVE:
        is_read = read_number(d, s, 5);
        if (is_read > 0) {
            d->place += unfolded(d->number);
            d->state = d->kind == PATTERN ? PERIOD : d->kind == CHANGE ? FIRST_CLASS : BYTES;
            if (d->state == BYTES && begin_bytes(d) != KIBI_OK) {
                return -1;
            }
        }
        break;
    case PERIOD:
        is_read = read_bytes(d, s, 1);
        if (is_read > 0) {
            if (d->number - 1u >= MOST_PERIOD) {
                return -1;
            }
            d->period = (uint8_t)d->number;
            d->state = MASK;
        }
        break;
    case MASK:
        is_read = read_bytes(d, s, (d->period + 7u) / 8u);
        if (is_read > 0) {
            d->mask = d->number;
            d->state = FIRST_CLASS;
        }
        break;
    default: {
        kibi_delta_class *const its = &d->classes[d->state >= SECOND_CLASS];
        const int is_class = d->state == FIRST_CLASS || d->state == SECOND_CLASS;
        is_read = read_bytes(d, s, is_class ? CLASS_BYTES : UNIT_BYTES);
        if (is_read > 0) {
            const int has_parts = is_class && d->number >> 20 != 0;
            if (is_class ? read_class(d, its) != KIBI_OK : (d->number & 255u) == 0 || d->number >> 8 > MOST_K) {
                return -1;
            }
            if (!is_class) {
                its->unit = (uint8_t)d->number;
                its->rest = (uint8_t)(d->number >> 8);
            }
            d->state = (uint8_t)(d->state + (has_parts || !is_class ? 1u : 2u));
            if (!has_parts && (d->state > SECOND_CLASS || d->kind == CHANGE) && begin_bytes(d) != KIBI_OK) {
                return -1;
            }
        }
        break;
    }
    }
    if (is_read > 0) {
        end_number(d);
    }
    return is_read;
}

/* Makes an element. 1: it is ready; 0: bytes are missing. */
static KIBI_NOINLINE int make_element(kibi_delta *d, streams *s)
{
    kibi_delta_class *const its = &d->classes[d->mask >> d->done / 4u % d->period & 1u];
    if (its->same == 0) {
        if (!read_code(d, s, its->run, UINT32_MAX)) {
            return 0;
        }
        its->same = (d->number & INT32_MAX) + 1u;
        end_number(d);
    }
    uint32_t change = 0;
    if (its->same == 1u) {
        if (!d->has_first) {
            if (!read_code(d, s, its->value, its->limit)) {
                return 0;
            }
            d->first = d->number;
            d->has_first = 1;
            end_number(d);
        }
        if (its->unit != 0) {
            if (!read_code(d, s, its->rest, UINT32_MAX)) {
                return 0;
            }
            change = (unfolded(d->first) << its->shift) + its->unit * unfolded(d->number);
            end_number(d);
        } else {
            /* 0 is no difference: 0, 1, 2, ... are 1, -1, 2, ... */
            change = (d->first & 1u) != 0 ? unfolded(d->first) : unfolded(d->first) + 1u;
            change <<= its->shift;
        }
        d->has_first = 0;
    }
    its->same -= 1u;
    uint32_t element = 0;
    for (uint32_t k = its->width; k-- != 0;) {
        element = element << 8 | d->base[d->place + k];
    }
    d->element = element + change;
    d->ready = its->width;
    d->place += its->width;
    d->done += its->width;
    return 1;
}

/* Makes bytes of a command. 1: more may come; 0: bytes are missing, or there is no room. */
static int make_bytes(kibi_delta *d, streams *s)
{
    const uint32_t room = (uint32_t)(s->to_end - s->to), given = (uint32_t)(s->from_end - s->from);
    uint32_t count = least(d->left, room);
    if (d->kind <= RAW) {
        if (d->kind == RAW) {
            count = least(count, given);
            memcpy(s->to, s->from, count);
            s->from += count;
        } else {
            memcpy(s->to, d->base + d->place, count);
        }
        d->place += count;
    } else if (d->ready != 0 || make_element(d, s)) {
        count = least(d->ready, room);
        for (uint32_t k = 0; k < count; ++k) {
            s->to[k] = (uint8_t)d->element;
            d->element >>= 8;
        }
        d->ready = (uint8_t)(d->ready - count);
    } else {
        return 0;
    }
    s->to += count;
    d->made += count;
    d->left -= count;
    if (d->left == 0) {
        d->state = LENGTH;
    }
    return count != 0;
}

kibi_status kibi_delta_make(kibi_delta *delta, const uint8_t **payload, uint32_t *payload_bytes, uint8_t **made, uint32_t *made_bytes)
{
    streams s = {*payload, *payload + *payload_bytes, *made, *made + *made_bytes};
    int goes_on = 1;
    while (goes_on > 0 && delta->made != delta->new_bytes && (s.to != s.to_end || delta->state != LENGTH || delta->taken != 0)) {
        goes_on = delta->state == BYTES ? make_bytes(delta, &s) : read_head(delta, &s);
    }
    *payload = s.from;
    *payload_bytes = (uint32_t)(s.from_end - s.from);
    *made = s.to;
    *made_bytes = (uint32_t)(s.to_end - s.to);
    return goes_on < 0 ? KIBI_ERROR_PACKAGE : KIBI_OK;
}
