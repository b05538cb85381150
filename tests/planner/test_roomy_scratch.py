"""Scratch in bytes that are free: the arena stays, nothing that lives is touched, and kernels use what they get."""

from dataclasses import replace

import kibi
import kibi.demo
from kibi.planner import validate
from kibi.planner.plan import Buffer, Plan
from kibi.planner.planned_model import PlannedModel
from kibi.planner.roomy_scratch import _grown, rooms, with_roomy_scratch
from kibi.planner.staged_weights import with_room_for_copies
from kibi.selection import select
from kibi.targets import target
from tests.ops.comparison import graph_of
from tests.ops.convolutions import Geometry, convolution

_GEOMETRY = Geometry(8, 8, kernel=(1, 1), size=(4, 24))
"""Six blocks of four pixels in a row."""


def _least(plan: Plan, node: int, scratch_bytes: int) -> Plan:
    """The plan as it was before its scratch grew."""
    return replace(
        plan,
        buffers=tuple(replace(each, size_bytes=scratch_bytes) if node in each.nodes else each for each in plan.buffers),
    )


def test_scratch_grows_where_the_arena_has_free_bytes() -> None:
    """A convolution after a larger one finds room for more blocks, takes no more than it can use, and the plan is valid."""
    model = kibi.simplify(kibi.load(kibi.demo.model_path()))
    plan = kibi.plan(model, target="cortex-m4", granularity="tensor")
    lowered = select(model, target("cortex-m4"), plan.goal, plan.kernels)
    planned = PlannedModel.of(model, plan).graph
    validate(model, plan)
    grown = 0
    for node, (least, call, room) in enumerate(zip(lowered.calls, planned.calls, rooms(plan, lowered), strict=True)):
        assert least.kernel == call.kernel
        assert least.scratch_bytes <= call.scratch_bytes <= room
        if call.scratch_bytes > least.scratch_bytes:
            before = _least(plan, node, least.scratch_bytes)
            assert before.arena_bytes == plan.arena_bytes
            after = with_room_for_copies(lowered, with_roomy_scratch(lowered, before), plan.goal, None)
            assert rooms(after, lowered)[node] >= call.scratch_bytes
            grown += 1
    assert grown > 0


def test_scratch_grows_into_no_byte_that_is_used_in_its_life() -> None:
    """Rows that live before it, across it, within it and after it: those that share a step with it keep their bytes."""
    own = [Buffer(None, 0, 0, 0, 0, 8, 4, 4, 8)]
    for start, end, offset in ((0, 4, 0), (0, 5, 48), (5, 6, 48), (7, 9, 48), (8, 9, 0)):
        other = Buffer(0, None, 0, 1, 0, 48, 1, start, end)
        (grown,) = _grown(own, 40, 96, [other])
        assert (grown.offset, grown.size_bytes) == (offset, 40)


def test_scratch_stays_where_nothing_is_free() -> None:
    """A model whose only layer fills the arena gets no more scratch than it needs."""
    model = graph_of(convolution(_GEOMETRY))
    plan = kibi.plan(model, target="cortex-m4")
    lowered = select(model, target("cortex-m4"), plan.goal, plan.kernels)
    assert [call.scratch_bytes for call in lowered.calls] == list(rooms(plan, lowered))
    assert with_roomy_scratch(lowered, plan) == plan


def test_other_kernels_take_what_they_need() -> None:
    """Kernels of a core that has no blocks do not grow, but for copies of their constants."""
    model = kibi.simplify(kibi.load(kibi.demo.model_path()))
    plan = kibi.plan(model, target="cortex-m0plus", granularity="tensor")
    lowered = select(model, target("cortex-m0plus"), plan.goal, plan.kernels)
    for least, call in zip(lowered.calls, PlannedModel.of(model, plan).graph.calls, strict=True):
        assert call.kernel == least.kernel
        assert call.scratch_bytes - call.staged_bytes <= least.scratch_bytes + call.scratch_alignment - 1
