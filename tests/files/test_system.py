"""Systems that lack what POSIX has, played on one that has it."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from kibi import demo
from kibi.files import read_bytes, write_file
from kibi.files.system import open_flags
from kibi.files.trust import is_ours, why_not_trusted
from kibi.files.writing import write_folder
from kibi.text.c import comment
from kibi.text.file_name import FileName
from tests.support.amount import sample

_MISSING = (
    "geteuid",
    "fchown",
    "fchmod",
    "set_blocking",
    "killpg",
    "O_CLOEXEC",
    "O_NOCTTY",
    "O_NOFOLLOW",
    "O_NONBLOCK",
)
"""Of `os`, on Windows."""
_AS_ON_WINDOWS = f"""
import os, select, signal, sys
for name in {_MISSING!r}:
    delattr(os, name)
del signal.SIGHUP, signal.SIGXCPU, select.poll
for name in ("grp", "pwd", "resource", "fcntl"):
    sys.modules[name] = None
from kibi.cli.entry import run
run()
"""


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No users, no permissions, no flags but the usual ones; the home is the test's folder."""
    for name in _MISSING:
        monkeypatch.delattr(os, name)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_open_flags_that_a_system_lacks_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it would translate line ends, it is told not to."""
    assert open_flags(os.O_RDONLY, "O_CLOEXEC") == os.O_RDONLY | os.O_CLOEXEC
    monkeypatch.delattr(os, "O_CLOEXEC")
    monkeypatch.setattr(os, "O_BINARY", 0x8000, raising=False)
    assert open_flags(os.O_WRONLY, "O_CLOEXEC") == os.O_WRONLY | 0x8000


@pytest.mark.usefixtures("windows")
def test_files_and_folders_are_written_and_read_without_users(tmp_path: Path) -> None:
    """A new file, one in another's place, a new folder, one that exists."""
    for data in (b"one\n", b"two\r\n"):
        write_file(tmp_path / "file", data)
        assert read_bytes(tmp_path / "file", 100) == data
    for text in ("a", "b"):
        write_folder(tmp_path / "folder", {FileName("x.c"): comment(text)})
        assert (tmp_path / "folder" / "x.c").read_bytes() == comment(text).text.encode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.usefixtures("windows")
def test_folder_that_the_system_does_not_open_is_named_as_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Windows refuses it as if permissions were missing."""

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "file").touch()
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(IsADirectoryError):
        read_bytes(tmp_path, 100)
    with pytest.raises(PermissionError):
        read_bytes(tmp_path / "file", 100)


@pytest.mark.usefixtures("windows")
def test_without_users_what_is_in_the_home_is_trusted_and_nothing_else(tmp_path: Path) -> None:
    """Windows opens a home to its user alone, and says nothing of it in a file's status."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    assert not why_not_trusted(tmp_path / "cache")
    assert "not in your home folder" in why_not_trusted(tmp_path.parent)
    assert "not in your home folder" in why_not_trusted(Path(f"{tmp_path}-other"))
    assert is_ours((tmp_path / "cache").stat())


def test_with_users_permissions_count(tmp_path: Path) -> None:
    """The home makes no difference there."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o777
    assert "can be written by everybody" in why_not_trusted(tmp_path / "cache")


@pytest.mark.slow
@pytest.mark.parametrize("verb", sample([("plan",), ("run",), ("compile",)], [("compile",)]))
def test_command_works_without_what_windows_lacks(verb: str, tmp_path: Path) -> None:
    """No module, function or signal of POSIX is needed, from the imports to the last file."""
    (tmp_path / "input.bin").write_bytes(bytes(28 * 28))
    more = {"run": ["--input", str(tmp_path / "input.bin")], "compile": ["-o", str(tmp_path / "out")]}.get(verb, [])
    command = [sys.executable, "-c", _AS_ON_WINDOWS, verb, str(demo.model_path()), *more]
    environment = {**os.environ, "HOME": str(tmp_path), "KIBI_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
