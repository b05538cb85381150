"""Update packages: made, read with all checks, signed, verified, applied.

A file has the package record, the signature of its 120 bytes, the ids of the kernels that the new plan file needs, and the payload.
Whoever has verified the signature trusts the record. The record has the digest of the new plan file, and the sum of the ids.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from kibi.errors import InputError, PackageError, PlanError, SignatureError
from kibi.planfile.package_records import (
    BLOCK_BYTES,
    LEAST_BLOCK_BYTES,
    MOST_BLOCK_BYTES,
    PACKAGE,
    PACKAGE_MAGIC,
    PACKAGE_VERSION,
    SIGNATURE_BYTES,
    Payload,
    Signature,
)
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import DIGEST_BYTES, HEADER, VERSION
from kibi.update.keys import PrivateKey, PublicKey

MOST_FILE_BYTES = 256 << 20
"""Of a plan file in a package: so much memory at most is taken for one that a stranger's package promises."""
MOST_PACKAGE_BYTES = MOST_FILE_BYTES + (1 << 20)
"""Of a package: its plan file, 65,535 ids, the record and the signature."""
PACKAGE_START = PACKAGE_MAGIC.to_bytes(4, "little")
"""The first bytes of a package."""
NO_DIGEST = bytes(DIGEST_BYTES)
"""What a package has in place of the digest of an older plan file, if it needs none."""
NO_SIGNATURE = bytes(SIGNATURE_BYTES)
"""What a package has in place of a signature, if it has none."""
_LEAST_FILE_BYTES = HEADER.size_bytes + DIGEST_BYTES
_MOST_ALIGNMENT = 64
_MOST_MEMORY = (1 << 31) - 1
_STATE_ALIGNMENT = 8
_BITS = {"u8": 8, "u16": 16, "u32": 32}
_REMEDY = "Get it again, or make it again with `kibi sign` or `kibi update`."


