/* The memory functions of C99's <string.h>, for freestanding builds that have no C library. */
#ifndef KIBI_FREESTANDING_STRING_H
#define KIBI_FREESTANDING_STRING_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#define KIBI_STRING_RESTRICT __restrict__
#else
#define KIBI_STRING_RESTRICT restrict
#endif

void *memcpy(void *KIBI_STRING_RESTRICT destination, const void *KIBI_STRING_RESTRICT source, size_t size);
void *memmove(void *destination, const void *source, size_t size);
void *memset(void *destination, int value, size_t size);
int memcmp(const void *left, const void *right, size_t size);

#ifdef __cplusplus
}
#endif

#endif
