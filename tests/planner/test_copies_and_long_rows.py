"""Constants that are copied into the arena, and rows that are made as one: bits, room, and which layers get them."""

from dataclasses import replace
from pathlib import Path

import pytest

import kibi
import kibi.demo
from kibi.engines import DeviceEngine, HostEngine
from kibi.engines.core import CoreEngine, core_library
from kibi.ir import Graph
from kibi.kernels.params.conv2d_s16_packed import Conv2DS16BlocksParams
from kibi.planner import Plan, PlannedModel, validate
from kibi.planner.roomy_scratch import rooms
from kibi.planner.staged_weights import with_room_for_copies
from kibi.runtime import seeded_inputs
from kibi.selection import Goal, LoweredGraph, select
from kibi.targets import target
from tests.ops.comparison import assert_same, graph_of
from tests.ops.convolutions import Geometry, convolution, convolution_s16
from tests.support.amount import sample, share


def _planned(geometry: Geometry, goal: str = "speed") -> tuple[Graph, Plan, LoweredGraph]:
    graph = graph_of(convolution(geometry))
    made = kibi.plan(graph, target="cortex-m4", goal=goal)
    validate(graph, made)
    return graph, made, PlannedModel.of(graph, made).graph


def _text(graph: Graph, made: Plan, folder: Path, *, slices: bool = False) -> str:
    library = kibi.compile(graph, made, folder, slices=slices)
    return library.files[f"{library.model.graph.name}.c"]


@pytest.mark.parametrize(
    "geometry",
    share(
        [
            Geometry(16, 12, size=(24, 10)),
            Geometry(16, 12, size=(31, 24)),
            Geometry(8, 7, kernel=(3, 5), size=(9, 18)),
            Geometry(24, 24, groups=0, size=(17, 6)),
            Geometry(32, 24, kernel=(1, 1), size=(9, 7)),
            Geometry(16, 24, kernel=(1, 1), size=(40, 1)),
        ],
        0,
        2,
    ),
    ids=str,
)
def test_copies_give_the_same_bits(geometry: Geometry, tmp_path: Path) -> None:
    """Winograd of one row or two, blocks, depthwise and long rows read a copy of their constants, on both engines in C."""
    graph, made, planned = _planned(geometry)
    calls = dict(enumerate(planned.calls)) | dict(planned.wide_calls)
    assert calls[0].staged_bytes > sum(array.nbytes for array in calls[0].constants.values())
    library = kibi.compile(graph, made, tmp_path)
    for seed in range(2):
        inputs = seeded_inputs(graph, seed)
        wanted = kibi.run(graph, made, inputs)
        assert_same(graph, DeviceEngine(library).run(inputs), wanted)
        assert_same(graph, HostEngine(library).run(inputs), wanted)


@pytest.mark.parametrize(
    ("size", "outputs", "bits", "is_copied"), [((20, 5), 16, 16, True), ((6, 9), 64, 8, True), ((4, 4), 32, 8, False)]
)
def test_weights_of_16_bits_are_copied_or_have_8(
    size: tuple[int, int], outputs: int, bits: int, is_copied: bool, tmp_path: Path
) -> None:
    """Layers of int16 read no wide weights from flash: where no copy of them fits, narrow ones are copied, or read from there."""
    graph = graph_of(convolution_s16(Geometry(64, outputs, kernel=(1, 1), size=size)))
    made = kibi.plan(graph, target="cortex-m4", goal="speed")
    validate(graph, made)
    (call,) = PlannedModel.of(graph, made).graph.calls
    assert (call.params_as(Conv2DS16BlocksParams).weight_bits, call.staged_bytes > 0) == (bits, is_copied)
    library = kibi.compile(graph, made, tmp_path)
    inputs = seeded_inputs(graph, 3)
    wanted = kibi.run(graph, made, inputs)
    assert_same(graph, DeviceEngine(library).run(inputs), wanted)
    assert_same(graph, HostEngine(library).run(inputs), wanted)


@pytest.mark.parametrize(("channels", "outputs"), sample([(16, 16), (16, 6), (16, 40), (64, 9)]))
def test_long_rows_give_the_same_bits(channels: int, outputs: int, tmp_path: Path) -> None:
    """All six rows are one call of the kernel, in place or with odd channels; not where rows grow over their input."""
    graph, made, planned = _planned(Geometry(channels, outputs, kernel=(1, 1), size=(6, 5)))
    assert bool(planned.wide_calls) == (outputs <= channels)
    library = kibi.compile(graph, made, tmp_path)
    inputs = seeded_inputs(graph, 3)
    wanted = kibi.run(graph, made, inputs)
    assert_same(graph, DeviceEngine(library).run(inputs), wanted)
    assert_same(graph, HostEngine(library).run(inputs), wanted)


def test_pairs_of_rows_give_the_same_bits_where_no_copy_of_their_weights_fits(tmp_path: Path) -> None:
    """The layer takes scratch for two rows at a time, in an arena that has no room for weights besides; not for other goals."""
    geometry = Geometry(32, 32, size=(16, 16))
    graph, made, planned = _planned(geometry)
    assert [(call.kernel, call.staged_bytes) for _, call in planned.wide_calls] == [("kibi_conv2d_s8_row_pairs", 0)]
    assert _planned(geometry, "balanced")[2].wide_calls == ()
    library = kibi.compile(graph, made, tmp_path)
    inputs = seeded_inputs(graph, 7)
    wanted = kibi.run(graph, made, inputs)
    assert_same(graph, DeviceEngine(library).run(inputs), wanted)
    assert_same(graph, HostEngine(library).run(inputs), wanted)
    sliced = kibi.compile(graph, made, tmp_path / "sliced", slices=True)
    assert not any("row_pairs" in name for name in sliced.files)


