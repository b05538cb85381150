"""Writing of files and folders: results are complete or absent, and only regular files are replaced.

A new file is written aside and moved into its place. It has the permissions that the umask leaves, or those of the file that it
replaces. A link is followed: what it names is written. A device, a pipe, or an open descriptor such as `/dev/stdout`
is opened and written.
"""

import contextlib
import errno
import os
import shutil
import stat
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kibi.errors import InputError, OutputError
from kibi.files.folders import PREFIX, remove_quietly, temporary_folder, unused_name
from kibi.files.system import is_of_ours, open_flags, take_over
from kibi.text.file_name import FileName
from kibi.text.file_text import FileText

_MOST_LINKS = 40


def check_path(path: str | os.PathLike[str], what: str) -> Path:
    """Checks a path that a caller gave, and returns it.

    Args:
        path: the path.
        what: the argument's name, for the error.

    Raises:
        InputError: it is empty, which would mean the working folder.
    """
    if not os.fspath(path):
        raise InputError(f"{what} is empty. Give a path; a full stop is the working folder.")
    return Path(path)


def write_file(path: Path, data: bytes) -> None:
    """Writes one file; it is complete or as it was before.

    Raises:
        OutputError: it is a folder, or cannot be written.
    """
    try:
        place = _destination(path)
        if place.is_folder:
            raise OutputError(f"{path}: is a folder. Give the name of a file.")
        if place.is_direct:
            _write_directly(place, data)
        else:
            _replace(place, data)
    except (OSError, ValueError) as error:  # ValueError: the path holds a null character
        raise OutputError(f"{path}: {_reason(error)}. Give a path that can be written.") from None


def write_new_file(path: Path, data: bytes, mode: int | None = None) -> None:
    """Writes one file that does not exist yet; it is complete or absent. A link of this name counts as a file.

    Args:
        path: the path of the file.
        data: the contents.
        mode: its permissions, from its first byte on; None: as the umask says.

    Raises:
        OutputError: there is something of this name, or it cannot be written.
    """
    aside = path.parent / unused_name()
    try:
        try:
            _create(aside, data, None, mode)
            _link(aside, path, data, mode)
        finally:
            remove_quietly(aside)
    except FileExistsError:
        raise OutputError(f"{path}: exists already, and is not replaced. Give another name, or move it away.") from None
    except (OSError, ValueError) as error:  # ValueError: the path holds a null character
        raise OutputError(f"{path}: {_reason(error)}. Give a path that can be written.") from None


def check_folder(directory: Path) -> None:
    """Checks that a path is free or names a folder, before the work whose results it is for.

    Raises:
        OutputError: it names something else.
    """
    if directory.exists() and not directory.is_dir():
        raise OutputError(f"{directory}: is a file. Give the name of a folder, or remove the file.")


def check_file(path: Path) -> None:
    """Checks that a path can name a file in a folder that exists, before the work whose results it is for.

    Raises:
        OutputError: it names a folder, or its folder is not there.
    """
    if path.is_dir():
        raise OutputError(f"{path}: is a folder. Give the name of a file.")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {path.parent}. Make it, or give another path.")


def write_folder(
    directory: Path,
    files: Mapping[FileName, FileText],
    obsolete: Collection[FileName] = (),
    data: Mapping[FileName, bytes] | None = None,
) -> None:
    """Writes texts, and files of bytes, into a folder, made when it is absent. Other files in it stay.

    A folder that is made appears with all of its files at once. In one that exists, files are replaced when all are
    complete, and those that were replaced or removed already come back where one cannot be.

    Args:
        directory: the folder.
        files: texts by the names of the files.
        obsolete: files that are removed once all others are written, and with them the folders that are empty then.
        data: bytes by the names of the files.

    Raises:
        OutputError: the folder is something else, or cannot be written.
    """
    contents = {name.path: text.text.encode() for name, text in files.items()}
    contents |= {name.path: content for name, content in (data or {}).items()}
    try:
        check_folder(directory)
        if not directory.exists() and _appear(Path(os.path.realpath(directory)), contents):
            return
        _update(directory, contents, [name.path for name in obsolete])
    except (OSError, ValueError) as error:
        place = getattr(error, "filename", None) or directory
        raise OutputError(f"{place}: {_reason(error)}. Give a folder that can be written.") from None


