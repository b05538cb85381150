"""ONNX networks that are drawn: images, sequences and vectors, as float32 and quantized."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from kibi.dtypes import Array
from tests.support.choices import Choices, flip

OPSET = 21
IR_VERSION = 10


class OnnxBuilder:
    """Collects nodes and constants in the order of the calls.

    Args:
        seed: of the constants that are drawn.
        prefix: of the names of constants.
    """

    def __init__(self, seed: int = 0, prefix: str = "constant") -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = {}
        self.inputs: list[Any] = []
        self._rng = np.random.default_rng(seed)
        self._prefix = prefix
        self._count = 0

    def input(self, shape: Sequence[int | str], kind: int = TensorProto.FLOAT, name: str = "x") -> str:
        """Adds an input, and returns its name."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def constant(self, array: Array) -> str:
        """Adds a constant, and returns its name."""
        name = f"{self._prefix}_{len(self.constants)}"
        self.constants[name] = array
        return name

    def weights(self, *shape: int) -> str:
        """Adds weights whose products neither vanish nor explode."""
        fan = max(int(np.prod(shape[1:])), 1)
        return self.constant((self._rng.normal(size=shape) / np.sqrt(fan)).astype(np.float32))

    def vector(self, count: int, low: float = -0.5, high: float = 0.5) -> str:
        """Adds a vector of uniform numbers."""
        return self.constant(self._rng.uniform(low, high, count).astype(np.float32))

    def node(self, op: str, *inputs: str, count: int = 1, domain: str = "", **attributes: Any) -> Any:
        """Adds a node, and returns the name of its output, or the names of several."""
        names = [f"{op.lower()}_{self._count + number}" for number in range(count)]
        self._count += count
        self.nodes.append(helper.make_node(op, list(inputs), names, domain=domain, name=names[0], **attributes))
        return names[0] if count == 1 else names

    def model(self, *outputs: str, opset: int = OPSET, domains: Sequence[str] = (), shape: Sequence[int] = ()) -> Any:
        """The `ModelProto`; `shape` is that of its outputs where `domains` are foreign, so that nobody infers it."""
        constants = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        results = [onnx.ValueInfoProto(name=name) for name in outputs]
        for result in results:
            result.type.tensor_type.elem_type = TensorProto.FLOAT
            for size in shape:
                result.type.tensor_type.shape.dim.add().dim_value = size
        graph = helper.make_graph(self.nodes, "drawn", self.inputs, results, constants)
        opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        return made if domains else onnx.shape_inference.infer_shapes(made)


@dataclass(frozen=True, slots=True)
class OnnxCase:
    """A model and inputs for it.

    Attributes:
        model: the `ModelProto`.
        inputs: by name.
    """

    model: Any = field(repr=False)
    inputs: Mapping[str, Array] = field(repr=False)


def image_network(c: Choices) -> OnnxCase:
    """A convolutional network: blocks of convolutions, pools, sums and joins, then a head."""
    seed = c.integer(0, 1 << 30)
    b = OnnxBuilder(seed)
    channels, height, width = c.integer(1, 4), c.integer(8, 14), c.integer(8, 14)
    x = b.input([1, channels, height, width])
    shape = (channels, height, width)
    for _ in range(c.integer(1, 4)):
        x, shape = _block(b, c, x, shape)
    y = _head(b, c, x, shape)
    inputs = np.random.default_rng(seed + 1).normal(size=(1, channels, height, width)).astype(np.float32)
    return OnnxCase(b.model(y), {"x": inputs})


_Shape = tuple[int, int, int]


