/* Takes update packages into the flash of a device, and says which model to open after a start. */
#ifndef KIBI_UPDATE_H
#define KIBI_UPDATE_H

#include "kibi_core.h"
#include "kibi_package.h"
#include "kibi_sha256.h"

/* 1: packages may bring what makes the new file from the older one. 0 saves the code of kibi_delta.c: only whole files are taken. */
#ifndef KIBI_UPDATE_DELTA
#define KIBI_UPDATE_DELTA 1
#endif
#if KIBI_UPDATE_DELTA
#include "kibi_delta.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The most bytes of a program unit: a power of two, 16 ... 256. Memory of this size is in kibi_update; no store may have larger units.
 * Each record of the journal takes a multiple of it. */
#ifndef KIBI_UPDATE_UNIT
#define KIBI_UPDATE_UNIT 16u
#endif

/* What holds the models: two slots, and a journal, in flash of one kind. You fill it in; it never changes. Your
 * functions return 0, or anything else if they failed. Power may be lost while any of them runs. */
typedef struct {
    void *context; /* is passed to your functions */
    /* Reads bytes of the journal. It must fail where flash reports that the bytes cannot be read. */
    int (*read)(void *context, uint32_t address, void *data, uint32_t bytes);
    /* Programs whole program units, at a multiple of their size, which are erased. The data begins at a multiple of 4. */
    int (*program)(void *context, uint32_t address, const void *data, uint32_t bytes);
    /* Erases the sector that begins at the address: all of its bytes are 0xFF then. */
    int (*erase)(void *context, uint32_t address);
    /* Whether a message is signed by whom you trust: 0 if so. NULL: no signature is checked, see takes_unsigned. */
    int (*verify)(void *context, const void *message, uint32_t bytes, const uint8_t signature[KIBI_SIGNATURE_BYTES]);
    /* The least counter of a version that may be installed, in memory that cannot be turned back; NULL: there is no such memory. */
    uint32_t (*least_counter)(void *context);
    /* Raises it: called when a model is confirmed whose counter is above it. Never NULL where least_counter is not. */
    int (*raise_counter)(void *context, uint32_t counter);
    const kibi_kernels *kernels; /* of the core: files that need others are refused */
    const uint32_t *targets;     /* the hashes of the names of targets whose files the core runs */
    const uint8_t *mapped[2];    /* where the bytes of each slot are in memory: files run there, in place; at a multiple of 8 */
    uint32_t slot[2];            /* the address of each slot: a multiple of sector_bytes, as all addresses here */
    uint32_t slot_bytes;         /* of each of them: a multiple of sector_bytes */
    uint32_t journal;            /* the address of the journal */
    uint32_t journal_bytes;      /* of it: a multiple of sector_bytes, two sectors at least */
    uint32_t sector_bytes;       /* are erased at once: a power of two, not smaller than sizeof(kibi_journal) */
    uint32_t program_bytes;      /* are programmed at once: a power of two, 1 ... KIBI_UPDATE_UNIT */
    uint32_t arena_bytes;        /* of the arena that you have: models that need more are refused */
    uint32_t state_bytes;        /* of the memory that you have for variables */
    uint32_t model;              /* the hash of the name of the model that the device runs */
    uint32_t target_count;       /* of targets */
    uint32_t starts;              /* so often a new model is started before it must be confirmed, 1 ... 254; 0: it need not be */
    uint32_t takes_unsigned;      /* 1: where verify is NULL, packages of anybody are taken; 0: none is */
    uint32_t staging_bytes;       /* see kibi_update_in_place.h, for which alone it is not 0 */
} kibi_store;

/* Which model to open. */
typedef struct {
    const void *file; /* NULL: none */
    uint32_t bytes;
    uint32_t counter; /* of its version */
    uint32_t trial;   /* 0: it is confirmed; else it is on trial, and will be started trial - 1 times more before it must be */
} kibi_boot;

/* What the journal says of a slot's file: it is there only if it has this digest. */
typedef struct {
    uint32_t bytes; /* 0: the slot has none */
    uint32_t counter;
    uint32_t digest[8];
} kibi_slot_file;