@dataclass(frozen=True, slots=True)
class _Destination:
    """The place of an output, after all links.

    Attributes:
        path: no link; or a name under `/proc`, whose links are more than names.
        status: the status of the existing file, or None.
        descriptor: the descriptor of this process that the path names, or None.
    """

    path: Path
    status: os.stat_result | None
    descriptor: int | None = None

    @property
    def is_folder(self) -> bool:
        return self.status is not None and stat.S_ISDIR(self.status.st_mode)

    @property
    def is_direct(self) -> bool:
        """True if it is written where it is: a device, a pipe, a descriptor."""
        is_other = self.status is not None and not stat.S_ISREG(self.status.st_mode)
        return self.descriptor is not None or is_other or _is_process_file(self.path)


def _destination(path: Path) -> _Destination:
    """Follows links, as the system does.

    Raises:
        OSError: there are too many, or one is somebody else's in a folder that everybody may write.
    """
    for _ in range(_MOST_LINKS):
        folder = os.path.realpath(path.parent)
        if folder in (f"/proc/{os.getpid()}/fd", "/dev/fd") and path.name.isdecimal():  # of Linux, of macOS
            return _Destination(path, os.fstat(int(path.name)), int(path.name))
        if _is_process_file(Path(folder, path.name)):
            return _Destination(Path(folder, path.name), path.stat())
        try:
            status = path.lstat()
        except FileNotFoundError:
            return _Destination(path, None)
        if not stat.S_ISLNK(status.st_mode):
            return _Destination(path, status)
        _check_link(path, status)
        path = path.parent / path.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def _is_process_file(path: Path) -> bool:
    return path.parts[:2] == ("/", "proc")


def _check_link(path: Path, link: os.stat_result) -> None:
    """Refuses a link that somebody else put where everybody may write, as Linux does (`fs.protected_symlinks`).

    Raises:
        PermissionError: it is such a link.
    """
    folder = path.parent.stat()
    is_shared = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
    if is_shared and not (is_of_ours(link) or link.st_uid == folder.st_uid):
        what = "it is a link of another user's in a folder that everybody may write"
        raise PermissionError(errno.EACCES, what, str(path))


def _write_directly(place: _Destination, data: bytes) -> None:
    if place.descriptor is None:
        handle = os.open(place.path, open_flags(os.O_WRONLY, "O_CLOEXEC", "O_NOCTTY"))
    else:
        with contextlib.suppress(AttributeError, ValueError):  # standard output may be closed
            sys.stdout.flush()  # what was printed earlier comes first
        handle = os.dup(place.descriptor)
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)


def _replace(place: _Destination, data: bytes) -> None:
    aside = place.path.parent / unused_name()
    try:
        _create(aside, data, _existing(place))
        os.replace(aside, place.path)  # noqa: PTH105 - the same call as for folders
    except BaseException:
        remove_quietly(aside)
        raise


def _existing(place: _Destination) -> os.stat_result | None:
    """Returns the status of the file that is to be replaced, or None.

    Raises:
        OSError: it may not be written.
    """
    if place.status is not None:
        os.close(os.open(place.path, open_flags(os.O_WRONLY, "O_NOFOLLOW", "O_CLOEXEC")))
    return place.status


def _link(aside: Path, path: Path, data: bytes, mode: int | None) -> None:
    """Gives a complete file its name, which nothing has yet; where the file system has no links, writes it there.

    Raises:
        FileExistsError: something has this name.
    """
    try:
        os.link(aside, path)
    except FileExistsError:
        raise
    except OSError:
        _create(path, data, None, mode)


def _create(path: Path, data: bytes, like: os.stat_result | None, mode: int | None = None) -> None:
    """Writes a file that does not exist yet, or removes it again.

    Args:
        path: the path of the file.
        data: the contents.
        like: the file whose owner and permissions it gets; None: as the umask says.
        mode: its permissions in place of 0666; the umask takes some away.
    """
    # The system itself applies the umask here, which can be read only by changing it for all threads.
    flags = open_flags(os.O_WRONLY | os.O_CREAT | os.O_EXCL, "O_NOFOLLOW", "O_CLOEXEC")
    handle = os.open(path, flags, 0o666 if mode is None else mode)
    try:
        with os.fdopen(handle, "wb") as stream:
            if like is not None:
                take_over(handle, like)
            stream.write(data)
    except BaseException:
        remove_quietly(path)
        raise


