"""Plans of graphs inside of operators: each has an arena of its own, and the largest of a node is that node's scratch."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from kibi.errors import PlanError
from kibi.ir import Graph
from kibi.planner.plan import Plan
from kibi.selection import LoweredGraph


def bodies_of(graph: Graph) -> tuple[Graph, ...]:
    """All subgraphs of a graph's nodes, in the order of nodes: the order of `Plan.subgraphs`."""
    return tuple(body for node in graph.nodes for body in node.op.subgraphs)


def planned_once(graph: Graph, make: Callable[[Graph, tuple[Plan, ...]], Plan]) -> tuple[Plan, ...]:
    """The plans of all subgraphs of a graph's nodes, in the order of `bodies_of`; each body is planned once, whoever runs it.

    Args:
        graph: the graph.
        make: the plan of a body, which is given those of the subgraphs inside of it.
    """
    return _planned(graph, make, {})


def _planned(graph: Graph, make: Callable[[Graph, tuple[Plan, ...]], Plan], known: dict[int, Plan]) -> tuple[Plan, ...]:
    """The same; `known` holds the plans that are made, by the identity of the body."""
    for body in bodies_of(graph):
        if id(body) not in known:
            known[id(body)] = make(body, _planned(body, make, known))
    return tuple(known[id(body)] for body in bodies_of(graph))


def with_subgraphs(graph: LoweredGraph, plans: Sequence[Plan]) -> LoweredGraph:
    """The graph whose nodes with subgraphs have their arenas for scratch; without subgraphs the graph itself.

    Raises:
        PlanError: there are more or fewer plans than subgraphs.
    """
    count = len(bodies_of(graph))
    if count != len(plans):
        what = f"{graph.source} has {count} graphs inside of its operators, the plan has {len(plans)}"
        raise PlanError(f"{what}. Make the plan again with `kibi plan`.")
    return replace(graph, arenas=tuple(_arenas(graph, iter(plans)))) if plans else graph


def _arenas(graph: Graph, plans: Iterator[Plan]) -> Iterator[tuple[int, int] | None]:
    """Yields for each node the bytes and the alignment of the largest arena of its subgraphs, which run one at a time."""
    for node in graph.nodes:
        own = [next(plans) for _ in node.op.subgraphs]
        alignment = max((buffer.alignment for plan in own for buffer in plan.buffers), default=1)
        yield (max(plan.arena_bytes for plan in own), max(4, alignment)) if own else None
