"""The user's cache of compiled files: objects, images and native helpers.

An entry is a folder named by the hash of everything that its files depend on. It is made in a temporary folder beside
its place and renamed into it, so that it appears whole or not at all and two processes may make the same entry at once:
one rename wins, the other's work is dropped. A list of the files with their hashes is checked at each use; an entry
that does not match, or that others could have written, is made again.

Code from the cache is loaded into this process, so anybody who can write the cache can run code as us. Hence a folder is
taken only if it and those above it are ours or root's (`kibi.files.trust`). Where that is not so, or the folder cannot be
written, a private temporary folder takes its place with a warning, and is removed with the process.
"""

import atexit
import contextlib
import ctypes
import hashlib
import json
import os
import shutil
import stat
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from zlib import crc32

from platformdirs import user_cache_dir

from kibi.errors import CacheWarning, ToolchainError
from kibi.files import take
from kibi.files.folders import temporary_folder as folder_in
from kibi.files.folders import unused_name
from kibi.files.system import is_of_ours, open_flags
from kibi.files.trust import is_ours, why_not_trusted

LIMIT_BYTES = 512 * 1024 * 1024
_PROTECTED_SECONDS = 3600.0  # younger entries may be in use by another process
_PRUNE_EVERY = 256  # entries made between two looks at the size of the cache, on average over all processes
_ZIG_FOLDER = "zig"  # zig's own cache, of its few libraries for the host
_CONTENTS = "contents.json"
_MOST_CONTENTS_BYTES = 1 << 20
_MOST_FILE_BYTES = 1 << 30
_PRIVATE = 0o700
_UNFINISHED = ".new-"
_one_at_a_time = threading.RLock()


def cache_folder() -> Path:
    """Returns the cache's folder: `KIBI_CACHE`, else the user's cache folder; a temporary one if that cannot be trusted.

    Raises:
        ToolchainError: `KIBI_CACHE` names the home of a user who does not exist, or no temporary folder can be trusted.
    """
    wanted = os.environ.get("KIBI_CACHE")
    with _one_at_a_time:
        if wanted:
            try:
                return _usable(str(Path(wanted).expanduser().absolute()))
            except RuntimeError:
                what = f"KIBI_CACHE is {wanted!r}, and no such home folder is known"
                raise ToolchainError(f"{what}. Set it to another folder.") from None
        wanted = _users_folder()
        return _usable(wanted) if Path(wanted).is_absolute() else _replaced(wanted, "the user has no home folder")


def _users_folder() -> str:
    """Returns the user's cache folder; without a home one that begins with `~`."""
    try:
        return user_cache_dir("kibi")
    except RuntimeError:  # newer versions say so
        return "~/.cache/kibi"


@lru_cache
def _usable(wanted: str) -> Path:
    """Returns the folder, made if it is absent, or the one that replaces it."""
    folder = Path(os.path.realpath(wanted))
    try:
        _make_private(folder)
        reason = why_not_trusted(folder)
        if reason:
            return _replaced(wanted, f"{reason}, so that its code cannot be trusted")
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        return _replaced(wanted, f"{error.filename or folder}: {error.strerror}")


def _make_private(folder: Path) -> None:
    """Makes a folder that only the user may enter. Missing parent folders follow the umask, but only the user may write to them."""
    for place in (*reversed(folder.parents), folder):
        if not place.exists():
            with contextlib.suppress(FileExistsError):  # somebody else was quicker; whether we trust it is seen later
                place.mkdir(_PRIVATE)


@lru_cache
def _replaced(wanted: str, reason: str) -> Path:
    """Returns a private temporary folder for the rest of the process, and warns of it.

    Raises:
        ToolchainError: no folder can be trusted.
    """
    held = contextlib.ExitStack()
    try:
        folder = held.enter_context(folder_in(prefix="kibi-cache-"))
        distrusted = why_not_trusted(Path(os.path.realpath(folder)))
    except OSError as error:
        distrusted = str(error)
    if distrusted:
        held.close()
        raise ToolchainError(
            f"the cache {wanted} is not used: {reason}. The folder for temporary files cannot replace it: {distrusted}. "
            "Set KIBI_CACHE to a folder of your own."
        )
    atexit.register(_close, held, os.getpid())
    warnings.warn(
        f"the cache {wanted} is not used: {reason}. What is compiled is kept in a temporary folder, and compiled anew "
        "next time. Set KIBI_CACHE to a folder of your own.",
        CacheWarning,
        stacklevel=2,
    )
    return Path(os.path.realpath(folder))


def _close(held: contextlib.ExitStack, process: int) -> None:
    if os.getpid() == process:  # a fork of it leaves the folder alone
        held.close()


def zig_folder() -> Path:
    """Returns the folder for the files that zig shares between runs; only we may enter it."""
    folder = cache_folder() / _ZIG_FOLDER
    _make_private(folder)
    if is_of_ours(folder.stat()):
        folder.chmod(_PRIVATE)  # an older version made it as the umask said, and zig's files in it are not checked
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
            fresh.mkdir(_PRIVATE)
            make(fresh)
            _seal(fresh)
            _make_private(place.parent)
            _move_into_place(fresh, place, work / "broken")
    except OSError as error:
        raise ToolchainError(
            f"cannot write the cache {cache_folder()}: {error}. Set KIBI_CACHE to another folder."
        ) from error
    if crc32(key.encode()) % _PRUNE_EVERY == 0:  # processes may be many and short, so that no process can count them
        prune()
    return place


