"""`kibi measure` prints what the device uses, and each failure of a compiler in its own words."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Kibi
from tests.support.branching_models import branches

CONTRACT = {
    *("model", "target", "macs", "arena_bytes", "state_bytes", "stack_bytes", "ram_bytes", "code_bytes"),
    *("plan_table_bytes", "weights_bytes", "flash_bytes", "instructions", "cycles_estimate", "bit_exact", "oracle"),
    *("ops", "seeds", "varies_with_inputs", "instructions_min", "stack_bytes_min", "not_executed", "oracle_failure"),
    *("calls_instructions", "calls_cycles_estimate"),
    *(
        "longest_step",
        "checkpoints",
        "fetches",
        "waits",
        "counter",
        "linear_memory_bytes",
        "vector_instructions",
        "beats",
    ),
}


def test_measure_as_json_has_exactly_the_keys_of_the_contract(kibi: Kibi, glyphs: Path) -> None:
    """Other tools build on these keys, and the parts add up to the totals."""
    done = kibi("measure", glyphs, "--json")
    record = done.record
    assert (done.code, done.err) == (0, "")
    origin = {"schema_version", "verb", "kibi_version", "compiler_version", "model_sha256", "library_sha256"}
    assert set(record) == CONTRACT | origin
    assert record["bit_exact"] is True
    assert record["flash_bytes"] == record["code_bytes"] + record["weights_bytes"]
    assert 0 < record["plan_table_bytes"] < record["code_bytes"]
    assert record["ram_bytes"] >= record["arena_bytes"] + record["state_bytes"] + record["stack_bytes"]
    costs = {"name", "op", "macs", "instructions", "scratch_bytes", "cycles_estimate", "stalls"}
    assert costs == set(record["ops"][0])
    for count in ("instructions", "cycles_estimate"):
        assert sum(cost[count] for cost in record["ops"]) + record[f"calls_{count}"] == record[count]


def test_measure_shows_totals_and_every_operator(kibi: Kibi, glyphs: Path) -> None:
    """The time is called an estimate, and says at which clock."""
    record, done = kibi("measure", glyphs, "--json").record, kibi("measure", glyphs)
    assert f"{record['ram_bytes']:,} bytes = arena {record['arena_bytes']:,}" in done.out
    assert f"{record['instructions']:,} for {record['macs']:,} MACs" in done.out
    assert "ms at 120 MHz (estimate, zero wait states)" in done.out
    assert "same bits     yes: device, Python" in done.out
    assert done.out.count("CONV_2D ") == 9
    assert "\x1b" not in done.out


@pytest.mark.parametrize(
    ("target", "about"),
    [
        ("cortex-m7", "ms at 216 MHz (estimate, by others' measurements, not validated, zero wait states)"),
        ("cortex-m33", "ms at 100 MHz (estimate, by the Cortex-M4's table, zero wait states)"),
    ],
)
def test_measure_says_where_an_estimate_without_a_table_is_from(
    kibi: Kibi, glyphs: Path, target: str, about: str
) -> None:
    """A core of which Arm published no timings has an estimate, and nobody takes it for more."""
    assert about in " ".join(kibi("measure", glyphs, "--target", target, "--no-oracle").out.split())


def test_measure_on_the_host_is_refused(kibi: Kibi, glyphs: Path) -> None:
    """The error lists the targets that are emulated."""
    done = kibi("measure", glyphs, "--target", "host")
    assert (done.code, done.out) == (6, "")
    assert "cortex-m33" in done.err


def test_measure_with_an_unknown_compiler_or_level_is_refused(kibi: Kibi, glyphs: Path) -> None:
    """The error lists what there is."""
    assert "zig, gcc" in kibi("measure", glyphs, "--compiler", "tcc").err
    done = kibi("measure", glyphs, "-O", "9")
    assert (done.code, done.out) == (7, "")
    assert "0, 1, 2, 3, s" in done.err


def test_measure_that_is_not_bit_exact_ends_in_the_code_of_a_mismatch(
    kibi: Kibi, glyphs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figures are printed all the same, and say no."""
    monkeypatch.setattr("kibi.reports.measurement.same_bits", lambda *_: False)
    monkeypatch.setattr("kibi.tflm.available", lambda: False)
    done = kibi("measure", glyphs, "--json")
    assert done.code == 10
    assert done.record["bit_exact"] is False
    assert "kibi verify" in done.err


def _measure_with_gcc(glyphs: Path, path: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kibi.cli", "measure", str(glyphs), "--compiler", "gcc"]
    return subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)


def test_measure_without_the_compiler_says_how_to_install_it(glyphs: Path, tmp_path: Path) -> None:
    """The error names the program and Debian's package."""
    done = _measure_with_gcc(glyphs, str(tmp_path))
    assert (done.returncode, done.stdout) == (7, "")
    assert "arm-none-eabi-gcc is not on PATH" in done.stderr
    assert "apt install gcc-arm-none-eabi" in done.stderr


