"""The cache: whole entries or none, whoever makes them, whatever happened to them."""

import errno
import os
import pwd
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kibi.errors import CacheWarning, ToolchainError
from kibi.toolchain import build_shared, cache, load_shared

OTHER = 65534

_RACE = """
import sys, time
from pathlib import Path
from kibi.toolchain.cache import cached

def make(folder):
    (folder / "one").write_text("first half")
    time.sleep(0.2)
    (folder / "two").write_text("second half")
    print("made", flush=True)

print("ready", flush=True)
sys.stdin.readline()
place = cached("kind", "key", make)
assert (place / "one").read_text() + (place / "two").read_text() == "first halfsecond half"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("KIBI_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def _write(text: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / "file").write_text(text, encoding="utf-8")

    return make


def test_entry_is_made_once(folder: Path) -> None:
    """The second request finds the first one's files."""
    first = cache.cached("kind", "key", _write("a"))
    second = cache.cached("kind", "key", _write("b"))
    assert first == second == folder / "kind" / "key"
    assert (second / "file").read_text() == "a"


def test_failure_leaves_nothing(folder: Path) -> None:
    """An entry whose making fails is not there, nor is anything half made."""

    def fail(place: Path) -> None:
        (place / "file").write_text("half", encoding="utf-8")
        raise ToolchainError("no")

    with pytest.raises(ToolchainError, match="no"):
        cache.cached("kind", "key", fail)
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    assert (cache.cached("kind", "key", _write("whole")) / "file").read_text() == "whole"


@pytest.mark.parametrize("damage", ["shorter", "missing", "no list", "more", "linked", "list is a folder"])
def test_broken_entry_is_made_again(damage: str) -> None:
    """An entry with a missing or changed file is never used."""
    place = cache.cached("kind", "key", _write("good"))
    if damage == "shorter":
        (place / "file").write_text("goo", encoding="utf-8")
    elif damage == "missing":
        (place / "file").unlink()
    elif damage == "no list":
        (place / "contents.json").unlink()
    elif damage == "more":
        (place / "other").write_text("unknown", encoding="utf-8")
    elif damage == "linked":
        (place / "file").rename(place.parent / "file")
        (place / "file").symlink_to(place.parent / "file")
    else:
        (place / "contents.json").unlink()
        (place / "contents.json").mkdir()
    assert (cache.cached("kind", "key", _write("good")) / "file").read_text() == "good"


@pytest.mark.parametrize(
    "contents",
    [
        "{}", "[]", "null", "1", "[1]", "[", "", '{"file": 1}', '{"file": null}', '{"../key/file": "0"}', '{"file": "0"}',
        '{"": ""}', '{".": "0"}', "[" * 100_000, '{"file": "' + "0" * (2 << 20) + '"}', "\x00\xff", '{"file"',
    ],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_entry_with_a_damaged_list_is_made_again(contents: str) -> None:
    """Whatever the list says, no file is used that it does not vouch for."""
    place = cache.cached("kind", "key", _write("bad"))
    (place / "contents.json").write_text(contents, encoding="latin-1")
    assert (cache.cached("kind", "key", _write("good")) / "file").read_text() == "good"


@pytest.mark.parametrize("what", ["file", "contents.json", "."])
@pytest.mark.parametrize("how", ["writable", "another user's"])
def test_entry_that_others_could_have_written_is_made_again(what: str, how: str) -> None:
    """Its hashes are right, but whoever wrote the file could have written them, too."""
    place = cache.cached("kind", "key", _write("bad"))
    if how == "writable":
        (place / what).chmod(0o777)
    elif os.geteuid() == 0:
        os.chown(place / what, OTHER, OTHER)
    else:
        pytest.skip("only root gives files away")
    assert (cache.cached("kind", "key", _write("good")) / "file").read_text() == "good"


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o077], ids=oct)
def test_entry_is_ours_alone_whatever_the_umask(folder: Path, mask: int) -> None:
    """Nobody else enters the folders, and entries are used again."""
    before = os.umask(mask)
    try:
        place = cache.cached("kind", "key", _write("a"))
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (folder, folder / "kind", place)] == [0o700] * 3
    assert (place / "file").stat().st_mode & 0o022 == 0
    assert (cache.cached("kind", "key", _write("b")) / "file").read_text() == "a"


