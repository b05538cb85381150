"""LEAKY_RELU."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import NodeView
from kibi.kernels.params import Params
from kibi.kernels.params.unary import LeakyReluF32Params, LeakyReluS16Params
from kibi.ops import checks
from kibi.ops.elementwise.table import ALL_S8
from kibi.ops.elementwise.unary import Numbers, Unary
from kibi.ops.registry import register
from kibi.quant import Multiplier, requantize, wrap_s32


@dataclass(frozen=True, slots=True)
class LeakyRelu(Unary):
    """x where it is above 0, else x * alpha: input s8, s16 or f32 → output of that type.

    Each side of 0 has a factor of its own. Source: TFLM `micro/kernels/leaky_relu_common.cc` and
    `kernels/internal/reference/leaky_relu.h`.

    Attributes:
        alpha: the slope below 0, a float32.
    """

    name: ClassVar[str] = "LEAKY_RELU"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_table_s8", "kibi_leaky_relu_s16", "kibi_leaky_relu_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)

    alpha: float = 0.0

    def table(self, view: NodeView) -> NDArray[np.int8]:
        """Each side of the zero point with its factor, by rule N4; a negative slope changes the sign at the end."""
        return np.asarray(self._quantized(view)(ALL_S8)).astype(np.int8)

    def params(self, view: NodeView) -> Params:
        """The size of a row, and the slope of f32 or the factors of s16."""
        elements = view.output.type.row_elements
        if view.output.type.dtype is DType.F32:
            return LeakyReluF32Params(elements=elements, alpha=self.alpha)
        for operand in ("input", "output"):
            checks.per_tensor(view, operand)
        identity, slope = self._factors(view)
        return LeakyReluS16Params(
            elements=elements,
            zero_point=view["input"].quantization.zero_point,
            output_zero_point=view.output.quantization.zero_point,
            multiplier=identity.value,
            shift=identity.shift,
            alpha_multiplier=slope.value,
            alpha_shift=slope.shift,
            alpha_sign=-1 if self.alpha < 0 else 1,
        )

    def wide(self, view: NodeView) -> Callable[[Numbers], Numbers]:
        """Computes f32 as a product; integers as the table."""
        if view.output.type.dtype is DType.F32:
            return lambda values: np.where(values > 0, values, values * np.float32(self.alpha))
        return self._quantized(view)

    def _quantized(self, view: NodeView) -> Callable[[Numbers], Numbers]:
        """The rule of s8 and s16, on s64."""
        source, output = view["input"].quantization, view.output.quantization
        identity, slope = self._factors(view)
        low, high = view.output.type.dtype.limits
        sign = -1 if self.alpha < 0 else 1

        def function(values: Numbers) -> Numbers:
            centred = values.astype(np.int64) - source.zero_point
            below = sign * requantize(centred, slope.value, slope.shift)
            scaled = np.where(centred >= 0, requantize(centred, identity.value, identity.shift), below)
            return np.clip(wrap_s32(scaled + output.zero_point), low, high)

        return function

    def _factors(self, view: NodeView) -> tuple[Multiplier, Multiplier]:
        """Returns the factor of what is above 0, and the magnitude of that below, in double precision.

        TFLM's published source has float32 quotients; its Python build shows doubles, which all 65,536 values of s16 tell apart.
        """
        source, output = view["input"].quantization.scale, view.output.quantization.scale
        slope = abs(source * float(np.float32(self.alpha)) / output)
        return checks.factor(source / output), checks.factor(slope)


register(LeakyRelu)