def _appear(directory: Path, files: Mapping[str, bytes]) -> bool:
    """Makes a folder with its files, and the folders around it, in one step.

    Returns:
        False if somebody else has made it meanwhile.
    """
    top = directory
    while not top.parent.exists():
        top = top.parent
    with temporary_folder(top.parent, prefix=PREFIX, mode=0o777) as aside:
        room = aside / directory.relative_to(top)
        room.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (room / name).parent.mkdir(parents=True, exist_ok=True)
            _create(room / name, content, None)
        try:
            os.rename(aside, top)  # noqa: PTH104 - must not replace a file, as `replace` does
        except OSError:
            if not top.is_dir():
                raise
            directory.mkdir(parents=True, exist_ok=True)
            return False
    return True


def _update(directory: Path, files: Mapping[str, bytes], obsolete: Sequence[str]) -> None:
    """Replaces and removes files of a folder, all or none; those that are links or devices are written after the others."""
    places = {name: _destination(directory / name) for name in files}
    near = [name for name, place in places.items() if place.path == directory / name and not place.is_direct]
    with temporary_folder(directory, prefix=PREFIX) as aside, _folders_inside(directory, files):
        new, old = aside / "new", aside / "old"
        for folder in (new, old):
            for name in ("", *(str(Path(each).parent) for each in (*files, *obsolete))):
                (folder / name).mkdir(parents=True, exist_ok=True)
        for name in near:
            if places[name].is_folder:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(directory / name))
            _create(new / name, files[name], _existing(places[name]))
            if places[name].status is not None:
                _keep(directory / name, old / name)
        for name in obsolete:
            _keep(directory / name, old / name)
        _exchange(directory, new, old, near, obsolete)
    _remove_empty(directory / name for name in _folders_of(obsolete))
    for name in files.keys() - set(near):
        write_file(directory / name, files[name])


@contextlib.contextmanager
def _folders_inside(directory: Path, files: Iterable[str]) -> Iterator[None]:
    """Makes the subfolders that a folder's files need; removes those that stay empty after a failure."""
    inside = [directory / name for name in sorted(_folders_of(files))]
    made = [folder for folder in inside if not folder.is_dir()]
    try:
        for folder in made:
            folder.mkdir()
        yield
    except BaseException:
        _remove_empty(made)
        raise


def _folders_of(files: Iterable[str]) -> set[str]:
    """Returns the folders that these paths are in, also those that hold nothing but folders."""
    return {str(each) for file in files for each in Path(file).parents} - {"."}


def _remove_empty(folders: Iterable[Path]) -> None:
    """Removes those folders that hold nothing, the innermost first."""
    for folder in sorted(folders, reverse=True):
        if not folder.is_symlink():
            with contextlib.suppress(OSError):
                folder.rmdir()


def _keep(path: Path, aside: Path) -> None:
    """Keeps a file under a second name; a copy where the file system has no links."""
    try:
        os.link(path, aside)
    except OSError:
        shutil.copy2(path, aside)


def _exchange(directory: Path, new: Path, old: Path, names: Sequence[str], obsolete: Sequence[str]) -> None:
    """Moves new files into their places and removes others; where that ends early, the old ones return."""
    moved = []
    try:
        for name in names:
            moved.append(name)
            os.replace(new / name, directory / name)  # noqa: PTH105 - the same call as for folders
        for name in obsolete:
            moved.append(name)
            os.unlink(directory / name)  # noqa: PTH108 - the same call where links are dangling
    except BaseException:
        for name in moved:
            if (new / name).exists():
                continue  # it was not moved yet
            if (old / name).exists():
                os.replace(old / name, directory / name)  # noqa: PTH105 - as above
            else:
                remove_quietly(directory / name)
        raise


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)
