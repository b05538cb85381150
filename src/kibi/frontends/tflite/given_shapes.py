"""Files whose inputs get other shapes: those of all other tensors follow from the rules of the operators.

Shapes are overwritten where they are in the file, so that nothing else changes; axes neither come nor go. Numbers about shapes that
operators compute, such as the new shape of a RESHAPE, are computed on the way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from kibi.errors import ModelError, Problem
from kibi.frontends.tflite.folding import MOST_READ, constant_elements, evaluated, graph_of, is_known
from kibi.frontends.tflite.importer import read_parts
from kibi.frontends.tflite.model_tables import ModelSlot, ModelTables, SubgraphSlot, TensorSlot, located
from kibi.frontends.tflite.reader import ModelReader
from kibi.ir import Node, Tensor
from kibi.ir.verify import types_made

_MOST_ROUNDS = 8
"""Walks over the operators: attributes that the reader derives from shapes are right from the second one on."""
_MOST_ELEMENTS = (1 << 31) - 1
_REMEDY = "Give shapes that the model can have, or export it with them"


def with_shapes(data: bytes, shapes: Mapping[str, Sequence[int]], source: str) -> tuple[bytes, int]:
    """Gives inputs of a file's first graph other shapes.

    Args:
        data: the contents of a `.tflite` file.
        shapes: of inputs, by name. An axis whose size the file does not leave open keeps it.
        source: the file's name, for errors.

    Returns:
        The contents of the new file, and of how many other tensors the shape has changed.

    Raises:
        ModelError: there is no such input, its shape is another one, or an operator cannot have such inputs.
    """
    with located(data, source):
        file = _Shapes(data)
        reader = ModelReader(data)
        problems = [problem for name, shape in shapes.items() if (problem := _fixed(file, reader, name, tuple(shape)))]
    if problems:
        raise ModelError(source, problems)
    before = file.shapes()
    file.close(reader.inputs)
    for _ in range(_MOST_ROUNDS):
        if not _walk(file, source):
            break
    after = file.shapes()
    return bytes(file.data), sum(before[index] != after[index] for index in range(len(before)))


def _fixed(file: "_Shapes", reader: ModelReader, name: str, shape: tuple[int, ...]) -> Problem | None:
    """Fixes the shape of an input; returns what is wrong with it."""
    names = {reader.tensor(index).name: index for index in reader.inputs}
    if name not in names:
        return Problem(f"there is no input {name!r}", f"Its inputs are {', '.join(map(repr, names))}")
    record = reader.tensor(names[name])
    if min(shape, default=1) < 1 or prod(shape) > _MOST_ELEMENTS:
        what = f"shape {list(shape)} has a size below 1, or more than {_MOST_ELEMENTS} elements"
        return Problem(what, "Give sizes of 1 or more", tensor=name)
    known = record.signature or record.shape
    if len(known) != len(shape) or any(size not in (-1, given) for size, given in zip(known, shape, strict=True)):
        what = f"shape {list(shape)} does not fit the file's {list(known)}"
        return Problem(what, "Give a shape that fits; sizes of -1 are open", tensor=name)
    file.set(names[name], shape)
    return None


class _Shapes:
    """The shapes of the tensors of a file's first graph.

    Args:
        data: the contents of the file.

    Attributes:
        data: the contents as they are by now.
        count: how many tensors there are.
    """

    def __init__(self, data: bytes) -> None:
        self.data = bytearray(data)
        tables = ModelTables(data)
        graph = tables.children(tables.model, ModelSlot.SUBGRAPHS)[0]
        tensors = tables.children(graph, SubgraphSlot.TENSORS)
        self.count = len(tensors)
        self._places = [tables.integers_at(tensor, TensorSlot.SHAPE) for tensor in tensors]
        self._signatures = [tables.integers_at(tensor, TensorSlot.SHAPE_SIGNATURE) for tensor in tensors]

    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes by now, by index."""
        return [self._read(*place) for place in self._places]

    def close(self, inputs: Sequence[int]) -> None:
        """Gives open sizes of all tensors but inputs the size 1, until they are known."""
        for index, place in enumerate(self._places):
            shape = self._read(*place)
            if -1 in shape and index not in inputs:
                self._write(place[0], [max(size, 1) for size in shape])

    def set(self, index: int, shape: Sequence[int]) -> bool:
        """Gives a tensor a shape; false if it has other axes in the file."""
        start, count = self._places[index]
        if count != len(shape):
            return False
        self._write(start, shape)
        start, count = self._signatures[index]
        if count == len(shape):
            self._write(start, shape)
        return True

    def _read(self, start: int, count: int) -> tuple[int, ...]:
        parts = (self.data[start + 4 * axis : start + 4 * axis + 4] for axis in range(count))
        return tuple(int.from_bytes(part, "little", signed=True) for part in parts)

    def _write(self, start: int, shape: Sequence[int]) -> None:
        for axis, size in enumerate(shape):
            self.data[start + 4 * axis : start + 4 * axis + 4] = size.to_bytes(4, "little", signed=True)


