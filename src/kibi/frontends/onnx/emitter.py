"""The tensors and operations of a `.tflite` model as nodes are converted one after another.

Each value of the ONNX graph is stored with its axes in some order: a convolution makes `[N, H, W, C]` of `[N, C, H, W]`, and what
follows keeps that order where it can. A Transpose changes the order that is noted down, and moves no element. Elements move
when an operator needs another order than the stored one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kibi.dtypes import Array, DType
from kibi.frontends.onnx.draft import Operation, Quantization, Tensor
from kibi.frontends.onnx.graph import Node, OnnxGraph
from kibi.frontends.onnx.problems import Unsupported
from kibi.frontends.onnx.scales import meaning
from kibi.frontends.tflite.builder import Attribute

ELEMENTS = {
    "FLOAT": DType.F32,
    "FLOAT16": DType.F32,
    "BFLOAT16": DType.F32,
    "DOUBLE": DType.F32,
    "INT8": DType.S8,
    "UINT8": DType.U8,
    "INT16": DType.S16,
    "INT32": DType.S32,
    "INT64": DType.S32,
    "UINT32": DType.U32,
    "BOOL": DType.BOOL,
}
"""The type in which elements are stored: reals as f32, and integers of 64 bits as s32."""
_TRANSPOSED_AXES = 5
# Windows slide along the axes after the channels.
_SPATIAL = frozenset(
    ("AveragePool", "Conv", "ConvTranspose", "DepthToSpace", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool",
     "InstanceNormalization", "LRN", "LpPool", "MaxPool", "Resize", "SpaceToDepth")
)  # fmt: skip
# What follows these has its axes elsewhere.
_MOVED = frozenset(("Transpose", "Reshape", "MatMul", "Gemm", "Flatten"))


@dataclass(frozen=True, slots=True)
class Scramble:
    """The order of elements along the last axis of what was flattened while it was stored in another order.

    Attributes:
        shape: as it was stored before.
        order: the order of its axes then.
        leading: how many of its first axes, in ONNX's order, are before those that were flattened.
    """

    shape: tuple[int, ...]
    order: tuple[int, ...]
    leading: int

    def places(self) -> Array:
        """For each element along the last axis its place in ONNX's order `[K]`."""
        order = [axis - self.leading for axis in self.order[self.leading :]]
        sizes = [0] * len(order)
        for axis, size in zip(order, self.shape[self.leading :], strict=True):
            sizes[axis] = size
        return np.arange(math.prod(sizes)).reshape(sizes).transpose(order).reshape(-1)


@dataclass(frozen=True, slots=True)
class Stored:
    """A value of the ONNX graph in the `.tflite` model.

    Attributes:
        tensor: its elements.
        order: of its axes: axis `i` of the tensor is axis `order[i]` of the value.
        scramble: how its last axis is stored, if that is not ONNX's order.
    """

    tensor: Tensor
    order: tuple[int, ...]
    scramble: Scramble | None = None


def plain_order(rank: int) -> tuple[int, ...]:
    """ONNX's own order of axes."""
    return tuple(range(rank))


def channels_last(rank: int) -> tuple[int, ...]:
    """The order with axis 1 at the end: `[N, H, W, C]` of `[N, C, H, W]`."""
    return (0, *range(2, rank), 1) if rank > 2 else plain_order(rank)


