"""`kibi plan` counts the longest step on the emulated core: the figure of `kibi measure`, where that takes little time."""

from pathlib import Path

import pytest

from kibi.cli.output import plan_steps
from tests.cli.conftest import Kibi
from tests.support.zoo import model_path


@pytest.mark.slow
def test_plan_names_the_longest_step_as_measure_does(kibi: Kibi, glyphs: Path) -> None:
    """In the text and in JSON, which is a saved plan as ever; for the options of the plan."""
    for options in ([], ["--input", "streamed"], ["-g", "tensor", "--target", "cortex-m0plus"]):
        record = kibi("plan", glyphs, "--json", *options).record
        assert record["longest_step"] == kibi("measure", glyphs, "--slices", "--json", *options).record["longest_step"]
        assert f"longest step {record['longest_step']['instructions']:,} instr" in kibi("plan", glyphs, *options).out


def test_plan_counts_no_step_where_it_is_told_so(kibi: Kibi, glyphs: Path) -> None:
    """Nor where nobody could: the reason is said."""
    assert "longest" not in kibi("plan", glyphs, "--no-longest-step").out
    assert "longest_step" not in kibi("plan", glyphs, "--no-longest-step", "--json").record
    assert "longest step not counted: nothing emulates host" in kibi("plan", glyphs, "-t", "host").out
    record = kibi("plan", glyphs, "-t", "host", "--json").record
    assert (record["longest_step"], record["longest_step_reason"]) == (None, "nothing emulates host")


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize(("limit", "why"), [("_MOST_MACS", "413,648 MACs"), ("_MOST_INSTRUCTIONS", "over 1,000 inst")])
def test_plan_of_much_work_counts_steps_only_if_asked(
    kibi: Kibi, glyphs: Path, monkeypatch: pytest.MonkeyPatch, limit: str, why: str
) -> None:
    """Two limits, and what to do beyond them."""
    monkeypatch.setattr(plan_steps, limit, 1000)
    done = kibi("plan", glyphs)
    assert (done.code, f"longest step not counted: {why}" in done.out.replace("an inference takes ", "")) == (0, True)
    assert "; --longest-step counts it" in done.out
    assert kibi("plan", glyphs, "--longest-step", "--json").record["longest_step"]["instructions"] > 1000


@pytest.mark.parametrize(
    "options", [["--compare"], ["--buffer", "rx:5"], ["--ascii"], ["--write-embedded-plan", "x.tflite"], ["-t", "host"]]
)
def test_longest_step_of_anything_but_one_plan_is_refused(kibi: Kibi, glyphs: Path, options: list[str]) -> None:
    """Without the option, these plans have no such line, and no error."""
    done = kibi("plan", glyphs, "--longest-step", *options)
    assert (done.code, done.out) == (5, "")
    assert "Leave" in done.err


@pytest.mark.zoo
@pytest.mark.parametrize("name", [pytest.param("mlperf_kws_int8", marks=pytest.mark.slow), "mlonmcu_lstm2"])
def test_plan_of_real_models_names_the_longest_step_as_measure_does(kibi: Kibi, name: str) -> None:
    """Speech, and an LSTM that is float."""
    record = kibi("plan", model_path(name), "--json").record
    measured = kibi("measure", model_path(name), "--slices", "--no-oracle", "--json").record
    assert record["longest_step"] == measured["longest_step"]
