"""The functions of `import kibi`: plan files become signed packages and deltas, and packages are read."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import kibi
from kibi import demo
from kibi.eager.events import fnv1a
from kibi.errors import InputError, InternalError, OutputError, PackageError, PlanError, SignatureError, TargetError
from kibi.planfile.layout import layout_path
from kibi.planfile.package_records import Payload
from kibi.update.delta import encode
from kibi.update.keys import new_key
from kibi.update.package import Package
from tests.update.small_files import install_codec, small_file

_KEY = new_key()
_OLD, _NEW = small_file(1), small_file(2)


def _signed(seed: int = 1, *, counter: int = 7, model: str = "wake-word", target: str = "cortex-m7") -> Package:
    return kibi.sign(small_file(seed), _KEY, model=model, counter=counter, target=target)


def test_signed_package_names_model_counter_and_target(tmp_path: Path) -> None:
    """By the hashes that firmware has; the file has just these bytes."""
    made = kibi.sign(_NEW.data, _KEY, model="wake-word", counter=7, target="cortex-m7", path=tmp_path / "a.kibip")
    assert (made.model, made.counter, made.target) == (fnv1a("wake-word"), 7, fnv1a("cortex-m7"))
    assert kibi.read_package(tmp_path / "a.kibip") == kibi.read_package(made.data) == made
    made.verify(_KEY.public)
    assert made.apply().data == _NEW.data


@pytest.mark.parametrize("passphrase", [None, "secret"])
def test_key_and_plan_file_may_be_paths(tmp_path: Path, passphrase: str | None) -> None:
    """As the command line gives them."""
    key = kibi.generate_key(tmp_path / "release", passphrase)
    (tmp_path / "a.kibi").write_bytes(_NEW.data)
    made = kibi.sign(tmp_path / "a.kibi", tmp_path / "release.pem", model="m", counter=1, passphrase=passphrase)
    made.verify(key.public)
    assert made.target == fnv1a("cortex-m4")


def test_layout_beside_a_plan_file_names_its_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a package for one processor is not signed for another by forgetting an option; an argument is stronger."""
    install_codec(monkeypatch)
    simplified = kibi.passes.simplify(kibi.load(demo.model_path()))
    path = tmp_path / "a.kibi"
    kibi.compile_plan(simplified.graph, path=path, target="cortex-m0plus", simplified=simplified)
    assert kibi.sign(path, _KEY, model="m", counter=1).target == fnv1a("cortex-m0plus")
    assert kibi.sign(path, _KEY, model="m", counter=1, target="cortex-m3").target == fnv1a("cortex-m3")
    assert kibi.sign_update(_OLD, path, _KEY, model="m", counter=1).target == fnv1a("cortex-m0plus")
    layout_path(path).write_text("{}")
    with pytest.raises(PlanError, match="is no layout"):
        kibi.sign(path, _KEY, model="m", counter=1)


@pytest.mark.parametrize(
    ("values", "error", "text"),
    [
        ({"counter": 0}, InputError, "the counter is 0; 1 to 4294967295 are possible"),
        ({"counter": -1}, InputError, "the counter is -1"),
        ({"counter": 1 << 32}, InputError, "the counter is 4294967296"),
        ({"model": ""}, InputError, "the name of the model is empty"),
        ({"model": "\ud800"}, InputError, "no text in UTF-8"),
        ({"target": "cortex-m99"}, TargetError, "unknown target 'cortex-m99'"),
        ({"target": ""}, TargetError, "unknown target ''"),
        ({"plan_file": b"KIBI"}, PlanError, "no plan file"),
        ({"plan_file": _NEW.data[:-4]}, PlanError, "it was cut"),
        ({"plan_file": "absent.kibi"}, PlanError, "absent.kibi: No such file"),
        ({"key": "absent.pem"}, InputError, "absent.pem: No such file"),
        ({"key": ""}, InputError, "key is empty"),
        ({"path": ""}, InputError, "path is empty"),
        ({"path": "."}, OutputError, "is a folder"),
    ],
)
def test_package_that_cannot_be_signed_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, Any], error: type[Exception], text: str
) -> None:
    """Each mistake has its kind of error, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    given = {"plan_file": _NEW, "key": _KEY, "model": "m", "counter": 1, "path": "a.kibip", **values}
    with pytest.raises(error, match=text):
        kibi.sign(**given)
    assert not list(tmp_path.iterdir())


def test_largest_counter_is_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no version comes after it."""
    install_codec(monkeypatch)
    last = _signed(counter=(1 << 32) - 1)
    assert kibi.read_package(last.data).counter == (1 << 32) - 1
    with pytest.raises(InputError, match="the counter is 4294967296"):
        kibi.sign_update(last, _NEW, _KEY)


