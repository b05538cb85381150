"""A `.tflite` model that is being made: its tensors and operations as data, and the file that they become."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kibi import ir
from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import Attribute, ModelBuilder


@dataclass(frozen=True, slots=True)
class Quantization(ir.Quantization):
    """What stored integers mean, and their type.

    Attributes:
        dtype: the type in which they are stored: s8, s16, s32 or s64.
    """

    dtype: DType = field(kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A tensor of the file. Two tensors with the same fields are two tensors.

    Attributes:
        shape: as it is stored.
        dtype: the stored type.
        quantization: None for plain numbers.
        data: the elements of a constant; else None.
    """

    shape: tuple[int, ...]
    dtype: DType
    quantization: Quantization | None = None
    data: Array | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator of the file.

    Attributes:
        name: the schema's name.
        inputs: None for those left out.
        outputs: the tensors that it makes.
        attributes: the options, as the schema names them.
        graphs: those that it runs, by the options that hold their numbers.
    """

    name: str
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    graphs: Mapping[str, "Draft"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Draft:
    """A model, or a graph that an operator of one runs.

    Attributes:
        operations: in an order in which they can run.
        inputs: the tensors that it takes.
        outputs: the tensors that it gives.
        names: of tensors that the ONNX file names.
    """

    operations: tuple[Operation, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    names: Mapping[Tensor, str] = field(default_factory=dict)

    def needed(self) -> "Draft":
        """The model without operations of which no output depends."""
        wanted = set(self.outputs)
        kept: list[Operation] = []
        for operation in reversed(self.operations):
            if wanted.intersection(operation.outputs):
                kept.append(operation)
                wanted.update(tensor for tensor in operation.inputs if tensor is not None)
        return replace(self, operations=tuple(reversed(kept)))

    def written(self) -> bytes:
        """The `.tflite` file."""
        return _Writer(self).file()


class _Writer:
    """Gives tensors their places in the file; equal constants of a graph have one place, and those of all graphs one buffer."""

    def __init__(self, draft: Draft) -> None:
        self._names = draft.names
        self._graphs = [draft]
        self._builder = ModelBuilder()
        self._places: dict[Tensor, int] = {}
        self._constants: dict[tuple[object, ...], int] = {}
        self._buffers: dict[bytes, int] = {}

    def file(self) -> bytes:
        """Writes the graphs in the order of their numbers; those within a graph get theirs when it is written."""
        outputs = self._graph(self._graphs[0])
        number = 1
        while number < len(self._graphs):
            self._builder.end_subgraph(outputs)
            self._places, self._constants = {}, {}
            outputs = self._graph(self._graphs[number])
            number += 1
        return self._builder.finish(outputs, description="made by Kibi from ONNX")

    def _graph(self, draft: Draft) -> list[int]:
        for tensor in draft.inputs:
            meant = tensor.quantization
            scale, zero_point = (None, None) if meant is None else (meant.scale, meant.zero_point)
            name = self._names.get(tensor, "")
            self._places[tensor] = self._builder.input(tensor.shape, tensor.dtype, scale, zero_point, name=name)
        for operation in draft.operations:
            inputs = [-1 if tensor is None else self._place(tensor) for tensor in operation.inputs]
            outputs = [self._place(tensor) for tensor in operation.outputs]
            numbers: dict[str, Attribute] = {}
            for option, graph in operation.graphs.items():
                numbers[option] = len(self._graphs)
                self._graphs.append(graph)
            self._builder.operator(operation.name, inputs, outputs, {**operation.attributes, **numbers})
        return [self._place(tensor) for tensor in draft.outputs]

    def _place(self, tensor: Tensor) -> int:
        if tensor not in self._places:
            self._places[tensor] = self._constant(tensor) if tensor.data is not None else self._tensor(tensor, None)
        return self._places[tensor]

    def _constant(self, tensor: Tensor) -> int:
        assert tensor.data is not None  # noqa: S101 (the caller has looked; said for the type checker)
        kind = tensor.dtype.numpy
        data = np.ascontiguousarray(tensor.data, kind).tobytes()
        key = (tensor.shape, tensor.dtype, tensor.quantization, data)
        if key not in self._constants:
            self._constants[key] = self._tensor(tensor, data)
        return self._constants[key]

    def _tensor(self, tensor: Tensor, data: bytes | None) -> int:
        axis = 0 if tensor.quantization is None else tensor.quantization.axis
        scale, zero_point = _scales(tensor.quantization)
        name = self._names.get(tensor, "")
        if data is None:
            return self._builder.tensor(tensor.shape, tensor.dtype, scale, zero_point, axis=axis, name=name)
        if data not in self._buffers:
            self._buffers[data] = self._builder.buffer(data)
        buffer = self._buffers[data]
        return self._builder.tensor(tensor.shape, tensor.dtype, scale, zero_point, axis=axis, name=name, buffer=buffer)


def _scales(quantization: Quantization | None) -> tuple[Sequence[float] | None, Sequence[int] | None]:
    return (None, None) if quantization is None else (quantization.scales, quantization.zero_points)
