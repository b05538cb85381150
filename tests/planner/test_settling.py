"""Orders of row steps in which fewer bytes live near the peak."""

import numpy as np
import pytest

import kibi
from kibi.planner import Granularity, plan
from kibi.planner.order.precedence import Precedence
from kibi.planner.order.row_levels import live_levels
from kibi.planner.order.row_order import OrderSearch
from kibi.planner.order.row_search import settled_order
from kibi.planner.order.row_steps import RowSteps, row_steps, runs_of
from kibi.planner.order.settling import settled
from kibi.planner.scratch_by_run import least_by_run
from kibi.selection import Goal, select
from tests.ops.comparison import graph_of
from tests.passes.networks import Chain
from tests.planner.networks import random_network
from tests.support.amount import amount
from tests.support.choices import Seeded
from tests.support.zoo import model_path, requires_zoo

M4 = kibi.target("cortex-m4")


def _near(steps: RowSteps, order: tuple[int, ...], peak: int) -> int:
    """What lives above 93 % of a peak, by its square, worked out from the lives of all rows."""
    levels = live_levels(steps, order, is_scratch_held=False)
    return int((np.maximum(0, levels - int(0.93 * peak)) ** 2).sum())


def test_settled_orders_are_possible_with_less_near_a_peak_that_is_no_higher() -> None:
    """On drawn networks with scratch; each order is planned, which refuses steps that read what is not there yet."""
    improved = 0
    for seed in range(amount(15, 100)):
        graph = random_network(Seeded(seed), 3 + seed % 8, 9, scratch=(0, 0, 12, 20))
        steps = row_steps(graph)
        order = tuple(run.node for run in OrderSearch(graph).first().runs for _ in range(run.steps))
        made = settled_order(steps, order)
        assert sorted(made) == sorted(order)
        peak = int(live_levels(steps, order, is_scratch_held=False).max())
        assert int(live_levels(steps, made, is_scratch_held=False).max()) <= peak
        assert _near(steps, made, peak) <= _near(steps, order, peak)
        improved += _near(steps, made, peak) < _near(steps, order, peak)
        plan(graph, M4, runs=runs_of(made), granularity=Granularity.ROW)
    assert improved > 0


def test_steps_that_leave_less_run_early_and_those_that_leave_more_run_late() -> None:
    """Two chains: one makes much that lives long, the other needs as much as there is for a moment and leaves nothing."""
    #        0 makes 8, 1 reads it at the end; 2 makes 8 from the input of 8, and 3 takes it away
    problem = Precedence(
        before=(0, 0b1, 0, 0b100),
        after=(0b10, 0, 0b1000, 0),
        ancestors=(0, 0b1, 0, 0b100),
        descendants=(0b10, 0, 0b1000, 0),
        reads=((), ((8, 0b10),), ((8, 0b100),), ((2, 0b1000),)),
        tensors=((0, 8, 0b10), (-1, 8, 0b100), (2, 2, 0b1000)),
        need_bytes=(8, 0, 2, 0),
        kept_bytes=(8, 0, 2, 0),
        first_bytes=8,
        unread_bytes=0,
    )
    assert problem.costs((0, 2, 3, 1), 0, 8) == [16, 18, 10, 8]
    # Nothing lives near the old peak of 18 any more: further moves would gain nothing.
    assert settled(problem, (0, 2, 3, 1)) == (2, 0, 3, 1)
    assert problem.costs((2, 0, 3, 1), 0, 8) == [10, 10, 10, 8]


def test_work_is_limited() -> None:
    """A graph of more steps than the work is enough for is left as it is."""
    steps = row_steps(random_network(Seeded(3), 6, 9, scratch=(0, 12)))
    order = tuple(node for node, count in enumerate(steps.steps) for _ in range(count))
    assert settled_order(steps, order, effort=0) == order


@requires_zoo
@pytest.mark.parametrize(("name", "most"), [("mlperf_ic_int8", 10_400), ("mlperf_ic_fp32", 37_500)])
def test_arenas_of_residual_networks(name: str, most: int) -> None:
    """The settled order can be placed in fewer bytes than the one with the same peak that the search for orders finds."""
    model = kibi.simplify(kibi.load(model_path(name)))
    made = kibi.plan(model, target="cortex-m4")
    assert made.arena_bytes <= most
    lowered = select(model, M4, Goal.BALANCED)
    found = OrderSearch(lowered)
    runs = found.by_row()[0].runs
    calm = found.settled(runs)
    assert calm != runs
    assert least_by_run(lowered, calm) < least_by_run(lowered, runs)


def test_bounds_by_run_hold_for_plans() -> None:
    """With the least scratch that kernels can do with, and each row where it can be."""
    net = Chain((1, 16, 16, 3)).conv(16, (3, 3), "SAME")
    first = net.last
    net.conv(16, (3, 3), "SAME").conv(16, (3, 3), "SAME").then("ADD", first.shape, (0.7, 1), first.index)
    model = kibi.simplify(graph_of(net.case()))
    made = kibi.plan(model, target="cortex-m4")
    assert least_by_run(select(model, M4, Goal.BALANCED), made.runs) <= made.arena_bytes
