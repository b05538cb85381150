"""A `.tflite` model that is being made: its tensors and operations as data, and the file that they become."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kibi import ir
from kibi.dtypes import Array, DType
from kibi.frontends.tflite import int4
from kibi.frontends.tflite.builder import Attribute, ModelBuilder

_WEIGHTS = 1
"""The place of the weights among the inputs of an operator."""
_MOST_INT4_SCALES: Mapping[str, int | None] = {"CONV_2D": None, "FULLY_CONNECTED": 1}
"""The operators whose weights of int4 stay int4 in flash, and how many scales they have at most; None: one for each channel.

Source: TFLM refuses several scales in `micro/kernels/fully_connected_common.cc`.
"""


@dataclass(frozen=True, slots=True)
class Quantization(ir.Quantization):
    """What stored integers mean, and their type.

    Attributes:
        dtype: the type in which they are stored: s8, s16, s32 or s64.
        is_narrow: True if the ONNX file has 4 bits or fewer for each.
    """

    dtype: DType = field(kw_only=True)
    is_narrow: bool = field(default=False, kw_only=True)


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

    def has_int4(self, place: int) -> bool:
        """True if an input can be int4 in the file: weights of 4 bits, with as many scales as TFLM takes for them."""
        if place != _WEIGHTS or self.name not in _MOST_INT4_SCALES:
            return False
        source, weights = self.inputs[:2]
        meant, data = (None, None) if weights is None else (weights.quantization, weights.data)
        if source is None or source.dtype is not DType.S8 or meant is None or data is None or not meant.is_narrow:
            return False
        most = _MOST_INT4_SCALES[self.name]
        has_scales = not any(meant.zero_points) and (most is None or len(meant.scales) <= most)
        is_whole = self.name != "CONV_2D" or data.shape[-1] == source.shape[-1]  # no groups
        return has_scales and is_whole and bool(data.min(initial=0) >= -8 and data.max(initial=0) <= 7)


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
        self._places: dict[tuple[Tensor, bool], int] = {}
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
            self._places[tensor, False] = self._builder.input(tensor.shape, tensor.dtype, scale, zero_point, name=name)
        for operation in draft.operations:
            inputs = [
                -1 if tensor is None else self._place(tensor, is_int4=operation.has_int4(place))
                for place, tensor in enumerate(operation.inputs)
            ]
            outputs = [self._place(tensor) for tensor in operation.outputs]
            numbers: dict[str, Attribute] = {}
            for option, graph in operation.graphs.items():
                numbers[option] = len(self._graphs)
                self._graphs.append(graph)
            self._builder.operator(operation.name, inputs, outputs, {**operation.attributes, **numbers})
        return [self._place(tensor) for tensor in draft.outputs]

    def _place(self, tensor: Tensor, *, is_int4: bool = False) -> int:
        key = (tensor, is_int4)
        if key not in self._places:
            made = self._tensor(tensor) if tensor.data is None else self._constant(tensor, tensor.data, is_int4=is_int4)
            self._places[key] = made
        return self._places[key]

    def _constant(self, tensor: Tensor, elements: Array, *, is_int4: bool) -> int:
        plain = np.ascontiguousarray(elements, tensor.dtype.numpy)
        data = (int4.packed(plain) if is_int4 else plain).tobytes()
        key = (tensor.shape, tensor.dtype, is_int4, tensor.quantization, data)
        if key not in self._constants:
            if data not in self._buffers:
                self._buffers[data] = self._builder.buffer(data)
            dtype = int4.NAME if is_int4 else tensor.dtype
            self._constants[key] = self._tensor(tensor, dtype=dtype, buffer=self._buffers[data])
        return self._constants[key]

    def _tensor(self, tensor: Tensor, *, dtype: DType | str | None = None, buffer: int | None = None) -> int:
        axis = 0 if tensor.quantization is None else tensor.quantization.axis
        scale, zero_point = _scales(tensor.quantization)
        name = self._names.get(tensor, "")
        kind = dtype or tensor.dtype
        return self._builder.tensor(tensor.shape, kind, scale, zero_point, axis=axis, name=name, buffer=buffer)


def _scales(quantization: Quantization | None) -> tuple[Sequence[float] | None, Sequence[int] | None]:
    return (None, None) if quantization is None else (quantization.scales, quantization.zero_points)
