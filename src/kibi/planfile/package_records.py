"""The records of an update package: what it says of the model that it brings, before its payload.

A package is the package record, a signature of these bytes, the ids of the kernels that the model needs, and the payload. Whoever
verifies the signature has the digest of the new file, and needs to trust nothing else in the package.
"""

from enum import IntEnum

from kibi.planfile.record import Record, fields

PACKAGE_MAGIC = 0x5542494B
"""The first four bytes, `KIBU`."""
PACKAGE_VERSION = 1
"""Of the record below. A device refuses every other one."""
SIGNATURE_BYTES = 64
"""Of the signature that follows the record, of the record's bytes: by Ed25519 (RFC 8032)."""
BLOCK_BYTES = 4096
"""So many bytes of the new file each block of a payload makes, and the last one the rest."""
LEAST_BLOCK_BYTES, MOST_BLOCK_BYTES = 256, 65536
"""Of what a block makes: powers of two."""


class Payload(IntEnum):
    """What the payload of a package is."""

    WHOLE = 0
    """The plan file."""
    DELTA = 1
    """What makes the plan file from an older one."""
    IN_PLACE = 2
    """The same, in blocks that use no byte of the older file before their own first one: they may take the place of that file."""


class Signature(IntEnum):
    """By what a package is signed."""

    NONE = 0
    """By nobody: the 64 bytes are 0."""
    ED25519 = 1
    """By an Ed25519 key."""


PACKAGE = Record(
    "package",
    "The first record of an update package.",
    fields(
        ("magic", "u32", "`KIBU`: 0x5542494B"),
        ("version", "u16", "of the format: 1. A device refuses every other one"),
        ("required", "u16", "features that a device must know, as bits: 0"),
        (
            "kind",
            "u8",
            "of the payload: 0 the plan file, 1 what makes it from an older one, 2 what also does so in the place of that one",
        ),
        ("signature", "u8", "0 none, 1 Ed25519"),
        ("kernel_count", "u16", "0 ... 65535 ids after the signature"),
        ("model", "u32", "which model it is: the FNV-1a hash of a name that you choose"),
        ("counter", "u32", "of the version: a device takes none that is not above the one that it has"),
        ("target", "u32", "the FNV-1a hash of the target's name"),
        ("file_version", "u16", "of the plan file's format: the core must read it"),
        ("arena_alignment", "u16", "of the arena that the model needs"),
        ("arena_bytes", "u32", "of that arena"),
        ("state_bytes", "u32", "of the memory of variables"),
        ("file_bytes", "u32", "of the new plan file: a multiple of 4"),
        ("base_bytes", "u32", "of the older plan file; 0 where the payload is the plan file"),
        ("payload_bytes", "u32", "of the payload"),
        ("block_bytes", "u32", "of the new file that each block of the payload makes: a power of two, 256 ... 65536"),
        ("kernel_sum", "u32", "the CRC-32 of the ids of kernels"),
        ("base_digest", "u8[32]", "the last 32 bytes of the older plan file, its SHA-256; 0 where there is none"),
        ("digest", "u8[32]", "the last 32 bytes of the new plan file, its SHA-256"),
    ),
)
