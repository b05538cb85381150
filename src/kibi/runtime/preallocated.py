"""Tensors in caller-owned buffers: which tensors may be there, and what a buffer must be."""

from typing import SupportsIndex

import numpy as np

from kibi.eager.memory import WritableBuffer
from kibi.eager.memory.lent import NotBytesError, lent_bytes
from kibi.errors import InputError
from kibi.ir import Graph


def find_tensor(graph: Graph, tensor: int | str, buffer: WritableBuffer) -> int:
    """The index of a tensor that may be in a caller-owned buffer.

    Args:
        graph: the model.
        tensor: an index or a name.
        buffer: the caller's buffer.

    Raises:
        InputError: there is no such tensor, or several of that name; it is a constant, or nothing computes it; the buffer is
            in pieces, of another type, read-only, too small or misaligned.
    """
    index = tensor_index(graph, tensor)
    found = graph.tensors[index]
    what = f"the buffer for {found.name!r}"
    try:
        memory = lent_bytes(buffer)
    except NotBytesError as error:
        raise InputError(f"{what} is no block of bytes ({error}). Give a bytearray or an array in one piece.") from None
    element = buffer.dtype if isinstance(buffer, np.ndarray) else np.asarray(memoryview(buffer)).dtype
    if element.itemsize > 1 and element != found.type.dtype.numpy:
        raise InputError(
            f"{what} has elements of {element}, the tensor of {found.type.dtype}. Give its type, or bytes."
        )
    if not memory.flags.writeable:
        raise InputError(f"{what} is read-only. Give one that can be written.")
    if memory.size < found.type.size_bytes:
        raise InputError(f"{what} has {memory.size} bytes. Give at least {found.type.size_bytes}.")
    if memory.ctypes.data % found.type.dtype.size_bytes:
        raise InputError(f"{what} does not start at a multiple of {found.type.dtype.size_bytes} bytes. Align it.")
    return index


def tensor_index(graph: Graph, tensor: int | str) -> int:
    """The index of a computed tensor, by its index or name.

    Raises:
        InputError: there is no such tensor, or several of that name; it is a constant, or nothing computes it.
    """
    made = {*graph.inputs, *(index for node in graph.nodes for index in node.outputs)}
    computed = {index for index in made if not graph.tensors[index].is_state}
    wanted: object = tensor
    if isinstance(wanted, str):
        matches = [each.index for each in graph.tensors if each.name == wanted]
    elif isinstance(wanted, SupportsIndex) and not isinstance(wanted, bool | np.ndarray):
        matches = [each.index for each in graph.tensors if each.index == wanted]
    else:
        raise InputError(f"{tensor!r} names no tensor. Give an index or a name; `kibi inspect` lists them.")
    if not matches:
        raise InputError(f"{graph.source} has no tensor {tensor!r}. `kibi inspect` lists its tensors.")
    if len(matches) > 1:
        raise InputError(f"{graph.source} has {len(matches)} tensors {tensor!r}: {matches}. Give the index of one.")
    if matches[0] not in computed:
        found = graph.tensors[matches[0]]
        kind = "is a constant" if found.is_constant else "is computed by no operator"
        kind = "is the value of a variable" if found.is_state else kind
        raise InputError(
            f"tensor {tensor!r} of {graph.source} {kind}, so that no buffer can hold it. Name another one."
        )
    return matches[0]
