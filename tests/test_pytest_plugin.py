"""The plugin of pytest, in a session of its own, as users have it."""

import subprocess
import sys
from pathlib import Path

import pytest

import kibi.demo
from kibi.errors import TargetError
from kibi.pytest_plugin import Measure

TESTS = """
import sys

MODEL = {model!r}
SEEN = []
HEAVY = [name for name in sys.modules if name in ("numpy", "kibi.api", "unicorn", "kibi.planner")]


def test_nothing_is_loaded_before_a_test_asks():
    assert HEAVY == []


def test_model_is_measured(kibi_measure):
    found = kibi_measure(MODEL)
    assert (found.ram_bytes, found.bit_exact, found.target) == (3212, True, "cortex-m4")
    SEEN.append(found)


def test_next_test_has_the_same_figures(kibi_measure):
    assert kibi_measure(MODEL) is SEEN[0]


def test_failing_budget_shows_the_figure(kibi_measure):
    assert kibi_measure(MODEL).ram_bytes <= 3000
"""


def test_model_is_measured_once_for_each_target_and_option() -> None:
    """A board is its target, and has wait states; what does not go together is refused."""
    measure, model = Measure(), kibi.demo.model_path()
    found = measure(model)
    assert (found.ram_bytes, found.bit_exact, found.target) == (3212, True, "cortex-m4")
    assert measure(str(model), target="cortex-m4") is found
    waiting = measure(model, board="nucleo-f446re")
    assert waiting.waits is not None
    assert (waiting.instructions, waiting.waits.wait_states) == (found.instructions, 5)
    assert (waiting.cycles_estimate or 0) - (found.cycles_estimate or 0) == waiting.waits.stalls.cycles > 0
    assert measure(model, board="rp2040").target == "cortex-m0plus"
    with pytest.raises(TargetError, match="has a cortex-m0plus"):
        measure(model, board="rp2040", target="cortex-m4")


@pytest.mark.slow
def test_fixture_is_of_the_session(tmp_path: Path) -> None:
    """The entry point, where this Kibi is installed with it, and `-p` give the same plugin, once."""
    (tmp_path / "test_models.py").write_text(TESTS.format(model=str(kibi.demo.model_path())))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:kibi",
        "-p",
        "kibi.pytest_plugin",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "3 passed" in done.stdout, done.stdout + done.stderr
    assert "1 failed" in done.stdout
    assert "assert 3212 <= 3000" in done.stdout
