"""Orders folded into groups that repeat."""

from hypothesis import given
from hypothesis import strategies as st

from kibi.codegen.schedule_folding import Entry, Group, fold, unfold
from kibi.ir import Graph, Operator
from kibi.planner import Run
from tests.planner.networks import Window, by_row, chain, graph, joined, residual


def _steps(net: Graph) -> list[int]:
    return [view.steps for view in net.views]


def test_cascade_is_one_group_that_fills_runs_and_drains() -> None:
    """Four 3-row windows, 40 rows each: one entry a window, each one row behind the one before."""
    net = chain(3, 3, 3, 3, rows=40)
    groups = fold(by_row(net), _steps(net))
    assert groups == (Group(tuple(Entry(node, -node, 1, 1) for node in range(4)), 43),)


def test_strides_move_each_node_at_its_own_pace() -> None:
    """A window of stride 2 makes one row where the window before it makes two."""
    nodes: list[tuple[Operator, tuple[int, ...], int]] = [(Window(3, 1, 1), (0,), 1), (Window(3, 2, 1), (1,), 2)]
    net = graph([(1, 40, 4, 1), (1, 40, 4, 1), (1, 20, 4, 1)], nodes)
    groups = fold(by_row(net), _steps(net))
    assert sum(len(group.entries) for group in groups) <= 4
    assert max(group.turns for group in groups) >= 19
    assert {(entry.node, entry.further) for group in groups if group.turns > 1 for entry in group.entries} == {
        (0, 2),
        (1, 1),
    }


def test_order_without_repetition_stays_as_it_is() -> None:
    """Nodes that each run to completion are one group of one turn."""
    runs = (Run(0, 0, 8), Run(1, 0, 8), Run(2, 0, 1))
    assert fold(runs, [8, 8, 1]) == (Group((Entry(0, 0, 8), Entry(1, 0, 8), Entry(2, 0, 1)), 1),)


def test_branches_fold() -> None:
    """A residual connection, by rows, takes far fewer entries than runs, and unfolds to the same steps."""
    net = residual(rows=24)
    runs = by_row(net)
    groups = fold(runs, _steps(net))
    assert sum(len(group.entries) + 1 for group in groups) < len(runs) / 4
    assert list(unfold(groups, _steps(net))) == [
        (run.node, run.first_step + k) for run in runs for k in range(run.steps)
    ]


@st.composite
def _orders(draw: st.DrawFn) -> tuple[tuple[Run, ...], list[int]]:
    """Any order of up to four nodes whose own steps ascend: repeated pieces with disturbances."""
    piece = st.lists(st.integers(0, 3), min_size=1, max_size=6)
    pieces = draw(st.lists(st.tuples(piece, st.integers(1, 6)), min_size=1, max_size=5))
    nodes = [node for piece_nodes, times in pieces for node in piece_nodes * times]
    steps = [nodes.count(node) for node in range(4)]
    runs = [Run(node, nodes[:at].count(node), 1) for at, node in enumerate(nodes)]
    return joined(runs), steps


@given(_orders())
def test_unfolding_gives_every_order_back(order: tuple[tuple[Run, ...], list[int]]) -> None:
    """Whatever the order is, folded it has the same steps, and never more entries than runs."""
    runs, steps = order
    groups = fold(runs, steps)
    assert list(unfold(groups, steps)) == [(run.node, run.first_step + k) for run in runs for k in range(run.steps)]
    assert sum(len(group.entries) + (group.turns > 1) for group in groups) <= len(runs)
