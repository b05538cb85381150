"""Operators with weights and a bias: whether they compute with integers, and in which form their constants are."""

from dataclasses import dataclass, replace

import numpy as np

from kibi.dtypes import Array, DType
from kibi.frontends.onnx.draft import Quantization, Tensor
from kibi.frontends.onnx.emitter import Emitter
from kibi.frontends.onnx.graph import Node, Numbers
from kibi.frontends.onnx.targets import are_integers, target

_MOST_BIAS = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Layer:
    """The operands of an operator with weights.

    Attributes:
        input: as it is stored.
        filter: a constant; its channels' scales are along the axis that the operator asks for.
        bias: a constant `[O]`; None: the operator has no bias.
        dtype: of the output.
        quantization: of the output.
    """

    input: Tensor
    filter: Tensor
    bias: Tensor | None
    dtype: DType
    quantization: Quantization | None


def layer(e: Emitter, node: Node, source: Tensor, weights: Tensor, bias: Array | None, axis: int = 0) -> Layer:
    """The operands as integers where all that belongs to it has scales that fit; else as f32.

    Args:
        e: the emitter.
        node: the node; its first output is the layer's.
        source: the input.
        weights: a constant in the operator's layout.
        bias: the real numbers `[O]`; None: the node has no bias.
        axis: of the weights' output channels.
    """
    goal = target(e, node.outputs[0])
    has_scales = source.quantization is not None and weights.quantization is not None
    reason = "" if not has_scales else "no QuantizeLinear gives its output a scale"
    if goal is not None and has_scales:
        found = _integers(e, source, _symmetric(e, node, weights, axis), bias, goal)
        if isinstance(found, Layer):
            return found
        reason = found
    if reason:
        e.note(f"computed as float32, because {reason}", node)
    elif weights.quantization is not None:
        e.note("computed as float32 with weights of float32, because its input has no scale", node)
    tensor = None if bias is None else e.constant(bias.astype(np.float32))
    return Layer(e.dequantized(source), e.dequantized(weights), tensor, DType.F32, None)


def _integers(
    e: Emitter, source: Tensor, symmetric: Tensor | None, bias: Array | None, goal: Quantization
) -> Layer | str:
    """The operands as integers, or why they cannot be."""
    if not are_integers([source], goal):
        return "input and output have no integers of one type with one scale"
    if symmetric is None:
        return "its weights are no integers of 8 bits"
    assert source.quantization is not None  # noqa: S101 (the caller has looked; said for the type checker)
    assert symmetric.quantization is not None  # noqa: S101 (as above)
    if bias is None:
        return Layer(source, symmetric, None, goal.dtype, goal)
    scales = np.float32(source.quantization.scale) * np.asarray(symmetric.quantization.scales, np.float32)
    sums = np.rint(bias.astype(np.float64) / np.maximum(scales.astype(np.float64), np.finfo(np.float64).tiny))
    if np.abs(sums).max(initial=0) > _MOST_BIAS:
        return "its bias in the scale of its sums takes more than 32 bits"
    kind = DType.S64 if goal.dtype is DType.S16 else DType.S32
    meant = Quantization(tuple(float(each) for each in scales), (0,) * len(scales), dtype=kind)
    return Layer(source, symmetric, e.constant(sums.astype(kind.numpy), meant), goal.dtype, goal)


def _symmetric(e: Emitter, node: Node, weights: Tensor, channels: int) -> Tensor | None:
    """Weights of which all zero points are 0; None if they are not of 8 bits.

    They mean the same where the differences have 8 bits. Other channels get a larger scale of their own, and are rounded.
    """
    meant = weights.quantization
    if meant is None or weights.data is None or meant.dtype is not DType.S8:
        return None
    if not any(meant.zero_points):
        return weights
    axis = meant.axis if meant.is_per_channel else channels
    along = [1] * weights.data.ndim
    along[axis] = -1
    others = tuple(each for each in range(weights.data.ndim) if each != axis)
    zeros = np.asarray(meant.zero_points).reshape(along if meant.is_per_channel else (1,) * weights.data.ndim)
    moved = weights.data.astype(np.int64) - zeros
    low, high = DType.S8.limits
    factors = np.maximum(np.maximum(moved.max(axis=others) / high, moved.min(axis=others) / low), 1.0)
    if (factors == 1).all():
        return e.constant(moved.astype(np.int8), replace(meant, zero_points=(0,) * len(meant.scales)))
    e.note("computed with weights that are rounded, because less their zero point some take more than 8 bits", node)
    scales = np.asarray(meant.scales, np.float32) * factors.astype(np.float32)
    rounded = np.clip(np.rint(moved / factors.reshape(along)), low, high).astype(np.int8)
    count = len(factors)
    numbers = tuple(float(each) for each in np.broadcast_to(scales, (count,)))
    wider = Quantization(numbers, (0,) * count, axis, dtype=DType.S8)
    return e.constant(rounded, replace(wider, axis=axis if count > 1 else 0))


def real_constant(e: Emitter, name: str) -> Numbers | None:
    """The real numbers of a constant, also of one that is dequantized; None if the value is computed."""
    tensor = e.dequantized(e.tensor(name)) if e.graph.values[name].is_constant else None
    return None if tensor is None else tensor.data
