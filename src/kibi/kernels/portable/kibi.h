/* What every Kibi library shares: status codes, and the few facts about the platform that its code relies on. */
#ifndef KIBI_H
#define KIBI_H

#include <stddef.h>
#include <stdint.h>

#if (-1 >> 1) != -1
#error "Kibi needs a compiler that shifts negative numbers right arithmetically"
#endif

/* What functions return: zero, or what was wrong; above zero there is nothing wrong. */
typedef enum {
    KIBI_NEED_MORE_INPUT = 1, /* no outputs this time: an operator waits for the inputs of further inferences */
    KIBI_OK = 0,
    KIBI_ERROR_NULL = -1,            /* a pointer is null */
    KIBI_ERROR_ARENA_SIZE = -2,      /* the arena has fewer bytes than the plan needs */
    KIBI_ERROR_ARENA_ALIGNMENT = -3, /* the arena does not start at the alignment that the plan needs */
    KIBI_ERROR_NOT_INITIALIZED = -4, /* the model has not all its memory yet: init, or set_external_buffer, comes first */
    KIBI_ERROR_SEQUENCE = -5,            /* a row or a call out of turn: rows are missing, or another one is expected */
    KIBI_ERROR_LIMIT = -6            /* a loop took more turns than KIBI_WHILE_LIMIT: no outputs; the next inference begins anew */
} kibi_status;

/* Events, each with an id that is the hash of its name. They cost no byte unless KIBI_ON_EVENT is defined: the name of a
 * function of yours, `void name(uint32_t id)`. KIBI_EVENT_ID_BYTES says how wide ids are: 1, 2 or 4. */
#ifndef KIBI_EVENT_ID_BYTES
#define KIBI_EVENT_ID_BYTES 4
#endif
#ifdef KIBI_ON_EVENT
void KIBI_ON_EVENT(uint32_t id);
#define KIBI_EVENT(name, id) KIBI_ON_EVENT((id) & (0xFFFFFFFFu >> (32 - 8 * KIBI_EVENT_ID_BYTES)))
#else
#define KIBI_EVENT(name, id) ((void)0)
#endif
#define KIBI_ERROR(name, id) KIBI_EVENT(name, id)

/* Preconditions of kernels. Define it before this header to check them, for instance as assert. */
#ifndef KIBI_ASSERT
#define KIBI_ASSERT(condition) ((void)0)
#endif

/* Does not compile unless a field of a struct has that offset: for assembly, which reads fields by their offsets. */
#define KIBI_FIELD_AT(type, field, offset) typedef char type##_##field##_is_at[offsetof(type, field) == (offset) ? 1 : -1]

/* Marks functions that stay functions, so that a person can break on them and a profiler can see them. */
#if defined(__GNUC__)
#define KIBI_NOINLINE __attribute__((noinline))
#else
#define KIBI_NOINLINE
#endif

/* Marks functions whose body is one piece of assembly. Compilers add nothing to them, whatever flags the rest of a program is
 * compiled with: no stack protector, no calls of profilers, no counters, no checks, no space for patches; and conclude nothing
 * about what they read and write. */
#if defined(__GNUC__) && defined(__has_attribute)
#if __has_attribute(noipa)
#define KIBI_OPAQUE __attribute__((noipa))
#else
#define KIBI_OPAQUE __attribute__((noinline))
#endif
#if __has_attribute(no_stack_protector)
#define KIBI_NO_PROTECTOR __attribute__((no_stack_protector))
#elif defined(__clang__)
#define KIBI_NO_PROTECTOR
#else
#define KIBI_NO_PROTECTOR __attribute__((optimize("no-stack-protector")))
#endif
#if __has_attribute(no_profile_instrument_function)
#define KIBI_NO_COUNTERS __attribute__((no_profile_instrument_function))
#else
#define KIBI_NO_COUNTERS
#endif
#if __has_attribute(no_sanitize)
#define KIBI_NO_CHECKS __attribute__((no_sanitize("all")))
#else
#define KIBI_NO_CHECKS
#endif
#if __has_attribute(no_sanitize_coverage)
#define KIBI_NO_TRACE __attribute__((no_sanitize_coverage))
#else
#define KIBI_NO_TRACE
#endif
#if __has_attribute(zero_call_used_regs)
#define KIBI_NO_CLEARING __attribute__((zero_call_used_regs("skip")))
#else
#define KIBI_NO_CLEARING
#endif
#if __has_attribute(patchable_function_entry)
#define KIBI_NO_PATCHES __attribute__((patchable_function_entry(0)))
#else
#define KIBI_NO_PATCHES
#endif
#define KIBI_NAKED                                                                                                    \
    __attribute__((naked, no_instrument_function)) KIBI_OPAQUE KIBI_NO_PROTECTOR KIBI_NO_COUNTERS KIBI_NO_CHECKS      \
        KIBI_NO_TRACE KIBI_NO_CLEARING KIBI_NO_PATCHES
#elif defined(__GNUC__)
#define KIBI_NAKED __attribute__((naked, noinline, no_instrument_function, optimize("no-stack-protector")))
#endif

/* In front of the innermost loops: worth unrolling once even where code is optimized for size. */
#if defined(__GNUC__)
#define KIBI_UNROLL_TWICE _Pragma("GCC unroll 2")
#else
#define KIBI_UNROLL_TWICE
#endif

#endif
