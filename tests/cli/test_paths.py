"""Paths on the command line: none is empty, pipes work, and outputs go where they are told to."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import typer

from kibi import demo
from kibi.cli.main import app
from tests.cli.conftest import GLYPHS, Kibi
from tests.support.amount import sample

COMMAND = [sys.executable, "-m", "kibi.cli"]
MODEL, PICTURE = str(GLYPHS), str(demo.picture_paths()[0])
DATA = str(Path(demo.__file__).with_name("samples.npz"))
GIVEN = {
    "convert": [MODEL, "--output", "never-written"],
    "inspect": [MODEL], "plan": [MODEL], "place": [MODEL], "run": [MODEL, "--input", PICTURE],
    "core": [MODEL, "--output", "never-written"], "eager": ["--output", "never-written"],
    "compile": [MODEL, "--output", "never-written"], "measure": [MODEL], "verify": [MODEL], "pareto": [MODEL],
    "report": [MODEL, "--output", "never-written"], "view": [MODEL],
    "quantize": [MODEL, "--data", "never-read", "--output", "never-written"],
    "sweep": [MODEL], "check": [MODEL],
    "evaluate": [MODEL, "--data", "never-read"], "events": [MODEL], "demo": [], "keygen": ["--output", "never-written"],
    "sign": [MODEL, "--key", "never-read", "--model", "m", "--counter", "1", "--output", "never-written"],
    "update": [MODEL, MODEL, "--key", "never-read", "--output", "never-written"],
}  # fmt: skip
"""What each verb takes at the least."""


def _paths() -> Iterator[tuple[str, str]]:
    """Each option and argument of each verb that is a path; of an argument its position."""
    for verb, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        for parameter in command.params:
            kind = parameter.type_descriptor.annotation
            if kind is Path or kind == list[Path]:
                is_option = parameter.opts[0].startswith("-")
                yield verb, next(name for name in parameter.opts if name.startswith("--")) if is_option else ""


def _piped(*arguments: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *arguments], input=data, capture_output=True, check=False)


@pytest.mark.parametrize(("verb", "option"), list(_paths()))
def test_empty_path_is_a_usage_error_that_names_the_option(
    kibi: Kibi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, option: str
) -> None:
    """For every path of every verb; it would be the working folder, into which nothing is written."""
    monkeypatch.chdir(tmp_path)
    done = kibi(verb, *(["", *GIVEN[verb][1:]] if not option else [*GIVEN[verb], option, ""]))
    assert (done.code, done.out) == (2, "")
    assert "the path is empty" in done.err
    assert option in done.err
    assert list(tmp_path.iterdir()) == []


def test_every_verb_with_paths_is_tried() -> None:
    """The list above is complete."""
    assert {verb for verb, _ in _paths()} == set(GIVEN)


def test_model_through_a_pipe_is_as_from_a_file(kibi: Kibi) -> None:
    """The name is the pipe's, all else the same."""
    piped = json.loads(_piped("inspect", "/dev/stdin", "--json", data=GLYPHS.read_bytes()).stdout)
    assert piped["operators"] == kibi("inspect", MODEL, "--json").record["operators"]


@pytest.mark.slow
def test_model_through_a_pipe_is_verified_with_all_engines(kibi: Kibi) -> None:
    """It is read once, and used several times."""
    options = ("--target", "host", "--runs", "1", "--json")
    piped = _piped("verify", "/dev/stdin", *options, data=GLYPHS.read_bytes())
    assert json.loads(piped.stdout)["engines"] == kibi("verify", MODEL, *options).record["engines"]


@pytest.mark.slow
def test_plan_through_a_pipe_is_followed(kibi: Kibi, tmp_path: Path) -> None:
    """What one verb prints another takes."""
    made = kibi("plan", "--no-longest-step", MODEL, "--granularity", "tensor", "--json").out
    done = _piped("compile", MODEL, "--plan", "/dev/stdin", "-o", str(tmp_path / "out"), "--json", data=made.encode())
    assert done.returncode == 0
    assert json.loads(done.stdout)["models"][0]["arena_bytes"] == json.loads(made)["arena_bytes"]


