/* The check sum of checkpoints: CRC-32 as in IEEE 802.3, reflected, polynomial 0xedb88320. */
#ifndef KIBI_CRC32_H
#define KIBI_CRC32_H

#include "kibi.h"

/* Returns the sum of some bytes after those that gave `crc`; 0 before the first ones. */
uint32_t kibi_crc32(uint32_t crc, const void *data, uint32_t bytes);

#endif
