"""SignalFftAutoScale."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, OperatorError, Rows
from kibi.kernels.params.unary import ElementsParams
from kibi.ops.registry import register
from kibi.ops.signal.checks import Vectors, vector


@dataclass(frozen=True, slots=True)
class SignalFftAutoScale(Vectors):
    """Samples as large as 16 bits allow: input [N] s16 → output [N] s16, or the bits by which they grow, [] s32.

    Rule N43. Each output is a node of its own: part 0 the samples, part 1 the bits.

    Source: TFLM `signal/micro/kernels/fft_auto_scale_kernel.cc`, `signal/src/fft_auto_scale.cc`, `max_abs.cc`.
    """

    name: ClassVar[str] = "SignalFftAutoScale"
    inputs: ClassVar[tuple[str, ...]] = ("input",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_signal_fft_auto_scale_s16", "kibi_signal_fft_auto_scale_bits_s16")
    types: ClassVar[tuple[DType, ...]] = (DType.S16,)

    part: int = 0

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape, type s16; or a scalar s32."""
        elements = vector(view, "input", DType.S16)
        if self.part not in (0, 1):
            raise OperatorError(f"there is no part {self.part}")
        return ((), DType.S32) if self.part else ((elements,), DType.S16)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Rule N43."""
        del view

        def step(rows: Rows) -> Array:
            data = np.asarray(rows[0][0]).astype(np.int64)
            bits = free_bits(data)
            return np.array([bits], np.int32) if self.part else (data << bits).astype(np.int16)

        return step

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each part; both look at all samples before they write."""
        kernel = "kibi_signal_fft_auto_scale_bits_s16" if self.part else "kibi_signal_fft_auto_scale_s16"
        return KernelCall(kernel, ElementsParams(elements=view["input"].type.elements), inplace_distance_bytes=(0,))


def free_bits(data: Any) -> int:
    """Returns the bits by which samples may grow."""
    return max(0, 15 - _width(_largest(data)))


def _largest(data: Any) -> int:
    """Returns the largest magnitude as TFLM finds it: after a sample of -2**15, whose magnitude wraps, it starts again."""
    least = DType.S16.limits[0]
    (places,) = np.nonzero(data == least)
    if not places.size:
        return int(np.abs(data).max(initial=0))
    largest = least
    for value in data[places[-1] + 1 :].tolist():
        if value > largest or -value > largest:
            largest = value if value > largest else -value
    return largest


def _width(value: int) -> int:
    """The bits of a number, 32 of one that is negative or 0."""
    return value.bit_length() if value > 0 else 32


register(SignalFftAutoScale)