def _block(b: OnnxBuilder, c: Choices, x: str, shape: _Shape) -> tuple[str, _Shape]:
    kind = c.one_of(("conv", "depthwise", "residual", "branches", "pool", "activation"))
    if kind == "conv":
        return _conv(b, c, x, shape, c.integer(1, 6))
    if kind == "depthwise":
        kernel, pads = 3, (1, 1, 1, 1)
        weights = b.weights(shape[0], 1, kernel, kernel)
        y = b.node("Conv", x, weights, b.vector(shape[0]), group=shape[0], pads=pads)
        return _activated(b, c, y), shape
    if kind == "residual":
        y = b.node("Conv", x, b.weights(shape[0], shape[0], 3, 3), pads=(1, 1, 1, 1))
        if flip(c):
            y = b.node("BatchNormalization", y, *(b.vector(shape[0], 0.5, 1.5) for _ in range(4)))
        return _activated(b, c, b.node("Add", *((x, y) if flip(c) else (y, x)))), shape
    if kind == "branches":
        parts = [_conv(b, c, x, shape, c.integer(1, 3), stride=1, pads=(1, 1, 1, 1)) for _ in range(2)]
        total = sum(part[1][0] for part in parts)
        return b.node("Concat", *(part[0] for part in parts), axis=1), (total, *parts[0][1][1:])
    if kind == "pool" and min(shape[1:]) >= 4:
        op = c.one_of(("MaxPool", "AveragePool"))
        padding = c.one_of(((0, 0, 0, 0), (0, 0, 1, 1), (1, 1, 1, 1)))
        y = b.node(op, x, kernel_shape=(2, 2), strides=(2, 2), pads=padding)
        sizes = tuple((size + padding[axis] + padding[axis + 2] - 2) // 2 + 1 for axis, size in enumerate(shape[1:]))
        return y, (shape[0], sizes[0], sizes[1])
    return _activated(b, c, x, optional=False), shape


def _conv(
    b: OnnxBuilder,
    c: Choices,
    x: str,
    shape: _Shape,
    outputs: int,
    stride: int | None = None,
    pads: tuple[int, ...] | None = None,
) -> tuple[str, _Shape]:
    kernel = 3
    stride = stride or c.integer(1, 2)
    pads = pads or c.one_of(((0, 0, 0, 0), (1, 1, 1, 1), (0, 0, 1, 1), (1, 2, 1, 0)))
    inputs = [x, b.weights(outputs, shape[0], kernel, kernel)]
    inputs += [b.vector(outputs)] if flip(c) else []
    y = b.node("Conv", *inputs, strides=(stride, stride), pads=pads)
    sizes = [(size + pads[axis] + pads[axis + 2] - kernel) // stride + 1 for axis, size in enumerate(shape[1:])]
    return _activated(b, c, y), (outputs, sizes[0], sizes[1])


def _activated(b: OnnxBuilder, c: Choices, x: str, *, optional: bool = True) -> str:
    kind = c.one_of(("Relu", "Clip", "LeakyRelu", "HardSwish", "Sigmoid", "Tanh", *(("", "") if optional else ())))
    if not kind:
        return x
    if kind == "Clip":
        limits = (b.constant(np.array(0, np.float32)), b.constant(np.array(c.one_of((6.0, 2.0)), np.float32)))
        return str(b.node("Clip", x, *limits))
    return str(b.node(kind, x))


def _head(b: OnnxBuilder, c: Choices, x: str, shape: _Shape) -> str:
    kind = c.one_of(("flatten", "mean", "reshape", "image"))
    if kind == "image":
        return str(b.node("Conv", x, b.weights(2, shape[0], 1, 1)))
    features = shape[0] if kind == "mean" else int(np.prod(shape))
    if kind == "mean":
        x = b.node("Flatten", b.node("GlobalAveragePool", x))
    elif kind == "flatten":
        x = b.node("Flatten", x)
    else:
        x = b.node("Reshape", x, b.constant(np.array([1, -1], np.int64)))
    y = b.node("Gemm", x, b.weights(5, features), b.vector(5), transB=1)
    return str(b.node("Softmax", y, axis=-1)) if flip(c) else str(y)


def sequence_network(c: Choices) -> OnnxCase:
    """A network over `[1, C, W]`: convolutions of one axis, pools, then products with matrices."""
    seed = c.integer(0, 1 << 30)
    b = OnnxBuilder(seed)
    channels, width = c.integer(1, 4), c.integer(8, 20)
    x = b.input([1, channels, width])
    inputs = np.random.default_rng(seed + 1).normal(size=(1, channels, width)).astype(np.float32)
    for _ in range(c.integer(1, 3)):
        outputs = c.integer(1, 5)
        x = b.node("Conv", x, b.weights(outputs, channels, 3), b.vector(outputs), pads=(1, 1))
        x, channels = _activated(b, c, x), outputs
    if flip(c):
        x, width = b.node("MaxPool", x, kernel_shape=(2,), strides=(2,)), width // 2
    kind = c.one_of(("transpose", "flatten", "mean"))
    if kind == "transpose":
        x = b.node("Transpose", x, perm=(0, 2, 1))
        x = b.node("Add", b.node("MatMul", x, b.weights(channels, 4)), b.vector(4))
        return OnnxCase(b.model(str(b.node("Softmax", x, axis=-1))), {"x": inputs})
    features = channels if kind == "mean" else channels * width
    x = b.node("Flatten", b.node("GlobalAveragePool", x) if kind == "mean" else x)
    return OnnxCase(b.model(str(b.node("Gemm", x, b.weights(features, 3)))), {"x": inputs})


def attention_network(c: Choices) -> OnnxCase:
    """A block of a transformer: normalization, attention, and two layers around a Gelu."""
    seed = c.integer(0, 1 << 30)
    b = OnnxBuilder(seed)
    tokens, heads, depth = c.integer(3, 6), c.one_of((1, 2)), c.integer(2, 4)
    width = heads * depth
    x = b.input([1, tokens, width])
    inputs = np.random.default_rng(seed + 1).normal(size=(1, tokens, width)).astype(np.float32)
    normal = b.node("LayerNormalization", x, b.vector(width, 0.5, 1.5), b.vector(width), axis=-1)
    parts = []
    for perm in ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)):
        y = b.node("Add", b.node("MatMul", normal, b.weights(width, width)), b.vector(width))
        y = b.node("Reshape", y, b.constant(np.array([1, tokens, heads, depth], np.int64)))
        parts.append(b.node("Transpose", y, perm=perm))
    scores = b.node("Mul", b.node("MatMul", parts[0], parts[1]), b.constant(np.array(depth**-0.5, np.float32)))
    mixed = b.node("MatMul", b.node("Softmax", scores, axis=-1), parts[2])
    flat = b.node(
        "Reshape", b.node("Transpose", mixed, perm=(0, 2, 1, 3)), b.constant(np.array([1, tokens, width], np.int64))
    )
    x = b.node("Add", x, b.node("MatMul", flat, b.weights(width, width)))
    y = b.node("Gelu", b.node("MatMul", x, b.weights(width, 2 * width)), approximate=c.one_of(("none", "tanh")))
    return OnnxCase(b.model(str(b.node("Add", x, b.node("MatMul", y, b.weights(2 * width, width))))), {"x": inputs})


