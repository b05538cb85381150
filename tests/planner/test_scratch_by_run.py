"""Scratch with a place for each run of a node, and less of it for some: valid plans, and the same bits by every engine."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kibi
import kibi.demo
from kibi.ir import Graph
from kibi.planner import validate
from kibi.planner.plan import Plan
from kibi.planner.planned_model import PlannedModel
from kibi.planner.scratch_by_run import with_scratch_by_run
from kibi.selection import Goal, apart_call, narrower_call, read_bytes, select, times_read, with_room
from kibi.targets import target
from tests.ops.comparison import graph_of
from tests.passes.networks import Chain
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS
from tests.support.zoo import model_path, requires_zoo

_M4 = target("cortex-m4")


def _scattered(model: Graph) -> tuple[Plan, int]:
    """A plan of the shipped model in which a convolution has its scratch at three places, and less of it in one step."""
    made = kibi.plan(model, target="cortex-m4")
    lowered = select(model, _M4, made.goal, made.kernels)
    planned = PlannedModel.of(model, made).graph
    for node, call in enumerate(planned.calls):
        smaller = narrower_call(lowered, node, call)
        places = [step for step, (its, _) in enumerate(made.steps) if its == node]
        if smaller is not None and len(places) > 2:
            break
    else:
        raise AssertionError("no kernel of the shipped model has a smaller scratch")
    own = made.scratch_of(node)
    assert own is not None
    start = made.arena_bytes + -made.arena_bytes % 8
    parts = [
        replace(
            own, node=node, shared_by=(), offset=start + 8 * (k % 3), start=step, end=step + 1,
            size_bytes=smaller.scratch_bytes if k == 1 else call.scratch_bytes,
        )
        for k, step in enumerate(places)
    ]  # fmt: skip
    others = [each for each in made.buffers if node not in each.nodes]
    others += [replace(own, node=each, shared_by=()) for each in own.nodes if each != node]
    arena_bytes = start + 16 + call.scratch_bytes
    return replace(made, buffers=(*others, *parts), arena_bytes=arena_bytes, proven_optimal=False), node


def test_each_engine_takes_the_scratch_of_the_step(tmp_path: Path) -> None:
    """Generated C and a plan file's core give the reference's bits; the C has a table of places, and both structs."""
    model = kibi.simplify(kibi.load(kibi.demo.model_path()))
    plan, node = _scattered(model)
    planned = validate(model, plan)
    assert [number for number, _ in planned.graph.narrow_calls] == [node]
    assert len({each.offset for each in plan.scratch_by_step(node)}) == 3
    library = kibi.compile(model, plan, tmp_path)
    text = next(path.read_text() for path in tmp_path.glob("*.c") if "narrow_" in path.read_text())
    assert "step == 1 ? &narrow_" in text
    assert "[step]);" in text
    assert kibi.measure(library).bit_exact
    assert kibi.measure_plan(model, plan).bit_exact


@pytest.mark.parametrize("name", ["host", "cortex-m4", "rv32imac", "cortex-m0plus"])
def test_scratch_that_a_kernel_needs_gets_no_smaller(name: str) -> None:
    """Kernels whose numbers do not depend on their scratch need all of it; those without scratch have no smaller call."""
    kept = 0
    for operator, draw in sorted(OPERATOR_MODELS.items()):
        graph = graph_of(draw(Seeded(len(operator))))
        lowered = select(graph, target(name), Goal.BALANCED)
        for node, call in enumerate(lowered.calls):
            if call.kernel:
                smaller = narrower_call(lowered, node, call)
                assert smaller is None or smaller.params != call.params
                kept += smaller is None
                assert apart_call(lowered, node, call).scratch_bytes <= call.scratch_bytes
    assert kept > 100


def test_smaller_calls_read_the_same_constants() -> None:
    """Each smaller call is of the same kernel; without blocks side by side the pixels of a block stay."""
    model = kibi.simplify(kibi.load(kibi.demo.model_path()))
    lowered = select(model, _M4, Goal.BALANCED)
    found = 0
    for node, call in enumerate(lowered.calls):
        smaller = narrower_call(lowered, node, call)
        if smaller is not None:
            found += 1
            assert smaller.kernel == call.kernel
            assert 0 < smaller.scratch_bytes < call.scratch_bytes
            for name, data in smaller.constants.items():
                assert np.array_equal(data, call.constants[name])
        apart = apart_call(lowered, node, call)
        assert apart.by_name.get("pixels") == call.by_name.get("pixels")
    assert found > 0


def test_whole_tensors_are_left_as_they_are() -> None:
    """Where each node has one run, there is nothing to gain."""
    model = kibi.simplify(kibi.load(kibi.demo.model_path()))
    plan = kibi.plan(model, target="cortex-m4", granularity="tensor")
    assert with_scratch_by_run(select(model, _M4, plan.goal, plan.kernels), plan) is plan


@requires_zoo
@pytest.mark.slow
def test_person_detection_fits_11_800_bytes(tmp_path: Path) -> None:
    """The arena is smaller, and one step at the peak has less scratch; the bits are the same on the emulated core."""
    model = kibi.simplify(kibi.load(model_path("tflm_person_detect")))
    plan = kibi.plan(model, target="cortex-m4")
    assert plan.arena_bytes <= 11_800
    assert validate(model, plan).graph.narrow_calls
    assert kibi.measure(kibi.compile(model, plan, tmp_path)).bit_exact


def test_runs_have_more_scratch_where_bytes_are_free(tmp_path: Path) -> None:
    """Rows are placed with little scratch; then runs with room for it read constants less often, with the same bits."""
    net = Chain((1, 16, 16, 3)).conv(16, (3, 3), "SAME")
    first = net.last
    net.conv(16, (3, 3), "SAME").conv(16, (3, 3), "SAME").then("ADD", first.shape, (0.7, 1), first.index)
    net.conv(32, (3, 3), "SAME", 2).conv(32, (3, 3), "SAME", 2)
    model = kibi.simplify(graph_of(net.case()))
    made = kibi.plan(model, target="cortex-m4")
    planned = validate(model, made).graph
    assert planned.narrow_calls
    for node, narrow in planned.narrow_calls:
        sizes = [each.size_bytes for each in made.scratch_by_run(node)]
        assert set(sizes) == {narrow.scratch_bytes, planned.calls[node].scratch_bytes}
        assert read_bytes(planned.calls[node]) < read_bytes(narrow)
    # More steps than one in eight have less, though each could.
    few = [each.end - each.start for each in made.scratch_by_run(1) if each.size_bytes < planned.calls[1].scratch_bytes]
    assert sum(few) * 8 > planned.views[1].steps
    assert kibi.measure(kibi.compile(model, made, tmp_path)).bit_exact
    assert kibi.measure_plan(model, made).bit_exact


def test_a_part_that_is_computed_in_passes_counts_them() -> None:
    """Columns of a large window are widened more than once where scratch is scarce: that takes as long as reading more."""
    model = kibi.simplify(graph_of(Chain((1, 8, 8, 64)).conv(64, (3, 3), "SAME").case()))
    lowered = select(model, _M4, Goal.BALANCED)
    whole = with_room(lowered, [2304]).calls[0]
    parts = with_room(lowered, [1408]).calls[0]
    assert times_read(whole) == times_read(parts) == 2
    of_whole, of_parts = (sum(data.nbytes for data in each.constants.values()) for each in (whole, parts))
    assert (read_bytes(whole), read_bytes(parts)) == (2 * of_whole, 2 * (of_parts + 5 * 2_000))


@pytest.mark.slow
@requires_zoo
def test_arena_is_not_made_smaller_by_reading_weights_far_more_often() -> None:
    """Without its blocks side by side this model would read a quarter more of weights, for an arena that is 1 % smaller."""
    model = kibi.simplify(kibi.load(model_path("mlperf_ic_int8")))
    made = kibi.plan(model)
    assert any(call.by_name.get("blocks") == 2 for call in PlannedModel.of(model, made).graph.calls)
    # Runs have more scratch than there is room for at one place, so a layer with stride 2 has whole windows of four pixels.
    assert made.arena_bytes <= 10_400
    windows = [call.by_name for call in PlannedModel.of(model, made).graph.calls if call.by_name.get("stride") == 2]
    assert any(each.get("rows_at_once") == 3 and each["output_width"] == 8 for each in windows)
    least = kibi.plan(model, ram=made.arena_bytes - 50)
    assert least.arena_bytes <= made.arena_bytes - 50
