/* What every Kibi library shares: status codes, and the few facts about the platform that its code relies on. */
#ifndef KIBI_H
#define KIBI_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#if INT_MAX < 0x7FFFFFFF
#error "Kibi needs an int of at least 32 bits"
#endif
#if (-1 >> 1) != -1
#error "Kibi needs a compiler that shifts negative numbers right arithmetically"
#endif

/* What functions return: zero, or what was wrong; above zero there is nothing wrong. */
typedef enum {
    KIBI_DIRTY = 3, /* an inference has ended that read weights before and after they were written: its outputs are of no use */
    KIBI_PAUSED = 2, /* a slice of an inference has run, and further ones are left */
    KIBI_NEED_MORE_INPUT = 1, /* no outputs this time: an operator waits for the inputs of further inferences */
    KIBI_OK = 0,
    KIBI_ERROR_NULL = -1,            /* a pointer is null */
    KIBI_ERROR_ARENA_SIZE = -2,      /* the arena has fewer bytes than the plan needs */
    KIBI_ERROR_ARENA_ALIGNMENT = -3, /* the arena does not start at the alignment that the plan needs */
    KIBI_ERROR_NOT_INITIALIZED = -4, /* the model has not all its memory yet: init, or set_external_buffer, comes first */
    KIBI_ERROR_SEQUENCE = -5,            /* a row or a call out of turn: rows are missing, or another one is expected */
    KIBI_ERROR_LIMIT = -6,           /* a loop took more turns than KIBI_WHILE_LIMIT: no outputs; the next inference begins anew */
    KIBI_ERROR_STEPS = -7,           /* a slice of no steps */
    KIBI_ERROR_ARENA_LEASE = -8,     /* somebody else has used the arena since the inference began: begin it anew */
    KIBI_ERROR_CHECKPOINT = -9,      /* no slot has a complete checkpoint of this model with this plan */
    KIBI_ERROR_STORAGE = -10,        /* a slot, or weights in slow memory, cannot be read or written */
    KIBI_ERROR_FILE = -16,           /* the bytes are no plan file of this version, or it was changed, or it asks for the impossible */
    KIBI_ERROR_KERNEL = -17,         /* the plan file needs a kernel that this core has not, or more room than it has */
    KIBI_ERROR_PACKAGE = -18,        /* the bytes are no update package of this version, or it is cut, or it was changed */
    KIBI_ERROR_SIGNATURE = -19,      /* nobody whom the device trusts has signed the package */
    KIBI_ERROR_OTHER_DEVICE = -20,   /* the package is for another model, another target, or another format of plan files */
    KIBI_ERROR_OLDER = -21,          /* the package's version is not above the one that the device has, or not allowed any more */
    KIBI_ERROR_BASE = -22,           /* the package changes another file than the one that the device has */
    KIBI_ERROR_SPACE = -23,          /* the package's model needs a larger slot, arena or memory of variables */
    KIBI_ERROR_NO_MODEL = -24,       /* no slot has a whole model */
    KIBI_ERROR_MEMORY = -32,         /* an arena has no room for a block, or its table none for another one */
    KIBI_ERROR_BOUNDS = -33,         /* an address is outside of the arena */
    KIBI_ERROR_NO_BLOCK = -34,       /* no block starts at an address */
    KIBI_ERROR_UNALLOCATED = -35,    /* nothing is allocated where a handle is to be bound */
    KIBI_ERROR_BINDING = -36,        /* a block and a handle do not belong together as a call asks */
    KIBI_ERROR_PINNED = -37,         /* a pinned block neither moves nor is freed */
    KIBI_ERROR_NOT_ONE_BY_ONE = -38, /* a linear arena frees no single block */
    KIBI_ERROR_SCOPE = -39,          /* a scope ended before one that was opened inside it */
    KIBI_ERROR_ACCESS = -40,         /* those bytes are not the tensor's, or no weights that can be written so */
    KIBI_ERROR_READ_ONLY = -41,      /* the tensor cannot be written */
    KIBI_ERROR_FREED = -42,          /* the tensor has no bytes: they were freed, or never allocated */
    KIBI_ERROR_INDIRECT = -43,       /* the tensor's rows are not in one piece that has an address */
    KIBI_ERROR_OVERWRITTEN = -44,    /* another row is stored in the row's place by now */
    KIBI_ERROR_NOT_WRITTEN = -45,    /* nobody has written the row yet */
    KIBI_ERROR_ROWS_ENDED = -46,     /* the source of rows has no more of them */
    KIBI_ERROR_ARGUMENT = -47        /* an argument has a value, a type or a shape that the function does not take */
} kibi_status;