@dataclass(frozen=True, slots=True)
class Scheme:
    """How a float network is quantized.

    Attributes:
        activations: NumPy's type of activations.
        weights: NumPy's type of weights.
        per_channel: true if each output channel of weights has a scale.
    """

    activations: Any = np.int8
    weights: Any = np.int8
    per_channel: bool = True


SCHEMES = (
    Scheme(),
    Scheme(per_channel=False),
    Scheme(np.uint8, np.int8),
    Scheme(np.uint8, np.uint8, per_channel=False),
    Scheme(np.int16),
)
_LAYERS = {"Conv": 0, "ConvTranspose": 1, "Gemm": 0, "MatMul": 1}


def quantized(case: OnnxCase, scheme: Scheme) -> OnnxCase:
    """The network with QuantizeLinear and DequantizeLinear around each value, by the ranges that the case's inputs give."""
    graph = case.model.graph
    arrays = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    names = [name for node in graph.node for name in node.output]
    watched = helper.make_model(
        helper.make_graph(
            graph.node, "watched", graph.input, [onnx.ValueInfoProto(name=name) for name in names], graph.initializer
        ),
        opset_imports=case.model.opset_import,
    )
    found = dict(zip(names, ReferenceEvaluator(watched).run(None, dict(case.inputs)), strict=True)) | dict(case.inputs)
    b = OnnxBuilder(prefix="stored")
    b.inputs = list(graph.input)
    # The limits of a Clip and the scales of a Resize are no values that anybody quantizes.
    told = {name for node in graph.node if node.op_type in ("Clip", "Resize") for name in node.input[1:]}
    b.constants = {name: array for name, array in arrays.items() if array.dtype != np.float32 or name in told}
    real: dict[str, str] = {}
    for name in case.inputs:
        real[name] = _pair(b, name, _range(found[name], scheme))
    for node in graph.node:
        inputs = [_operand(b, node, place, arrays, real, scheme) for place in range(len(node.input))]
        clone = helper.make_node(node.op_type, inputs, list(node.output), name=node.name)
        clone.attribute.extend(node.attribute)
        b.nodes.append(clone)
        output = node.output[0]
        followers = [each for each in graph.node if output in each.input]
        is_fused = (
            len(followers) == 1 and followers[0].op_type in ("Relu", "Clip") and node.op_type in (*_LAYERS, "Add")
        )
        real[output] = output if is_fused else _pair(b, output, _range(found[output], scheme))
    return OnnxCase(b.model(real[graph.output[0].name]), case.inputs)


