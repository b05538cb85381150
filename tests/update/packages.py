"""Update packages for tests, made from the record by hand, and the programs in C that receive them."""

import struct
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import kibi
from kibi.engines.core import written_core
from kibi.planfile.package_records import (
    PACKAGE,
    PACKAGE_MAGIC,
    PACKAGE_VERSION,
    SIGNATURE_BYTES,
    Payload,
    Signature,
)
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import DIGEST_BYTES, VERSION
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.targets import target
from kibi.toolchain.build import build_program
from kibi.update.delta import encode
from tests.engines.networks import residual_network

TARGET, MODEL = 0x54455354, 0x4D4F444C
HEAD_BYTES = PACKAGE.size_bytes + SIGNATURE_BYTES
BLOCK_BYTES = 256
_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Sizes:
    """The flash of a device, and how it is tested: the fields of `settings` in device.h, in their order.

    Attributes:
        sector_bytes, unit_bytes: are erased, and programmed, at once.
        slot_bytes, journal_bytes: of each slot, and of the journal.
        has_ecc: 1: what was cut cannot be read.
        starts: of a model on trial.
        seed: of all that is drawn.
        every: the power is cut at each so many operations,
        stride: and a second time at each so many of what follows; 0: never.
        trust: 0 checks signatures; 1 takes packages of anybody; 2 takes none, as there is nothing to check signatures with.
        staging_bytes: of the staging area of a device that applies updates in place; 0: there are two slots.
    """

    sector_bytes: int
    unit_bytes: int
    slot_bytes: int
    journal_bytes: int
    has_ecc: int = 0
    starts: int = 3
    seed: int = 1
    every: int = 1
    stride: int = 0
    trust: int = 0
    staging_bytes: int = 0

    @property
    def packed(self) -> bytes:
        """As the programs read them."""
        return struct.pack(
            "<11I",
            self.sector_bytes,
            self.unit_bytes,
            self.slot_bytes,
            self.journal_bytes,
            self.has_ecc,
            self.starts,
            self.seed,
            self.every,
            self.stride,
            self.trust,
            self.staging_bytes,
        )


def file_of(seed: int, height: int = 4, width: int = 3, channels: int = 2) -> PlanFile:
    """A small plan file for this machine; the seed gives its weights."""
    graph = residual_network(height, width, channels, seed)
    return PlanFile(plan_file(PlannedModel.of(graph, kibi.plan(graph, target="host"))))


def signature_of(record: bytes) -> bytes:
    """The signature of tests: 16 check sums, each with its number."""
    return b"".join(struct.pack("<I", zlib.crc32(record, number)) for number in range(SIGNATURE_BYTES // 4))


def _payload(file: PlanFile, base: PlanFile | None, in_place: int) -> bytes:
    if base is None:
        return file.data
    return encode(base.data, file.data, in_place or BLOCK_BYTES, in_place=in_place > 0)


def _record_of(
    file: PlanFile, counter: int, base: PlanFile | None, in_place: int, payload_bytes: int
) -> dict[str, Any]:
    """The values of a package's record: of the whole file, or of what makes it from another one."""
    ids = struct.pack(f"<{len(file.kernel_ids)}I", *file.kernel_ids)
    kind = Payload.WHOLE if base is None else Payload.IN_PLACE if in_place else Payload.DELTA
    return {
        "magic": PACKAGE_MAGIC,
        "version": PACKAGE_VERSION,
        "required": 0,
        "kind": int(kind),
        "signature": int(Signature.ED25519),
        "kernel_count": len(file.kernel_ids),
        "model": MODEL,
        "counter": counter,
        "target": TARGET,
        "file_version": VERSION,
        "arena_alignment": file.header["arena_alignment"],
        "arena_bytes": file.arena_bytes,
        "state_bytes": file.state_bytes,
        "file_bytes": len(file.data),
        "base_bytes": 0 if base is None else len(base.data),
        "payload_bytes": payload_bytes,
        "block_bytes": in_place or BLOCK_BYTES,
        "kernel_sum": zlib.crc32(ids),
        "base_digest": bytes(DIGEST_BYTES) if base is None else base.data[-DIGEST_BYTES:],
        "digest": file.data[-DIGEST_BYTES:],
    }


def package_of(
    file: PlanFile,
    counter: int,
    base: PlanFile | None = None,
    *,
    in_place: int = 0,
    seal: bytes | None = None,
    payload: bytes | None = None,
    **changed: Any,
) -> bytes:
    """A package: record, signature, ids of kernels, payload.

    Args:
        file: the new plan file.
        counter: of its version.
        base: the older plan file; None: the package has the whole new one.
        in_place: bytes of the blocks of a delta that may be applied in place; 0: it may not.
        seal: in place of the signature.
        payload: in place of what makes the new file.
        changed: other values of fields.
    """
    payload = _payload(file, base, in_place) if payload is None else payload
    record = PACKAGE.packed(**{**_record_of(file, counter, base, in_place, len(payload)), **changed})
    ids = struct.pack(f"<{len(file.kernel_ids)}I", *file.kernel_ids)
    return record + (signature_of(record) if seal is None else seal) + ids + payload


def sent(*blobs: bytes) -> bytes:
    """Bytes as the programs read them, each with their number before them."""
    return b"".join(struct.pack("<I", len(each)) + each for each in blobs)


@cache
def program_of(name: str, kernels: Sequence[str], *, sanitize: bool = True, unit: int = 16) -> Path:
    """Builds a test program with a core for this machine, under sanitizers, or for long runs without them.

    Args:
        name: of the program's file in this folder.
        kernels: of the core.
        sanitize: whether to stop at undefined behaviour.
        unit: the KIBI_UPDATE_UNIT of all files.
    """
    folder = Path(tempfile.mkdtemp())
    sources = {path.name: path for path in written_core(kernels, target("host"), folder)}
    header = folder / "kibi_update.h"
    header.write_text(header.read_text().replace("#define KIBI_UPDATE_UNIT 16u", f"#define KIBI_UPDATE_UNIT {unit}u"))
    shared = ["flash.h", "flash.c", "device.h", "device.c", *(["campaign.h", "campaign.c"] if "cuts" in name else [])]
    for file in (*shared, name):
        (folder / file).write_text(
            "#define _POSIX_C_SOURCE 200809L\n" * file.endswith(".c") + (_HERE / file).read_text()
        )
    sources |= {file: folder / file for file in (*shared, name) if file.endswith(".c")}
    return build_program(
        list(sources.values()), compiler="gcc", level="1" if sanitize else "2", includes=[folder], sanitize=sanitize
    )
