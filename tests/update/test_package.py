"""A package is read with every check; whatever is changed in it is refused, or its signature is wrong."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from kibi.errors import PackageError, SignatureError
from kibi.planfile.package_records import PACKAGE, SIGNATURE_BYTES, Payload, Signature
from kibi.planfile.records import HEADER
from kibi.update.keys import new_key
from kibi.update.package import Package
from tests.update.small_files import install_codec, small_file

_KEY = new_key()
_OLD, _NEW = small_file(1), small_file(2)
_WHOLE = Package.whole(_NEW, model=1, counter=2, target=3).signed(_KEY)
_HEAD = PACKAGE.size_bytes + SIGNATURE_BYTES


def _delta(monkeypatch: pytest.MonkeyPatch) -> Package:
    """A signed delta."""
    install_codec(monkeypatch)
    from kibi.update.delta import encode  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - installed now

    return Package.delta(_OLD, _NEW, encode(_OLD.data, _NEW.data), model=1, counter=2, target=3).signed(_KEY)


def _changed(package: Package, **values: Any) -> bytes:
    """The bytes of a package with other values in its record, signed again so that only the values are wrong."""
    record = PACKAGE.packed(**{**PACKAGE.read(package.record, 0), **values})
    return record + _KEY.sign(record) + package.data[_HEAD:]


def test_whole_package_is_read_as_it_was_made() -> None:
    """Its fields are those of the plan file, and its bytes are in the order of the format."""
    read = Package.parse(_WHOLE.data)
    assert read == _WHOLE
    assert (read.kind, read.scheme) == (Payload.WHOLE, Signature.ED25519)
    assert (read.model, read.counter, read.target) == (1, 2, 3)
    assert (read.arena_bytes, read.state_bytes) == (_NEW.arena_bytes, _NEW.state_bytes)
    assert (read.file_version, read.arena_alignment) == (_NEW.header["version"], _NEW.header["arena_alignment"])
    assert read.kernel_ids == _NEW.kernel_ids
    assert read.digest == _NEW.data[-32:]
    assert read.apply().data == _NEW.data
    ids = struct.pack(f"<{len(_NEW.kernel_ids)}I", *_NEW.kernel_ids)
    assert _WHOLE.data == _WHOLE.record + _WHOLE.signature + ids + _NEW.data
    assert _WHOLE.size_bytes == len(_WHOLE.data) == 184 + len(ids) + len(_NEW.data)
    assert PACKAGE.read(_WHOLE.data, 0)["kernel_sum"] == zlib.crc32(ids)


def test_signature_is_of_the_record_alone() -> None:
    """A device verifies 64 bytes for the 120 before them; the rest follows from digest and sum."""
    data = _WHOLE.data
    Ed25519PublicKey.from_public_bytes(_KEY.public.data).verify(data[120:184], data[:120])


def test_delta_makes_the_new_file_of_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says which one, by size and digest."""
    delta = _delta(monkeypatch)
    read = Package.parse(delta.data)
    assert read == delta
    assert (read.base_bytes, read.base_digest) == (len(_OLD.data), _OLD.data[-32:])
    assert read.apply(_OLD).data == _NEW.data
    assert read.size_bytes < _WHOLE.size_bytes


def test_delta_for_another_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is decoded with a base that it was not made for."""
    delta = _delta(monkeypatch)
    for base in (None, _NEW, small_file(3), small_file(1, height=5)):
        with pytest.raises(PackageError, match="is a delta for the plan file with the SHA-256"):
            delta.apply(base)


def test_delta_whose_payload_makes_another_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The new file must have the size, the digest and the needs that the record says, whatever the payload makes."""
    delta = _delta(monkeypatch)
    from kibi.update.delta import encode  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - installed now

    for other in (small_file(3).data, small_file(2, height=5).data, _NEW.data[:-4], b""):
        with pytest.raises(PackageError):
            replace(delta, payload=encode(_OLD.data, other)).apply(_OLD)


