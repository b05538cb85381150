"""What a model runs only for some inputs: how many inputs to try, and which subgraphs none of them reached."""

from collections.abc import Collection, Iterator

from kibi.ir import Graph

_RUNS = 4
"""Inputs that are tried where the flow depends on them: a boolean condition comes out both ways among any three seeds in a row."""


def has_choices(graph: Graph) -> bool:
    """True if the elements of inputs choose which operators run, or how often, or how much their kernels compute."""
    calls = (call.params for call in graph.calls)
    return any(node.op.flow_depends_on_elements for node in graph.nodes) or any(
        params is not None and params.time_depends_on_elements for params in calls
    )


def usual_runs(graph: Graph) -> int:
    """Returns the number of inputs that show a model's costs: one if no flow depends on them, else several."""
    return _RUNS if has_choices(graph) else 1


def not_executed(graph: Graph, executed: Collection[str]) -> tuple[str, ...]:
    """The names of subgraphs that never ran, with their numbers in the file: `subgraph 2`.

    Args:
        graph: the model.
        executed: the `source` of each graph that ran.
    """
    missing = (body.source for body in _bodies(graph, set()) if body.source not in executed)
    return tuple(source.removeprefix(f"{graph.source}, ") for source in missing)


def _bodies(graph: Graph, seen: set[str]) -> Iterator[Graph]:
    """The subgraphs of a graph's operators, nested ones included, each once."""
    for node in graph.nodes:
        for body in node.op.subgraphs:
            if body.source not in seen:
                seen.add(body.source)
                yield body
                yield from _bodies(body, seen)
