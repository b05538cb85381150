"""Folders that others can write are told from ours."""

import os
from pathlib import Path

import pytest

from kibi.files.trust import is_ours, why_not_trusted

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
OTHER = 65534


def test_folder_of_ours_is_trusted(tmp_path: Path) -> None:
    """Nobody else can write it or what it is in."""
    tmp_path.chmod(0o700)
    assert why_not_trusted(tmp_path.resolve()) == ""
    tmp_path.chmod(0o755)
    assert why_not_trusted(tmp_path.resolve()) == ""


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o1777])
@pytest.mark.parametrize("depth", [0, 1])
def test_folder_that_everybody_writes_is_not_trusted(tmp_path: Path, mode: int, depth: int) -> None:
    """Nor is one in it, unless it is sticky: nobody can rename there what is ours."""
    folder = tmp_path / "outer"
    folder.mkdir()
    inner = folder / "inner" if depth else folder
    inner.mkdir(exist_ok=True)
    folder.chmod(mode)
    is_safe = bool(depth and mode & 0o1000)
    assert (why_not_trusted(inner.resolve()) == "") is is_safe


@as_root
@pytest.mark.parametrize("depth", [0, 1])
def test_folder_of_another_user_is_not_trusted(tmp_path: Path, depth: int) -> None:
    """Whatever its permissions are, its owner can change them."""
    folder = tmp_path / "outer"
    folder.mkdir(mode=0o700)
    inner = folder / "inner" if depth else folder
    inner.mkdir(exist_ok=True)
    os.chown(folder, OTHER, OTHER)
    assert "outer belongs to the user" in why_not_trusted(inner.resolve())


@as_root
def test_folder_that_a_shared_group_writes_is_not_trusted(tmp_path: Path) -> None:
    """A group of more than its owner is somebody else."""
    tmp_path.chmod(0o770)
    os.chown(tmp_path, 0, OTHER)
    assert "its group" in why_not_trusted(tmp_path.resolve())


def test_file_in_place_of_a_folder_is_not_trusted(tmp_path: Path) -> None:
    """Only folders hold entries."""
    (tmp_path / "file").write_bytes(b"")
    assert "is no folder" in why_not_trusted((tmp_path / "file").resolve())
    assert is_ours((tmp_path / "file").stat())
