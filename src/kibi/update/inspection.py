"""What `kibi inspect` tells of plan files, packages and keys: records for JSON, from which the text is made, too."""

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from kibi.eager.events import fnv1a
from kibi.files import open_binary, take
from kibi.kernels.params import PARAMS
from kibi.planfile.kernel_ids import kernel_id, part_id, parts_of
from kibi.planfile.package_records import Payload, Signature
from kibi.planfile.reader import PlanFile, Port
from kibi.planfile.records import DIGEST_BYTES, MAGIC
from kibi.targets import targets
from kibi.update.keys import PEM_START, PublicKey, public_key_of
from kibi.update.package import PACKAGE_START, Package


class Inspected(Enum):
    """A kind of file that has to do with updates."""

    PLAN_FILE = "a plan file"
    PACKAGE = "an update package"
    KEY = "a key"


STARTS: Final[Mapping[bytes, Inspected]] = MappingProxyType({
    MAGIC.to_bytes(4, "little"): Inspected.PLAN_FILE,
    PACKAGE_START: Inspected.PACKAGE,
    PEM_START: Inspected.KEY,
})  # fmt: skip
"""The first bytes of each kind of file."""
_MOST_START = max(map(len, STARTS))


def kind_of(path: Path) -> Inspected | None:
    """Returns the kind of a file by its first bytes; None if it is of another kind, or cannot be read."""
    try:
        with open_binary(path) as stream:
            head = take(stream, _MOST_START)
    except OSError:
        return None  # whoever reads it says why not
    return next((kind for start, kind in STARTS.items() if head.startswith(start)), None)


def plan_file_record(file: PlanFile) -> dict[str, Any]:
    """Returns what a plan file says of itself.

    Raises:
        PlanError: an offset in it leads outside of it.
    """
    return {
        "kind": "plan file",
        "model": file.name,
        "bytes": len(file.data),
        "format": file.header["version"],
        "sha256": file.data[-DIGEST_BYTES:].hex(),
        "arena_bytes": file.arena_bytes,
        "arena_alignment": file.header["arena_alignment"],
        "state_bytes": file.state_bytes,
        "external_bytes": list(file.externals),
        "streams": file.streams,
        "fences": len(file.fences),
        "inputs": [_port_record(each) for each in file.inputs],
        "outputs": [_port_record(each) for each in file.outputs],
        **kernels_record(file.kernel_ids),
    }


def package_record(package: Package, key: PublicKey | None = None) -> dict[str, Any]:
    """Returns what a package says of itself, after its signature is verified where there is a key.

    Args:
        package: the package.
        key: the public key that must verify the signature; None: it is not verified, and the record says so.

    Raises:
        SignatureError: the signature is missing, or was made with another key.
        ToolchainError: the library of the extra `kibi[update]` is missing.
    """
    if key is not None:
        package.verify(key)
    is_delta = package.kind is not Payload.WHOLE
    return {
        "kind": "delta" if is_delta else "package",
        "in_place": package.kind is Payload.IN_PLACE,
        "bytes": package.size_bytes,
        "model_id": package.model,
        "model": _name_in(package),
        "counter": package.counter,
        "target_id": package.target,
        "target": next((each.name for each in targets() if fnv1a(each.name) == package.target), None),
        "signature": "none" if package.scheme is Signature.NONE else "ed25519",
        "verified": key is not None,
        "key": None if key is None else key.fingerprint,
        "payload_bytes": len(package.payload),
        "block_bytes": package.block_bytes,
        "blocks": package.blocks,
        "replaces": {"bytes": package.base_bytes, "sha256": package.base_digest.hex()} if is_delta else None,
        "brings": {"bytes": package.file_bytes, "format": package.file_version, "sha256": package.digest.hex()},
        "arena_bytes": package.arena_bytes,
        "arena_alignment": package.arena_alignment,
        "state_bytes": package.state_bytes,
        **kernels_record(package.kernel_ids),
    }


def key_record(path: Path) -> dict[str, Any]:
    """Returns what anybody may know of a file with a key: nothing of a private one but its public one's SHA-256.

    Raises:
        InputError: there is no such file, or it holds no Ed25519 key.
        ToolchainError: the library of the extra `kibi[update]` is missing.
    """
    key, kind = public_key_of(path)
    return {
        "kind": f"{kind} key",
        "algorithm": "ed25519",
        "public_key": None if key is None else key.data.hex(),
        "fingerprint": None if key is None else key.fingerprint,
    }


def kernels_record(ids: Sequence[int]) -> dict[str, Any]:
    """Returns names for the ids of kernels and of their parts, and the ids that this version does not know."""
    kernels = {kernel_id(name): name for name in PARAMS}
    parts = {part_id(name): name for name in parts_of(PARAMS)}
    return {
        "kernels": [kernels[each] for each in ids if each in kernels],
        "parts": sorted(parts[each] for each in ids if each in parts),
        "unknown_ids": [each for each in ids if each not in kernels and each not in parts],
    }


def _name_in(package: Package) -> str | None:
    """Returns the name of the model where the plan file in the package has the one that was hashed."""
    name = package.apply().name if package.kind is Payload.WHOLE else ""
    return name if name and fnv1a(name) == package.model else None


def _port_record(port: Port) -> dict[str, Any]:
    return {
        "name": port.name,
        "dtype": str(port.dtype),
        "shape": list(port.shape),
        "scale": port.scale,
        "zero_point": port.zero_point,
        "external": port.external,
    }