class Emitter:
    """Collects operations. Its methods return tensors; constants are moved here and now, and cost no operation.

    Args:
        graph: the ONNX graph.
        convert: converts all nodes of the graph of an emitter; it notes those that it cannot convert.

    Attributes:
        problems: nodes that cannot be converted, and why; also of the graphs within.
        naturals: names of integers that are never negative.
    """

    def __init__(self, graph: OnnxGraph, convert: "Callable[[Emitter], None]") -> None:
        self.graph = graph
        self.problems: list[tuple[Node, Unsupported]] = []
        self._convert = convert
        self.consumers = graph.consumers()
        self.operations: list[Operation] = []
        self.notes: dict[str, list[str]] = {}
        self.names: dict[Tensor, str] = {}
        self.naturals: set[str] = set()
        self._stored: dict[str, Stored] = {}
        self._moved: dict[tuple[Tensor, tuple[int, ...], str], Tensor] = {}
        self._reals: dict[Tensor, Tensor] = {}

    def within(self, graph: OnnxGraph) -> "Emitter":
        """An emitter for a graph that a node runs; problems, notes and names are noted together."""
        made = Emitter(graph, self._convert)
        made.problems, made.notes, made.names = self.problems, self.notes, self.names
        return made

    def convert(self) -> None:
        """Converts all nodes of the graph."""
        self._convert(self)

    def distinct(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> list[Tensor]:
        """Outputs of a graph as tensors that operations make, each one once."""
        made = {tensor for operation in self.operations for tensor in operation.outputs}
        found: list[Tensor] = []
        for each in outputs:
            tensor = each
            if tensor not in made or tensor in found or tensor in inputs:
                shape = self.constant(np.array(tensor.shape, np.int32).reshape(len(tensor.shape)))
                tensor = self.add("RESHAPE", [tensor, shape], tensor.shape, tensor.dtype, tensor.quantization)
            found.append(tensor)
        return found

    def note(self, text: str, node: Node) -> None:
        """Notes something about a node that users may want to know."""
        self.notes.setdefault(text, []).append(node.name or node.outputs[0])

    def shape(self, name: str) -> tuple[int, ...]:
        """A value's shape in ONNX's order."""
        return self.graph.values[name].shape

    def dtype(self, name: str) -> DType:
        """The type in which a value's elements are stored where they have no scale.

        Raises:
            Unsupported: `.tflite` files, or Kibi, have no such type.
        """
        kind = self.graph.values[name].kind
        if kind not in ELEMENTS:
            raise Unsupported(f"elements of type {kind} are not supported", "Export the model with float32 or int32")
        return ELEMENTS[kind]

    def is_spatial(self, name: str) -> bool:
        """True if what follows wants a value channels last: a window slides over it, or over what is computed from it."""
        rank = len(self.shape(name))
        if rank not in (3, 4):
            return False
        waiting, seen = [name], {name}
        while waiting:
            for node in self.consumers.get(waiting.pop(), ()):
                if node.op in _SPATIAL and node.inputs[0] in seen:
                    return True
                if node.op in _MOVED or node.domain:
                    continue
                for output in node.outputs:
                    if output and output not in seen and len(self.shape(output)) == rank:
                        waiting.append(output)
                        seen.add(output)
        return False

    def is_known(self, name: str) -> bool:
        """True if a value is stored already."""
        return name in self._stored

    def give(
        self, name: str, tensor: Tensor, order: tuple[int, ...] | None = None, scramble: Scramble | None = None
    ) -> None:
        """Says which tensor has a value, and in which order its axes are."""
        self._stored[name] = Stored(tensor, order or plain_order(len(tensor.shape)), scramble)
        self.names.setdefault(tensor, name)

    def stored(self, name: str) -> Stored:
        """The tensor of a value, and the order of its axes."""
        if name not in self._stored:
            data = self.graph.values[name].data
            if data is None:
                raise Unsupported(f"{name!r} is computed by nothing", "Export the model again")
            self.give(name, self.constant(self._converted(name, data)))
        return self._stored[name]

    def _converted(self, name: str, data: Array) -> Array:
        dtype = self.dtype(name)
        if dtype is DType.S32 and data.size:
            low, high = dtype.limits
            if data.min() < low or data.max() > high:
                raise Unsupported(f"constant {name!r} has integers of more than 32 bits", "Use integers of 32 bits")
        return np.asarray(data).astype(dtype.numpy)

    def add(
        self,
        operator: str,
        inputs: Sequence[Tensor | None],
        shape: Sequence[int],
        dtype: DType,
        quantization: Quantization | None = None,
        **attributes: Attribute,
    ) -> Tensor:
        """Adds an operation with one output, and returns that. Inputs that are left out at the end are not in the file."""
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]
        output = Tensor(tuple(int(size) for size in shape), dtype, quantization)
        self.operations.append(Operation(operator, tuple(inputs), (output,), attributes))
        return output

    def like(self, operator: str, inputs: Sequence[Tensor | None], **attributes: Attribute) -> Tensor:
        """Adds an operation whose output has shape, type and scale of its first input."""
        first = inputs[0]
        assert first is not None  # noqa: S101 (no operator leaves out its first input; said for the type checker)
        return self.add(operator, inputs, first.shape, first.dtype, first.quantization, **attributes)

    def constant(self, data: Array, quantization: Quantization | None = None) -> Tensor:
        """A constant of the file."""
        return Tensor(tuple(data.shape), DType.of(data), quantization, data)

    def numbers(self, values: Sequence[int]) -> Tensor:
        """A constant `[N]` s32."""
        return self.constant(np.array(values, np.int32).reshape(len(values)))

    def real_number(self, value: float) -> Tensor:
        """A constant f32 of rank 0."""
        return self.constant(np.array(value, np.float32))

    def tensor(self, name: str, order: tuple[int, ...] | None = None) -> Tensor:
        """A value with its axes in an order, by default ONNX's, as it is stored otherwise."""
        stored = self.stored(name)
        return self.reordered(stored, order or plain_order(len(stored.order)))

    def real(self, name: str, order: tuple[int, ...] | None = None) -> Tensor:
        """A value as f32, with its axes in an order, by default ONNX's."""
        return self.dequantized(self.tensor(name, order))

    def dequantized(self, tensor: Tensor) -> Tensor:
        """A tensor as f32 if it has a scale; else as it is."""
        if tensor.quantization is None:
            return tensor
        if tensor not in self._reals:
            if tensor.data is not None:
                self._reals[tensor] = self.constant(meaning(tensor.data, tensor.quantization))
            else:
                self._reals[tensor] = self.add("DEQUANTIZE", [tensor], tensor.shape, DType.F32)
        return self._reals[tensor]

    def reordered(self, stored: Stored, order: tuple[int, ...]) -> Tensor:
        """A value's tensor with its axes in an order."""
        stored = self.unscrambled(stored)
        if stored.order == order:
            return stored.tensor
        return self.transposed(stored.tensor, tuple(stored.order.index(axis) for axis in order))

    def unscrambled(self, stored: Stored) -> Stored:
        """The value with its last axis in ONNX's order."""
        if stored.scramble is None:
            return stored
        before = Stored(self.reshaped(stored.tensor, stored.scramble.shape), stored.scramble.order)
        moved = self.reordered(before, plain_order(len(before.order)))
        return Stored(self.reshaped(moved, stored.tensor.shape), stored.order)

    def transposed(self, tensor: Tensor, permutation: tuple[int, ...]) -> Tensor:
        """A tensor with other axes in each place: axis `i` is that which was `permutation[i]`."""
        if permutation == plain_order(len(permutation)):
            return tensor
        key = (tensor, permutation, "transposed")
        if key not in self._moved:
            self._moved[key] = self._transposed(tensor, permutation)
        return self._moved[key]

    def _transposed(self, tensor: Tensor, permutation: tuple[int, ...]) -> Tensor:
        shape = tuple(tensor.shape[axis] for axis in permutation)
        if tensor.data is not None:
            meant = tensor.quantization
            if meant is not None and meant.is_per_channel:
                meant = replace(meant, axis=permutation.index(meant.axis))
            return self.constant(np.ascontiguousarray(tensor.data.transpose(permutation)), meant)
        moving = [axis for axis in permutation if tensor.shape[axis] > 1]
        if moving == sorted(moving):
            return self.reshaped(tensor, shape)
        groups = _groups(moving)
        if len(shape) > _TRANSPOSED_AXES:
            merged = sorted(groups)
            sizes = [math.prod(tensor.shape[axis] for axis in group) for group in merged]
            small = self.reshaped(tensor, sizes)
            return self.reshaped(self.transposed(small, tuple(merged.index(group) for group in groups)), shape)
        return self.add("TRANSPOSE", [tensor, self.numbers(permutation)], shape, tensor.dtype, tensor.quantization)

    def reshaped(self, tensor: Tensor, shape: Sequence[int]) -> Tensor:
        """A tensor with the same elements in another shape."""
        wanted = tuple(int(size) for size in shape)
        if wanted == tensor.shape:
            return tensor
        if tensor.data is not None:
            if tensor.quantization is not None and tensor.quantization.is_per_channel:
                tensor = self.dequantized(tensor)
            assert tensor.data is not None  # noqa: S101 (what is made of a constant is one; said for the type checker)
            return self.constant(tensor.data.reshape(wanted), tensor.quantization)
        key = (tensor, wanted, "reshaped")
        if key not in self._moved:
            self._moved[key] = self.add(
                "RESHAPE", [tensor, self.numbers(wanted)], wanted, tensor.dtype, tensor.quantization
            )
        return self._moved[key]

    def order_of(self, names: Sequence[str], rank: int) -> tuple[int, ...]:
        """The order in which an elementwise operator computes: that of its first input that is stored in another than ONNX's."""
        for name in names:
            stored = self.stored(name)
            if stored.tensor.data is None and len(stored.order) == rank and stored.order != plain_order(rank):
                return stored.order
        return plain_order(rank)

    def aligned(self, name: str, order: tuple[int, ...]) -> Tensor:
        """A value that broadcasts to others whose axes are in an order."""
        rank = len(order)
        if order == plain_order(rank):
            return self.tensor(name)
        tensor = self.tensor(name) if len(self.shape(name)) < rank else None
        if tensor is None:
            return self.tensor(name, order)
        if not tensor.shape:
            return tensor
        tensor = self._widened(tensor, rank)
        return self.transposed(tensor, order)

    def _widened(self, tensor: Tensor, rank: int) -> Tensor:
        """A tensor with axes of size 1 before its own."""
        shape = (1,) * (rank - len(tensor.shape)) + tensor.shape
        meant = tensor.quantization
        if tensor.data is not None and meant is not None and meant.is_per_channel:
            return self.reshaped(self.dequantized(tensor), shape)
        return self.reshaped(tensor, shape)

    def broadcast_shape(self, tensors: Sequence[Tensor]) -> tuple[int, ...]:
        """The shape to which tensors broadcast."""
        return tuple(int(size) for size in np.broadcast_shapes(*(tensor.shape for tensor in tensors)))


def _groups(axes: Sequence[int]) -> list[tuple[int, ...]]:
    """Axes in their order, those that follow one another joined."""
    groups: list[tuple[int, ...]] = []
    for axis in axes:
        if groups and groups[-1][-1] + 1 == axis:
            groups[-1] += (axis,)
        else:
            groups.append((axis,))
    return groups
