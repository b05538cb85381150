"""SignalFilterBankLog."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Rows
from kibi.kernels.params.signal import FilterBankLogParams
from kibi.ops.registry import register
from kibi.ops.signal.checks import Vectors, vector, within

_FRACTION_BITS = 16
_SEGMENT_BITS = 7
_LN_2 = 45426
"""The natural logarithm of 2, of which the fraction has 16 bits."""


@dataclass(frozen=True, slots=True)
class SignalFilterBankLog(Vectors):
    """Natural logarithms: input [C] u32 → output [C] s16, `output_scale` times the logarithm of the shifted input.

    Rule N45. Source: TFLM `signal/micro/kernels/filter_bank_log.cc`, `signal/src/log.cc`.
    """

    name: ClassVar[str] = "SignalFilterBankLog"
    inputs: ClassVar[tuple[str, ...]] = ("input",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_signal_filter_bank_log_u32",)
    types: ClassVar[tuple[DType, ...]] = (DType.U32,)

    input_correction_bits: int = 0
    output_scale: int = 1

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape, type s16."""
        within("input_correction_bits", self.input_correction_bits, 0, 31)
        return (vector(view, "input", DType.U32),), DType.S16

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Rule N45."""
        del view

        return lambda rows: self.logarithms(np.asarray(rows[0][0]))

    def logarithms(self, values: Array) -> Array:
        """Rule N45, of numbers of u32."""
        data = values.astype(np.int64) << self.input_correction_bits & 0xFFFFFFFF
        return np.where(data > 1, np.minimum(self._scaled(np.maximum(data, 1)), (1 << 15) - 1), 0).astype(np.int16)

    def kernel_call(self, view: NodeView) -> KernelCall:
        """A number is read right before its logarithm is written."""
        params = FilterBankLogParams(
            elements=view["input"].type.elements,
            correction_bits=self.input_correction_bits,
            output_scale=self.output_scale,
            curve=curve(),
        )
        return KernelCall("kibi_signal_filter_bank_log_u32", params, inplace_distance_bytes=(0,))

    def _scaled(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        half = 1 << _FRACTION_BITS - 1
        natural = (log2(values) * _LN_2 + half >> _FRACTION_BITS) & 0xFFFFFFFF
        return (natural * (self.output_scale & 0xFFFFFFFF) + half & 0xFFFFFFFF) >> _FRACTION_BITS


def log2(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The logarithm to base 2 of numbers from 1 to `2**32 - 1`, with 16 bits after the point."""
    whole = np.frexp(values.astype(np.float64))[1].astype(np.int64) - 1
    rest = values - (np.int64(1) << whole)
    fraction = np.where(whole < 16, rest << np.maximum(0, 16 - whole), rest >> np.maximum(0, whole - 16))
    segment = fraction >> _FRACTION_BITS - _SEGMENT_BITS
    above = curve().astype(np.int64)
    slope = above[segment + 1] - above[segment]
    inside = fraction - (segment << _FRACTION_BITS - _SEGMENT_BITS)
    total = (whole << _FRACTION_BITS) + fraction + above[segment] + (slope * inside >> _FRACTION_BITS)
    return np.asarray(total, np.int64)


def curve() -> NDArray[np.int16]:
    """By how much `log2(1 + k / 128)` exceeds `k / 128`, `0 <= k <= 128`, with 16 bits after the point."""
    places = np.arange((1 << _SEGMENT_BITS) + 1) / (1 << _SEGMENT_BITS)
    return np.floor((np.log2(1 + places) - places) * (1 << _FRACTION_BITS) + 0.5).astype(np.int16)


register(SignalFilterBankLog)
