"""What must hold of an installed Kibi, wherever it is: needs pytest and Kibi, nothing of the source tree."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kibi
import kibi.demo

KIBI = Path(sys.executable).with_name("kibi")


def test_story_on_the_shipped_model_gives_the_same_bits(tmp_path: Path) -> None:
    """The five lines of the README work from the installed package, compiler and emulator included."""
    model = kibi.load(kibi.demo.model_path())
    plan = kibi.plan(model, target="cortex-m4")
    images, labels = kibi.demo.samples()
    interpreter = kibi.Interpreter(model, plan)
    inputs = [(image.astype(np.int16) - 128).astype(np.int8).reshape(1, 28, 28, 1) for image in images]
    classes = [int(interpreter.run([array])[0].argmax()) for array in inputs]
    assert sum(a == b for a, b in zip(classes, labels.tolist(), strict=True)) >= 9
    library = kibi.compile(model, plan, tmp_path / "library")
    assert kibi.measure(library).bit_exact


@pytest.mark.skipif(not KIBI.exists(), reason="the command is not installed beside this Python")
def test_demo_runs_in_any_folder(tmp_path: Path) -> None:
    """`kibi demo` of the installed package goes all the way, without a file of the repository, and leaves none."""
    done = subprocess.run([str(KIBI), "demo"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "same bits" in done.stdout
    assert done.stdout.endswith("Now yours: kibi measure model.tflite\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not KIBI.exists(), reason="the command is not installed beside this Python")
def test_command_line_speaks_json(tmp_path: Path) -> None:
    """The installed command plans the shipped model and prints one JSON object."""
    command = [str(KIBI), "plan", str(kibi.demo.model_path()), "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["arena_bytes"] > 0
