"""Nodes in another order."""

import pytest

from kibi.errors import ModelError, PlanError
from kibi.frontends.text import parse_text
from kibi.passes.reorder import reorder
from tests.passes.comparison import assert_becomes

_BRANCHES = """
graph "net" from "text" (%0) -> (%3) {
  %0 "x": s8[1, 4] (scale 0.0625, zero 3)
  %1 "positive": s8[1, 4] (scale 0.0625, zero 3) = RELU #0 (input %0)
  %2 "below 6": s8[1, 4] (scale 0.0625, zero 3) = RELU6 #1 (input %0)
  %3 "y": s8[1, 4] (scale 0.125, zero 3) = ADD #2 (input1 %1, input2 %2)
}
"""


def test_reorder_swapped_branches_keep_their_numbers_in_the_file() -> None:
    """Nodes move, and remember where the file has them."""
    net = parse_text(_BRANCHES)
    swapped = reorder(net, (1, 0, 2))
    after = """
    graph "net" from "text" (%0) -> (%3) {
      %0 "x": s8[1, 4] (scale 0.0625, zero 3)
      %2 "below 6": s8[1, 4] (scale 0.0625, zero 3) = RELU6 #1 (input %0)
      %1 "positive": s8[1, 4] (scale 0.0625, zero 3) = RELU #0 (input %0)
      %3 "y": s8[1, 4] (scale 0.125, zero 3) = ADD #2 (input1 %1, input2 %2)
    }
    """
    assert_becomes(net, swapped, after)
    assert_becomes(swapped, reorder(swapped, (1, 0, 2)), _BRANCHES)


@pytest.mark.parametrize(("nodes", "named"), [((0, 1), 2), ((0, 1, 1), 1), ((0, 1, 3), 3), ((0, 1, 2, -1), -1)])
def test_reorder_what_is_no_order_is_refused(nodes: tuple[int, ...], named: int) -> None:
    """A node that is missing, doubled or unknown is named."""
    with pytest.raises(PlanError, match=f"look at node {named}\\."):
        reorder(parse_text(_BRANCHES), nodes)


def test_reorder_read_before_made_is_refused() -> None:
    """An order that cannot run is no graph."""
    with pytest.raises(ModelError, match="read before any operator makes it"):
        reorder(parse_text(_BRANCHES), (0, 2, 1))