def load_library(library: Path) -> ctypes.CDLL:
    """Loads a shared library of an entry into this process: the very bytes that were checked.

    Raises:
        ToolchainError: it is no longer what was made, or the system does not load it.
    """
    with checked_copy(library) as copy:
        try:
            return ctypes.CDLL(str(copy))
        except OSError as error:
            raise _not_loaded(library, error) from error


@contextlib.contextmanager
def checked_copy(library: Path) -> Iterator[Path]:
    """A private copy of a shared library of an entry, for as long as the block runs.

    The bytes are read once, compared with the entry's list, and written under a name that no other library can have later. So what
    is loaded from the copy, by this process or by a child, is what was checked.

    Raises:
        ToolchainError: it is no longer what was made, or it cannot be copied.
    """
    with contextlib.ExitStack() as held:
        try:
            data = _checked(library.parent, library.name, _contents(library.parent)[library.name])
            work = held.enter_context(temporary_folder())
            copy = work / f"{unused_name('')}-{library.name}"
            copy.write_bytes(data)
        except (OSError, ValueError, KeyError) as error:
            raise _not_loaded(library, error) from error
        yield copy


def _not_loaded(library: Path, error: Exception) -> ToolchainError:
    return ToolchainError(f"cannot load {library}: {error}. Remove it, or set KIBI_CACHE to another folder.")


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """A fresh folder on the cache's file system, removed at the end."""
    root = cache_folder()
    _make_private(root)  # somebody may have emptied the cache since
    with folder_in(root, prefix=_UNFINISHED) as work:
        yield work


def _seal(folder: Path) -> None:
    """Writes the list of an entry's files; an entry without it is incomplete.

    What compilers wrote has the permissions that the umask left. No others may write it, whatever the umask is.
    """
    contents = {}
    for path in sorted(folder.iterdir()):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~(stat.S_IWGRP | stat.S_IWOTH))
        contents[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    listed = folder / _CONTENTS
    listed.write_text(json.dumps(contents), encoding="utf-8", newline="\n")
    listed.chmod(0o600)


def _is_whole(folder: Path) -> bool:
    """True if an entry holds exactly the files that were made, and nobody else could have written them."""
    try:
        contents = _contents(folder)
        if {path.name for path in folder.iterdir()} != {*contents, _CONTENTS}:
            return False
        for name, expected in contents.items():
            _checked(folder, name, expected)
    except (OSError, ValueError, RecursionError):
        return False
    return True


def _contents(folder: Path) -> Mapping[str, str]:
    """The list of an entry's files with their hashes.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no such list, or others could have written it.
    """
    if not is_ours(folder.lstat()):
        raise ValueError(f"{folder} can be written by others")
    contents = json.loads(_own_bytes(folder / _CONTENTS, _MOST_CONTENTS_BYTES))
    if not isinstance(contents, dict) or not contents:
        raise ValueError("the list of its files is empty")
    if not all(isinstance(expected, str) and name == os.path.basename(name) for name, expected in contents.items()):  # noqa: PTH119
        raise ValueError("the list of its files is damaged")
    return contents


def _checked(folder: Path, name: str, expected: str) -> bytes:
    """The contents of an entry's file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not what was made, or others could have written it.
    """
    data = _own_bytes(folder / name, _MOST_FILE_BYTES)
    if hashlib.sha256(data).hexdigest() != expected:
        raise ValueError(f"{name} has changed")
    return data


def _own_bytes(path: Path, most_bytes: int) -> bytes:
    """Returns the contents of a regular file that the user owns."""
    with os.fdopen(os.open(path, open_flags(os.O_RDONLY, "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC")), "rb") as stream:
        status = os.fstat(stream.fileno())
        if not (stat.S_ISREG(status.st_mode) and is_ours(status) and status.st_size <= most_bytes):
            raise ValueError(f"{path} is no file that only we can write, of at most {most_bytes} bytes")
        return take(stream, most_bytes)


def _move_into_place(fresh: Path, place: Path, aside: Path) -> None:
    for number in range(8):
        try:
            fresh.rename(place)
        except OSError as error:
            if _is_whole(place):
                return  # another process was first, with the same files
            if not os.path.lexists(place):
                raise ToolchainError(f"cannot write the cache entry {place}: {error.strerror}") from error
            with contextlib.suppress(OSError):
                place.rename(f"{aside}{number}")
        else:
            return
    raise ToolchainError(
        f"cannot replace the broken cache entry {place}: remove it, or set KIBI_CACHE to another folder"
    )


def prune(limit_bytes: int = LIMIT_BYTES, protected_seconds: float = _PROTECTED_SECONDS) -> None:
    """Removes the least recently used entries until the rest fits, and the remains of crashed processes.

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
    """Returns the folders of all entries, without unfinished ones and those of zig."""
    kinds = [kind for kind in root.iterdir() if not kind.name.startswith(_UNFINISHED) and kind.name != _ZIG_FOLDER]
    return [folder for kind in kinds if kind.is_dir() for folder in kind.iterdir()]


def _remove(root: Path, folder: Path) -> None:
    """Removes an entry; renames it first, so that a reader sees it complete or not at all."""
    with contextlib.suppress(OSError), folder_in(root, prefix=_UNFINISHED) as doomed:
        folder.rename(doomed / "entry")
