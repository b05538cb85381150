"""Outputs are complete or absent, and nothing is replaced that is no regular file."""

import contextlib
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kibi.errors import InputError, OutputError
from kibi.files import check_path, write_file, write_folder
from kibi.text.c import CCode
from kibi.text.file_name import FileName

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices and gives files away")
OTHER = 65534
"""A user who is not the one that runs the tests."""


@pytest.fixture(params=[0o022, 0o077, 0o002, 0o000], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Each usual umask in turn."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def _texts(files: Mapping[str, str]) -> dict[FileName, CCode]:
    """Files as writers take them."""
    return {_name(path): CCode(text) for path, text in files.items()}


def _name(path: str) -> FileName:
    folder, _, name = path.rpartition("/")
    return FileName(name, folder)


def _read(folder: Path) -> dict[str, str]:
    """The texts of all files of a folder and of those inside."""
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_write_file_obeys_the_umask(tmp_path: Path, umask: int) -> None:
    """A new file has the permissions that any program would give it."""
    write_file(tmp_path / "new", b"x")
    assert _mode(tmp_path / "new") == 0o666 & ~umask


def test_write_folder_obeys_the_umask(tmp_path: Path, umask: int) -> None:
    """So do new folders, those around them, and the files in them, at once or later."""
    folder = tmp_path / "a" / "b"
    write_folder(folder, _texts({"one": "1"}))
    write_folder(folder, _texts({"two": "2"}))
    assert [_mode(path) for path in (folder.parent, folder)] == [0o777 & ~umask] * 2
    assert [_mode(folder / name) for name in ("one", "two")] == [0o666 & ~umask] * 2


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o660])
def test_write_file_over_a_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    """Whoever made it has said who may read it."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_file(path, b"new")
    write_folder(tmp_path, _texts({"file": "newer"}))
    assert (path.read_bytes(), _mode(path)) == (b"newer", mode)


@as_root
def test_write_file_over_a_file_keeps_its_owner(tmp_path: Path) -> None:
    """Root does not take a user's file away."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, OTHER, OTHER)
    write_file(path, b"new")
    assert (path.read_bytes(), path.stat().st_uid, path.stat().st_gid) == (b"new", OTHER, OTHER)


@as_root
@pytest.mark.parametrize("through", ["file", "folder"])
def test_write_to_a_device_writes_and_leaves_it(tmp_path: Path, through: str) -> None:
    """A device stays a device, also where root could replace it."""
    device = tmp_path / "null"
    os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    if through == "file":
        write_file(device, b"x")
    else:
        write_folder(tmp_path, _texts({"null": "x", "other": "y"}))
        assert (tmp_path / "other").read_text() == "y"
    assert stat.S_ISCHR(device.lstat().st_mode)


def test_write_file_to_dev_null_leaves_it() -> None:
    """The one device that everybody has."""
    write_file(Path("/dev/null"), b"x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_write_file_to_a_full_device_is_an_output_error() -> None:
    """The system's reason is told."""
    with pytest.raises(OutputError, match="No space left"):
        write_file(Path("/dev/full"), b"x")


def test_write_file_to_a_pipe_reaches_its_reader(tmp_path: Path) -> None:
    """A pipe stays a pipe."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, b"x" * 200_000)
    reader.join()
    assert read == [b"x" * 200_000]
    assert stat.S_ISFIFO(pipe.lstat().st_mode)


@pytest.mark.parametrize("links", [["target"], ["middle", "folder/target"], ["../{here}/target"]], ids=len)
@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("through", ["file", "folder"])
def test_write_to_a_link_writes_what_it_names(tmp_path: Path, links: list[str], exists: bool, through: str) -> None:
    """Links stay, and a dangling one makes its target."""
    (tmp_path / "folder").mkdir()
    links = [link.format(here=tmp_path.name) for link in links]
    for name, named in zip(["link", *links], links, strict=False):
        (tmp_path / name).symlink_to(named)
    target = tmp_path / links[-1]
    if exists:
        target.write_bytes(b"old")
    if through == "file":
        write_file(tmp_path / "link", b"new")
    else:
        write_folder(tmp_path, _texts({"link": "new", "plain": "x"}))
    assert (tmp_path / "link").is_symlink()
    assert target.read_bytes() == b"new"
    assert not target.is_symlink()
    assert not list(tmp_path.rglob(".kibi-*"))


def test_write_file_to_links_in_a_circle_is_an_output_error(tmp_path: Path) -> None:
    """As every program says it."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OutputError, match="Too many levels of symbolic links"):
        write_file(tmp_path / "a", b"x")


@as_root
def test_write_file_to_a_link_of_others_in_a_shared_folder_is_refused(tmp_path: Path) -> None:
    """Nobody makes root write where they want by a link in `/tmp`."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (tmp_path / "victim").write_bytes(b"old")
    (shared / "plan.svg").symlink_to(tmp_path / "victim")
    os.lchown(shared / "plan.svg", OTHER, OTHER)
    with pytest.raises(OutputError, match="link of another user's"):
        write_file(shared / "plan.svg", b"new")
    assert (tmp_path / "victim").read_bytes() == b"old"


def test_write_file_to_standard_output_comes_after_what_was_printed(tmp_path: Path) -> None:
    """Whether it is a pipe or a file, nothing of either is lost."""
    code = (
        "from pathlib import Path; from kibi.files import write_file; print('before'); "
        "write_file(Path('/dev/stdout'), b'middle\\n'); print('after')"
    )
    piped = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert piped.stdout == (tmp_path / "out").read_bytes() == b"before\nmiddle\nafter\n"


@pytest.mark.parametrize("name", ["absent/file", "folder", "a\0b", "x" * 300, "file/file"])
def test_write_file_that_cannot_be_written_is_an_output_error(tmp_path: Path, name: str) -> None:
    """The error names the path, and nothing is left."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OutputError):
        write_file(tmp_path / name, b"x")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a//c", "a/../c", "/a/c", "a/.b/c", "a/nul/c", "a/..", "/etc/passwd", "../x", "a\0b"]
)
def test_write_folder_with_names_that_leave_it_is_refused(tmp_path: Path, name: str) -> None:
    """A file of a folder is in it."""
    with pytest.raises(InputError, match="can be no file of a library"):
        write_folder(tmp_path / "new", _texts({"good": "x", name: "y"}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["file", "link", "pipe"])
def test_write_folder_where_something_else_is_an_output_error(tmp_path: Path, place: str) -> None:
    """A folder does not replace it."""
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match="is a file"):
        write_folder(tmp_path / place, _texts({"a": "x"}))
    assert len(list(tmp_path.iterdir())) == 3


