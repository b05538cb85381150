/* The memory functions that compilers call, and their names in the Arm run-time ABI (IHI 0043, "Memory copying, clearing,
   and setting"). Compiled without built-ins, so that no loop becomes a call of itself. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict destination, const void *restrict source, size_t size);
void *memmove(void *destination, const void *source, size_t size);
void *memset(void *destination, int value, size_t size);
int memcmp(const void *left, const void *right, size_t size);
void __aeabi_memcpy(void *restrict destination, const void *restrict source, size_t size);
void __aeabi_memcpy4(void *restrict destination, const void *restrict source, size_t size);
void __aeabi_memcpy8(void *restrict destination, const void *restrict source, size_t size);
void __aeabi_memmove(void *destination, const void *source, size_t size);
void __aeabi_memmove4(void *destination, const void *source, size_t size);
void __aeabi_memmove8(void *destination, const void *source, size_t size);
void __aeabi_memset(void *destination, size_t size, int value);
void __aeabi_memset4(void *destination, size_t size, int value);
void __aeabi_memset8(void *destination, size_t size, int value);
void __aeabi_memclr(void *destination, size_t size);
void __aeabi_memclr4(void *destination, size_t size);
void __aeabi_memclr8(void *destination, size_t size);

typedef struct {
    uint32_t words[4];
} block;

/* Words at any address where the core allows them, else only where both sides are aligned. */
#if defined(__ARM_FEATURE_UNALIGNED)
#define KIBI_WORDS_ALLOWED(address) 1
#else
#define KIBI_WORDS_ALLOWED(address) (((address) & 3u) == 0u)
#endif

/* Keeps a loop small. */
#define KIBI_NOT_UNROLLED __asm__ volatile("")

static void copy_block(unsigned char *restrict to, const unsigned char *restrict from)
{
#if defined(__ARM_FEATURE_UNALIGNED)
    for (unsigned word = 0; word < 16u; word += 4u) {
        __builtin_memcpy(to + word, from + word, 4);
    }
#else
    *(block *)__builtin_assume_aligned(to, 4) = *(const block *)__builtin_assume_aligned(from, 4);
#endif
}

void *memcpy(void *restrict destination, const void *restrict source, size_t size)
{
    unsigned char *to = destination;
    const unsigned char *from = source;
    if (KIBI_WORDS_ALLOWED((uintptr_t)to | (uintptr_t)from)) {
        for (; size >= sizeof(block); size -= sizeof(block)) {
            copy_block(to, from);
            to += sizeof(block);
            from += sizeof(block);
        }
    }
    while (size > 0u) {
        *to++ = *from++;
        size--;
    }
    return destination;
}

void *memmove(void *destination, const void *source, size_t size)
{
    unsigned char *to = destination;
    const unsigned char *from = source;
    if ((uintptr_t)to - (uintptr_t)from >= size) {
        /* Going up, each byte is read before anything is written over it: blocks, too, where the sides are a block apart. */
        if (KIBI_WORDS_ALLOWED((uintptr_t)to | (uintptr_t)from) && (uintptr_t)from - (uintptr_t)to >= sizeof(block)) {
            for (; size >= sizeof(block); size -= sizeof(block)) {
                copy_block(to, from);
                KIBI_NOT_UNROLLED;
                to += sizeof(block);
                from += sizeof(block);
            }
        }
        while (size > 0u) {
            *to++ = *from++;
            KIBI_NOT_UNROLLED;
            size--;
        }
    } else {
        while (size > 0u) {
            size--;
            to[size] = from[size];
            KIBI_NOT_UNROLLED;
        }
    }
    return destination;
}

void *memset(void *destination, int value, size_t size)
{
    unsigned char *to = destination;
    const uint32_t byte = (unsigned char)value;
    const uint32_t word = byte * 0x01010101u;
    while (size > 0u && ((uintptr_t)to & 3u) != 0u) {
        *to++ = (unsigned char)byte;
        size--;
    }
    for (; size >= sizeof(block); size -= sizeof(block)) {
        *(block *)__builtin_assume_aligned(to, 4) = (block){{word, word, word, word}};
        to += sizeof(block);
    }
    while (size > 0u) {
        *to++ = (unsigned char)byte;
        size--;
    }
    return destination;
}

int memcmp(const void *left, const void *right, size_t size)
{
    const unsigned char *a = left;
    const unsigned char *b = right;
    for (; size > 0u; size--, a++, b++) {
        if (*a != *b) {
            return (int)*a - (int)*b;
        }
    }
    return 0;
}

void __aeabi_memcpy(void *restrict destination, const void *restrict source, size_t size)
{
    (void)memcpy(destination, source, size);
}

void __aeabi_memcpy4(void *restrict destination, const void *restrict source, size_t size)
{
    (void)memcpy(destination, source, size);
}

void __aeabi_memcpy8(void *restrict destination, const void *restrict source, size_t size)
{
    (void)memcpy(destination, source, size);
}

void __aeabi_memmove(void *destination, const void *source, size_t size)
{
    (void)memmove(destination, source, size);
}

void __aeabi_memmove4(void *destination, const void *source, size_t size)
{
    (void)memmove(destination, source, size);
}

void __aeabi_memmove8(void *destination, const void *source, size_t size)
{
    (void)memmove(destination, source, size);
}

void __aeabi_memset(void *destination, size_t size, int value)
{
    (void)memset(destination, value, size);
}

void __aeabi_memset4(void *destination, size_t size, int value)
{
    (void)memset(destination, value, size);
}

void __aeabi_memset8(void *destination, size_t size, int value)
{
    (void)memset(destination, value, size);
}

void __aeabi_memclr(void *destination, size_t size)
{
    (void)memset(destination, 0, size);
}

void __aeabi_memclr4(void *destination, size_t size)
{
    (void)memset(destination, 0, size);
}

void __aeabi_memclr8(void *destination, size_t size)
{
    (void)memset(destination, 0, size);
}
