/* What a core waits for its flash: a model of the memory interface with its caches, its prefetch and its one port. The hook calls
   it for each instruction and each access, and it answers with cycles. waits.py has the same structures. */
#ifndef KIBI_WAITS_H
#define KIBI_WAITS_H

#include <stdint.h>

enum { KIBI_FETCH, KIBI_LITERAL, KIBI_DATA, KIBI_CAUSES }; /* why the core waited */

typedef struct {
    uint32_t tag;   /* the address of the line, divided by its size */
    uint32_t valid; /* a bit for each read that the line holds; 0 for an empty line */
} kibi_cache_line;

typedef struct {
    kibi_cache_line *lines; /* set after set; in each, the last line makes room */
    uint32_t sets;          /* a power of two; 0 for no cache */
    uint32_t ways;
    uint32_t reads_shift; /* a line holds 1 << reads_shift reads */
    uint32_t in_turn;     /* lines make room in the order in which they came, not in that in which they were used last */
} kibi_cache;

typedef struct {
    uint64_t cycles;
    uint64_t stalls[KIBI_CAUSES]; /* of these cycles, those waited */
} kibi_spent;

typedef struct {
    uint64_t port_free;  /* the cycle from which the flash can begin a read */
    uint64_t next_ready; /* the cycle from which the read that was begun ahead is there */
    uint64_t stalls[KIBI_CAUSES];
    kibi_spent given; /* what labels were given up to now */
    kibi_spent *by_label;
    kibi_cache instructions;
    kibi_cache data;
    uint32_t first;      /* the addresses that are in flash: from here … */
    uint32_t end;        /* … up to here */
    uint32_t read_shift; /* a read of the flash returns 1 << read_shift bytes, aligned */
    uint32_t read_cycles;
    uint32_t miss_cycles; /* what a miss costs beyond the read */
    uint32_t has_prefetch;
    uint32_t is_unified; /* data are in the cache `instructions`, too */
    uint32_t fetched;    /* the read that instructions come from, or KIBI_NO_READ */
    uint32_t next;       /* the read that was begun ahead, or KIBI_NO_READ */
} kibi_waits;

#define KIBI_NO_READ 0xFFFFFFFFu

/* Cycles that the core waits for an instruction that it executes at cycle `now`. */
uint32_t kibi_wait_fetch(kibi_waits *w, uint32_t address, uint32_t size, uint64_t now);

/* Cycles that it waits for a load, by cause KIBI_LITERAL or KIBI_DATA. */
uint32_t kibi_wait_load(kibi_waits *w, uint32_t address, uint32_t size, uint32_t cause, uint64_t now);

/* Gives a label what was spent since the last call; `cycles` is the core's count without waiting. */
void kibi_give_to_label(kibi_waits *w, uint32_t label, uint64_t cycles);

#endif
