"""Scales of results: where only QuantizeLinear takes what an operator makes, the operator can make the integers itself."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.onnx.draft import Quantization, Tensor
from kibi.frontends.onnx.emitter import Emitter
from kibi.frontends.onnx.graph import Node
from kibi.frontends.onnx.problems import Unsupported
from kibi.frontends.onnx.scales import has_full_range, quantization

INTEGERS = (DType.S8, DType.S16)
# What comes after these has the scale of their first input: they choose or move elements.
_PASSING = frozenset(
    ("Clip", "DepthToSpace", "Flatten", "Identity", "MaxPool", "Relu", "Reshape", "Slice", "SpaceToDepth", "Squeeze", "Transpose",
     "Unsqueeze")
)  # fmt: skip
_MOST_STEPS = 64


def meant(e: Emitter, node: Node, kind: str) -> Quantization:
    """The scale of a QuantizeLinear or DequantizeLinear.

    Args:
        e: the emitter.
        node: the node.
        kind: ONNX's type of the integers.

    Raises:
        Unsupported: it is computed, or has no form in a `.tflite` file.
    """
    scale, zero_point = e.graph.data(node.inputs[1]), e.graph.data(node.input(2))
    if scale is None or (node.input(2) and zero_point is None):
        raise Unsupported(
            "its scale or zero point is computed by the model", "Quantize with fixed scales (static quantization)"
        )
    rank = len(e.shape(node.inputs[0]))
    axis = node.integer("axis", 1)
    return quantization(kind, scale, zero_point, axis + rank if axis < 0 else axis)


def target(e: Emitter, name: str) -> Quantization | None:
    """The scale in which the integers of a value are wanted; None if it is wanted as real numbers."""
    found: set[Quantization] = set()
    waiting = [name]
    for _ in range(_MOST_STEPS):
        if not waiting:
            break
        current = waiting.pop()
        if current in e.graph.outputs or not e.consumers.get(current):
            return None
        for node in e.consumers[current]:
            if node.op in _PASSING and not node.domain and node.inputs[0] == current:
                waiting += [each for each in node.outputs[:1] if each]
                continue
            wanted = _of_quantizer(e, node)
            if wanted is None:
                return None
            found.add(wanted)
    return found.pop() if len(found) == 1 and not waiting else None


def _of_quantizer(e: Emitter, node: Node) -> Quantization | None:
    if node.op != "QuantizeLinear" or node.domain:
        return None
    kind = e.graph.values[node.outputs[0]].kind
    try:
        wanted = meant(e, node, kind)
    except Unsupported:
        return None  # the node itself is reported
    is_usable = wanted.dtype in INTEGERS and not wanted.is_per_channel and has_full_range(kind)
    is_symmetric = wanted.dtype is not DType.S16 or wanted.zero_point == 0
    return wanted if is_usable and is_symmetric else None


def are_integers(tensors: Sequence[Tensor], goal: Quantization | None, types: Sequence[DType] = INTEGERS) -> bool:
    """True if an operator can compute with integers: all inputs and the output have one scale each, and one type."""
    if goal is None or goal.dtype not in types:
        return False
    return all(
        tensor.quantization is not None
        and not tensor.quantization.is_per_channel
        and tensor.dtype is goal.dtype
        and (tensor.dtype is not DType.S16 or tensor.quantization.zero_point == 0)
        for tensor in tensors
    )


def requantized(e: Emitter, tensor: Tensor, goal: Quantization) -> Tensor:
    """A tensor in another scale; of a constant, the nearest integers."""
    if tensor.quantization == goal:
        return tensor
    if tensor.data is not None:
        return quantized_constant(e, np.asarray(e.dequantized(tensor).data), goal)
    return e.add("QUANTIZE", [tensor], tensor.shape, goal.dtype, goal)


def quantized_constant(
    e: Emitter, data: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]", goal: Quantization
) -> Tensor:
    """A constant whose integers are the nearest to real numbers."""
    low, high = goal.dtype.limits
    integers = np.rint(data.astype(np.float64) / goal.scale) + goal.zero_point
    return e.constant(np.clip(integers, low, high).astype(goal.dtype.numpy), goal)


def with_scale(meant_by: Quantization, scale: float, zero_point: int) -> Quantization:
    """A quantization of the same type."""
    return replace(meant_by, scales=(float(np.float32(scale)),), zero_points=(zero_point,), axis=0)


def give_scaled(e: Emitter, node: Node, tensor: Tensor, order: tuple[int, ...], goal: Quantization) -> None:
    """Says which tensor a result is that has a scale that the operator dictates; it is brought into the wanted one."""
    e.give(node.outputs[0], requantized(e, tensor, goal), order)
