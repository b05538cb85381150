"""How much is searched is counted in work: the same effort gives the same plan, and more of it never a worse one."""

from dataclasses import replace
from itertools import pairwise

import pytest

import kibi
from kibi.errors import PlanError
from kibi.ir import Graph
from kibi.planner import Granularity, Plan, effort, file_order, lifetimes, limits, plan, validate
from kibi.planner.effort import best_of_efforts
from kibi.planner.lifetimes import Followed
from kibi.planner.order import min_cut_bound, row_cuts, row_order
from kibi.planner.order.row_order import OrderSearch
from kibi.planner.order.row_steps import row_steps
from kibi.planner.order.row_stretches import pulled
from tests.planner.networks import chain, random_network, residual
from tests.support.choices import Seeded

M4 = kibi.target("cortex-m4")


def _by_row(graph: Graph, effort: int) -> Plan:
    return plan(graph, M4, granularity=Granularity.ROW, effort=effort)


@pytest.mark.parametrize("seed", range(6))
def test_more_effort_never_finds_a_worse_plan_and_each_is_right_and_found_again(seed: int) -> None:
    """Arenas fall, stay above what is said to be possible, and do not depend on when they are made."""
    net = random_network(Seeded(seed), 4 + seed, 7, scratch=(0, 0, 12))
    made = [_by_row(net, effort) for effort in (1, 2, 3)]
    for each in made:
        validate(net, each)
        assert _by_row(net, each.effort) == each
        assert each.gain_bytes == max(0, each.arena_bytes - each.least_bytes)
    assert all(more.arena_bytes <= less.arena_bytes for less, more in pairwise(made))
    assert all(each.arena_bytes >= made[0].least_bytes for each in made)


@pytest.mark.parametrize("amount", [0, -1, effort.MOST_EFFORT + 1])
def test_effort_out_of_range_is_refused(amount: int) -> None:
    """The text says which there are."""
    with pytest.raises(PlanError, match="from 1"):
        plan(chain(1, 1), M4, effort=amount)


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_time_limit_that_is_none_is_refused(seconds: float) -> None:
    """Before anything is searched."""
    with pytest.raises(PlanError, match="from 0 on"):
        plan(chain(1, 1), M4, seconds=seconds)


class _Clock:
    """A clock that each plan moves on by its effort."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.now = 0.0
        self.made: list[int] = []

    def make(self, effort: int) -> Plan:
        self.made.append(effort)
        self.now += effort
        return replace(self.plan, arena_bytes=100 - effort, least_bytes=50)


@pytest.mark.parametrize(
    ("asked", "seconds", "made"),
    [
        (1, None, [1]),
        (4, None, [1, 2, 4]),
        (6, None, [1, 2, 4, 6]),
        (1, 0.0, [1]),
        (1, 10.0, [1, 2, 4]),
        (2, 100.0, [1, 2]),
        (8, 10.0, [1, 2, 4]),
        (64, None, [1, 2, 4, 8, 16, 32, 64]),
    ],
)
def test_efforts_double_up_to_the_one_that_is_asked_for_or_while_there_is_time(
    monkeypatch: pytest.MonkeyPatch, asked: int, seconds: float | None, made: list[int]
) -> None:
    """A plan that would probably end too late is not begun, and what ends at its bound ends the search."""
    clock = _Clock(_by_row(residual(), 1))
    monkeypatch.setattr(effort, "perf_counter", lambda: clock.now)
    told: list[str] = []
    found = best_of_efforts(clock.make, lambda plan: (plan.arena_bytes,), asked, seconds, told.append)
    stop = next((number for number, each in enumerate(made) if 100 - each <= 50), len(made)) + 1
    assert clock.made == made[:stop]
    assert (found.effort, found.arena_bytes) == (clock.made[-1], 100 - clock.made[-1])
    assert len(told) == len(clock.made) - 1


def test_plan_that_is_proven_in_every_order_gains_nothing_and_ends_the_search() -> None:
    """A chain of pointwise operators needs what its fullest step needs: no effort is spent beyond the first."""
    made = plan(chain(1, 1, rows=4), M4, effort=8)
    assert (made.gain_bytes, made.effort) == (0, 1)


def test_effort_raises_how_many_rows_are_ordered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one effort plans by whole tensors another plans by rows."""
    monkeypatch.setattr(limits, "_ORDERED_STEPS", 10)
    net = chain(3, 3, rows=8)
    assert limits.why_whole(net)
    assert not limits.why_whole(net, 2)
    assert _by_row(net, 1).limited
    assert not _by_row(net, 2).limited


