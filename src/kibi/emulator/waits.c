/* The model of waits.h. One read of the flash takes `read_cycles`, and the flash does one at a time: a read waits until the port is
   free. Of a read that the core waits for, one cycle is that of any access, which the core's own timing has. */
#include "waits.h"

#include <string.h>

/* The place of a read's line within its set, or `ways`. */
static uint32_t find_line(const kibi_cache *cache, const kibi_cache_line *set, uint32_t tag)
{
    uint32_t way = 0u;
    while (way < cache->ways && (set[way].tag != tag || set[way].valid == 0u)) {
        way++;
    }
    return way;
}

static kibi_cache_line *set_of(const kibi_cache *cache, uint32_t tag)
{
    return &cache->lines[(tag & (cache->sets - 1u)) * cache->ways];
}

/* True if a cache holds a read; nothing changes. */
static uint32_t holds(const kibi_cache *cache, uint32_t read)
{
    const uint32_t tag = read >> cache->reads_shift, bit = 1u << (read & ((1u << cache->reads_shift) - 1u));
    const kibi_cache_line *set;
    uint32_t way;
    if (cache->sets == 0u) {
        return 0u;
    }
    set = set_of(cache, tag);
    way = find_line(cache, set, tag);
    return way < cache->ways && (set[way].valid & bit) != 0u;
}

/* Uses a read: its line comes first in its set, and takes the place of the last one where the cache had none. True if the cache held
   the read. */
static uint32_t use(const kibi_cache *cache, uint32_t read)
{
    const uint32_t tag = read >> cache->reads_shift, bit = 1u << (read & ((1u << cache->reads_shift) - 1u));
    kibi_cache_line *set, line;
    uint32_t way, held;
    if (cache->sets == 0u) {
        return 0u;
    }
    set = set_of(cache, tag);
    way = find_line(cache, set, tag);
    line.tag = tag;
    line.valid = way < cache->ways ? set[way].valid : 0u;
    held = (line.valid & bit) != 0u;
    line.valid |= bit;
    if (way < cache->ways && cache->in_turn != 0u) {
        set[way] = line;
        return held;
    }
    way = way < cache->ways ? way : cache->ways - 1u;
    memmove(&set[1], &set[0], way * sizeof(set[0]));
    set[0] = line;
    return held;
}

/* Begins a read as soon as the port is free, and returns the cycle from which its bytes are there. */
static uint64_t begin_read(kibi_waits *w, uint64_t now)
{
    w->port_free = (now > w->port_free ? now : w->port_free) + w->read_cycles;
    return w->port_free;
}

static uint32_t until(uint64_t ready, uint64_t now)
{
    return ready > now + 1u ? (uint32_t)(ready - now - 1u) : 0u;
}

static uint32_t is_in_flash(const kibi_waits *w, uint32_t address)
{
    return address - w->first < w->end - w->first;
}

static uint32_t fetch(kibi_waits *w, uint32_t read, uint64_t now)
{
    uint32_t stall = 0u;
    if (read == w->next) {
        stall = until(w->next_ready, now);
        if (stall != 0u) { /* what came in time is not kept in the cache: only what the core missed is */
            (void)use(&w->instructions, read);
        }
    } else if (!use(&w->instructions, read)) {
        stall = until(begin_read(w, now), now) + w->miss_cycles;
    }
    w->fetched = read;
    if (w->has_prefetch != 0u && w->next != read + 1u && !holds(&w->instructions, read + 1u)) {
        w->next = read + 1u;
        w->next_ready = begin_read(w, now + stall);
    }
    return stall;
}

uint32_t kibi_wait_fetch(kibi_waits *w, uint32_t address, uint32_t size, uint64_t now)
{
    const uint32_t last = (address + size - 1u) >> w->read_shift;
    uint32_t read = address >> w->read_shift, stall = 0u;
    if (last == w->fetched && read == last) {
        return 0u;
    }
    if (!is_in_flash(w, address)) {
        w->fetched = KIBI_NO_READ;
        return 0u;
    }
    for (; read <= last; read++) {
        if (read != w->fetched) {
            stall += fetch(w, read, now + stall);
        }
    }
    w->stalls[KIBI_FETCH] += stall;
    return stall;
}

uint32_t kibi_wait_load(kibi_waits *w, uint32_t address, uint32_t size, uint32_t cause, uint64_t now)
{
    const kibi_cache *cache = w->is_unified != 0u ? &w->instructions : &w->data;
    /* Without a cache nothing is kept, and each word is a read of its own. */
    const uint32_t shift = cache->sets != 0u ? w->read_shift : 2u;
    uint32_t read, last, stall = 0u;
    if (!is_in_flash(w, address)) {
        return 0u;
    }
    last = (address + size - 1u) >> shift;
    for (read = address >> shift; read <= last; read++) {
        if (!use(cache, read)) {
            const uint32_t start = read << shift, words = start > address ? (start - address) / 4u : 0u;
            const uint64_t at = now + stall + words; /* each word that comes before takes the core a cycle */
            stall += until(begin_read(w, at), at) + w->miss_cycles;
        }
    }
    w->stalls[cause] += stall;
    return stall;
}

void kibi_give_to_label(kibi_waits *w, uint32_t label, uint64_t cycles)
{
    kibi_spent *spent = &w->by_label[label];
    uint32_t cause;
    for (cause = 0u; cause < KIBI_CAUSES; cause++) {
        spent->stalls[cause] += w->stalls[cause] - w->given.stalls[cause];
        w->given.stalls[cause] = w->stalls[cause];
        cycles += w->stalls[cause];
    }
    spent->cycles += cycles - w->given.cycles;
    w->given.cycles = cycles;
}
