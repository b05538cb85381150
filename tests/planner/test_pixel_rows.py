"""Rows of one pixel that pointwise convolutions compute several at a time."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.engines import HostEngine
from kibi.errors import PlanError
from kibi.ir import Graph
from kibi.planner import PlannedModel, validate
from kibi.planner.pixel_rows import with_pixel_rows
from kibi.planner.plan import PixelRows, Plan
from kibi.reports.recomputation import pixel_rows_text
from kibi.runtime import seeded_inputs
from tests.docs.documents import ROOT
from tests.ops.comparison import graph_of
from tests.passes.networks import Chain
from tests.support.zoo import model_path, requires_zoo


def _along_time() -> Graph:
    """Windows along time between pointwise convolutions, on rows of one pixel."""
    net = Chain((1, 26, 1, 24)).conv(48, (1, 1)).depthwise((3, 1)).conv(48, (1, 1)).depthwise((5, 1)).conv(48, (1, 1))
    return kibi.simplify(graph_of(net.depthwise((20, 1)).conv(4, (1, 1)).case()))


@pytest.fixture(scope="module")
def model() -> Graph:
    """The network."""
    return _along_time()


def test_wider_rows_are_taken_where_the_arena_hardly_grows(model: Graph, tmp_path: Path) -> None:
    """Fewer instructions in at most a sixteenth more RAM; the bits are the same in each engine, and in a plan file."""
    plain, made = kibi.plan(model, pixel_rows=()), kibi.plan(model)
    assert plain.pixel_rows == ()
    assert made.pixel_rows
    assert made.arena_bytes <= plain.arena_bytes + plain.arena_bytes // 16
    counted = [
        kibi.measure(kibi.compile(model, each, tmp_path / str(number))) for number, each in enumerate((plain, made))
    ]
    assert all(each.bit_exact for each in counted)
    assert counted[1].instructions < 0.9 * counted[0].instructions
    assert kibi.measure_plan(model, made).bit_exact
    for seed in range(3):
        inputs = seeded_inputs(model, seed)
        wanted = kibi.run(model, plain, inputs)[0].tobytes()
        assert kibi.run(model, made, inputs)[0].tobytes() == wanted
        assert (
            HostEngine(kibi.compile(model, made, tmp_path / "host", target="host")).run(inputs)[0].tobytes() == wanted
        )


def test_a_plan_says_which_rows(model: Graph) -> None:
    """In JSON and for people; what was saved is the same plan again."""
    made = kibi.plan(model)
    planned = validate(model, made)
    first = made.pixel_rows[0]
    assert f"operator {model.nodes[first.node].source} {first.pixels}" in pixel_rows_text(planned)
    assert Plan.from_json(made.to_json()) == made
    assert [node.op.name for node in planned.graph.nodes].count("RESHAPE") == 2 * len(made.pixel_rows)


def test_tuned_kernels_are_for_these_rows(model: Graph) -> None:
    """What `tune` found for a plan is planned with the same rows."""
    made = kibi.plan(model)
    tuned = kibi.plan(model, tuning=kibi.tune(model, made))
    assert tuned.pixel_rows == made.pixel_rows
    inputs = seeded_inputs(model, 0)
    assert kibi.run(model, tuned, inputs)[0].tobytes() == kibi.run(model, made, inputs)[0].tobytes()


def test_a_limit_of_ram_is_kept(model: Graph) -> None:
    """More rows at a time where they fit, and none where nothing is left."""
    plain = kibi.plan(model, pixel_rows=())
    assert kibi.plan(model, ram=plain.arena_bytes).arena_bytes <= plain.arena_bytes
    roomy = kibi.plan(model, ram=2 * plain.arena_bytes)
    assert roomy.arena_bytes <= 2 * plain.arena_bytes
    assert sum(each.pixels for each in roomy.pixel_rows) >= sum(each.pixels for each in kibi.plan(model).pixel_rows)


@pytest.mark.parametrize(
    "options",
    [{"goal": "speed"}, {"goal": "flash"}, {"granularity": "tensor"}, {"weights": "rice"}],
    ids=lambda options: "-".join(options.values()),
)
def test_other_plans_have_rows_as_they_are(model: Graph, options: dict[str, str]) -> None:
    """Speed makes all rows at once where they are stored one after another; flash wants the least code."""
    assert kibi.plan(model, **options).pixel_rows == ()  # type: ignore[arg-type]  # texts, as their functions take them


def test_inputs_may_stream(model: Graph) -> None:
    """The node that receives rows is counted; the bits stay."""
    made = kibi.plan(model, input="streamed")
    graph = PlannedModel.of(model, made).graph
    for each in made.pixel_rows:
        wide = [view for view in graph.views if view.output.type.shape[2] == each.pixels]
        assert any(view.op.name == "CONV_2D" for view in wide)
    inputs = seeded_inputs(model, 4)
    wanted = kibi.run(model, kibi.plan(model, granularity="tensor"), inputs)[0]
    assert np.array_equal(kibi.run(model, made, inputs)[0], wanted)


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ((PixelRows(99, 2),), "node 99 has rows of several pixels, but there are"),
        ((PixelRows(-1, 2),), "node -1 has rows of several pixels, but there are"),
        ((PixelRows(0, 3),), "does not compute rows of 3 pixels"),
        ((PixelRows(0, 1),), "does not compute rows of 1 pixels"),
        ((PixelRows(0, 0),), "does not compute rows of 0 pixels"),
        ((PixelRows(0, -2),), "does not compute rows of -2 pixels"),
        ((PixelRows(1, 2),), "does not compute rows of 2 pixels"),
        ((PixelRows(2, 2), PixelRows(0, 2)), "once each, in the order of nodes"),
        ((PixelRows(0, 2), PixelRows(0, 2)), "once each, in the order of nodes"),
    ],
)
def test_saved_plans_with_wrong_rows_are_refused(model: Graph, rows: tuple[PixelRows, ...], what: str) -> None:
    """Nodes that do not exist, or compute something else, and numbers that divide nothing."""
    with pytest.raises(PlanError, match=what):
        with_pixel_rows(model, rows)
    with pytest.raises(PlanError, match=what):
        validate(model, replace(kibi.plan(model, pixel_rows=()), pixel_rows=rows))


@requires_zoo
def test_streaming_wake_word_takes_what_the_page_says(tmp_path: Path) -> None:
    """Instructions and arenas with rows of several pixels and without."""
    text = " ".join((ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8").split())
    graph = kibi.simplify(kibi.load(model_path("mlperf_sww_int8")))
    found = []
    for rows in (None, ()):
        plan = kibi.plan(graph, pixel_rows=rows)
        measured = kibi.measure(kibi.compile(graph, plan, tmp_path), oracle=False)
        found += [f"{measured.instructions:,}", f"{plan.arena_bytes:,}"]
    told = "takes {} instructions in an arena of {} bytes, and {} in {} without".format(*found)
    assert told in text