def _range(array: Array, scheme: Scheme) -> tuple[np.float32, Any]:
    """The scale and zero point that cover what a value was, and 0."""
    limits = np.iinfo(scheme.activations)
    low, high = min(float(array.min()), 0.0), max(float(array.max()), 0.0)
    if scheme.activations is np.int16:
        return np.float32(max(-low, high, 1e-3) / limits.max), np.int16(0)
    scale = max(high - low, 1e-3) / (limits.max - limits.min)
    return np.float32(scale), scheme.activations(np.clip(np.rint(limits.min - low / scale), limits.min, limits.max))


def _pair(b: OnnxBuilder, name: str, meaning: tuple[np.float32, Any]) -> str:
    parts = [b.constant(np.array(each)) for each in meaning]
    return str(b.node("DequantizeLinear", b.node("QuantizeLinear", name, *parts), *parts))


def _operand(
    b: OnnxBuilder, node: Any, place: int, arrays: Mapping[str, Array], real: Mapping[str, str], scheme: Scheme
) -> str:
    name = str(node.input[place])
    if not name:
        return ""
    if name not in arrays:
        return real[name]
    if name in b.constants:
        return name
    data = arrays[name]
    axis = _LAYERS.get(node.op_type, 0)
    if node.op_type == "Gemm" and not any(each.name == "transB" for each in node.attribute):
        axis = 1
    if place != 1 or node.op_type not in _LAYERS:
        return b.constant(data)  # biases and the parameters of normalizations stay real numbers
    others = tuple(each for each in range(data.ndim) if each != axis) if scheme.per_channel else None
    most = np.maximum(np.abs(data).max(axis=others), 1e-3)
    scales = (most / 127).astype(np.float32)
    along = scales.reshape([-1 if each == axis else 1 for each in range(data.ndim)]) if scheme.per_channel else scales
    zero = 128 if scheme.weights is np.uint8 else 0
    stored = b.constant(np.clip(np.rint(data / along) + zero, zero - 128, zero + 127).astype(scheme.weights))
    zeros = b.constant(np.full(scales.shape, zero, scheme.weights))
    return str(b.node("DequantizeLinear", stored, b.constant(scales), zeros, axis=axis))