def test_update_of_packages_counts_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Model, target and counter come from the old package; paths, bytes and objects are all taken."""
    install_codec(monkeypatch)
    old = kibi.sign(_OLD, _KEY, model="wake-word", counter=7, target="cortex-m7", path=tmp_path / "old.kibip")
    (tmp_path / "new.kibi").write_bytes(_NEW.data)
    for given in (old, old.data, tmp_path / "old.kibip", str(tmp_path / "old.kibip")):
        made = kibi.sign_update(given, tmp_path / "new.kibi", _KEY, path=tmp_path / "delta.kibid")
        assert (made.model, made.counter, made.target) == (old.model, 8, old.target)
        assert made.kind is Payload.DELTA
        assert made.apply(_OLD).data == _NEW.data
        made.verify(_KEY.public)
        assert kibi.read_package(tmp_path / "delta.kibid") == made


def test_update_takes_the_counter_of_the_new_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is then the counter of the whole package and of the delta alike; an argument is stronger."""
    install_codec(monkeypatch)
    old, new = _signed(1, counter=7), _signed(2, counter=20)
    assert kibi.sign_update(old, new, _KEY).counter == 20
    assert kibi.sign_update(_OLD, new, _KEY).counter == 20
    assert kibi.sign_update(old, new, _KEY, counter=9).counter == 9


def test_update_that_saves_nothing_has_the_whole_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that has another file than `old` can take it, too."""
    install_codec(monkeypatch)
    monkeypatch.setattr(sys.modules["kibi.update.delta"], "encode", lambda *given, **_: given[1])
    made = kibi.sign_update(_OLD, _NEW, _KEY, model="m", counter=1)
    assert made.kind is Payload.WHOLE
    assert (made.base_bytes, made.payload) == (0, _NEW.data)


def test_delta_that_makes_another_file_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is signed was applied before."""
    broken = ModuleType("kibi.update.delta")
    vars(broken).update(encode=lambda *_, **__: b"delta", decode=lambda *_, **__: _OLD.data)
    monkeypatch.setitem(sys.modules, "kibi.update.delta", broken)
    with pytest.raises((InternalError, PackageError)):
        kibi.sign_update(_OLD, _NEW, _KEY, model="m", counter=1)


@pytest.mark.parametrize(
    ("old", "new", "values", "error", "text"),
    [
        (lambda: _OLD, lambda: _NEW, {"counter": 1}, InputError, "plan files do not say their model"),
        (lambda: _OLD, lambda: _NEW, {"model": "m"}, InputError, "plan files do not say their version"),
        (_signed, lambda: _NEW, {"counter": 7}, InputError, "the counter 7 is not above 7"),
        (_signed, lambda: _signed(2, counter=7), {}, InputError, "the counter 7 is not above 7"),
        (_signed, lambda: _NEW, {"model": "other"}, InputError, "for another model than the one that was named"),
        (_signed, lambda: _NEW, {"target": "cortex-m4"}, InputError, "for another target than the one that was named"),
        (_signed, lambda: _signed(2, counter=8, model="other"), {}, PackageError, "for different models"),
        (_signed, lambda: _signed(2, counter=8, target="host"), {}, PackageError, "for different targets"),
        (lambda: kibi.sign(_OLD, new_key(), model="m", counter=1), lambda: _NEW, {}, SignatureError, "the old package"),
        (_signed, lambda: kibi.sign(_NEW, new_key(), model="m", counter=1), {}, SignatureError, "the new package"),
        (
            lambda: Package.whole(_OLD, model=1, counter=1, target=1),
            lambda: _NEW,
            {},
            SignatureError,
            "package is not signed",
        ),
        (lambda: kibi.sign_update(_signed(), _NEW, _KEY), lambda: _NEW, {}, PackageError, "the old package is a delta"),
        (lambda: b"KIBI", lambda: _NEW, {"model": "m", "counter": 1}, PlanError, "no plan file"),
        (lambda: b"KIBU", lambda: _NEW, {}, PackageError, "no package"),
        (lambda: "absent", lambda: _NEW, {}, PlanError, "absent: No such file"),
        (lambda: 5, lambda: _NEW, {}, InputError, "old is a int"),
    ],
)
def test_update_that_contradicts_itself_is_explained(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    old: Callable[[], Any],
    new: Callable[[], Any],
    values: dict[str, Any],
    error: type[Exception],
    text: str,
) -> None:
    """Each mistake has its kind of error, and nothing is written."""
    install_codec(monkeypatch)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=text):
        kibi.sign_update(old(), new(), _KEY, path="a.kibid", **values)
    assert not list(tmp_path.iterdir())


