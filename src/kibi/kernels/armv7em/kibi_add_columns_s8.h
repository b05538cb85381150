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

/* Adds `columns` neighbouring columns, at least one, to the sums of their channels.
 * sums: [channels]. input: [columns][channels], may be misaligned. */
void kibi_add_columns_s8(int32_t *sums, const int8_t *input, int32_t channels, int32_t columns);

#endif