def test_slices_have_rows_of_their_own_and_no_copies(tmp_path: Path) -> None:
    """An inference in slices may pause after each row: it makes them one by one, and reads constants where they are."""
    graph, made, _ = _planned(Geometry(32, 24, kernel=(1, 1), size=(9, 7)))
    whole, sliced = (_text(graph, made, tmp_path / str(slices), slices=slices) for slices in (False, True))
    assert "++step" not in whole
    assert "staged(" in whole
    assert "staged(" not in sliced
    assert "++step" in sliced


@pytest.mark.parametrize(
    "geometry",
    [
        Geometry(16, 8, kernel=(1, 1), size=(6, 8)),
        Geometry(16, 8, kernel=(1, 1), size=(6, 5), stride=2),
        Geometry(16, 8, size=(6, 5)),
        Geometry(16, 8, kernel=(1, 1), groups=2, size=(6, 5)),
    ],
    ids=str,
)
def test_other_rows_are_made_one_by_one(geometry: Geometry) -> None:
    """Rows of whole blocks gain nothing; a stride, a window of several pixels and groups have rows that are not one."""
    assert _planned(geometry)[2].wide_calls == ()


def test_few_reads_are_worth_no_copy() -> None:
    """Constants that are read once for each of two rows stay in flash, and so do those of a goal that saves it."""
    few = Geometry(24, 24, groups=0, size=(2, 6))
    assert _planned(few)[2].calls[0].staged_bytes == 0
    assert _planned(Geometry(16, 12, size=(10, 10)), "flash")[2].calls[0].staged_bytes == 0


def test_balanced_plans_take_free_bytes_alone() -> None:
    """The arena stays as large as it is, and nothing that lives is touched."""
    model = kibi.simplify(kibi.load(kibi.demo.model_path()))
    made = kibi.plan(model, target="cortex-m4", granularity="tensor")
    lowered = select(model, target("cortex-m4"), made.goal, made.kernels)
    assert any(call.staged_bytes for call in PlannedModel.of(model, made).graph.calls)
    least = tuple(
        replace(
            each, size_bytes=max((lowered.calls[node].scratch_bytes for node in each.nodes), default=each.size_bytes)
        )
        for each in made.buffers
    )
    grown = with_room_for_copies(lowered, replace(made, buffers=least), Goal.BALANCED, None)
    validate(model, grown)
    assert grown.arena_bytes == made.arena_bytes
    assert sum(rooms(grown, lowered)) > sum(call.scratch_bytes for call in lowered.calls)


def test_speed_may_double_the_arena_or_take_a_limit() -> None:
    """For speed, copies may double the arena; where the user gives a limit, they may take all bytes up to it."""
    graph = graph_of(convolution(Geometry(32, 32, size=(12, 12))))
    lowered = select(graph, target("cortex-m4"), Goal.SPEED)
    made = {limit: kibi.plan(graph, target="cortex-m4", goal="speed", ram=limit) for limit in (None, 100_000)}
    copies = {limit: PlannedModel.of(graph, each).graph.calls[0].staged_bytes for limit, each in made.items()}
    least_bytes = made[None].arena_bytes
    assert copies[None] == 0
    assert least_bytes < 2 * lowered.calls[0].constants["stream"].nbytes
    assert copies[100_000] > lowered.calls[0].constants["stream"].nbytes
    assert least_bytes + copies[100_000] <= made[100_000].arena_bytes + 8 <= 100_000
    assert made[None].proven_optimal
    assert not made[100_000].proven_optimal


def test_streamed_inputs_get_no_room_that_no_call_uses() -> None:
    """An inference whose input streams pauses after rows, and so reads constants where they are."""
    graph = graph_of(convolution(Geometry(32, 24, kernel=(1, 1), size=(9, 7))))
    made = kibi.plan(graph, target="cortex-m4", goal="speed", input="streamed")
    assert all(call.staged_bytes == 0 for call in PlannedModel.of(graph, made).graph.calls)


def test_saved_plan_has_the_same_copies() -> None:
    """What is copied follows from the plan alone."""
    graph, made, planned = _planned(Geometry(32, 24, kernel=(1, 1), size=(9, 7)))
    again = PlannedModel.of(graph, Plan.from_json(made.to_json())).graph
    assert [call.staged_bytes for _, call in again.wide_calls] == [call.staged_bytes for _, call in planned.wide_calls]
    assert again.wide_calls[0][1].staged_bytes > 0


@pytest.mark.parametrize(
    "geometry", share([Geometry(16, 8, kernel=(1, 1), size=(6, 5)), Geometry(2, 3, (2, 2), size=(3, 7))], 1, 2)
)
def test_plan_files_make_rows_one_by_one_with_the_parts_that_they_name(geometry: Geometry) -> None:
    """A core with nothing but the file's parts takes the file, and makes each row by itself."""
    graph, made, _ = _planned(geometry)
    file = kibi.compile_plan(graph, made)
    inputs = seeded_inputs(graph, 5)
    engine = CoreEngine(file, library=core_library(file.kernels, parts=file.parts))
    assert_same(graph, engine.run(inputs), kibi.run(graph, made, inputs))
