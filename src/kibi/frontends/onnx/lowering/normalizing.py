"""Softmax and its kin, and normalizations."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.onnx.draft import Tensor
from kibi.frontends.onnx.emitter import Emitter, Stored, channels_last, plain_order
from kibi.frontends.onnx.graph import Node, Numbers
from kibi.frontends.onnx.lowering.entry import Lowering
from kibi.frontends.onnx.lowering.moving import normal
from kibi.frontends.onnx.lowering.reducing import over
from kibi.frontends.onnx.problems import Unsupported
from kibi.frontends.onnx.real import Real
from kibi.frontends.onnx.targets import INTEGERS, are_integers, give_scaled, target, with_scale
from kibi.frontends.onnx.weights import real_constant

_MOST_AXES = 4


def _axis_last(e: Emitter, node: Node, default: int) -> Stored:
    """The input with the axis of the node at the end."""
    stored = e.unscrambled(e.stored(node.inputs[0]))
    axis = normal(node.integer("axis", default), len(stored.order))
    if stored.order[-1] == axis:
        return stored
    order = (*(each for each in range(len(stored.order)) if each != axis), axis)
    return Stored(e.reordered(stored, order), order)


def _flat(e: Emitter, x: Tensor) -> Tensor:
    """A tensor of few enough axes for a kernel that works along the last one."""
    return e.reshaped(x, (math.prod(x.shape[:-1]), x.shape[-1])) if len(x.shape) > _MOST_AXES or not x.shape else x


def _softmax(operator: str, scale: float, zero_point: int, types: Sequence[DType]) -> Callable[[Emitter, Node], None]:
    def convert(e: Emitter, node: Node) -> None:
        stored = _axis_last(e, node, -1)
        x, goal = stored.tensor, target(e, node.outputs[0])
        options: dict[str, float] = {"beta": 1.0} if operator == "SOFTMAX" else {}
        if goal is not None and are_integers([x], goal, types):
            own = with_scale(goal, scale, zero_point) if goal.dtype is DType.S8 else with_scale(goal, 2.0**-15, 0)
            flat = _flat(e, x)
            result = e.reshaped(e.add(operator, [flat], flat.shape, goal.dtype, own, **options), x.shape)
            give_scaled(e, node, result, stored.order, goal)
            return
        x = e.dequantized(x)
        if x.dtype is not DType.F32:
            raise Unsupported(f"elements of {x.dtype} are not supported", "Use float32")
        e.give(node.outputs[0], e.reshaped(e.like(operator, [_flat(e, x)], **options), x.shape), stored.order)

    return convert


def _hardmax(e: Emitter, node: Node) -> None:
    stored = _axis_last(e, node, -1)
    x = e.dequantized(stored.tensor)
    count = x.shape[-1]
    place = e.constant(np.array(len(x.shape) - 1, np.int32))
    found = e.add("ARG_MAX", [x, place], x.shape[:-1], DType.S32, output_type="INT32")
    each = [e.reshaped(found, (*x.shape[:-1], 1)), e.numbers(range(count))]
    same = e.add("EQUAL", each, x.shape, DType.BOOL)
    e.give(node.outputs[0], e.add("CAST", [same], x.shape, DType.F32), stored.order)


def _vector(e: Emitter, name: str, rank: int, order: tuple[int, ...]) -> Numbers:
    """A constant `[C]` of real numbers, along axis 1 of values whose axes are in an order."""
    data = real_constant(e, name)
    if data is None:
        raise Unsupported("its parameters are computed by the model", "Use constant parameters")
    shape = [1] * rank
    shape[order.index(1)] = data.size
    return data.reshape(shape)


def _batch_norm(e: Emitter, node: Node) -> None:
    if node.integer("training_mode", 0) or any(node.outputs[1:]):
        raise Unsupported("it learns, as in training", "Export the model for inference")
    stored = e.unscrambled(e.stored(node.inputs[0]))
    rank = len(stored.order)
    if stored.order == plain_order(rank) and rank in (3, 4) and stored.tensor.data is None:
        order = channels_last(rank) if e.is_spatial(node.inputs[0]) else stored.order
        stored = Stored(e.reordered(stored, order), order)
    scale, shift, mean, variance = (
        _vector(e, name, rank, stored.order).astype(np.float64) for name in node.inputs[1:5]
    )
    factor = scale / np.sqrt(variance + node.real("epsilon", 1e-5))
    x = Real(e, e.dequantized(stored.tensor))
    result = x * x.constant(factor) + x.constant(shift - mean * factor)
    e.give(node.outputs[0], result.tensor, stored.order)


def _centered(x: Real, places: Sequence[int]) -> tuple[Real, Real]:
    """The input less its mean over axes, and the variance."""
    mean = Real(x.e, over(x.e, "MEAN", x.tensor, places))
    centered = x - mean
    return centered, Real(x.e, over(x.e, "MEAN", (centered * centered).tensor, places))


def _parameter(e: Emitter, name: str, order: tuple[int, ...]) -> Real:
    return Real(e, e.dequantized(e.aligned(name, order)))


def _instance_norm(e: Emitter, node: Node) -> None:
    rank = len(e.shape(node.inputs[0]))
    order = channels_last(rank)
    x = Real(e, e.dequantized(e.tensor(node.inputs[0], order)))
    centered, variance = _centered(x, range(1, rank - 1))
    scaled = centered * (variance + node.real("epsilon", 1e-5)).rsqrt()
    scale, shift = (x.constant(_vector(e, name, rank, order)) for name in node.inputs[1:3])
    e.give(node.outputs[0], (scaled * scale + shift).tensor, order)


def _layer_norm(e: Emitter, node: Node) -> None:
    x = Real(e, e.real(node.inputs[0]))
    rank = len(x.tensor.shape)
    places = range(normal(node.integer("axis", -1), rank), rank)
    mean = Real(e, over(e, "MEAN", x.tensor, places))
    centered, variance = _centered(x, places)
    factor = (variance + node.real("epsilon", 1e-5)).rsqrt()
    result = centered * factor * _parameter(e, node.inputs[1], plain_order(rank))
    if node.input(2):
        result = result + _parameter(e, node.inputs[2], plain_order(rank))
    for name, value in zip(node.outputs, (result, mean, factor), strict=False):
        if name:
            e.give(name, value.tensor)


def _rms_norm(e: Emitter, node: Node) -> None:
    x = Real(e, e.real(node.inputs[0]))
    rank = len(x.tensor.shape)
    places = range(normal(node.integer("axis", -1), rank), rank)
    square = Real(e, over(e, "MEAN", (x * x).tensor, places))
    result = x * (square + node.real("epsilon", 1e-5)).rsqrt() * _parameter(e, node.inputs[1], plain_order(rank))
    e.give(node.outputs[0], result.tensor)


def _group_norm(e: Emitter, node: Node) -> None:
    shape = e.shape(node.inputs[0])
    groups = node.integer("num_groups", 1)
    x = e.real(node.inputs[0])
    flat = Real(e, e.reshaped(x, (shape[0], groups, math.prod(shape[1:]) // groups)))
    centered, variance = _centered(flat, (2,))
    scaled = Real(e, e.reshaped((centered * (variance + node.real("epsilon", 1e-5)).rsqrt()).tensor, shape))
    vectors = [_vector(e, name, len(shape), plain_order(len(shape))) for name in node.inputs[1:3]]
    if vectors[0].size != shape[1]:  # of opset 18: one for each group
        vectors = [np.repeat(each, shape[1] // groups, axis=1) for each in vectors]
    scale, shift = (flat.constant(each) for each in vectors)
    e.give(node.outputs[0], (scaled * scale + shift).tensor)


def _lp_norm(e: Emitter, node: Node) -> None:
    stored = e.unscrambled(e.stored(node.inputs[0]))
    x = Real(e, e.dequantized(stored.tensor))
    place = stored.order.index(normal(node.integer("axis", -1), len(stored.order)))
    if node.integer("p", 2) == 1:
        length = Real(e, over(e, "SUM", abs(x).tensor, [place]))
    else:
        length = Real(e, over(e, "SUM", (x * x).tensor, [place])).sqrt()
    e.give(node.outputs[0], (x / length.larger(float(np.finfo(np.float32).tiny))).tensor, stored.order)


def _mean_variance(e: Emitter, node: Node) -> None:
    stored = e.unscrambled(e.stored(node.inputs[0]))
    places = [stored.order.index(axis) for axis in node.integers("axes", (0, 2, 3))]
    centered, variance = _centered(Real(e, e.dequantized(stored.tensor)), places)
    e.give(node.outputs[0], (centered / (variance.sqrt() + 1e-9)).tensor, stored.order)


def _local_response(e: Emitter, node: Node) -> None:
    rank = len(e.shape(node.inputs[0]))
    order = channels_last(rank)
    x = Real(e, e.dequantized(e.tensor(node.inputs[0], order)))
    size, channels = node.integer("size", 1), x.tensor.shape[-1]
    # The window goes along the channels: they are the width of an image with one channel.
    flat = e.reshaped((x * x).tensor, (1, math.prod(x.tensor.shape[:-1]), channels, 1))
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    pairs = e.constant(np.array([(0, 0), (0, 0), (before, after), (0, 0)], np.int32))
    shape = (1, flat.shape[1], channels + size - 1, 1)
    wide = e.add("PAD", [flat, pairs], shape, DType.F32) if size > 1 else flat
    options: dict[str, Any] = {
        "padding": "VALID",
        "stride_h": 1,
        "stride_w": 1,
        "filter_height": 1,
        "filter_width": size,
    }
    mean = e.add("AVERAGE_POOL_2D", [wide], flat.shape, DType.F32, **options)
    base = Real(e, e.reshaped(mean, x.tensor.shape)) * node.real("alpha", 1e-4) + node.real("bias", 1.0)
    e.give(node.outputs[0], (x * (base.log() * -node.real("beta", 0.75)).exp()).tensor, order)


_PARAMETERS = "Its parameters are constants."
NORMALIZING: Mapping[str, Lowering] = {
    "BatchNormalization": Lowering(
        _batch_norm, ("MUL", "ADD"), False, "Its parameters are constants; not in training mode."
    ),
    "GroupNormalization": Lowering(_group_norm, ("MEAN", "SUB", "MUL", "ADD", "RSQRT"), False, _PARAMETERS),
    "Hardmax": Lowering(_hardmax, ("ARG_MAX", "EQUAL", "CAST")),
    "InstanceNormalization": Lowering(_instance_norm, ("MEAN", "SUB", "MUL", "ADD", "RSQRT"), False, _PARAMETERS),
    "LRN": Lowering(_local_response, ("MUL", "PAD", "AVERAGE_POOL_2D", "ADD", "LOG", "EXP")),
    "LayerNormalization": Lowering(_layer_norm, ("MEAN", "SUB", "MUL", "ADD", "RSQRT")),
    "LogSoftmax": Lowering(
        _softmax("LOG_SOFTMAX", 1 / 16, 127, (DType.S8,)), ("LOG_SOFTMAX", "TRANSPOSE", "QUANTIZE"), True
    ),
    "LpNormalization": Lowering(_lp_norm, ("MUL", "ABS", "SUM", "SQRT", "MAXIMUM", "DIV")),
    "MeanVarianceNormalization": Lowering(_mean_variance, ("MEAN", "SUB", "MUL", "SQRT", "ADD", "DIV")),
    "RMSNormalization": Lowering(_rms_norm, ("MUL", "MEAN", "ADD", "RSQRT")),
    "Softmax": Lowering(_softmax("SOFTMAX", 1 / 256, -128, INTEGERS), ("SOFTMAX", "TRANSPOSE", "QUANTIZE"), True),
}
"""By ONNX's name of the operator."""