@dataclass(frozen=True, slots=True)
class Package:
    """An update package. One that exists has passed all checks but those of its signature and, if it is a delta, of its payload.

    Attributes:
        kind: of the payload: the plan file, or what makes it from an older one.
        scheme: by what it is signed.
        model: which model it is: the FNV-1a hash of a name.
        counter: of the version; a device takes only a higher one than it has.
        target: the FNV-1a hash of the target's name.
        file_version: of the plan file's format.
        arena_alignment: of the arena that the model needs, in bytes.
        arena_bytes: of that arena.
        state_bytes: of the memory of variables.
        file_bytes: of the new plan file.
        base_bytes: of the older plan file; 0 if the payload is the plan file.
        block_bytes: of the new file that each block of the payload makes.
        base_digest: the last 32 bytes of the older plan file; zeros if the payload is the plan file.
        digest: the last 32 bytes of the new plan file.
        kernel_ids: the kernels that the new plan file needs, and the parts of theirs; ascending.
        signature: 64 bytes, of the record; zeros if it is not signed.
        payload: the bytes of the kind.

    Raises:
        PackageError: a device would refuse it.
    """

    kind: Payload
    scheme: Signature
    model: int
    counter: int
    target: int
    file_version: int
    arena_alignment: int
    arena_bytes: int
    state_bytes: int
    file_bytes: int
    base_bytes: int
    block_bytes: int
    base_digest: bytes = field(repr=False)
    digest: bytes = field(repr=False)
    kernel_ids: tuple[int, ...] = field(repr=False)
    signature: bytes = field(repr=False)
    payload: bytes = field(repr=False)

    def __post_init__(self) -> None:
        """Checks all fields."""
        problem = next(self._problems(), None)
        if problem is not None:
            raise PackageError(f"the package {problem}. {_REMEDY}")

    @staticmethod
    def whole(file: PlanFile, *, model: int, counter: int, target: int, block_bytes: int = BLOCK_BYTES) -> "Package":
        """Returns an unsigned package that has a plan file.

        Args:
            file: the plan file.
            model: the FNV-1a hash of the model's name.
            counter: of the version.
            target: the FNV-1a hash of the target's name.
            block_bytes: of the plan file that a device programs before it notes how far it is.

        Raises:
            PackageError: a number has no room in its field.
        """
        return _of(file, Payload.WHOLE, file.data, None, (model, counter, target, block_bytes))

    @staticmethod
    def delta(
        old: PlanFile,
        new: PlanFile,
        payload: bytes,
        *,
        model: int,
        counter: int,
        target: int,
        block_bytes: int = BLOCK_BYTES,
        in_place: bool = False,
    ) -> "Package":
        """Returns an unsigned package whose payload makes a plan file from an older one.

        Args:
            old: the plan file that the device has.
            new: the plan file that it gets.
            payload: what `kibi.update.delta.encode` made of both, with the same `block_bytes` and `in_place`.
            model: the FNV-1a hash of the model's name.
            counter: of the version.
            target: the FNV-1a hash of the target's name.
            block_bytes: of the new plan file that each block of the payload makes.
            in_place: True if the payload may be applied in the place of the older file.

        Raises:
            PackageError: a number has no room in its field.
        """
        kind = Payload.IN_PLACE if in_place else Payload.DELTA
        return _of(new, kind, payload, old, (model, counter, target, block_bytes))

    @staticmethod
    def parse(data: bytes) -> "Package":
        """Reads a package.

        Args:
            data: the bytes of the whole file.

        Raises:
            PackageError: it is no package of this version, was cut or changed, has bytes after its end, or contradicts itself.
        """
        if len(data) < PACKAGE.size_bytes + SIGNATURE_BYTES or data[:4] != PACKAGE_START:
            raise PackageError(f"these {len(data)} bytes are no package, which begins with KIBU. {_REMEDY}")
        values = PACKAGE.read(data, 0)
        if values["version"] != PACKAGE_VERSION or values["required"]:
            raise PackageError(
                f"the package is of format {values['version']} with features {values['required']:#x}; this is "
                f"{PACKAGE_VERSION} with none. {_REMEDY}"
            )
        ids_at = PACKAGE.size_bytes + SIGNATURE_BYTES
        payload_at = ids_at + 4 * values["kernel_count"]
        end = payload_at + values["payload_bytes"]
        if len(data) != end:
            why = "it was cut" if len(data) < end else "there are bytes after its end"
            raise PackageError(f"the package has {len(data)} bytes and says that it has {end}: {why}. {_REMEDY}")
        if zlib.crc32(data[ids_at:payload_at]) != values["kernel_sum"]:
            raise PackageError(f"the package is damaged: the sum of its kernels' ids is another one. {_REMEDY}")
        kind = next((each for each in Payload if each == values["kind"]), None)
        scheme = next((each for each in Signature if each == values["signature"]), None)
        if kind is None or scheme is None:
            raise PackageError(
                f"the package has a payload of kind {values['kind']} and a signature of kind {values['signature']}, one of which "
                f"this version does not know. {_REMEDY}"
            )
        same = {each: values[each] for each in _SAME}
        ids = struct.unpack_from(f"<{values['kernel_count']}I", data, ids_at)
        signature = bytes(data[PACKAGE.size_bytes : ids_at])
        return Package(
            kind=kind, scheme=scheme, kernel_ids=ids, signature=signature, payload=bytes(data[payload_at:]), **same
        )

    @property
    def record(self) -> bytes:
        """The package record, 120 bytes: what is signed."""
        ids = self._packed_ids()
        return PACKAGE.packed(
            magic=PACKAGE_MAGIC,
            version=PACKAGE_VERSION,
            required=0,
            kind=self.kind,
            signature=self.scheme,
            kernel_count=len(self.kernel_ids),
            payload_bytes=len(self.payload),
            kernel_sum=zlib.crc32(ids),
            **{each: getattr(self, each) for each in _SAME},
        )

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return b"".join((self.record, self.signature, self._packed_ids(), self.payload))

    @property
    def size_bytes(self) -> int:
        """How many they are."""
        return PACKAGE.size_bytes + SIGNATURE_BYTES + 4 * len(self.kernel_ids) + len(self.payload)

    @property
    def blocks(self) -> int:
        """How many blocks of the new plan file there are."""
        return -(-self.file_bytes // self.block_bytes)

    def signed(self, key: PrivateKey) -> "Package":
        """Returns the same package with a signature by this key, in place of one that it has."""
        bare = replace(self, scheme=Signature.ED25519, signature=NO_SIGNATURE)
        return replace(bare, signature=key.sign(bare.record))

    def verify(self, key: PublicKey) -> None:
        """Returns if the package was signed with this key's private key, and nothing in its record has changed since.

        Raises:
            SignatureError: it was not.
            ToolchainError: the library of the extra `kibi[update]` is missing.
        """
        if self.scheme is Signature.NONE:
            raise SignatureError("the package is not signed. Sign its plan file with `kibi sign`.")
        key.verify(self.signature, self.record)

    def apply(self, base: PlanFile | None = None) -> PlanFile:
        """Returns the new plan file, as a device makes it. Verify the package before.

        Args:
            base: the plan file that the device has; None suffices if the payload is the new one.

        Raises:
            PackageError: the package needs another plan file than this one, or its payload does not make what its record says.
        """
        if self.kind is Payload.WHOLE:
            return PlanFile(self.payload)
        if base is None or len(base.data) != self.base_bytes or base.data[-DIGEST_BYTES:] != self.base_digest:
            raise PackageError(
                f"the package is a delta for the plan file with the SHA-256 {self.base_digest.hex()[:16]}…, and "
                f"{'none was given' if base is None else 'another one was given'}. Give that file, or use a whole package."
            )
        from kibi.update.delta import decode  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - deltas alone

        try:
            in_place = self.kind is Payload.IN_PLACE
            made = PlanFile(decode(self.payload, base.data, self.file_bytes, self.block_bytes, in_place=in_place))
            problem = next(self._differences(made), None)
        except (InputError, PlanError) as error:
            raise PackageError(f"the payload of the package makes no plan file: {error}") from None
        if problem is not None:
            raise PackageError(f"the package {problem}. {_REMEDY}")
        return made

    def _packed_ids(self) -> bytes:
        return struct.pack(f"<{len(self.kernel_ids)}I", *self.kernel_ids)

    def _problems(self) -> Iterator[str]:
        """Yields what is wrong with the fields; each check may rely on those before it."""
        for each in PACKAGE.fields:
            value = len(self.payload) if each.name == "payload_bytes" else getattr(self, each.name, 0)
            if each.type in _BITS and isinstance(value, int) and not 0 <= value < 1 << _BITS[each.type]:
                yield f"says {value} for {each.name}, which has {_BITS[each.type]} bits"
        if len(self.digest) != DIGEST_BYTES or len(self.base_digest) != DIGEST_BYTES:
            yield "has a digest that is not 32 bytes long"
        if len(self.signature) != SIGNATURE_BYTES:
            yield "has a signature that is not 64 bytes long"
        if self.scheme is Signature.NONE and self.signature != NO_SIGNATURE:
            yield "has a signature, and says that it has none"
        if len(self.kernel_ids) > 0xFFFF or not all(0 <= each < 1 << 32 for each in self.kernel_ids):
            yield "has more than 65,535 ids of kernels, or one that has more than 32 bits"
        if any(one >= other for one, other in zip(self.kernel_ids, self.kernel_ids[1:], strict=False)):
            yield "has ids of kernels that do not ascend"
        if self.file_version != VERSION:
            yield f"brings a plan file of format {self.file_version}; this is {VERSION}"
        if not _is_power_of_two(self.block_bytes, LEAST_BLOCK_BYTES, MOST_BLOCK_BYTES):
            yield f"has blocks of {self.block_bytes} bytes, no power of two from {LEAST_BLOCK_BYTES} to {MOST_BLOCK_BYTES}"
        if not _is_power_of_two(self.arena_alignment, 1, _MOST_ALIGNMENT):
            yield f"needs an arena with the alignment {self.arena_alignment}, no power of two from 1 to {_MOST_ALIGNMENT}"
        if self.arena_bytes > _MOST_MEMORY or self.state_bytes > _MOST_MEMORY or self.state_bytes % _STATE_ALIGNMENT:
            yield f"needs {self.arena_bytes} bytes of arena and {self.state_bytes} of variables, which cannot be"
        if not _is_file_size(self.file_bytes):
            yield f"brings a plan file of {self.file_bytes} bytes, which cannot be"
        yield from self._problems_of_whole() if self.kind is Payload.WHOLE else self._problems_of_delta()

    def _problems_of_delta(self) -> Iterator[str]:
        if not _is_file_size(self.base_bytes):
            yield f"is for a plan file of {self.base_bytes} bytes, which cannot be"
        if len(self.payload) > MOST_FILE_BYTES:
            yield f"has a payload of {len(self.payload):,} bytes, more than any plan file"

    def _problems_of_whole(self) -> Iterator[str]:
        if self.base_bytes or self.base_digest != NO_DIGEST:
            yield "has the whole plan file, and names an older one"
        if len(self.payload) != self.file_bytes:
            yield f"brings {len(self.payload)} bytes of a plan file that has {self.file_bytes}"
        try:
            yield from self._differences(PlanFile(self.payload))
        except PlanError as error:
            yield f"brings no plan file: {error.args[0].rstrip('.')}"

    def _differences(self, file: PlanFile) -> Iterator[str]:
        """Yields what the record says of the new plan file and what is not so."""
        for name, found in _said_of(file).items():
            if getattr(self, name) != found:
                yield f"says of its plan file another {name} than that has"


_SAME = (
    *("model", "counter", "target", "file_version", "arena_alignment", "arena_bytes", "state_bytes"),
    *("file_bytes", "base_bytes", "block_bytes", "base_digest", "digest"),
)
"""Fields of the record whose values a package has under the same names."""


def _of(
    file: PlanFile, kind: Payload, payload: bytes, base: PlanFile | None, numbers: tuple[int, int, int, int]
) -> Package:
    """Returns an unsigned package; `numbers` are model, counter, target and block_bytes."""
    model, counter, target, block_bytes = numbers
    return Package(
        kind=kind,
        scheme=Signature.NONE,
        model=model,
        counter=counter,
        target=target,
        block_bytes=block_bytes,
        base_bytes=0 if base is None else len(base.data),
        base_digest=NO_DIGEST if base is None else base.data[-DIGEST_BYTES:],
        signature=NO_SIGNATURE,
        payload=payload,
        **_said_of(file),
    )


def _said_of(file: PlanFile) -> dict[str, Any]:
    """Returns what a package says of its plan file, by the names of the fields."""
    return {
        "file_version": file.header["version"],
        "arena_alignment": file.header["arena_alignment"],
        "arena_bytes": file.arena_bytes,
        "state_bytes": file.state_bytes,
        "file_bytes": len(file.data),
        "digest": file.data[-DIGEST_BYTES:],
        "kernel_ids": file.kernel_ids,
    }


def _is_power_of_two(value: int, least: int, most: int) -> bool:
    return least <= value <= most and value.bit_count() == 1


def _is_file_size(value: int) -> bool:
    return _LEAST_FILE_BYTES <= value <= MOST_FILE_BYTES and value % 4 == 0