def test_write_folder_through_a_link_writes_where_it_leads(tmp_path: Path) -> None:
    """A link to a folder is one, and a dangling one makes it."""
    (tmp_path / "one").mkdir()
    for link, target in (("a", "one"), ("b", "two")):
        (tmp_path / link).symlink_to(target)
        write_folder(tmp_path / link, _texts({"file": link}))
        assert (tmp_path / target / "file").read_text() == link


def test_write_folder_leaves_other_files(tmp_path: Path) -> None:
    """What it did not write stays, and what it did is replaced."""
    (tmp_path / "other").write_text("other")
    write_folder(tmp_path, _texts({"file": "1"}))
    write_folder(tmp_path, _texts({"file": "2", "more": "3"}))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"other": "other", "file": "2", "more": "3"}


def test_write_folder_removes_what_is_obsolete(tmp_path: Path) -> None:
    """Files here and in folders inside go, others stay; a folder inside is made where it is absent."""
    write_folder(tmp_path, _texts({"file": "1", "old": "2", "in/old": "3", "in/other": "4"}))
    write_folder(tmp_path, _texts({"file": "5", "out/new": "6"}), [_name("old"), _name("in/old")])
    assert _read(tmp_path) == {"file": "5", "out/new": "6", "in/other": "4"}


class _Stopped(BaseException):
    """What an interrupt is to the code that it comes to."""


@pytest.mark.parametrize("exists", [True, False])
def test_write_folder_interrupted_at_any_call_leaves_all_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    """After an interrupt at each call to the system in turn, the old files are there or the new ones, and nothing else."""
    old, new = {"a": "1", "b": "2", "in/d": "3"}, {"a": "x", "c": "z", "in/d": "w", "on/e": "v"}
    calls = ("open", "rename", "replace", "link", "mkdir", "fchmod", "unlink")
    for at in range(200):
        folder = tmp_path / str(at) / "folder"
        folder.parent.mkdir()
        if exists:
            write_folder(folder, _texts(old))
        left = at
        with monkeypatch.context() as patched:
            for name in calls:
                real = getattr(os, name)

                def stop(*args: object, real: object = real, **more: object) -> object:
                    nonlocal left
                    result = real(*args, **more)  # type: ignore[operator]
                    left -= 1
                    if left == -1:
                        raise _Stopped
                    return result

                patched.setattr(os, name, stop)
            with contextlib.suppress(_Stopped):
                write_folder(folder, _texts(new), [_name("b")] if exists else [])
        found = _read(folder) if folder.exists() else None
        assert found in ((old if exists else None), new)
        assert [path.name for path in folder.parent.iterdir()] in ([], ["folder"])
        if left >= 0:
            return
    pytest.fail("the calls have no end")


def test_check_path_of_nothing_names_the_argument() -> None:
    """An empty path would be the working folder."""
    with pytest.raises(InputError, match="directory is empty"):
        check_path("", "directory")
    assert check_path("x", "directory") == Path("x")
