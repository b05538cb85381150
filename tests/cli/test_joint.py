"""`kibi plan A B --buffer … -o FILE` and `kibi compile A B --plan FILE`: one plan, one library."""

import json
import shutil
from pathlib import Path

import pytest

from kibi.planner.joint_file import load_plans
from kibi.planner.together import JointPlan
from tests.cli.conftest import Kibi


@pytest.fixture
def pair(glyphs: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two models of different names."""
    one, two = tmp_path / "one.tflite", tmp_path / "two.tflite"
    shutil.copy(glyphs, one)
    shutil.copy(glyphs, two)
    return one, two


_BUFFER = ("--buffer", "rx:1000@0.8-1.2")


def test_joint_plan_is_saved_and_compiled_into_one_library(kibi: Kibi, pair: tuple[Path, Path], tmp_path: Path) -> None:
    """The file holds what --json prints; the library has the models' files, one memory and the buffer's place."""
    saved, folder = tmp_path / "joint.json", tmp_path / "made"
    done = kibi("plan", *pair, *_BUFFER, "-o", saved)
    assert (done.code, done.err) == (0, "")
    assert f"Saved in {saved}" in done.out
    record = kibi("plan", *pair, *_BUFFER, "--json").record
    written = json.loads(saved.read_text(encoding="utf-8"))
    for each in (*record["plans"], *written["plans"]):
        del each["solve_seconds"]
    assert written == record
    joint = load_plans(saved)
    assert isinstance(joint, JointPlan)
    done = kibi("compile", *pair, "--plan", saved, "--name", "both", "--slices", "-o", folder)
    assert (done.code, done.err) == (0, "")
    assert f"memory   {joint.arena_bytes:,} bytes for all of it\nbuffer   1,000 bytes for rx" in done.out
    header = (folder / "both_models.h").read_text(encoding="utf-8")
    assert header.splitlines()[1].endswith(
        "one.tflite two.tflite --target cortex-m4 --name both --slices --plan joint.json */"
    )
    assert f"#define BOTH_BUFFER_RX_OFFSET {joint.buffers[0].offset}u" in header
    assert {"one.h", "two.h", "one.c", "two.c"} < {path.name for path in folder.iterdir()}
    again = tmp_path / "again"
    assert (
        kibi("compile", *pair, "--plan", saved, "--name", "both", "--slices", "-o", again, "--slice", "20000").code == 0
    )
    assert kibi("compile", *pair, "--plan", saved, "-o", again, "--slice", "2000").code == 5


def test_joint_plan_with_options_that_do_not_fit_it_is_refused(
    kibi: Kibi, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    """Other models, another order, another target, other kernels, another format, another verb."""
    saved, folder = tmp_path / "joint.json", tmp_path / "made"
    assert kibi("plan", *pair, *_BUFFER, "-o", saved).code == 0
    one, two = pair
    for models, options, why in (
        ((one,), (), "is for 2 models, in this order: one, two"),
        ((two, one), (), "it is for model 'one', the model is 'two'"),
        (pair, ("--target", "cortex-m0plus"), "the plan is for 'cortex-m4'"),
        (pair, ("--goal", "speed"), "is a plan already"),
        (pair, ("--tune",), "a joint plan is for C, with its kernels"),
        (pair, ("--spare",), "Leave it out, and plan a further --buffer"),
    ):
        done = kibi("compile", *models, "--plan", saved, "-o", folder, *options)
        assert done.code != 0
        assert why in done.err
    assert "a joint plan is for C" in kibi("compile", one, two, "--plan", saved, "-o", folder, "--format", "plan").err
    assert "Give it to `kibi compile`" in kibi("measure", one, "--plan", saved).err
    assert not folder.exists()
    alone = tmp_path / "alone.json"
    assert kibi("plan", "--no-longest-step", one, "-o", alone).code == 0
    assert kibi("compile", one, "--plan", alone, "-o", folder).code == 0
    assert "--plan is for one model" in kibi("compile", *pair, "--plan", alone, "-o", folder).err
    assert "-o saves one plan" in kibi("plan", *pair, "-o", alone).err