@pytest.mark.parametrize("how", ["writable", "in a writable folder", "another user's", "in another user's folder"])
def test_cache_that_others_can_write_is_replaced_with_a_warning(folder: Path, how: str) -> None:
    """Entries that somebody has put there are not used, and nothing is written there."""
    if "user" in how and os.geteuid() != 0:
        pytest.skip("only root gives files away")
    planted = cache.cached("kind", "key", _write("evil"))
    changed = folder.parent if "in " in how else folder
    if "user" in how:
        os.chown(changed, OTHER, OTHER)
    else:
        changed.chmod(0o777)
    cache._usable.cache_clear()
    with pytest.warns(CacheWarning, match="cannot be trusted"):
        place = cache.cached("kind", "key", _write("good"))
    assert (place / "file").read_text() == "good"
    assert (planted / "file").read_text() == "evil"
    assert cache.cache_folder().stat().st_mode & 0o777 == 0o700
    assert cache.cached("kind", "key", _write("again")) == place


def test_library_that_somebody_planted_is_not_loaded(folder: Path, tmp_path: Path) -> None:
    """The attack: in a cache that all may write, another user has replaced a library and its hash."""
    sources = {}
    for name, number in (("good", 1), ("evil", 2)):
        sources[name] = tmp_path / name / "f.c"
        sources[name].parent.mkdir()
        sources[name].write_text(f"int f(void); int f(void) {{ return {number}; }}\n", encoding="utf-8")
    good, evil = (build_shared([source]) for source in sources.values())
    good.write_bytes(evil.read_bytes())
    (good.parent / "contents.json").write_bytes((evil.parent / "contents.json").read_bytes())
    folder.chmod(0o777)
    cache._usable.cache_clear()
    with pytest.warns(CacheWarning, match="cannot be trusted"):
        assert load_shared([sources["good"]]).f() == 1


def test_library_that_changed_after_its_check_is_not_loaded(tmp_path: Path) -> None:
    """What is loaded are the bytes that were hashed."""
    source = tmp_path / "f.c"
    source.write_text("int f(void); int f(void) { return 1; }\n", encoding="utf-8")
    library = build_shared([source])
    library.write_bytes(library.read_bytes() + b"x")
    with pytest.raises(ToolchainError, match="has changed"):
        cache.load_library(library)


def test_libraries_of_one_name_are_each_loaded(folder: Path, tmp_path: Path) -> None:
    """The system tells libraries apart by name and file; copies share neither, and none stays."""
    source, found = tmp_path / "f.c", []
    for number in range(4):
        source.write_text(f"int f(void); int f(void) {{ return {number}; }}\n", encoding="utf-8")
        found.append(load_shared([source]))
    assert [library.f() for library in found] == [0, 1, 2, 3]
    assert not list(folder.glob(".new-*"))


