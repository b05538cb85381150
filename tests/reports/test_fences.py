"""When constants may be written while inference runs."""

import pytest

import kibi
from kibi.ir import Graph
from kibi.planner import PlannedModel
from kibi.reports.fence_picture import fence_bar
from kibi.reports.fences import Fence, fences
from tests.engines.networks import pooled_network, residual_network
from tests.ops.comparison import graph_of
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS


def _found(graph: Graph, **wish: str) -> tuple[PlannedModel, tuple[Fence, ...]]:
    planned = PlannedModel.of(graph, kibi.plan(graph, **wish))  # type: ignore[arg-type]
    return planned, fences(planned)


@pytest.mark.parametrize("granularity", ["row", "tensor"])
def test_constant_is_read_by_all_steps_of_its_operator(granularity: str) -> None:
    """From the first step of a convolution to its last one, and no more."""
    planned, found = _found(residual_network(), granularity=granularity)
    for each in found:
        steps = [
            k for k, (node, _) in enumerate(planned.plan.steps) if planned.graph.views[node].output.name == each.name
        ]
        if each.constant.startswith("outside of"):
            assert min(steps) <= each.first <= each.last <= max(steps)
        elif each.readers == 1:
            assert (each.first, each.last) == (min(steps), max(steps))
    assert {each.op for each in found} >= {"CONV_2D"}
    assert [each.first for each in found] == sorted(each.first for each in found)


def test_plan_by_the_tensor_reads_constants_for_a_shorter_time() -> None:
    """The operators come one after another there."""
    shares = []
    for granularity in ("row", "tensor"):
        planned, found = _found(pooled_network("MEAN"), granularity=granularity)
        shares.append(sum(each.last + 1 - each.first for each in found) / len(planned.plan.steps))
    assert shares[1] < 0.8 * shares[0]


@pytest.mark.parametrize("operator", ["IF", "WHILE"])
def test_constants_in_graphs_are_read_by_the_operator_that_runs_them(operator: str) -> None:
    """At each of its steps, whichever graph it runs."""
    inner = 0
    for seed in range(6):
        planned, found = _found(graph_of(OPERATOR_MODELS[operator](Seeded(seed))))
        count = len(planned.plan.steps)
        assert all(0 <= each.first <= each.last < count for each in found)
        inner += sum(each.op not in {view.op.name for view in planned.graph.views} for each in found)
    assert inner > 0


def test_constant_waits_from_its_first_read_to_its_last() -> None:
    """Before the inference begins it does not wait, nor after the last read; a mixture needs a read on both sides."""
    fence = Fence("CONV_2D", "a", "filter", 10, 3, 6, 1)
    assert [fence.must_wait(done) for done in range(9)] == [False, *[True] * 6, False, False]
    assert [fence.mixes(done) for done in range(9)] == [*[False] * 4, *[True] * 3, False, False]


def test_picture_has_a_character_for_each_part_of_the_steps() -> None:
    """Unread, in use, free; a part that is in use for a step is in use."""
    fence = Fence("CONV_2D", "a", "filter", 10, 3, 6, 1)
    assert fence_bar(fence, 10, 10).plain == "---####..."
    assert fence_bar(fence, 10, 20).plain == "------########......"
    assert fence_bar(Fence("A", "a", "b", 1, 0, 999, 1), 1000, 8).plain == "########"
    assert fence_bar(Fence("A", "a", "b", 1, 500, 500, 1), 1000, 10).plain == "-----#...."
