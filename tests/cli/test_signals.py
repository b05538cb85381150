"""A signal at any moment leaves complete outputs or none, and nothing beside them."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import GLYPHS

_STARTING = (-signal.SIGTERM, -signal.SIGHUP, -signal.SIGINT, 1)
"""How Python ends before Kibi has begun to listen."""


def _start(tmp_path: Path, *arguments: str) -> subprocess.Popen[bytes]:
    (tmp_path / "tmp").mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp"), "KIBI_CACHE": str(tmp_path / "cache")}
    return subprocess.Popen(
        [sys.executable, "-m", "kibi.cli", *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _scraps(tmp_path: Path) -> list[Path]:
    """What should have been removed."""
    hidden = [path for path in tmp_path.rglob(".*") if path.name.startswith((".kibi-", ".new-"))]
    return [*hidden, *(tmp_path / "tmp").iterdir()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "exists", "moments"),
    [
        (signal.SIGINT, True, 2),
        pytest.param(signal.SIGTERM, False, 2, marks=pytest.mark.slow),
        *(
            pytest.param(number, exists, 12, marks=pytest.mark.slow)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
            for exists in (False, True)
        ),
    ],
)
def test_compile_ended_by_a_signal_leaves_a_whole_folder_or_none(
    tmp_path: Path, number: signal.Signals, exists: bool, moments: int
) -> None:
    """The folder, and those around it, appear with all their files; one that exists has its old files or the new."""
    out = tmp_path / "a" / "b"
    arguments = ("compile", str(GLYPHS), "--granularity", "tensor", "-o", str(out))
    started = time.monotonic()
    assert _start(tmp_path, *arguments).wait() == 0
    seconds = time.monotonic() - started
    complete = _files(out)
    old = {
        **dict.fromkeys(complete, b"old"),
        "glyphs.json": complete["glyphs.json"],
    }  # the record says that they are a library's
    for moment in range(moments):
        if out.parent.exists():
            shutil.rmtree(out.parent)
        for name, data in old.items() if exists else ():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).write_bytes(data)
        child = _start(tmp_path, *arguments)
        time.sleep(seconds * (0.9 - 0.6 * moment / moments))
        child.send_signal(number)
        assert child.wait() in (0, 130, *_STARTING)
        found = _files(out) if out.exists() else None
        assert found in (complete, old if exists else None)
        assert exists or out.exists() == out.parent.exists()
        assert _scraps(tmp_path) == []


def _files(folder: Path) -> dict[str, bytes]:
    """The contents of all files of a folder, at any depth."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("moments", [1, pytest.param(12, marks=pytest.mark.slow)])
def test_measure_ended_by_a_signal_leaves_nothing(tmp_path: Path, moments: int) -> None:
    """Whether it plans, compiles or runs the emulated core."""
    for moment in range(moments):
        child = _start(tmp_path, "measure", str(GLYPHS), "--granularity", "tensor", "--no-oracle")
        time.sleep(1.5 + 0.4 * moment)
        child.send_signal(signal.SIGTERM)
        assert child.wait() in (0, 130, *_STARTING)
        assert _scraps(tmp_path) == []