def test_cache_in_the_home_of_nobody_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no such folder, and the text names the variable."""
    monkeypatch.setenv("KIBI_CACHE", "~no_such_user_here/cache")
    with pytest.raises(ToolchainError, match="KIBI_CACHE is '~no_such_user_here/cache'"):
        cache.cache_folder()


def test_cache_of_a_user_without_a_home_is_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in containers with a user of no name: nothing called `~` is made in the working folder."""

    def unknown(number: int) -> None:
        raise KeyError(number)

    for name in ("KIBI_CACHE", "HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    monkeypatch.chdir(tmp_path)
    cache._replaced.cache_clear()
    with pytest.warns(CacheWarning, match="no home folder"):
        assert cache.cache_folder().is_absolute()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a home without HOME that can be written here")
def test_cache_of_root_without_a_home_variable_is_in_roots_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in containers: the system knows root's home."""
    for name in ("KIBI_CACHE", "HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    root = pwd.struct_passwd(("root", "x", 0, 0, "", str(tmp_path / "root"), "/bin/sh"))
    monkeypatch.setattr("pwd.getpwuid", lambda _: root)
    assert cache.cache_folder() == tmp_path / "root" / ".cache" / "kibi"


def test_cache_without_a_temporary_folder_of_ours_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """Where neither can be trusted, nothing is loaded."""
    folder.mkdir()
    folder.chmod(0o777)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp").chmod(0o777)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    with pytest.raises(ToolchainError, match="Set KIBI_CACHE to a folder of your own"):
        cache.cache_folder()


def test_full_disk_is_a_toolchain_error() -> None:
    """The system's reason is told, and what to do."""

    def fill(place: Path) -> None:
        (place / "file").write_text("half", encoding="utf-8")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(ToolchainError, match=r"No space left.*Set KIBI_CACHE"):
        cache.cached("kind", "key", fill)


def test_file_in_place_of_a_folder_of_the_cache_is_a_toolchain_error(folder: Path) -> None:
    """Nobody removes what Kibi did not make."""
    folder.mkdir(mode=0o700)
    (folder / "kind").write_text("mine", encoding="utf-8")
    with pytest.raises(ToolchainError, match="cannot write the cache"):
        cache.cached("kind", "key", _write("a"))
    assert (folder / "kind").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_unreadable_folder_of_the_cache_is_a_toolchain_error(folder: Path) -> None:
    """No raw exception."""
    cache.cached("kind", "key", _write("a"))
    (folder / "kind").chmod(0)
    with pytest.raises(ToolchainError, match="Permission denied"):
        cache.cached("kind", "key", _write("a"))
    (folder / "kind").chmod(0o700)


def test_processes_that_make_the_same_entry_at_once_all_get_it_whole(folder: Path) -> None:
    """Four processes race for one entry; each sees all of it, and nothing else is left behind."""
    started = [
        subprocess.Popen([sys.executable, "-c", _RACE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=60)[0] for process in started]
    assert [process.returncode for process in started] == [0] * 4
    assert sum(text.count("made") for text in outputs) >= 1
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == ["contents.json", "one", "two"]


def test_unwritable_cache_falls_back_to_a_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache below a file cannot be made; entries then live in a temporary folder."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("KIBI_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(CacheWarning, match="Not a directory"):
        place = cache.cached("kind", "key", _write("a"))
    assert (place / "file").read_text() == "a"
    assert tmp_path not in place.parents
    assert cache.cache_folder() in place.parents


def test_pruning_removes_what_was_unused_for_longest(folder: Path) -> None:
    """Beyond the limit the oldest entries go; recently used ones stay."""
    now = time.time()
    for age, key in enumerate(["newest", "middle", "oldest"]):
        place = cache.cached("kind", key, _write("x" * 1000))
        os.utime(place / "contents.json", (now - 1000 * age, now - 1000 * age))
    cache.prune(limit_bytes=2500, protected_seconds=10)
    assert sorted(path.name for path in (folder / "kind").iterdir()) == ["middle", "newest"]
    cache.prune(limit_bytes=0, protected_seconds=500)
    assert [path.name for path in (folder / "kind").iterdir()] == ["newest"]


def test_cache_is_pruned_as_entries_are_made(folder: Path) -> None:
    """However few a process makes: once in so many entries, by their names."""
    left = folder / ".new-left"
    left.mkdir(parents=True)
    os.utime(left, (0, 0))
    for number in range(4 * cache._PRUNE_EVERY):
        cache.cached("kind", cache.digest(str(number)), _write("a"))
        if not left.exists():
            break
    else:
        raise AssertionError("the cache was not pruned")


def test_pruning_removes_what_crashed_processes_left(folder: Path) -> None:
    """An unfinished entry goes after a day, not before."""
    old, young = folder / ".new-old", folder / ".new-young"
    for path in (old, young):
        path.mkdir(parents=True)
    os.utime(old, (0, 0))
    cache.prune()
    assert not old.exists()
    assert young.exists()


def test_digest_tells_lists_of_parts_apart() -> None:
    """Where one part ends and the next begins matters."""
    assert cache.digest("ab", "c") != cache.digest("a", "bc")
    assert cache.digest("ab") == cache.digest(b"ab")
