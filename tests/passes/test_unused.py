"""Operators whose results nobody reads."""

from kibi.passes import simplify
from tests.ops.comparison import graph_of
from tests.passes.comparison import alone, names_of
from tests.passes.networks import Chain

NAME = "unused"


def test_operators_that_nobody_reads_vanish_with_those_in_front() -> None:
    """A chain goes whole, and its arithmetic and weights are counted; inputs stay."""
    net = Chain((1, 4, 4, 2))
    start = net.last
    net.conv(3, (3, 3)).same("RELU").conv(2, (1, 1))
    net.made.append(start)
    simplified = alone(net.same("RELU").case(), NAME)
    assert names_of(simplified) == ["RELU"]
    assert [change.where for change in simplified.changes] == [
        *("operator 2 (CONV_2D)", "operator 1 (RELU)", "operator 0 (CONV_2D)")
    ]
    assert [(change.macs, change.weights_bytes) for change in simplified.changes] == [(24, 6), (0, 0), (216, 54)]


def test_operator_that_somebody_wants_stays() -> None:
    """Outputs and tensors that are kept are wanted."""
    net = Chain((1, 4, 4, 2)).conv(3, (1, 1))
    first = net.last.index
    net.made.append(net.made[0])
    case = net.same("RELU").case()
    graph = graph_of(case)
    assert len(simplify(graph).graph.nodes) == 1
    assert simplify(graph, keep=[first]).graph == graph
