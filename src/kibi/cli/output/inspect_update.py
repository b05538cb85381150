"""`kibi inspect` of plan files, update packages and keys."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kibi.cli.terminal import byte_text, facts, output, print_json
from kibi.errors import InputError, PlanError, SignatureError

if TYPE_CHECKING:
    from rich.console import Console

Record = Mapping[str, Any]
"""What `kibi.update.inspection` tells of a file."""
_MOST_PLAN_BYTES = 256 << 20


def inspect_other(file: Path, key: Path | None, *, as_json: bool, is_for_models: bool) -> bool:
    """Prints what is in a plan file, a package or a key.

    Args:
        file: the file, of any kind.
        key: the public key that must verify the signature of the package that the file is then; None: none is verified.
        as_json: True prints one JSON object.
        is_for_models: True if an option was given that only models have.

    Returns:
        False if the file is of another kind: then nothing is printed.

    Raises:
        InputError: an option does not go with the file, or it is a key that cannot be read.
        PlanError: the plan file is damaged.
        PackageError: the package is damaged; or, as `SignatureError`, its signature is not that of the key.
    """
    from kibi.update.inspection import Inspected, kind_of  # noqa: PLC0415 - verbs pay for what they use

    kind = Inspected.PACKAGE if key is not None else kind_of(file)
    if kind is None:
        return False
    if is_for_models:
        raise InputError(
            f"{file} is {kind.value}, no model: --passes, --without-pass, --text and --signature are for models. "
            "Leave them out."
        )
    try:
        record = {"file": str(file), **_record(file, kind, key)}
    except (PlanError, SignatureError) as error:
        raise type(error)(f"{file}: {error}") from None
    if as_json:
        print_json(record, is_of_model=False)
        return True
    show = {Inspected.PLAN_FILE: _show_plan_file, Inspected.PACKAGE: show_package, Inspected.KEY: _show_key}
    show[kind](output(), record)
    return True


def _record(file: Path, kind: object, key: Path | None) -> Record:
    import kibi  # noqa: PLC0415
    from kibi.files import read_file  # noqa: PLC0415
    from kibi.planfile.reader import PlanFile  # noqa: PLC0415
    from kibi.update.inspection import Inspected, key_record, package_record, plan_file_record  # noqa: PLC0415
    from kibi.update.keys import load_public_key  # noqa: PLC0415

    if kind is Inspected.KEY:
        return key_record(file)
    if kind is Inspected.PACKAGE:
        return package_record(kibi.read_package(file), None if key is None else load_public_key(key))
    return plan_file_record(PlanFile(read_file(file, _MOST_PLAN_BYTES, PlanError, "Give the path of a plan file.")))


def show_package(console: "Console", record: Record, *, is_ours: bool = False) -> None:
    """Prints what a package says of itself.

    Args:
        console: where.
        record: from `package_record`, with `file`.
        is_ours: True if it was signed just now, so that nobody needs to verify it.
    """
    brings, replaces = record["brings"], record["replaces"]
    what = "whole plan file" if not replaces else "delta, may be applied in place" if record["in_place"] else "delta"
    facts(
        console,
        [
            ("package", f"{record['file']}: {what}, {byte_text(record['bytes'])}"),
            ("model", _named(record["model"], record["model_id"])),
            ("version", f"counter {record['counter']}"),
            ("target", _named(record["target"], record["target_id"])),
            ("signature", _signature(record, is_ours=is_ours)),
            *([("replaces", _file(replaces))] if replaces else []),
            ("brings", f"{_file(brings)}, format {brings['format']}"),
            ("payload", f"{byte_text(record['payload_bytes'])}, {_blocks(record)}"),
            *_needs(record),
        ],
    )


def _show_plan_file(console: "Console", record: Record) -> None:
    facts(
        console,
        [
            ("plan file", f"{record['file']}: {byte_text(record['bytes'])}, format {record['format']}"),
            ("model", record["model"] or "without a name"),
            ("SHA-256", record["sha256"]),
            *((f"input {number}", _port(port)) for number, port in enumerate(record["inputs"])),
            *((f"output {number}", _port(port)) for number, port in enumerate(record["outputs"])),
            *([("inputs", "arrive row by row")] if record["streams"] else []),
            *([("fences", f"{record['fences']}: weights may be written while it runs")] if record["fences"] else []),
            *_needs(record),
            *(("buffer", f"{byte_text(each)}, which you own") for each in record["external_bytes"]),
        ],
    )


def _show_key(console: "Console", record: Record) -> None:
    known = record["public_key"] is not None
    facts(
        console,
        [
            ("key", f"{record['file']}: {record['kind']}, Ed25519"),
            ("public key", record["public_key"] if known else "unknown without the passphrase: see NAME.pub.pem"),
            *([("fingerprint", f"{record['fingerprint']}, the SHA-256 of the public key")] if known else []),
        ],
    )


def _signature(record: Record, *, is_ours: bool) -> str:
    if record["signature"] == "none":
        return "none"
    if record["verified"]:
        return f"Ed25519, by the key {record['key']}"
    return "Ed25519" if is_ours else "Ed25519, not verified: give --key NAME.pub.pem"


def _blocks(record: Record) -> str:
    count = record["blocks"]
    return f"{count} block{'' if count == 1 else 's'} of {record['block_bytes']} bytes"


def _needs(record: Record) -> list[tuple[str, str]]:
    """Returns what a device must have for the model."""
    aligned = f", aligned to {record['arena_alignment']}" if record["arena_alignment"] > 1 else ""
    names = [*(name.removeprefix("kibi_") for name in record["kernels"])]
    names += [f"{each:#010x}, which this version does not know" for each in record["unknown_ids"]]
    parts = [part.removeprefix("KIBI_").lower() for part in record["parts"]]
    return [
        ("arena", f"{byte_text(record['arena_bytes'])}{aligned}"),
        *([("state", byte_text(record["state_bytes"]))] if record["state_bytes"] else []),
        ("kernels", ", ".join(names) or "none"),
        *([("parts", ", ".join(parts))] if parts else []),
    ]


def _named(name: str | None, number: int) -> str:
    return f"{number:#010x}" if name is None else f"{name}, {number:#010x}"


def _file(said: Record) -> str:
    return f"plan file of {byte_text(said['bytes'])}, SHA-256 {said['sha256']}"


def _port(port: Record) -> str:
    shape = "x".join(map(str, port["shape"])) or "scalar"
    scale = f"scale {port['scale']:.5g}, zero point {port['zero_point']}" if port["scale"] else "not quantized"
    where = "" if port["external"] is None else f", in the external buffer {port['external']}"
    return f"{port['name'] or 'without a name'}  {shape} {port['dtype']}  {scale}{where}"