/* Functions of yours that the library calls have the names that they have in C, in C++ too. */
#ifdef __cplusplus
#define KIBI_EXTERN extern "C"
#else
#define KIBI_EXTERN extern
#endif

/* Events, each with an id that is the hash of its name. They cost no byte unless KIBI_ON_EVENT is defined: the name of a
 * function of yours, `void name(uint32_t id)`. KIBI_EVENT_ID_BYTES says how wide ids are: 1, 2 or 4. */
#ifndef KIBI_EVENT_ID_BYTES
#define KIBI_EVENT_ID_BYTES 4
#endif
#ifdef KIBI_ON_EVENT
KIBI_EXTERN void KIBI_ON_EVENT(uint32_t id);
#define KIBI_EVENT(name, id) KIBI_ON_EVENT((id) & (0xFFFFFFFFu >> (32u - 8u * KIBI_EVENT_ID_BYTES)))
#else
#define KIBI_EVENT(name, id) ((void)0)
#endif
#define KIBI_ERROR(name, id) KIBI_EVENT(name, id)

/* Profiles: the steps and ticks of each call of an operator's function. They cost no byte unless KIBI_ON_OPERATOR is defined: the
 * name of a function of yours, `void name(int32_t number, const char *label, int32_t steps, uint32_t ticks)`. The number is the
 * operator's in the model file, below 0 where an input receives a row: -1 for input 0. Ticks are the difference of two values
 * of KIBI_TICKS(), modulo 2^32: a macro of yours that reads a counter, or else your `uint32_t kibi_ticks(void)`. */
#ifdef KIBI_ON_OPERATOR
KIBI_EXTERN void KIBI_ON_OPERATOR(int32_t number, const char *label, int32_t steps, uint32_t ticks);
#ifndef KIBI_TICKS
KIBI_EXTERN uint32_t kibi_ticks(void);
#define KIBI_TICKS() kibi_ticks()
#endif
#define KIBI_OPERATOR_BEGIN(steps) \
    const int32_t kibi_steps = (steps); \
    const uint32_t kibi_began = (uint32_t)KIBI_TICKS()
#define KIBI_OPERATOR_END(number, label) \
    do { \
        const uint32_t kibi_ended = (uint32_t)KIBI_TICKS(); \
        if (kibi_steps > 0) { \
            KIBI_ON_OPERATOR(number, label, kibi_steps, kibi_ended - kibi_began); \
        } \
    } while (0)
#else
#define KIBI_OPERATOR_BEGIN(steps) ((void)0)
#define KIBI_OPERATOR_END(number, label) ((void)0)
#endif

/* Preconditions of kernels. Define it before this header to check them, for instance as assert. */
#ifndef KIBI_ASSERT
#define KIBI_ASSERT(condition) ((void)0)
#endif

/* The constants to which a pointer in a kernel's parameters leads, of the type that its header says. Kernels read such pointers
 * through this macro alone: a core that runs plan files finds there how far the constants are from the parameters. */
#define KIBI_AT(type, params, field) (1 ? (params)->field : (const type *)NULL)
/* The same for assembly that has loaded the pointer into one register, and has the parameters in another. */
#define KIBI_AT_IN_ASSEMBLY(pointer, params) ""
/* A number that constants decide, and a limit that it keeps to where they are what Kibi made. A core that runs plan files cuts it,
 * because files may hold any bytes. Both are evaluated several times. */
#define KIBI_NOT_ABOVE(value, most) (value)
#define KIBI_NOT_BELOW(value, least) (value)
/* The same in assembly: a register without sign, and a register or a constant. */
#define KIBI_NOT_ABOVE_IN_ASSEMBLY(value, most) ""

/* Marks arrays of which vectors load 64 bytes at once: they begin where a line of a cache does. */
#if defined(__GNUC__)
#define KIBI_AT_LINE __attribute__((aligned(64)))
#else
#define KIBI_AT_LINE
#endif

/* Marks functions that stay functions, so that a person can break on them and a profiler can see them. */
#if defined(__GNUC__)
#define KIBI_NOINLINE __attribute__((noinline))
#else
#define KIBI_NOINLINE
#endif

/* Before the innermost loops: worth unrolling once even where code is optimized for size. */
#if defined(__GNUC__)
#define KIBI_UNROLL_TWICE _Pragma("GCC unroll 2")
#else
#define KIBI_UNROLL_TWICE
#endif

#endif
