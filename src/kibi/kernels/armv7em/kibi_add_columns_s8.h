/* Sums of columns of bytes. */
#ifndef KIBI_ADD_COLUMNS_S8_H
#define KIBI_ADD_COLUMNS_S8_H

#include "kibi.h"

/* Four channels at once. */
#ifndef KIBI_ADD_COLUMNS_S8_OF_FOURS
#define KIBI_ADD_COLUMNS_S8_OF_FOURS 1
#endif
/* Single channels: those beyond whole fours, and all where no four are taken at once. */
#ifndef KIBI_ADD_COLUMNS_S8_OF_SINGLES
#define KIBI_ADD_COLUMNS_S8_OF_SINGLES 1
#endif

/* The sums of four channels of %[columns] columns, at least one and at most 256, in the halves of %[even] and %[odd]: from
 * %[input] on, which goes on to where the columns end; %[channels] bytes from column to column; %[t] and %[u] are free. */
#define KIBI_SUM_FOUR_COLUMNS                        \
    "mov %[even], #0\n\t"                            \
    "mov %[odd], #0\n\t"                             \
    "mov %[u], %[columns]\n"                         \
    "2:\n\t" /* the next column */                   \
    "ldr %[t], [%[input]]\n\t"                       \
    "add %[input], %[input], %[channels]\n\t"        \
    "sxtab16 %[even], %[even], %[t]\n\t"             \
    "sxtab16 %[odd], %[odd], %[t], ror #8\n\t"       \
    "subs %[u], %[u], #1\n\t"                        \
    "bne 2b\n\t"

/* Adds `columns` neighbouring columns, at least one, to the sums of their channels.
 * sums: [channels]. input: [columns][channels], may be misaligned. */
void kibi_add_columns_s8(int32_t *sums, const int8_t *input, int32_t channels, int32_t columns);

#endif
