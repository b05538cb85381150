/* What functions in assembly share. */
#ifndef KIBI_ASSEMBLY_H
#define KIBI_ASSEMBLY_H

#include "kibi.h"

#ifdef __ARMEB__
#error "this file was generated for a little-endian core: compile for that core, or generate for another target"
#endif

/* Marks a parameter that is read from its register, which the compiler does not see. */
#define KIBI_IN_REGISTER __attribute__((unused))

/* Does not compile unless a field of a struct has that offset: for assembly, which reads fields by their offsets. */
#define KIBI_FIELD_AT(type, field, offset) typedef char type##_##field##_is_at[offsetof(type, field) == (offset) ? 1 : -1]

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

#endif