@pytest.mark.slow
def test_measure_with_a_failing_compiler_shows_its_own_message(glyphs: Path, tmp_path: Path) -> None:
    """The command that failed and what it printed are in the error."""
    for tool in ("arm-none-eabi-gcc", "arm-none-eabi-g++"):
        script = tmp_path / tool
        script.write_text('#!/bin/sh\n[ "$1" = --version ] && echo broken 1.0 && exit\necho "melted CPU" >&2\nexit 1\n')
        script.chmod(0o755)
    done = _measure_with_gcc(glyphs, f"{tmp_path}:{os.environ['PATH']}")
    assert (done.returncode, done.stdout) == (7, "")
    assert "melted CPU" in done.stderr
    assert "arm-none-eabi-gcc" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.cross
def test_measure_with_gcc_gives_the_same_bits(kibi: Kibi, glyphs: Path) -> None:
    """Debian's cross compiler works as well as zig."""
    if shutil.which("arm-none-eabi-gcc") is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("arm-none-eabi-gcc is not installed")
    record = kibi("measure", glyphs, "--compiler", "gcc", "--level", "s", "--json").record
    assert record["bit_exact"] is True


def test_measure_tuned_shows_every_candidate_and_what_was_chosen(kibi: Kibi, glyphs: Path) -> None:
    """As text and as JSON; the layers that the table marks are those that the record names."""
    shown, record = kibi("measure", glyphs, "--tune"), kibi("measure", glyphs, "--tune", "--json").record
    (layers,) = record["tuning"]
    assert layers
    assert shown.out.count(" yes\n") + shown.out.count("yes") >= len(layers)
    for layer in layers:
        counts = {each["kernel"]: each["instructions"] for each in layer["candidates"]}
        assert counts[layer["kernel"]] == min(counts.values())
        assert layer["kernel"] in shown.out


def test_measure_for_an_unknown_goal_lists_those_that_exist(kibi: Kibi, glyphs: Path) -> None:
    """Nothing is measured."""
    done = kibi("measure", glyphs, "--goal", "small")
    assert done.code
    assert "balanced" in done.err
    assert "flash" in done.err


def test_measure_of_a_model_with_branches_says_for_which_inputs_figures_hold(kibi: Kibi, tmp_path: Path) -> None:
    """In text and as JSON: seeds, the least and the most, and what none of the inputs runs."""
    path = tmp_path / "branches.tflite"
    path.write_bytes(branches(pools_first=False))
    text, record = kibi("measure", path).out, kibi("measure", path, "--json").record
    assert "seeds 0 to 3; the figures are the most on these inputs: instructions" in text
    assert (record["seeds"], record["varies_with_inputs"], record["not_executed"]) == ([0, 1, 2, 3], True, [])
    assert record["instructions_min"] < record["instructions"]
    assert record["stack_bytes_min"] < record["stack_bytes"]
    once = kibi("measure", path, "--runs", "1").out
    assert "none of these inputs runs it" in once
    assert "none of these inputs runs it: subgraph" in kibi("verify", path, "--runs", "1", "--target", "host").out


@pytest.mark.slow
def test_measure_in_slices_names_the_longest_step_and_checks_a_limit(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Without slices there is no such figure; a limit below it is an error after the figures, for `compile` before any file."""
    longest = kibi("measure", glyphs, "--slices", "--json").record["longest_step"]
    assert 0 < longest["instructions"] < 20_000
    assert longest["steps"] > longest["step"]
    assert f"longest step  {longest['instructions']:,} instructions" in kibi("measure", glyphs, "--slices").out
    assert kibi("measure", glyphs, "--slice", str(longest["instructions"])).code == 0
    failed = kibi("measure", glyphs, "--slice", str(longest["instructions"] - 1))
    assert failed.code != 0
    assert f"a slice of one row step takes {longest['instructions']} instructions on cortex-m4" in failed.err
    folder = tmp_path / "sliced"
    failed = kibi("compile", glyphs, "--slice", str(longest["instructions"] - 1), "-o", str(folder))
    assert (failed.code != 0, folder.exists()) == (True, False)
    assert kibi("compile", glyphs, "--slice", str(longest["instructions"]), "-o", str(folder)).code == 0
    assert "glyphs_run_for" in (folder / "glyphs.h").read_text(encoding="utf-8")
    assert "--slices" in (folder / "glyphs.c").read_text(encoding="utf-8").splitlines()[1]


@pytest.mark.slow
def test_measure_of_checkpoints_says_what_saving_and_resuming_take(kibi: Kibi, glyphs: Path) -> None:
    """Code, slots, the most instructions and stack, and each place that was measured; null without the option."""
    assert kibi("measure", glyphs, "--json").record["checkpoints"] is None
    record, done = (kibi("measure", glyphs, "--checkpoints", *words) for words in (("--json",), ()))
    cost = record.record["checkpoints"]
    assert f"checkpoints  {cost['code_bytes']:,} bytes of code, two slots of {cost['slot_bytes']:,} bytes" in done.out
    assert f"checkpoint   at most {cost['checkpoint_instructions']:,} instructions, stack" in done.out
    assert f"resume       at most {cost['resume_instructions']:,} instructions, stack" in done.out
    assert len(cost["places"]) == 9
    assert record.record["longest_step"] is not None
    assert "--checkpoints is for C" in kibi("measure", glyphs, "--checkpoints", "--format", "plan").err