def _walk(file: _Shapes, source: str) -> bool:
    """Gives the results of all operators the shapes that their rules give; true if one has changed."""
    tensors, nodes = read_parts(bytes(file.data), source)
    is_changed, to_read = False, MOST_READ
    for node in nodes:
        for index, shape in zip(node.outputs, _made(tensors, node, source), strict=True):
            made = tensors[index]
            if made.type.shape != shape:
                is_changed = True
                _set(file, made, shape, node, source)
                tensors[index] = replace(made, type=replace(made.type, shape=shape))
        if is_known(tensors, node):
            to_read -= constant_elements(tensors, node)
            output = tensors[node.outputs[0]]
            data = evaluated(source, tensors, node) if to_read >= 0 else None
            tensors[output.index] = replace(output, data=data)
    return is_changed


def _set(file: _Shapes, tensor: Tensor, shape: tuple[int, ...], node: Node, source: str) -> None:
    """Gives a tensor a shape in the file; those that the reader has added are not there.

    Raises:
        ModelError: it has other axes there, or the shape is too large.
    """
    what = ""
    if prod(shape) > _MOST_ELEMENTS:
        what = f"its shape becomes {list(shape)}, of which at most {_MOST_ELEMENTS} elements are possible"
    elif tensor.index < file.count and not file.set(tensor.index, shape):
        what = f"its shape becomes {list(shape)}, and has {len(tensor.type.shape)} axes in the file"
    if what:
        raise ModelError(source, [Problem(f"{node.op.name}: {what}", _REMEDY, node.source, tensor.name)])


def _made(tensors: Mapping[int, Tensor], node: Node, source: str) -> list[tuple[int, ...]]:
    """The shapes of a node's outputs.

    Raises:
        ModelError: it cannot have inputs of these shapes.
    """
    known = dict(tensors)
    if node.op.name == "RESHAPE":
        known[node.outputs[0]] = _reshaped(tensors, node)
    graph = graph_of(source, known, node)
    try:
        return [shape for shape, _ in types_made(graph, graph.nodes[0])]
    except ModelError as error:
        raise ModelError(source, [replace(each, remedy=_REMEDY) for each in error.problems]) from error


def _reshaped(tensors: Mapping[int, Tensor], node: Node) -> Tensor:
    """The output of a RESHAPE in its new shape, of which one size may follow from the others; as it is if nothing says so."""
    output = tensors[node.outputs[0]]
    wanted = tensors[node.inputs[1]] if node.inputs[1:] and node.inputs[1] is not None else None
    if wanted is None or wanted.data is None or node.inputs[0] is None:
        return output
    sizes = [int(size) for size in wanted.data.reshape(-1)]
    if sizes.count(-1) == 1:
        others = prod(size for size in sizes if size != -1)
        sizes[sizes.index(-1)] = tensors[node.inputs[0]].type.elements // max(others, 1)
    shape = tuple(sizes) if min(sizes, default=1) > 0 else output.type.shape
    return replace(output, type=replace(output.type, shape=shape))