def test_raw_input_through_a_pipe_is_as_from_a_file(kibi: Kibi, tmp_path: Path) -> None:
    """And a device without an end gives as many bytes as are needed."""
    pixels = np.arange(784, dtype=np.uint8)
    (tmp_path / "x.bin").write_bytes(pixels.tobytes())
    piped = _piped("run", MODEL, "-i", "/dev/stdin", "--json", data=pixels.tobytes()).stdout
    assert piped.decode() == kibi("run", MODEL, "-i", tmp_path / "x.bin", "--json").out
    (tmp_path / "x.bin").write_bytes(bytes(784))
    zeros = kibi("run", MODEL, "-i", "/dev/zero", "--json").out
    assert zeros == kibi("run", MODEL, "-i", tmp_path / "x.bin", "--json").out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "size"),
    sample([(bytes(783), "783"), (bytes(785), "more than 784"), (b"", "0")], [(bytes(785), "more than 784")]),
)
def test_raw_input_through_a_pipe_of_another_size_is_refused(data: bytes, size: str) -> None:
    """One byte beyond is read, no more."""
    done = _piped("run", MODEL, "-i", "/dev/stdin", data=data)
    assert done.returncode == 4
    assert f"it has {size} bytes" in done.stderr.decode()


@pytest.mark.share(3, part=0)
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["inspect", "{}"], 3), (["place", "{}"], 5), (["compile", MODEL, "-o", "never-written", "--plan", "{}"], 5),
        (["plan", MODEL, "--regions", "{}"], 5), (["check", "{}"], 4), (["run", MODEL, "-i", PICTURE, "--labels", "{}"], 4),
        (["events", "tests", "--decode", "{}"], 4), (["evaluate", MODEL, "--data", "{}"], 4),
        (["evaluate", MODEL, "--data", DATA, "--truth", "{}"], 4), (["evaluate", MODEL, "--data", DATA, "--labels", "{}"], 4),
        (["evaluate", MODEL, "--data", DATA, "--resume", "{}"], 4),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)  # fmt: skip
@pytest.mark.parametrize("place", ["/dev/zero", "/dev/null", "folder", "large"])
def test_input_that_is_no_file_of_its_kind_ends_in_an_error(
    kibi: Kibi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, place: str
) -> None:
    """Devices, folders and endless files, for each kind of file that a verb takes: quickly, and without a bug."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "tests").mkdir()
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 40)
    done = kibi(*(each.format(place) for each in arguments))
    if arguments[0] == "events" and place == "/dev/null":
        assert done.code == 0  # an empty log
    else:
        assert done.code == code
    assert not (tmp_path / "never-written").exists()


@pytest.mark.share(3, part=1)
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".png", ".bmp", ".bin"])
@pytest.mark.parametrize("place", ["/dev/zero", "/dev/null", "pipe", "folder", "large"])
def test_model_input_that_is_no_file_of_its_kind_ends_in_an_error(
    kibi: Kibi, tmp_path: Path, suffix: str, place: str
) -> None:
    """For each kind of input, behind a name with its suffix; zeros without end are an input of raw bytes."""
    path = tmp_path / f"input{suffix}"
    if place == "folder":
        path.mkdir()
    elif place == "large":
        with path.open("wb") as file:
            file.truncate(1 << 40)
    elif place == "pipe":
        os.mkfifo(path)
        closer = subprocess.Popen(["sh", "-c", f"printf x > '{path}'"])
    else:
        path.symlink_to(place)
    done = kibi("run", GLYPHS, "-i", path)
    if place == "pipe":
        closer.wait()
    assert done.code == (0 if (suffix, place) == (".bin", "/dev/zero") else 4)
    assert "bug" not in done.err


@pytest.mark.share(3, part=2)
@pytest.mark.parametrize("option", ["--svg", "--png", "--write-embedded-plan"])
def test_output_to_a_device_leaves_it(kibi: Kibi, option: str) -> None:
    """`/dev/null` stays what it is, also for root."""
    assert kibi("plan", GLYPHS, "--no-longest-step", option, "/dev/null").code == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.slow
def test_output_to_standard_output_is_written_into_the_pipe() -> None:
    """The picture, and what the verb prints, in that order."""
    done = _piped("plan", MODEL, "--no-longest-step", "--svg", "/dev/stdout", data=b"")
    assert done.stdout.startswith(b"<svg ")
    assert b"The plan is drawn in /dev/stdout." in done.stdout