/* A record of the journal. The newest one that is whole holds. */
typedef struct {
    uint32_t sequence; /* grows by 1 with each record */
    uint32_t active;   /* the slot whose model is opened */
    uint32_t trial;    /* 0: that model is confirmed; else 1 more than the starts that it has left */
    uint32_t package;  /* tells which package is being written into the other slot; 0: none is */
    uint32_t made;     /* so many bytes of its file are in the slot */
    uint32_t next;     /* the offset in the package of the byte that comes after those that made them */
    kibi_slot_file files[2]; /* of the active slot, and of the other one */
    uint32_t block_bytes;    /* in place: of the package that is being applied; 0: none is */
    uint32_t in_scratch;     /* in place: 1: the sector that comes next is made, and in the scratch sector */
    uint8_t rest[(KIBI_UPDATE_UNIT > 128u ? KIBI_UPDATE_UNIT : 128u) - 116u]; /* it takes 128 bytes, or 256 */
    uint32_t crc; /* of all bytes above */
} kibi_journal;

/* The newest record of a store's journal. */
typedef struct {
    const kibi_store *store;
    uint32_t end; /* the place for the next record: an offset in the journal */
    kibi_journal record;
} kibi_newest;

/* A package that is being received. The caller owns it; no field is for the caller's use. */
typedef struct {
    union {
        uint8_t bytes[KIBI_UPDATE_UNIT];
        uint32_t id; /* of a kernel, as it arrives */
    } unit;
    uint32_t wanted;  /* the offset in the package of the next byte */
    uint32_t until;   /* where its payload ends; in place, while a delta is decoded: bytes of its payload */
    uint32_t within;  /* the bits of offsets within a sector and a block; 0: the head is not complete yet */
    uint32_t sum;     /* of the ids of kernels */
    uint32_t lacking; /* 1: the core lacks one of these kernels */
    uint32_t is_delta;
    uint32_t filled;  /* bytes of the unit that have been made */
    kibi_newest newest; /* its store is NULL if no package is being received */
    union { /* at any time one of these */
        struct {
            kibi_file_package package;
            uint8_t signature[KIBI_SIGNATURE_BYTES];
        } head;
        uint32_t work[KIBI_SHA256_WORK];
#if KIBI_UPDATE_DELTA
        kibi_delta delta;
#endif
    } of;
} kibi_update;

/* Says which model to open: call it once after each start, before any package is received.
 * A model on trial has one start less then; if it has none left and the older model is whole, the older one is active again. A model
 * whose bytes have not their digest is never opened: the other slot's is, if that is whole.
 * KIBI_ERROR_NO_MODEL: no slot has a whole model. KIBI_ERROR_STORAGE: the journal cannot be written; a model is given even so. */
kibi_status kibi_update_boot(const kibi_store *store, kibi_boot *boot);

/* Confirms the active model: call it in each run in which the model has shown that it works. Writes only where something changes.
 * KIBI_ERROR_NO_MODEL: no package has been installed. KIBI_ERROR_STORAGE: a function of yours failed; call it again. */
kibi_status kibi_update_confirm(const kibi_store *store);

/* Refuses a model on trial, for instance one that kibi_model_open has refused: the next kibi_update_boot gives the older one, if
 * that is whole. A confirmed model stays. */
kibi_status kibi_update_reject(const kibi_store *store);

/* Begins to receive a package. KIBI_ERROR_SEQUENCE: the active model is on trial, and the other slot has the model to go back to:
 * confirm it first. If there is no such model, one on trial counts as confirmed from here on.
 * KIBI_ERROR_STORAGE: program_bytes is not as it must be, or a function of yours failed. */
kibi_status kibi_update_begin(kibi_update *update, const kibi_store *store);

/* Takes bytes of the package, as many at once as you like; `offset`: of the first one in the package. What comes before the wanted
 * offset is skipped. Nothing is erased before the head was checked: what the package says, its signature, its kernels.
 * KIBI_ERROR_SEQUENCE: bytes are missing before these; send from kibi_update_wanted on. All other errors end the update, and what is
 * in flash stays: begin again.
 * KIBI_ERROR_PACKAGE, ..._SIGNATURE, ..._OTHER_DEVICE, ..._OLDER, ..._BASE, ..._SPACE, ..._KERNEL: what is wrong.
 * KIBI_ERROR_STORAGE: a function of yours failed. */
kibi_status kibi_update_write(kibi_update *update, uint32_t offset, const void *bytes, uint32_t count);

/* The offset in the package from which bytes are wanted next. After a loss of power it leaps to where the update goes on, as soon as
 * all before the payload has been sent again. */
uint32_t kibi_update_wanted(const kibi_update *update);

/* Ends an update whose last byte has arrived: the digest of what is in flash is checked, and the new model is active, on trial, from
 * the next kibi_update_boot on. KIBI_ERROR_PACKAGE: bytes are missing, and may still be written; or all are there, but they do not
 * have the digest, and the next update begins anew. */
kibi_status kibi_update_finish(kibi_update *update);

#ifdef __cplusplus
}
#endif

#endif
