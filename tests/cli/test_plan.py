"""`kibi plan` prints the arena to the byte, and a plan that `kibi compile` takes."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import kibi as api
from kibi.cli.options.variants import VARIANTS
from tests.cli.conftest import Kibi
from tests.support.zoo import model_path

CONTRACT = {"arena_bytes", "lower_bound_bytes", "proven_optimal", "solve_seconds", "steps", "buffers"}


def test_plan_shows_the_arena_its_bound_and_the_peak(kibi: Kibi, glyphs: Path) -> None:
    """The text says how many bytes, whether fewer could do, and who holds most of them."""
    done = kibi("plan", glyphs)
    arena = api.plan(api.load(glyphs)).arena_bytes
    assert (done.code, done.err) == (0, "")
    assert f"arena {arena:,} bytes: within" in done.out
    assert "% of the least that this order of steps allows (" in done.out
    assert "\npeak " in done.out


def test_plan_as_json_has_the_keys_of_the_contract(kibi: Kibi, glyphs: Path) -> None:
    """Buffers live between steps of the list, and the peak is the highest of them."""
    record = kibi("plan", glyphs, "--json").record
    assert set(record) >= CONTRACT
    assert record["proven_optimal"] is (record["arena_bytes"] == record["lower_bound_bytes"])
    assert all(0 <= buffer["start"] < buffer["end"] <= len(record["steps"]) for buffer in record["buffers"])
    assert record["peak"]["live_bytes"] == max(step["live_bytes"] for step in record["steps"])
    held = sum(holder["size_bytes"] for holder in record["peak"]["holders"])
    assert record["peak"]["live_bytes"] == held - record["peak"]["shared_bytes"]
    named = {tensor["index"] for tensor in record["tensors"]}
    assert named == {buffer["tensor"] for buffer in record["buffers"]} - {None}


def test_plan_as_json_is_a_saved_plan(kibi: Kibi, glyphs: Path) -> None:
    """What is printed reads back as the plan that it is."""
    printed = kibi("plan", "--no-longest-step", glyphs, "--json").out
    read = api.Plan.from_json(printed)
    made = api.plan(api.load(glyphs))
    assert (read.runs, read.buffers, read.arena_bytes) == (made.runs, made.buffers, made.arena_bytes)


@pytest.mark.slow
def test_plan_says_what_more_effort_might_gain_and_takes_it(kibi: Kibi, glyphs: Path) -> None:
    """The line names the bytes that are open and how to look for them; with more effort the arena is no larger."""
    once, twice = (
        kibi("plan", "--no-longest-step", glyphs, "--json", "--effort", number).record for number in ("1", "2")
    )
    assert (once["effort"], twice["effort"]) == (1, 2)
    assert twice["arena_bytes"] <= once["arena_bytes"]
    assert once["gain_bytes"] == once["arena_bytes"] - once["least_bytes"] > 0
    assert f"might still save up to {once['gain_bytes']:,} bytes" in kibi("plan", glyphs).out
    assert "might still save" not in kibi("plan", glyphs, "--granularity", "tensor").out
    assert kibi("plan", "--no-longest-step", glyphs, "--json", "--time-limit", "0").record["buffers"] == once["buffers"]


@pytest.mark.parametrize(("option", "value"), [("--effort", "0"), ("--effort", "-3"), ("--time-limit", "-1")])
def test_plan_refuses_what_is_no_amount_of_search(kibi: Kibi, glyphs: Path, option: str, value: str) -> None:
    """The error says what can be given."""
    done = kibi("plan", glyphs, option, value)
    assert (done.code, done.out) == (5, "")
    assert "Give a" in done.err


def test_plan_takes_bytes_as_people_write_them(kibi: Kibi, glyphs: Path) -> None:
    """`4k` are 4,096 bytes."""
    arenas = [
        kibi("plan", "--no-longest-step", glyphs, "--ram", text, "--json").record["arena_bytes"]
        for text in ("4k", "4096")
    ]
    assert arenas[0] == arenas[1] <= 4096


def test_plan_with_svg_draws_it(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """The file is an SVG document; standard output stays JSON alone."""
    path = tmp_path / "plan.svg"
    done = kibi("plan", "--no-longest-step", glyphs, "--json", "--svg", path)
    assert done.record["arena_bytes"] > 0
    assert ET.fromstring(path.read_text()).tag.endswith("svg")  # noqa: S314 - our own file
    assert f"drawn in {path}" in kibi("plan", "--no-longest-step", glyphs, "--svg", path).out


def test_plan_with_svg_where_a_folder_lies_is_an_output_error(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Nothing is printed as if it had worked."""
    done = kibi("plan", glyphs, "--svg", tmp_path)
    assert (done.code, done.out) == (9, "")
    assert "is a folder" in done.err