def test_errors_of_packages_name_their_file(tmp_path: Path) -> None:
    """As those of other files do."""
    (tmp_path / "a.kibip").write_bytes(_signed().data + b"\0")
    with pytest.raises(PackageError, match=r"a\.kibip: the package has \d+ bytes and says"):
        kibi.read_package(tmp_path / "a.kibip")
    with pytest.raises(PackageError, match="absent: No such file"):
        kibi.read_package(tmp_path / "absent")
    with pytest.raises(InputError, match="source is empty"):
        kibi.read_package("")


@pytest.mark.parametrize("sector_bytes", [256, 1024, 4096, 1 << 16, 1 << 17, 1 << 31])
def test_update_in_place_has_blocks_no_larger_than_a_sector(sector_bytes: int) -> None:
    """The package says that it may be applied in place; a file that is read again makes the new one, and is as it was."""
    made = kibi.sign_update(_signed(), _NEW, _KEY, in_place=sector_bytes)
    assert (made.kind, made.block_bytes) == (Payload.IN_PLACE, min(sector_bytes, 1 << 16))
    assert (made.base_bytes, made.base_digest) == (len(_OLD.data), _OLD.data[-32:])
    read = kibi.read_package(made.data)
    read.verify(_KEY.public)
    assert read.apply(_OLD).data == _NEW.data
    with pytest.raises(PackageError, match="is a delta for the plan file"):
        read.apply()


def test_update_in_place_is_a_delta_even_if_that_saves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its devices have no room for a whole file beside the old one."""
    larger = small_file(2, height=9)
    assert kibi.sign_update(_OLD, larger, _KEY, model="m", counter=1, in_place=256).kind is Payload.IN_PLACE
    install_codec(monkeypatch)
    monkeypatch.setattr(sys.modules["kibi.update.delta"], "encode", lambda *given, **_: given[1])
    monkeypatch.setattr(sys.modules["kibi.update.delta"], "decode", lambda *given, **_: given[0])
    made = kibi.sign_update(_OLD, _NEW, _KEY, model="m", counter=1, in_place=256)
    assert (made.kind, made.payload) == (Payload.IN_PLACE, _NEW.data)


@pytest.mark.parametrize("sector_bytes", [-4096, 0, 1, 128, 255, 257, 4095, 5000])
def test_sectors_that_no_flash_has_are_explained(tmp_path: Path, sector_bytes: int) -> None:
    """Before anything is read or written."""
    with pytest.raises(InputError, match=f"sectors of {sector_bytes} bytes: give the bytes that the devices' flash"):
        kibi.sign_update("absent", "absent", "absent", in_place=sector_bytes, path=tmp_path / "a.kibid")
    assert not list(tmp_path.iterdir())


def test_delta_that_needs_overwritten_bytes_is_refused_in_python_too() -> None:
    """A package that says that it may be applied in place, and may not: a device would refuse it."""
    block = 256
    moved = _OLD.data[:block] + _OLD.data[: len(_OLD.data) - block]
    payload = encode(_OLD.data, moved, block)
    delta = Package.delta(_OLD, _NEW, payload, model=1, counter=1, target=1, block_bytes=block, in_place=True)
    with pytest.raises(PackageError, match="asks for bytes that the older file lacks"):
        delta.apply(_OLD)
