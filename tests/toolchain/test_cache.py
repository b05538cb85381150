"""The cache: whole entries or none, whoever makes them, whatever happened to them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kibi.errors import CacheWarning, ToolchainError
from kibi.toolchain import cache

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


@pytest.mark.parametrize("damage", ["shorter", "missing", "no list", "bad list", "list of something else"])
def test_broken_entry_is_made_again(damage: str) -> None:
    """An entry with a missing or changed file is never used."""
    place = cache.cached("kind", "key", _write("good"))
    if damage == "shorter":
        (place / "file").write_text("goo", encoding="utf-8")
    elif damage == "missing":
        (place / "file").unlink()
    elif damage == "no list":
        (place / "contents.json").unlink()
    else:
        (place / "contents.json").write_text("[" if damage == "bad list" else "[1]", encoding="utf-8")
    assert (cache.cached("kind", "key", _write("good")) / "file").read_text() == "good"


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