def test_changed_byte_anywhere_is_refused() -> None:
    """Each byte of a package, one after another: it is not read, or its signature is wrong."""
    assert _taken(_WHOLE.data) == _NEW.data
    for changed in _with_each_byte_changed(_WHOLE.data):
        with pytest.raises(PackageError):
            _taken(changed)


def test_changed_byte_of_a_delta_makes_no_other_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """No signature covers a payload, which may have bits without a meaning: what it makes is compared with the signed digest."""
    delta = _delta(monkeypatch)
    payload_at = delta.size_bytes - len(delta.payload)
    for at, changed in enumerate(_with_each_byte_changed(delta.data)):
        try:
            made = _taken(changed)
        except PackageError:
            continue
        assert at >= payload_at
        assert made == _NEW.data


def _with_each_byte_changed(data: bytes) -> Iterator[bytes]:
    """The data with another first byte, with another second one, and so on."""
    for at, byte in enumerate(data):
        yield data[:at] + bytes([byte ^ 1 << at % 8]) + data[at + 1 :]


def _taken(data: bytes) -> bytes:
    """The new file that a device makes of a package and the old file."""
    package = Package.parse(data)
    package.verify(_KEY.public)
    return package.apply(_OLD).data


def test_cut_or_longer_package_is_refused() -> None:
    """At each length but its own."""
    data = _WHOLE.data
    for length in range(len(data)):
        with pytest.raises(PackageError):
            Package.parse(data[:length])
    for more in (b"\0", b"KIBU", data):
        with pytest.raises(PackageError, match="there are bytes after its end"):
            Package.parse(data + more)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"magic": 0x4942494B}, "no package, which begins with KIBU"),
        ({"version": 0}, "of format 0"),
        ({"version": 2}, "of format 2"),
        ({"required": 1}, "with features 0x1"),
        ({"kind": 3}, "a payload of kind 3"),
        ({"signature": 2}, "a signature of kind 2"),
        ({"signature": 0}, "has a signature, and says that it has none"),
        ({"kernel_count": 0}, "it was cut|after its end"),
        ({"kernel_count": 0xFFFF}, "it was cut"),
        ({"payload_bytes": 0xFFFFFFFF}, "it was cut"),
        ({"kernel_sum": 0}, "sum of its kernels' ids"),
        ({"file_version": 1}, "brings a plan file of format 1"),
        ({"arena_alignment": 0}, "an arena with the alignment 0"),
        ({"arena_alignment": 3}, "an arena with the alignment 3"),
        ({"arena_alignment": 128}, "an arena with the alignment 128"),
        ({"arena_bytes": 1 << 31}, "needs 2147483648 bytes of arena"),
        ({"arena_bytes": 1}, "another arena_bytes than that has"),
        ({"state_bytes": 4}, "4 of variables, which cannot be"),
        ({"state_bytes": 8}, "another state_bytes than that has"),
        ({"file_bytes": 0}, "a plan file of 0 bytes"),
        ({"file_bytes": 98}, "a plan file of 98 bytes"),
        ({"file_bytes": 0xFFFFFFFC}, "a plan file of 4294967292 bytes"),
        ({"file_bytes": 96}, "of a plan file that has 96"),
        ({"base_bytes": 96}, "has the whole plan file, and names an older one"),
        ({"base_digest": b"\1" * 32}, "has the whole plan file, and names an older one"),
        ({"digest": bytes(32)}, "another digest than that has"),
        ({"block_bytes": 0}, "blocks of 0 bytes"),
        ({"block_bytes": 128}, "blocks of 128 bytes"),
        ({"block_bytes": 4097}, "blocks of 4097 bytes"),
        ({"block_bytes": 1 << 17}, "blocks of 131072 bytes"),
        ({"kind": 1}, "is for a plan file of 0 bytes"),
        ({"kind": 1, "base_bytes": 97}, "is for a plan file of 97 bytes"),
        ({"kind": 2}, "is for a plan file of 0 bytes"),
    ],
)
def test_record_that_no_device_takes_is_refused(values: dict[str, Any], text: str) -> None:
    """Even with a signature that is right; the error says which field is wrong."""
    with pytest.raises(PackageError, match=text):
        Package.parse(_changed(_WHOLE, **values))


