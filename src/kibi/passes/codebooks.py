"""Keeps look-up tables for weights where they save flash, and decodes the other weights ahead of time.

A kernel that looks weights up needs extra code and is slower. It is used where its layers save more bytes than its code takes.
"""

from dataclasses import replace

from kibi.ir import Graph, KernelCall, Tensor

_CODE_BYTES = 1024
"""Bytes of flash that a kernel with look-ups takes, with the code that it calls."""
_NONE = ""
"""The name under which all kernels without look-ups are counted."""


def without_codebooks(graph: Graph) -> Graph:
    """Returns the graph with all constants decoded."""
    return replace(graph, tensors=tuple(map(_decoded, graph.tensors)))


def with_saving_codebooks(graph: Graph) -> Graph:
    """Returns the graph with constants decoded where the layers of a kernel save less flash than its code takes."""
    if all(tensor.codebook_in_use is None for tensor in graph.tensors):
        return graph
    plain = without_codebooks(graph)
    saved: dict[str, int] = {}
    readers: dict[str, set[int]] = {}
    for view, other in zip(graph.views, plain.views, strict=True):
        codebook_in_use = [
            tensor.index for _, tensor in view.operands if tensor is not None and tensor.codebook_in_use is not None
        ]
        call, other_call = view.op.kernel_call(view), other.op.kernel_call(other)
        kernel = call.kernel if call.kernel != other_call.kernel else _NONE
        saved[kernel] = saved.get(kernel, 0) + _constant_bytes(other_call) - _constant_bytes(call)
        readers.setdefault(kernel, set()).update(codebook_in_use)
    worth = {kernel for kernel, count in saved.items() if kernel != _NONE and count > _CODE_BYTES}
    kept = {index for kernel in worth for index in readers[kernel]}
    kept -= {index for kernel in readers.keys() - worth for index in readers[kernel]}
    tensors = (tensor if tensor.index in kept else _decoded(tensor) for tensor in graph.tensors)
    return replace(graph, tensors=tuple(tensors))


def _decoded(tensor: Tensor) -> Tensor:
    return tensor if tensor.codebook is None else replace(tensor, codebook=None)


def _constant_bytes(call: KernelCall) -> int:
    """Returns the bytes of the arrays that a call names."""
    return sum(data.nbytes for data in call.constants.values())
