"""Nodes in another order."""

import pytest

from kibi.errors import ModelError, PlanError
from kibi.ir import Graph
from kibi.passes.reorder import reorder
from tests.planner.networks import Sum, Window, graph


def _branches() -> Graph:
    """Two windows side by side, then their sum."""
    return graph([(1, 4, 4, 1)] * 4, [(Window(), (0,), 1), (Window(), (0,), 2), (Sum(), (1, 2), 3)])


def test_reorder_swapped_branches_keep_their_place_in_the_file() -> None:
    """Nodes move, and remember where the file has them."""
    net = _branches()
    swapped = reorder(net, (1, 0, 2))
    assert [node.source for node in swapped.nodes] == [1, 0, 2]
    assert (swapped.tensors, swapped.inputs, swapped.outputs) == (net.tensors, net.inputs, net.outputs)
    assert reorder(swapped, (1, 0, 2)) == net


@pytest.mark.parametrize(("nodes", "named"), [((0, 1), 2), ((0, 1, 1), 1), ((0, 1, 3), 3), ((0, 1, 2, -1), -1)])
def test_reorder_what_is_no_order_is_refused(nodes: tuple[int, ...], named: int) -> None:
    """A node that is missing, doubled or unknown is named."""
    with pytest.raises(PlanError, match=f"look at node {named}\\."):
        reorder(_branches(), nodes)


def test_reorder_read_before_made_is_refused() -> None:
    """An order that cannot run is no graph."""
    with pytest.raises(ModelError, match="read before any operator makes it"):
        reorder(_branches(), (0, 2, 1))
