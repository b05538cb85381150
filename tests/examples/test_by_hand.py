"""The network by hand: in Python, on this machine and on emulated cores the same scores, events and moves."""

import importlib.util
import struct
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import kibi
from kibi.eager.context import Context
from kibi.emulator import Core
from kibi.targets import target
from kibi.toolchain import build_image, build_program
from tests.eager_c.library import NAMES
from tests.support.amount import sample

_FOLDER = Path(__file__).parents[2] / "examples" / "by_hand"
_EVENTS = ["ArenaConstructed", "OutOfMemory", "ArenaRebalancing"]


@pytest.fixture(scope="module")
def example() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("by_hand", _FOLDER / "by_hand.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["by_hand"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def library(example: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library with the recorded network."""
    folder = tmp_path_factory.mktemp("by_hand")
    kibi.compile_eager(folder, program=example.recorded(example.picture()))
    return folder


def _sources(library: Path, *more: str) -> list[Path]:
    own = [path for path in sorted(library.rglob("*.c")) if path.name != "example_main.c"]
    return [*own, *(_FOLDER / name for name in more)]


def test_python_moves_the_log_and_goes_on_after_the_error(example: ModuleType) -> None:
    """The scores are those of the program in memory enough, and the events are those that the page tells of."""
    image, undisturbed = example.picture(), np.zeros(10, np.int8)
    with Context(ram=1 << 16):
        example.network(image, undisturbed)
    scores, events, moved = example.with_memory_that_moves(image)
    assert (scores == undisturbed).all()
    assert len(set(scores.tolist())) > 5
    assert (events, moved) == (_EVENTS, 512)


def test_this_machine_gives_pythons_scores(example: ModuleType, library: Path) -> None:
    """The firmware, with sanitizers, prints what Python found."""
    sources = _sources(library, "firmware.c", "main.c")
    program = build_program(sources, compiler="gcc", level="0", includes=[library, _FOLDER], sanitize=True)
    told = subprocess.run([program], capture_output=True, text=True, check=False, timeout=60)
    assert told.stderr == ""
    scores, _, moved = example.with_memory_that_moves(example.picture())
    listed = " ".join(map(str, scores.tolist()))
    assert (
        told.stdout == f"status 0\nscores {listed}\nno room 1 times, the log moved by {moved} bytes, 0 of them wrong\n"
    )


@pytest.mark.parametrize("name", sample([("cortex-m4",), ("cortex-m0plus",)]))
def test_emulated_core_gives_pythons_scores_and_events(example: ModuleType, library: Path, name: str) -> None:
    """The same on a core, where the firmware's memory is one guarded block."""
    entries = ["firmware_run", "firmware_bytes", "kibi_history_at"]
    sources = _sources(library, "firmware.c")
    image = build_image(sources, target(name), entries=entries, level="s", includes=[library, _FOLDER])
    core = Core(image, target(name))
    firmware = core.allocate("firmware", core.call("firmware_bytes").value, alignment=8)
    picture = core.allocate("picture", 256, writable=False)
    scores = core.allocate("scores", 10)
    core.write(picture, example.picture().tobytes())
    assert core.call("firmware_run", firmware, picture, scores).value == 0
    found, _, moved = example.with_memory_that_moves(example.picture())
    assert core.read(scores, 10) == found.tobytes()
    assert struct.unpack("<IiI", core.read(firmware, 12)) == (1, moved, 0)
    ids = (core.call("kibi_history_at", firmware + 12, number).value for number in range(4))
    assert [NAMES[each] for each in ids if each] == _EVENTS[::-1]
