"""Operators that may end an inference early, and which nodes must have run, or must not, when they do.

All lasting effects of an inference (states, next versions of variables) must be the same as in the file's order: when such an
operator ends the inference, the nodes before it have run, and those after it have not.
"""

from collections.abc import Iterator

from kibi.ir.graph import Graph
from kibi.ir.operator import Operator

Waits = tuple[tuple[int, tuple[int, ...]], ...]
"""Pairs of a node to wait for and, for each step of the node that waits, how many of the other's steps must have run."""


def early_exits(graph: Graph) -> tuple[int, ...]:
    """Returns the numbers of the nodes that may end the inference."""
    able = (
        number for number, node in enumerate(graph.nodes) if type(node.op).may_exit_early is not Operator.may_exit_early
    )
    return tuple(number for number in able if graph.nodes[number].op.may_exit_early(graph.views[number]))


def stop_waits(graph: Graph) -> tuple[Waits, ...]:
    """Returns, for each node, the nodes to wait for because one of the two may end the inference, and both have lasting effects."""
    ends = frozenset(early_exits(graph))
    if not ends:
        return ((),) * len(graph.nodes)
    lasting = [number for number in range(len(graph.nodes)) if number in ends or _lasts(graph, number)]
    return tuple(
        tuple(_waits(graph, number, lasting, ends)) if number in lasting else () for number in range(len(graph.nodes))
    )


def _lasts(graph: Graph, number: int) -> bool:
    """True if a node has an effect beyond the inference."""
    node = graph.nodes[number]
    return bool(node.op.states) or any(graph.tensors[index].updates is not None for index in node.outputs)


def _waits(
    graph: Graph, number: int, lasting: list[int], ends: frozenset[int]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    for other in lasting:
        if other < number and (number in ends or other in ends):
            yield other, (graph.views[other].steps,) * graph.views[number].steps
