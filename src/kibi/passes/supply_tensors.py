"""Let the caller own the bytes of inputs or outputs."""

from collections.abc import Collection
from dataclasses import replace

from kibi.ir import Graph


def supply_tensors(graph: Graph, tensors: Collection[int]) -> Graph:
    """The same graph with these tensors in buffers that the caller supplies; constants among them stay constants."""
    chosen = {index for index in tensors if not graph.tensors[index].is_constant}
    if all(graph.tensors[index].is_supplied for index in chosen):
        return graph
    changed = (replace(each, is_supplied=each.is_supplied or each.index in chosen) for each in graph.tensors)
    return replace(graph, tensors=tuple(changed))
