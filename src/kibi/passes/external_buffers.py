"""Lets the caller own the bytes of inputs or outputs."""

from collections.abc import Collection
from dataclasses import replace

from kibi.ir import Graph


def with_external_buffers(graph: Graph, tensors: Collection[int]) -> Graph:
    """Returns the graph with these tensors in external buffers; constants among them stay constants."""
    chosen = {index for index in tensors if not graph.tensors[index].is_constant}
    if all(graph.tensors[index].is_external for index in chosen):
        return graph
    changed = (replace(each, is_external=each.is_external or each.index in chosen) for each in graph.tensors)
    return replace(graph, tensors=tuple(changed))
