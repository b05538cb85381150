/* What every Kibi library shares: status codes, and the few facts about the platform that its code relies on. */
#ifndef KIBI_H
#define KIBI_H

#include <stddef.h>
#include <stdint.h>

#if (-1 >> 1) != -1
#error "Kibi needs a compiler that shifts negative numbers right arithmetically"
#endif

/* What functions return: zero, or what was wrong. */
typedef enum {
    KIBI_OK = 0,
    KIBI_ERROR_NULL = -1,            /* a pointer is null */
    KIBI_ERROR_ARENA_SIZE = -2,      /* the arena has fewer bytes than the plan needs */
    KIBI_ERROR_ARENA_ALIGNMENT = -3, /* the arena does not start at the alignment that the plan needs */
    KIBI_ERROR_NOT_INITIALIZED = -4, /* the model has not all its memory yet: init, or supply, comes first */
    KIBI_ERROR_TURN = -5             /* a row or a call out of turn: rows are missing, or another one is expected */
} kibi_status;

/* Preconditions of kernels. Define it before this header to check them, for instance as assert. */
#ifndef KIBI_ASSERT
#define KIBI_ASSERT(condition) ((void)0)
#endif

/* Marks functions that stay functions, so that a person can break on them and a profiler can see them. */
#if defined(__GNUC__)
#define KIBI_NOINLINE __attribute__((noinline))
#else
#define KIBI_NOINLINE
#endif

/* In front of the innermost loops: worth unrolling once even where code is optimized for size. */
#if defined(__GNUC__)
#define KIBI_UNROLL_TWICE _Pragma("GCC unroll 2")
#else
#define KIBI_UNROLL_TWICE
#endif

#endif
