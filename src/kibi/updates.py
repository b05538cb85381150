"""The functions of `import kibi` for updates in the field: keys, and signed packages with plan files and deltas."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kibi.errors import InputError, InternalError, PackageError, PlanError, SignatureError, bounded
from kibi.targets import Target
from kibi.targets import target as target_named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kibi.planfile.reader import PlanFile
    from kibi.update.keys import PrivateKey
    from kibi.update.package import Package

_MOST_COUNTER = (1 << 32) - 1
_DEFAULT_TARGET = "cortex-m4"


@bounded
def generate_key(path: str | os.PathLike[str] | None = None, passphrase: str | None = None) -> "PrivateKey":
    """Makes a pair of Ed25519 keys: the private one signs packages, the public one verifies them on devices.

    Args:
        path: folder and name: `keys/release` stands for `keys/release.pem`, the private key, which its owner alone may read,
            `keys/release.pub.pem`, the public key, and `keys/release.h`, the public key in C. None: nothing is written.
        passphrase: what encrypts the private key in its file; None: it is not encrypted.

    Returns:
        The private key; `.public` is the public one.

    Raises:
        OutputError: one of the files exists, or cannot be written.
        InputError: the path names no file, or the passphrase is empty or too long.
        ToolchainError: the library of the extra `kibi[update]` is missing.
    """
    from kibi.files import check_path  # noqa: PLC0415 - see kibi.api
    from kibi.update.keys import new_key, write_key  # noqa: PLC0415

    place = None if path is None else check_path(path, "path")
    key = new_key()
    if place is not None:
        write_key(place, key, passphrase)
    return key


@bounded
def sign(
    plan_file: "str | os.PathLike[str] | bytes | PlanFile",
    key: "str | os.PathLike[str] | PrivateKey",
    *,
    model: str,
    counter: int,
    target: str | Target | None = None,
    passphrase: str | None = None,
    path: str | os.PathLike[str] | None = None,
) -> "Package":
    """Makes a signed package that has a whole plan file.

    Args:
        plan_file: the path of the plan file, its bytes, or the file.
        key: the private key, or the path of its file.
        model: the name of the model: a device takes packages for the model that it has, and no others.
        counter: of the version, 1 ... 2^32 - 1: a device takes packages with a higher one than it has.
        target: the processor that the plan file is for; None: that of the layout beside it, or Cortex-M4 without a layout.
        passphrase: of the key's file; None: it is not encrypted.
        path: where to write the package; None: it is only returned.

    Returns:
        The package; `data` has its bytes.

    Raises:
        PlanError: there is no such plan file, or it or its layout is damaged or of another version.
        InputError: there is no such key, or name and counter cannot be.
        TargetError: no such target.
        PackageError: the plan file is too large, or its kernels' ids are wrong.
        OutputError: the package cannot be written.
        ToolchainError: the library of the extra `kibi[update]` is missing.
    """
    from kibi.update.package import Package  # noqa: PLC0415

    write = _writer(path)
    name, number, file = _model_id(model), _counter(counter), _plan_file(plan_file)
    processor = _target_id(target, plan_file)
    signed = Package.whole(file, model=name, counter=number, target=processor).signed(_private_key(key, passphrase))
    write(signed)
    return signed


@bounded
def sign_update(
    old: "str | os.PathLike[str] | bytes | PlanFile | Package",
    new: "str | os.PathLike[str] | bytes | PlanFile | Package",
    key: "str | os.PathLike[str] | PrivateKey",
    *,
    model: str | None = None,
    counter: int | None = None,
    target: str | Target | None = None,
    in_place: int | None = None,
    passphrase: str | None = None,
    path: str | os.PathLike[str] | None = None,
) -> "Package":
    """Makes a signed package that takes devices from one plan file to another: a delta, or the whole new file if that is smaller.

    What packages are given for `old` and `new` must be whole, and signed by this key. They say model, target and counter.
    Devices that apply updates in place take no whole file over another one: for them the package is always a delta.

    Args:
        old: the plan file that devices have, or its package: a path, bytes, or the object.
        new: the plan file that they get, or its package.
        key: the private key, or the path of its file.
        model: the name of the model; None: that of the packages.
        counter: of the new version; None: that of the package `new`, or 1 more than that of the package `old`.
        target: the processor that the plan files are for; None: that of the packages, or of the layout beside the new file, or
            Cortex-M4.
        in_place: the bytes that the flash of the devices erases at once, a power of two from 256 on, if they apply the update in
            the place of the old file; None: they have two slots, and take the other packages, too.
        passphrase: of the key's file; None: it is not encrypted.
        path: where to write the package; None: it is only returned.

    Returns:
        The package; its `kind` says whether it is a delta.

    Raises:
        PlanError: a plan file does not exist, is damaged or of another version.
        PackageError: a package is damaged or a delta, or packages are for different models or targets.
        SignatureError: a package is not signed by this key.
        InputError: there is no such key, neither packages nor arguments say model and counter, they contradict each other, the
            counter is not above that of `old`, or no flash has sectors of `in_place` bytes.
        TargetError: no such target.
        OutputError: the package cannot be written.
        ToolchainError: the library of the extra `kibi[update]` is missing.
    """
    write, blocks = _writer(path), _block_bytes(in_place)
    private = _private_key(key, passphrase)
    (base, before), (file, after) = (_given(each, private, what) for each, what in ((old, "old"), (new, "new")))
    said = [each for each in (before, after) if each is not None]
    numbers = {
        "model": _agreed("model", [each.model for each in said], None if model is None else _model_id(model)),
        "target": _agreed(
            "target",
            [each.target for each in said],
            None if target is None and said else _target_id(target, new),
        ),
        "counter": _next_counter(before, after, counter),
    }
    made = _delta(base, file, numbers, blocks, in_place=in_place is not None)
    signed = made.signed(private)
    write(signed)
    return signed


@bounded
def read_package(source: str | os.PathLike[str] | bytes) -> "Package":
    """Reads an update package with all checks but that of its signature: `verify` does it.

    Args:
        source: the path of the file, or its bytes.

    Returns:
        The package: `verify` it with a public key, `apply` it to the plan file that a device has.

    Raises:
        PackageError: there is no such file; or it is no package of this version, was cut or changed, or contradicts itself.
    """
    from kibi.files import check_path, read_file  # noqa: PLC0415
    from kibi.update.package import MOST_PACKAGE_BYTES, Package  # noqa: PLC0415

    if isinstance(source, bytes):
        return Package.parse(source)
    path = check_path(source, "source")
    data = read_file(path, MOST_PACKAGE_BYTES, PackageError, "Give the path of a package.")
    try:
        return Package.parse(data)
    except PackageError as error:
        raise PackageError(f"{path}: {error}") from None


def _block_bytes(in_place: int | None) -> int:
    """Returns the bytes of the blocks of a delta.

    Args:
        in_place: the bytes of a sector, which no block may exceed; None: there are two slots.

    Raises:
        InputError: no sectors have so many bytes.
    """
    from kibi.planfile.package_records import BLOCK_BYTES, LEAST_BLOCK_BYTES, MOST_BLOCK_BYTES  # noqa: PLC0415

    if in_place is None:
        return BLOCK_BYTES
    if in_place < LEAST_BLOCK_BYTES or in_place.bit_count() != 1:
        raise InputError(
            f"sectors of {in_place} bytes: give the bytes that the devices' flash erases at once, a power of two from "
            f"{LEAST_BLOCK_BYTES} on."
        )
    return min(in_place, MOST_BLOCK_BYTES)


def _delta(
    base: "PlanFile", file: "PlanFile", numbers: "Mapping[str, int]", block_bytes: int, *, in_place: bool
) -> "Package":
    """Returns an unsigned package that makes a plan file from another one; or the whole file if that is smaller, and there is room.

    Args:
        base: the plan file that devices have.
        file: the one that they get.
        numbers: `model`, `counter` and `target`.
        block_bytes: of a block of the delta.
        in_place: True if there is no room for the whole file, and the delta is applied in place.
    """
    from kibi.update.delta import encode  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415
    from kibi.update.package import Package  # noqa: PLC0415

    payload: bytes = encode(base.data, file.data, block_bytes, in_place=in_place)
    if len(payload) >= len(file.data) and not in_place:
        return Package.whole(file, **numbers)
    made = Package.delta(base, file, payload, **numbers, block_bytes=block_bytes, in_place=in_place)
    if made.apply(base).data != file.data:
        raise InternalError("a delta does not make the plan file that it was made of")
    return made


def _writer(path: str | os.PathLike[str] | None) -> "Callable[[Package], None]":
    """Returns the function that writes a package; a path that cannot be is refused at once."""
    from kibi.files import check_path, write_file  # noqa: PLC0415

    if path is None:
        return lambda _: None
    place = check_path(path, "path")
    return lambda package: write_file(place, package.data)


def _plan_file(source: "str | os.PathLike[str] | bytes | PlanFile") -> "PlanFile":
    """Returns a plan file from its path, its bytes, or itself."""
    from kibi.planfile.reader import PlanFile  # noqa: PLC0415

    if isinstance(source, PlanFile):
        return source
    name, data = _contents(source)
    try:
        return PlanFile(data)
    except PlanError as error:
        raise PlanError(f"{name}{error}") from None


def _laid_out_for(source: object) -> str | None:
    """Returns the target that the layout beside a plan file names; None where there is no layout.

    Raises:
        PlanError: it is the layout of another file, or damaged.
    """
    from kibi.files import read_file  # noqa: PLC0415
    from kibi.planfile.layout import layout_path, load_layout  # noqa: PLC0415
    from kibi.update.package import MOST_FILE_BYTES  # noqa: PLC0415

    if not isinstance(source, str | os.PathLike) or not layout_path(Path(source)).is_file():
        return None
    data = read_file(source, MOST_FILE_BYTES, PlanError, "Give the path of a plan file.")
    return load_layout(Path(source), data).plan.target


def _contents(source: str | os.PathLike[str] | bytes) -> tuple[str, bytes]:
    """Returns the bytes of a file, and what its errors begin with."""
    from kibi.files import check_path, read_file  # noqa: PLC0415
    from kibi.update.package import MOST_PACKAGE_BYTES  # noqa: PLC0415

    if isinstance(source, bytes):
        return "", source
    path = check_path(source, "path")
    return f"{path}: ", read_file(path, MOST_PACKAGE_BYTES, PlanError, "Give the path of a plan file or of a package.")


def _given(
    source: "str | os.PathLike[str] | bytes | PlanFile | Package", key: "PrivateKey", what: str
) -> "tuple[PlanFile, Package | None]":
    """Returns a plan file, and the package that it came in.

    Raises:
        SignatureError: the package is not signed by this key.
        PackageError: it is damaged, or a delta.
        PlanError: it is no plan file either.
    """
    from kibi.planfile.package_records import Payload  # noqa: PLC0415
    from kibi.planfile.reader import PlanFile  # noqa: PLC0415
    from kibi.update.package import PACKAGE_START, Package  # noqa: PLC0415

    if isinstance(source, str | os.PathLike | bytes):
        name, data = _contents(source)
        if not data.startswith(PACKAGE_START):
            return _plan_file(data if not name else source), None
        source = read_package(data if not name else source)
    if isinstance(source, PlanFile):
        return source, None
    if not isinstance(source, Package):
        raise InputError(f"{what} is a {type(source).__name__}. Give a path, bytes, a plan file or a package.")
    if source.kind is not Payload.WHOLE:
        raise PackageError(f"the {what} package is a delta. Give a plan file, or a package that has a whole one.")
    try:
        source.verify(key.public)
    except SignatureError as error:
        raise SignatureError(f"the {what} package: {error} Or give the plan file, which needs no signature.") from None
    return source.apply(), source


def _private_key(key: "str | os.PathLike[str] | PrivateKey", passphrase: str | None) -> "PrivateKey":
    from kibi.files import check_path  # noqa: PLC0415
    from kibi.update.keys import PrivateKey, load_private_key  # noqa: PLC0415

    if isinstance(key, PrivateKey):
        return key
    return load_private_key(Path(check_path(key, "key")), passphrase)


def _model_id(name: str) -> int:
    """Returns the id of a model: the hash of its name.

    Raises:
        InputError: the name is empty, or no text in Unicode.
    """
    from kibi.eager.events import fnv1a  # noqa: PLC0415

    try:
        name.encode()
    except UnicodeEncodeError:
        raise InputError("the name of the model is no text in UTF-8. Give another one.") from None
    if not name:
        raise InputError(
            "the name of the model is empty. Give one: devices take packages for the model that they have."
        )
    return fnv1a(name)


def _target_id(target: str | Target | None, source: object) -> int:
    """Returns the id of a target: the hash of its name.

    Args:
        target: the target, or its name; None: that of the layout beside the plan file, or Cortex-M4.
        source: what was given for the plan file.

    Raises:
        TargetError: no such target.
        PlanError: the layout is that of another file, or damaged.
    """
    from kibi.eager.events import fnv1a  # noqa: PLC0415

    if target is None:
        target = _laid_out_for(source) or _DEFAULT_TARGET
    return fnv1a(target.name if isinstance(target, Target) else target_named(target).name)


def _counter(counter: int) -> int:
    """Checks a version counter, and returns it.

    Raises:
        InputError: it is not possible.
    """
    if not 1 <= counter <= _MOST_COUNTER:
        raise InputError(f"the counter is {counter}; 1 to {_MOST_COUNTER} are possible. Count the versions from 1 on.")
    return counter


def _agreed(what: str, said: list[int], given: int | None) -> int:
    """Returns the id on which packages and arguments agree.

    Raises:
        InputError: nobody says it, or the argument is another one.
        PackageError: the packages are for different ones.
    """
    if len(set(said)) > 1:
        raise PackageError(f"the packages are for different {what}s. Give two of the same, or plan files.")
    if given is not None and said and given != said[0]:
        raise InputError(
            f"the packages are for another {what} than the one that was named. Leave it out, or give plan files."
        )
    if given is None and not said:
        raise InputError(f"plan files do not say their {what}. Give its name.")
    return said[0] if given is None else given


def _next_counter(before: "Package | None", after: "Package | None", given: int | None) -> int:
    """Returns the counter of a new version.

    Raises:
        InputError: nobody says it, or it is not above that of the version before.
    """
    if given is None and after is not None:
        given = after.counter
    if given is None and before is not None:
        given = before.counter + 1
    if given is None:
        raise InputError(
            "plan files do not say their version. Give its counter, above that of the version that devices have."
        )
    if before is not None and given <= before.counter:
        raise InputError(
            f"the counter {given} is not above {before.counter}, that of the old package. Give a higher one: devices refuse others."
        )
    return _counter(given)
