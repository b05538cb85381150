"""How users reach the lossless passes: what they change is listed, and each verb can leave them out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kibi as package
from kibi.ops import Conv2D
from kibi.passes import PASSES
from tests.cli.conftest import Kibi
from tests.passes.networks import Chain


@pytest.fixture
def padded(tmp_path: Path) -> Path:
    """A model of five operators, of which two are left: a padded convolution, an activation, a flat classifier."""
    net = Chain((1, 6, 6, 2)).pad((0, 0), (1, 1), (1, 1), (0, 0)).conv(16, (3, 3), scale=(0.05, 4)).same("RELU")
    path = tmp_path / "padded.tflite"
    path.write_bytes(net.reshape(1, 576).connected(3, 576).case().model)
    return path


def _operators(record: dict[str, list[dict[str, str]]]) -> set[str]:
    """The operators that a plan runs."""
    return {step["op"] for step in record["steps"]}


def test_inspect_passes_lists_each_change_with_its_reason_and_totals(kibi: Kibi, padded: Path) -> None:
    """Pass, operator, reason and savings stand in a line; without --passes the model is shown as it is."""
    done = kibi("inspect", padded, "--passes")
    assert (done.code, done.err) == (0, "")
    assert "5 operators, 2 after the passes" in done.out
    line = next(line for line in done.out.splitlines() if line.startswith("pad-into-window"))
    assert "operator 0 (PAD)" in line
    assert line.split()[-1] == "32"
    assert done.out.splitlines()[-1].split() == ["total", "0", "40"]
    assert "5 operators" in kibi("inspect", padded).out


def test_inspect_passes_as_json_adds_what_they_change(kibi: Kibi, padded: Path) -> None:
    """The model's own facts stay beside it; passes can be left out."""
    record = kibi("inspect", padded, "--passes", "--json", "--without-pass", "reshape-to-nothing").record
    assert len(record["operators"]) == 5
    passes = record["passes"]
    assert (passes["operators"], passes["weights_bytes_saved"], passes["macs_saved"]) == (3, 32, 0)
    assert passes["weights_bytes"] == record["weights_bytes"] - 32
    assert {change["pass"] for change in passes["changes"]} == {"pad-into-window", "activation-into-producer"}
    assert all(change["reason"] and change["node"] for change in passes["changes"])


def test_inspect_passes_of_a_model_without_anything_to_leave_out_says_so(kibi: Kibi, glyphs: Path) -> None:
    """No empty table."""
    assert kibi("inspect", glyphs, "--passes").out.splitlines()[-1] == "The passes find nothing to leave out."


def test_plan_is_of_what_is_left(kibi: Kibi, padded: Path) -> None:
    """By default with all passes, with --without-pass without that one, with `all` of the model as it is."""
    assert _operators(kibi("plan", "--no-longest-step", padded, "--json").record) == {"CONV_2D", "FULLY_CONNECTED"}
    some = kibi(
        "plan", "--no-longest-step", padded, "--json", "--without-pass", "pad-into-window", "--without-pass", "unused"
    )
    assert _operators(some.record) == {"PAD", "CONV_2D", "FULLY_CONNECTED"}
    every = kibi("plan", "--no-longest-step", padded, "--json", "--without-pass", "all").record
    assert _operators(every) == {"PAD", "CONV_2D", "RELU", "RESHAPE", "FULLY_CONNECTED"}


@pytest.mark.parametrize(
    "verb", ["inspect --passes", "plan", "compile -o build", "measure", "run -i x", "verify", "pareto"]
)
def test_pass_that_does_not_exist_is_refused_by_every_verb(kibi: Kibi, padded: Path, verb: str) -> None:
    """The error lists those that do."""
    name, *options = verb.split()
    done = kibi(name, padded, *options, "--without-pass", "fast")
    assert done.code == package.errors.InputError.exit_code
    assert "there is no pass 'fast'" in done.err
    assert all(each.name in done.err for each in PASSES)


def test_options_that_have_no_use_for_passes_say_so(kibi: Kibi, padded: Path, tmp_path: Path) -> None:
    """Plans in files are of the file as it is; so is what `inspect` shows."""
    for options in (
        ["plan", padded, "--use-embedded-plan"],
        ["plan", padded, "--write-embedded-plan", tmp_path / "x"],
        ["inspect", padded],
    ):
        done = kibi(*options, "--without-pass", "unused")
        assert done.code != 0
        assert "--without-pass" in done.err


