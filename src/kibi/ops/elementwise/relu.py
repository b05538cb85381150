"""RELU and RELU6."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import NodeView
from kibi.kernels.params import Params
from kibi.kernels.params.unary import Relu6S16Params, ScaleParams
from kibi.ops import checks
from kibi.ops.attributes import Activation
from kibi.ops.elementwise.table import ALL_S8
from kibi.ops.elementwise.unary import Numbers, Unary, elements_params
from kibi.ops.registry import register
from kibi.quant import Multiplier, requantize, wrap_s32


@dataclass(frozen=True, slots=True)
class Relu(Unary):
    """max(x, 0), requantized where it is quantized: input s8, s16 or f32 → output of that type.

    Zero points of s16 are 0. Source: TFLM `micro/kernels/activations.h`,
    `ReluQuantized`, and `activations_common.cc`.
    """

    name: ClassVar[str] = "RELU"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_table_s8", "kibi_relu_s16", "kibi_relu_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)

    def table(self, view: NodeView) -> NDArray[np.int8]:
        """Rule N12."""
        source, output = view["input"].quantization, view.output.quantization
        factor = _factor(view)
        scaled = wrap_s32(requantize(ALL_S8 - source.zero_point, factor.value, factor.shift) + output.zero_point)
        return np.minimum(np.maximum(scaled, output.zero_point), 127).astype(np.int8)

    def params(self, view: NodeView) -> Params:
        """The size of a row, and the factor of s16."""
        if view.output.type.dtype is DType.F32:
            return elements_params(view)
        for operand in ("input", "output"):
            checks.symmetric(view, operand)
        factor = _factor(view)
        return ScaleParams(elements=view.output.type.row_elements, multiplier=factor.value, shift=factor.shift)

    def wide(self, view: NodeView) -> Callable[[Numbers], Numbers]:
        """Computes f32 as the maximum, which leaves -0 and NaN as they are; integers as the table."""
        if view.output.type.dtype is DType.F32:
            return lambda values: np.where(values < 0, np.float32(0), values)
        factor = _factor(view)
        return lambda values: np.clip(requantize(values, factor.value, factor.shift), 0, (1 << 15) - 1)


def _factor(view: NodeView) -> Multiplier:
    return checks.factor(view["input"].quantization.scale / view.output.quantization.scale)


register(Relu)


@dataclass(frozen=True, slots=True)
class Relu6(Unary):
    """min(max(x, 0), 6): input s8, s16 or f32 → output of that type.

    Only the input's scale counts: nothing is rescaled. Source: TFLM `micro/kernels/activations_common.cc`, `Relu6Prepare`.
    """

    name: ClassVar[str] = "RELU6"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_table_s8", "kibi_relu6_s16", "kibi_relu6_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)

    def table(self, view: NodeView) -> NDArray[np.int8]:
        """Rule N13: clamp to the input's zero point and its 6."""
        return _clamped(ALL_S8, *_limits(view)).astype(np.int8)

    def params(self, view: NodeView) -> Params:
        """The size of a row, and the bounds of s16."""
        if view.output.type.dtype is DType.F32:
            return elements_params(view)
        checks.per_tensor(view, "input")
        zero_point, six = _limits(view)
        return Relu6S16Params(elements=view.output.type.row_elements, zero_point=zero_point, six=six)

    def wide(self, view: NodeView) -> Callable[[Numbers], Numbers]:
        """Computes f32 as the clamp, which leaves -0 and NaN as they are; integers as the table."""
        if view.output.type.dtype is DType.F32:
            return lambda values: _clamped(values, 0.0, 6.0)
        limits = _limits(view)
        return lambda values: _clamped(values, *limits)


def _limits(view: NodeView) -> tuple[int, int]:
    """The input's zero point and its 6, cut to the type."""
    source = view["input"].quantization
    return source.zero_point, Activation.RELU6.limits(view["input"].type.dtype, source)[1]


def _clamped(values: Numbers, low: float, high: float) -> Numbers:
    return np.where(values > high, high, np.where(values < low, low, values))


register(Relu6)
