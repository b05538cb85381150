"""The per-user cache of what compilers made: objects, images and native helpers.

An entry is a folder named by the hash of everything that its files depend on. It is made in a temporary folder beside
its place and renamed into it, so that it appears whole or not at all and two processes may make the same entry at once:
one rename wins, the other's work is dropped. A list of the files with their hashes is checked at each use; an entry
that does not match is made again. Where the cache cannot be written, a temporary folder takes its place, and dies with
the process.
"""

import atexit
import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from platformdirs import user_cache_dir

from kibi.errors import ToolchainError

LIMIT_BYTES = 512 * 1024 * 1024
_PROTECTED_SECONDS = 3600.0  # younger entries may be in use by another process
_PRUNE_EVERY = 64  # entries made between two looks at the size of the cache
ZIG_FOLDER = "zig"  # zig's own cache, of its few libraries for the host
_CONTENTS = "contents.json"
_UNFINISHED = ".new-"
_made = 0


def cache_folder() -> Path:
    """The cache's folder: `KIBI_CACHE`, else the user's cache folder; a temporary one if that is not writable."""
    wanted = os.environ.get("KIBI_CACHE") or user_cache_dir("kibi")
    return _writable(Path(wanted).expanduser().absolute())


@lru_cache
def _writable(wanted: Path) -> Path:
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            return wanted
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="kibi-cache-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder


def digest(*parts: str | bytes) -> str:
    """The name of an entry: a hash of all parts, each with its length so that no two lists of parts read alike."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()[:40]


def cached(kind: str, key: str, make: Callable[[Path], None]) -> Path:
    """The folder of an entry, made now unless it is there.

    Args:
        kind: a folder of the cache, such as `objects`.
        key: the entry's name, from `digest`.
        make: writes the entry's files into the empty folder that it is given; what it raises is passed on.

    Raises:
        ToolchainError: the entry cannot be written, or cannot be moved into its place.
    """
    place = cache_folder() / kind / key
    if _is_whole(place):
        with contextlib.suppress(OSError):
            os.utime(place / _CONTENTS)  # its age decides what is pruned
        return place
    try:
        with temporary_folder() as work:
            fresh = work / "entry"
            fresh.mkdir()
            make(fresh)
            _seal(fresh)
            place.parent.mkdir(exist_ok=True)
            _move_into_place(fresh, place, work / "broken")
    except OSError as error:
        raise ToolchainError(
            f"cannot write the cache {cache_folder()}: {error}. Set KIBI_CACHE to another folder."
        ) from error
    _count_made()
    return place


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """A fresh folder on the cache's file system, removed at the end."""
    root = cache_folder()
    root.mkdir(parents=True, exist_ok=True)  # somebody may have emptied the cache since
    work = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=root))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _seal(folder: Path) -> None:
    """Write the list of an entry's files; an entry without it is not whole."""
    contents = {path.name: _hash(path) for path in sorted(folder.iterdir())}
    (folder / _CONTENTS).write_text(json.dumps(contents), encoding="utf-8")


def _is_whole(folder: Path) -> bool:
    try:
        contents = json.loads((folder / _CONTENTS).read_text(encoding="utf-8"))
        return all(_hash(folder / name) == expected for name, expected in contents.items())
    except (OSError, ValueError, AttributeError):
        return False


def _move_into_place(fresh: Path, place: Path, aside: Path) -> None:
    for _ in range(8):
        try:
            fresh.rename(place)
        except OSError as error:
            if _is_whole(place):
                return  # another process was first, with the same files
            if not place.exists():
                raise ToolchainError(f"cannot write the cache entry {place}: {error.strerror}") from error
            with contextlib.suppress(OSError):
                shutil.rmtree(aside, ignore_errors=True)
                place.rename(aside)
        else:
            return
    raise ToolchainError(
        f"cannot replace the broken cache entry {place}: remove it, or set KIBI_CACHE to another folder"
    )


def _count_made() -> None:
    global _made  # noqa: PLW0603 - one counter per process, and losing a count to a race is harmless
    if _made % _PRUNE_EVERY == 0:
        prune()
    _made += 1


def prune(limit_bytes: int = LIMIT_BYTES, protected_seconds: float = _PROTECTED_SECONDS) -> None:
    """Remove the entries that were not used for longest until the rest fits, and what crashed processes left behind.

    Args:
        limit_bytes: the most that all entries together may take.
        protected_seconds: entries used within that time stay, since another process may be reading them.
    """
    root, now = cache_folder(), time.time()
    entries = []
    for folder in _folders(root):
        with contextlib.suppress(OSError):  # another process may remove it while we look
            size = sum(path.stat().st_size for path in folder.iterdir())
            entries.append(((folder / _CONTENTS).stat().st_mtime, size, folder))
    total = sum(size for _, size, _ in entries)
    for used, size, folder in sorted(entries):
        if total <= limit_bytes or used > now - protected_seconds:
            break
        _remove(root, folder)
        total -= size
    for leftover in root.glob(f"{_UNFINISHED}*"):
        with contextlib.suppress(OSError):
            if leftover.stat().st_mtime < now - 24 * 3600:
                shutil.rmtree(leftover, ignore_errors=True)


def _folders(root: Path) -> list[Path]:
    """The folders of all entries; what is being made or belongs to zig is none."""
    kinds = [kind for kind in root.iterdir() if not kind.name.startswith(_UNFINISHED) and kind.name != ZIG_FOLDER]
    return [folder for kind in kinds if kind.is_dir() for folder in kind.iterdir()]


def _remove(root: Path, folder: Path) -> None:
    """Rename first: a reader sees the entry whole or not at all."""
    with contextlib.suppress(OSError):
        doomed = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=root))
        folder.rename(doomed / "entry")
        shutil.rmtree(doomed, ignore_errors=True)