def test_plan_embedded_keeps_every_operator(kibi: Kibi, padded: Path, tmp_path: Path) -> None:
    """TFLM runs the file, which no pass changes."""
    carrying = tmp_path / "carrying.tflite"
    assert kibi("plan", padded, "--write-embedded-plan", carrying).code == 0
    assert len(package.load(carrying).nodes) == 5
    assert _operators(kibi("plan", "--no-longest-step", carrying, "--use-embedded-plan", "--json").record) >= {
        "PAD",
        "RELU",
        "RESHAPE",
    }


def test_external_tensors_stay(kibi: Kibi, padded: Path, tmp_path: Path) -> None:
    """What a caller's buffer is to hold is made, and a saved plan remembers it."""
    name = package.load(padded).views[0].output.name
    done = kibi("plan", "--no-longest-step", padded, "--json", "--external-buffer", name)
    assert _operators(done.record) == {"PAD", "CONV_2D", "FULLY_CONNECTED"}
    saved = tmp_path / "plan.json"
    saved.write_text(done.out)
    assert kibi("compile", padded, "--plan", saved, "-o", tmp_path / "build").code == 0


def test_saved_plan_is_for_the_graph_that_it_was_made_for(kibi: Kibi, padded: Path, tmp_path: Path) -> None:
    """With the same passes left out it fits; with others the error says what to do."""
    saved, build = tmp_path / "plan.json", tmp_path / "build"
    saved.write_text(kibi("plan", "--no-longest-step", padded, "--json", "--without-pass", "all").out)
    done = kibi("compile", padded, "--plan", saved, "-o", build)
    assert done.code == package.errors.PlanError.exit_code
    assert "leave the same passes out" in done.err
    assert kibi("compile", padded, "--plan", saved, "-o", build, "--without-pass", "all").code == 0
    first = (build / "padded.h").read_text().splitlines()[1]
    assert "--without-pass all" in first
    assert "--plan plan.json" in first


def test_measure_counts_what_is_left(kibi: Kibi, padded: Path) -> None:
    """Fewer operators, less memory, the same bits."""
    after, before = (kibi("measure", padded, "--json", *words).record for words in ((), ("--without-pass", "all")))
    assert [cost["op"] for cost in after["ops"]] == ["CONV_2D", "FULLY_CONNECTED"]
    assert len(before["ops"]) == 5
    assert after["bit_exact"]
    assert before["bit_exact"]
    assert after["ram_bytes"] < before["ram_bytes"]
    assert after["weights_bytes"] < before["weights_bytes"]


def test_run_gives_the_same_outputs_with_and_without_passes(kibi: Kibi, padded: Path, tmp_path: Path) -> None:
    """To the bit."""
    inputs = tmp_path / "x.npy"
    np.save(inputs, np.arange(72, dtype=np.int8).reshape(1, 6, 6, 2))
    outputs = []
    for words in ((), ("--without-pass", "all")):
        assert kibi("run", padded, "-i", inputs, "-o", tmp_path / "y.npy", *words).code == 0
        outputs.append((tmp_path / "y.npy").read_bytes())
    assert outputs[0] == outputs[1]


def test_verify_compares_the_model_before_and_after_the_passes(kibi: Kibi, padded: Path) -> None:
    """The unsimplified model is one more engine."""
    record = kibi("verify", padded, "--target", "host", "--json").record
    assert record["bit_exact"]
    assert "Python, without passes" in record["engines"]
    raw = kibi("verify", padded, "--target", "host", "--json", "--without-pass", "all").record
    assert "Python, without passes" not in raw["engines"]


def test_verify_of_a_pass_that_changes_bits_says_so(padded: Path) -> None:
    """What a wrong rewrite left out is found, and is not taken for a difference of layout."""
    original = package.load(padded)
    graph = package.simplify(original)
    conv = graph.nodes[0]
    assert isinstance(conv.op, Conv2D)
    wrong = replace(graph, nodes=(replace(conv, op=replace(conv.op, activation=Conv2D().activation)), *graph.nodes[1:]))
    found = package.verify(wrong, target="host", original=original)
    assert not found.is_exact
    text = str(found.differences[0])
    assert text.startswith("Python, without passes, run 0: what the passes left out")
