/* Takes update packages where flash has no room for a second slot: a delta is staged, and then makes the new model in the place of the
 * older one. Journal, packages and calls are those of kibi_update.h; a device uses either. */
#ifndef KIBI_UPDATE_IN_PLACE_H
#define KIBI_UPDATE_IN_PLACE_H

#include "kibi_update.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The store has other parts: slot[0] and mapped[0] are the only slot. slot[1] and mapped[1] are the staging area, of staging_bytes, which
 * holds the payload of a delta while it arrives, and the scratch sector, which follows it. staging_bytes is a multiple of sector_bytes,
 * and not 0. The journal has room for four records at least. All else is as for two slots; `starts` does not matter, as there is no
 * model to go back to.
 *
 * The delta must be made for this (`kibi update --in-place`), with blocks that are not larger than a sector. */

/* Says which model to open: call it once after each start, and after each kibi_in_place_finish. If a package has been taken, it is applied
 * first, sector by sector: no model of the slot may be open. After a loss of power in the middle, the next call goes on. Confirms
 * the model: raises the least counter.
 * KIBI_ERROR_NO_MODEL: the slot has no whole model. KIBI_ERROR_STORAGE: a function of yours failed; a model is given unless it is
 * half of the old and half of the new one: call it again. */
kibi_status kibi_in_place_boot(const kibi_store *store, kibi_boot *boot);

/* Begins to receive a package: a delta; a whole file only where the slot has no whole model.
 * KIBI_ERROR_SEQUENCE: a package has been taken, and is not applied yet: kibi_in_place_boot does it.
 * KIBI_ERROR_STORAGE: program_bytes or staging_bytes is not as it must be. */
kibi_status kibi_in_place_begin(kibi_update *update, const kibi_store *store);

/* As kibi_update_write. The payload of a delta goes into the staging area, a whole file into the slot. Of a delta, KIBI_ERROR_SPACE says
 * also that the staging area is too small for it, and KIBI_ERROR_PACKAGE that it cannot be applied in place, or has blocks that are
 * larger than a sector. Of a whole file, KIBI_ERROR_SPACE says also that the slot has a whole model. */
kibi_status kibi_in_place_write(kibi_update *update, uint32_t offset, const void *bytes, uint32_t count);

/* As kibi_update_wanted. */
uint32_t kibi_in_place_wanted(const kibi_update *update);

/* Ends an update whose last byte has arrived. A delta is decoded without writing anything: if it makes the new file, byte for byte, and
 * needs nothing that is overwritten when it is applied, the next kibi_in_place_boot applies it. Until then the older model is whole,
 * and may run. Of a whole file the digest is checked.
 * KIBI_ERROR_PACKAGE: bytes are missing, and may still be written; or all are there and are refused, and the next update begins anew. */
kibi_status kibi_in_place_finish(kibi_update *update);

#ifdef __cplusplus
}
#endif

#endif