def test_stretches_of_a_chain_are_ordered_once_for_all_floors_and_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one node alone asks for rows, eager or not is the same; and a floor changes no order of a stretch."""
    steps = row_steps(chain(*[3] * 12, rows=6))
    ordered: list[object] = []

    def counting(*arguments: object, eager: bool = True) -> list[int]:
        ordered.append(arguments)
        return pulled(*arguments, eager=eager)  # type: ignore[arg-type]  # what it is given

    monkeypatch.setattr(row_cuts, "pulled", counting)
    search = row_cuts.CutSearch(steps)
    for floor in (0, 5, 50):
        for eager in (True, False):
            assert search.best(floor, eager=eager) == row_cuts.CutSearch(steps).best(floor, eager=eager)
    ordered.clear()
    for eager in (True, False):
        search.best(20, eager=eager)
    assert not ordered


def test_orders_of_one_graph_are_searched_once_for_all_limits_of_ram(monkeypatch: pytest.MonkeyPatch) -> None:
    """The orders within several limits come from the same stretches."""
    begun: list[object] = []

    class Counted(row_cuts.CutSearch):
        def __init__(self, *arguments: object) -> None:
            begun.append(arguments)
            super().__init__(*arguments)  # type: ignore[arg-type]  # what it is given

    monkeypatch.setattr("kibi.planner.order.row_order.CutSearch", Counted)
    orders = OrderSearch(residual())
    for peak in (1 << 20, 1 << 16, 1 << 12):
        orders.within(peak)
    orders.by_row()
    assert len(begun) <= 2


@pytest.mark.parametrize("seed", range(6))
def test_cuts_are_looked_for_in_further_ways_until_the_work_is_done(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any work left, the file's order alone is searched; its peak is true, and so is the bound beside it."""
    net = random_network(Seeded(seed), 8, 9)
    full = OrderSearch(net)
    orders = full.by_row()
    monkeypatch.setattr(row_order, "_MOST_WEIGHED", 0)
    limited = OrderSearch(net)
    found = limited.by_row()
    assert {nodes for nodes, _ in limited._tried} == {tuple(range(len(net.nodes)))}
    assert limited._tried <= full._tried
    assert found[0].lower_bound_bytes <= orders[0].peak_bytes <= found[0].peak_bytes


def test_flow_along_a_chain_takes_work_in_proportion_to_its_length() -> None:
    """Behind each path the search goes on where it is full: many narrow ways in at the end of a long one cost its length once."""

    def work(length: int) -> int:
        flow = min_cut_bound._Flow(1 << 30)
        vertices = [flow.add_vertex() for _ in range(length)]
        for tail, head in pairwise([min_cut_bound._SOURCE, *vertices]):
            flow.add_edge(tail, head, 1 << 40)
        for _ in range(100):
            middle = flow.add_vertex()
            flow.add_edge(vertices[-1], middle, 1)
            flow.add_edge(middle, min_cut_bound._SINK, 1 << 40)
        assert flow.run() == 100
        return flow.work

    assert work(2000) < 2 * work(1000) < 10 * 2000


def test_unfinished_flow_is_a_lower_bound() -> None:
    """However little work is allowed."""
    net = random_network(Seeded(3), 9, 5)
    full = [OrderSearch(net, amount).whole.lower_bound_bytes for amount in (1, 4)]
    assert full[0] <= full[1]


def test_rows_have_the_same_buffers_in_all_lists_of_an_order() -> None:
    """What is followed once is listed in several ways, and each tensor's buffers are made once for all of them."""
    net = residual()
    followed = Followed.of(net, file_order(net))
    everything = {tensor.index for tensor in net.tensors}
    whole, split, again = followed.buffers(), followed.buffers(split=everything), followed.buffers()
    assert whole == again == lifetimes(net, file_order(net))
    assert split == lifetimes(net, file_order(net), split=everything)
    assert all(one is other for one, other in zip(whole, again, strict=True) if one.tensor is not None)