@pytest.mark.parametrize("ids", [(5, 4), (4, 4)])
def test_ids_that_do_not_ascend_are_refused(ids: tuple[int, ...]) -> None:
    """Devices search them in their order."""
    packed = struct.pack(f"<{len(ids)}I", *ids)
    record = PACKAGE.packed(
        **{**PACKAGE.read(_WHOLE.record, 0), "kernel_count": len(ids), "kernel_sum": zlib.crc32(packed)}
    )
    with pytest.raises(PackageError, match="ids of kernels that do not ascend"):
        Package.parse(record + _KEY.sign(record) + packed + _NEW.data)


def test_payload_that_is_no_plan_file_is_refused() -> None:
    """Although its size is right: a header that lies, other bytes, and one file in a longer payload."""
    shorter = bytearray(_NEW.data)
    struct.pack_into("<I", shorter, HEADER.offsets["file_bytes"], len(shorter) - 4)
    for payload in (bytes(len(_NEW.data)), bytes(shorter), _OLD.data):
        with pytest.raises(PackageError):
            replace(_WHOLE, payload=payload)


@pytest.mark.parametrize("name", ["model", "counter", "target"])
@pytest.mark.parametrize("value", [-1, 1 << 32])
def test_number_without_room_in_its_field_is_refused(name: str, value: int) -> None:
    """Before anything is written."""
    numbers = {"model": 1, "counter": 1, "target": 1, name: value}
    with pytest.raises(PackageError, match=f"says {value} for {name}, which has 32 bits"):
        Package.whole(_NEW, **numbers)


def test_unsigned_package_does_not_verify() -> None:
    """With no key; and a signed one with its own alone."""
    bare = Package.whole(_NEW, model=1, counter=2, target=3)
    assert Package.parse(bare.data) == bare
    with pytest.raises(SignatureError, match="the package is not signed"):
        bare.verify(_KEY.public)
    _WHOLE.verify(_KEY.public)
    with pytest.raises(SignatureError, match="was not made with the key"):
        _WHOLE.verify(new_key().public)


def test_signature_of_another_package_does_not_verify() -> None:
    """A signature moves to no other version."""
    other = Package.whole(_NEW, model=1, counter=3, target=3).signed(_KEY)
    with pytest.raises(SignatureError):
        replace(other, signature=_WHOLE.signature).verify(_KEY.public)


@given(st.binary(max_size=400), st.binary(max_size=400))
def test_any_bytes_end_in_a_package_or_an_error(head: bytes, tail: bytes) -> None:
    """Bytes of nobody, after a beginning that is right, too; nothing else than a `PackageError` leaves the reader."""
    for data in (head, _WHOLE.data[:8] + head, _WHOLE.data[: len(head)] + tail, _WHOLE.data[:_HEAD] + tail):
        try:
            package = Package.parse(data)
        except PackageError:
            continue
        assert package.data == data


@given(st.data())
def test_any_values_of_fields_end_in_a_package_or_an_error(data: st.DataObject) -> None:
    """A record of any numbers, signed by whom it may: what is read has just the bytes that were given."""
    bits = {"u8": 8, "u16": 16, "u32": 32}
    names = [each for each in PACKAGE.fields if each.type in bits]
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique_by=lambda each: each.name))
    values = {each.name: data.draw(st.integers(0, 4) | st.integers(0, (1 << bits[each.type]) - 1)) for each in chosen}
    changed = _changed(_WHOLE, **values)
    try:
        package = Package.parse(changed)
    except PackageError:
        return
    assert package.data == changed
    assert package.payload == _NEW.data