def test_plan_for_an_unknown_target_lists_the_known_ones(kibi: Kibi, glyphs: Path) -> None:
    """The error says which targets there are."""
    done = kibi("plan", glyphs, "--target", "cortex-m9")
    assert (done.code, done.out) == (6, "")
    assert "cortex-m0plus" in done.err


@pytest.mark.zoo
def test_plan_of_keyword_spotting_meets_its_lower_bound(kibi: Kibi) -> None:
    """A real model's plan says that it is optimal."""
    record = kibi("plan", model_path("mlperf_kws_int8"), "-g", "tensor", "--json").record
    assert record["proven_optimal"] is True
    assert json.dumps(record).count("solve_seconds") == 1


def test_plan_with_png_draws_it(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Beside the SVG, or alone."""
    svg, png = tmp_path / "plan.svg", tmp_path / "plan.png"
    done = kibi("plan", "--no-longest-step", glyphs, "--granularity", "row", "--svg", svg, "--png", png)
    assert (done.code, done.err) == (0, "")
    assert f"drawn in {png}" in done.out
    assert png.read_bytes().startswith(b"\x89PNG\r\n")
    assert svg.read_text().startswith("<svg")


def test_plan_with_png_where_a_folder_lies_is_an_output_error(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """It is said before any time is spent on drawing."""
    done = kibi("plan", glyphs, "--png", tmp_path)
    assert (done.code, done.out) == (9, "")
    assert "is a folder" in done.err


def test_plan_by_row_shows_a_map(kibi: Kibi, glyphs: Path) -> None:
    """Bound and proof are said as ever."""
    done = kibi("plan", "--no-longest-step", glyphs, "-g", "row")
    assert "of the least that this order of steps allows" in done.out
    assert "a letter starts the life of a row" in done.out


def test_plan_compare_shows_variants_with_bounds(kibi: Kibi, glyphs: Path) -> None:
    """A line for each way of planning, each with its bound and how good it is for its order."""
    done = kibi("plan", glyphs, "--compare")
    lines = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert lines[0].split()[0] == "model"
    assert [name in line for name, line in zip(VARIANTS, lines[1:], strict=True)] == [True] * len(VARIANTS)
    assert all("proven" in line or "gap" in line for line in lines[1:])


def test_plan_of_two_models_as_json_is_a_list(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Each element has the keys of a single plan; every variant of each model is there."""
    other = tmp_path / "other.tflite"
    other.write_bytes(glyphs.read_bytes())
    records = json.loads(kibi("plan", glyphs, other, "--json").out)
    assert [record["variant"] for record in records] == [*VARIANTS] * 2
    assert all(set(record) >= CONTRACT for record in records)
    assert {record["model"] for record in records} == {"glyphs", "other"}


def test_plan_compare_keeps_to_the_options_that_are_given(kibi: Kibi, glyphs: Path) -> None:
    """What is asked for restricts the variants; what no variant has is one of its own."""
    records = json.loads(kibi("plan", glyphs, "--compare", "-g", "row", "--json").out)
    assert [record["variant"] for record in records] == [name for name in VARIANTS if name.startswith("by the row")]
    (alone,) = json.loads(kibi("plan", glyphs, "--compare", "--input", "external", "--json").out)
    assert (alone["variant"], alone["input"]) == ("by the row, input external", "external")


def test_plan_compare_draws_side_by_side(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """One drawing with all plans."""
    path = tmp_path / "plans.svg"
    done = kibi("plan", glyphs, "--compare", "--svg", path)
    assert f"The plans are drawn in {path}" in done.out
    assert all(name in path.read_text() for name in VARIANTS)


@pytest.mark.slow
def test_plan_names_the_cheapest_places_for_checkpoints(kibi: Kibi, glyphs: Path) -> None:
    """One for each eighth of the work, in order; the JSON is still a plan; several plans, or external buffers, are refused."""
    record = kibi("plan", "--no-longest-step", glyphs, "--checkpoints", "--json").record
    places = record["checkpoints"]
    assert [each["steps"] for each in places] == sorted({each["steps"] for each in places})
    assert (places[0]["op"], places[0]["steps"], places[0]["size_bytes"]) == ("", 0, 20 + 28 * 28)
    assert all(20 < each["size_bytes"] < 20 + record["arena_bytes"] for each in places)
    assert "checkpoints" not in kibi("plan", "--no-longest-step", glyphs, "--json").record
    done = kibi("plan", "--no-longest-step", glyphs, "--checkpoints")
    assert "The cheapest place for a checkpoint in each eighth" in done.out
    assert "the inputs" in done.out
    assert "--checkpoints is for one plan" in kibi("plan", glyphs, "--checkpoints", "--compare").err
    assert "does not save external buffers" in kibi("plan", glyphs, "--checkpoints", "--input", "external").err
    assert (
        kibi("plan", "--no-longest-step", glyphs, "--checkpoints", "--input", "streamed", "--json").record[
            "checkpoints"
        ][0]["size_bytes"]
        == 20
    )


def test_plan_says_when_constants_may_be_written(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """A line for each, with a picture; the same in JSON; several plans are refused."""
    record = kibi("plan", "--no-longest-step", glyphs, "--fences", "--json").record
    found, steps = record["fences"], sum(run["steps"] for run in record["runs"])
    assert all(0 <= each["first"] <= each["last"] < steps for each in found)
    assert {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"} <= {each["op"] for each in found}
    assert "fences" not in kibi("plan", "--no-longest-step", glyphs, "--json").record
    done = kibi("plan", "--no-longest-step", glyphs, "--fences")
    assert f"When constants may be written in an inference of {steps} steps" in done.out
    lines = [line for line in done.out.splitlines() if line.endswith(("#", "#."))]
    assert any(line.split()[:3] == ["FULLY_CONNECTED", "scores", "filter"] for line in lines)
    assert "--fences is for one plan" in kibi("plan", glyphs, "--fences", "--compare").err
    drawn = tmp_path / "fences.svg"
    assert f"is drawn in {drawn}" in " ".join(
        kibi("plan", "--no-longest-step", glyphs, "--fences-svg", drawn).out.split()
    )
    assert f"in an inference of {steps} steps" in drawn.read_text(encoding="utf-8")
    assert "--fences is for one plan" in kibi("plan", glyphs, "--fences-svg", drawn, "--compare").err
    assert "Leave --fences out" in kibi("plan", glyphs, glyphs, "--fences", "--buffer", "a:8@0-1").err


def test_plan_of_several_models_and_buffers_is_one_problem_with_a_proof(
    kibi: Kibi, glyphs: Path, tmp_path: Path
) -> None:
    """The JSON has a plan of each model, which `compile` takes; a wrong buffer and options for one plan are refused."""
    other = tmp_path / "other.tflite"
    other.write_bytes(glyphs.read_bytes())
    made = kibi("plan", glyphs, other, "--buffer", "rx:1000@0.8-1.2", "--json").record
    assert made["lower_bound_bytes"] <= made["arena_bytes"] < made["separate_bytes"]
    assert [(each["name"], each["size_bytes"]) for each in made["buffers"]] == [("rx", 1000)]
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(made["plans"][1]), encoding="utf-8")
    assert kibi("compile", other, "--plan", plan, "-o", str(tmp_path / "made")).code == 0
    shown = kibi("plan", glyphs, other, "--buffer", "rx:1000@0.8-1.2")
    assert f"{made['arena_bytes']:,} bytes for all of it" in shown.out
    assert "buffer rx" in shown.out
    assert "is no buffer" in kibi("plan", glyphs, "--buffer", "rx").err
    assert "Leave --compare out" in kibi("plan", glyphs, "--buffer", "rx:5", "--compare").err
