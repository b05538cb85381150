"""Keeps weights compressed where that saves flash, and decodes the others ahead of time: look-up tables, and int4.

A kernel that decodes weights as it uses them needs extra code. It is used where its layers save more bytes than its code takes.
"""

from dataclasses import replace

from kibi.ir import Graph, Tensor

_CODE_BYTES = 1024
"""Bytes of flash that a kernel that decodes takes, with the code that it calls."""
_NONE = ""
"""The name under which all other kernels are counted."""


def decompressed(graph: Graph) -> Graph:
    """Returns the graph with all constants decoded."""
    return replace(graph, tensors=tuple(map(_decoded, graph.tensors)))


def compressed_where_it_saves(graph: Graph) -> Graph:
    """Returns the graph with constants decoded where the layers of a kernel save less flash than its code takes."""
    if not any(tensor.is_compressed for tensor in graph.tensors):
        return graph
    plain = decompressed(graph)
    saved: dict[str, int] = {}
    readers: dict[str, set[int]] = {}
    for view, other in zip(graph.views, plain.views, strict=True):
        compressed = [tensor.index for _, tensor in view.operands if tensor is not None and tensor.is_compressed]
        call, other_call = view.op.kernel_call(view), other.op.kernel_call(other)
        kernel = call.kernel if call.kernel != other_call.kernel else _NONE
        saved[kernel] = saved.get(kernel, 0) + other_call.constant_bytes - call.constant_bytes
        readers.setdefault(kernel, set()).update(compressed)
    worth = {kernel for kernel, count in saved.items() if kernel != _NONE and count > _CODE_BYTES}
    kept = {index for kernel in worth for index in readers[kernel]}
    kept -= {index for kernel in readers.keys() - worth for index in readers[kernel]}
    tensors = (tensor if tensor.index in kept else _decoded(tensor) for tensor in graph.tensors)
    return replace(graph, tensors=tuple(tensors))


def _decoded(tensor: Tensor) -> Tensor:
    is_plain = tensor.codebook is None and not tensor.is_int4
    return tensor if is_plain else replace(tensor, codebook=None, is_int4=False)
