"""SignalPCAN."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Rows
from kibi.kernels.params.signal import PcanParams
from kibi.ops.registry import register
from kibi.ops.signal.checks import Vectors, vector, within

_LUT_ELEMENTS = 125
"""Three for the noise of 0 to 2, and four, of which three are used, for each number of bits from 2 to 32."""


@dataclass(frozen=True, slots=True)
class SignalPCAN(Vectors):
    """Per-channel automatic gain: input, noise_estimate [C] u32, gain_lut [125] s16 constant → output [C] u32.

    Rule N46. Source: TFLM `signal/micro/kernels/pcan.cc`, `signal/src/pcan_argc_fixed.cc`.
    """

    name: ClassVar[str] = "SignalPCAN"
    inputs: ClassVar[tuple[str, ...]] = ("input", "noise_estimate", "gain_lut")
    row_inputs: ClassVar[tuple[str, ...]] = ("input", "noise_estimate")
    kernels: ClassVar[tuple[str, ...]] = ("kibi_signal_pcan_u32",)
    types: ClassVar[tuple[DType, ...]] = (DType.U32,)

    snr_shift: int = 0

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape, type u32."""
        channels = vector(view, "input", DType.U32)
        vector(view, "noise_estimate", DType.U32, channels)
        vector(view, "gain_lut", DType.S16, _LUT_ELEMENTS)
        within("snr_shift", self.snr_shift, 0, 63)
        return (channels,), DType.U32

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Rule N46."""
        lut = view.constant("gain_lut").astype(np.int64)

        def step(rows: Rows) -> Array:
            data, noise = (np.asarray(row[0]).astype(np.int64) for row in rows)
            return self.compressed(data, noise, lut)

        return step

    def compressed(self, data: Any, noise: Any, lut: Any) -> Array:
        """Rule N46, of numbers and their noise of s64, and the look-up table of s64."""
        gains = _gain(noise, lut).astype(np.uint32).astype(np.uint64)
        ratios = (data.astype(np.uint64) * gains >> np.uint64(self.snr_shift)).astype(np.uint32).astype(np.int64)
        return np.asarray(np.where(ratios < 2 << 12, ratios * ratios >> 20, (ratios >> 6) - 64), np.uint32)

    def kernel_call(self, view: NodeView) -> KernelCall:
        """Both numbers of a channel are read right before its output is written."""
        params = PcanParams(
            elements=view["input"].type.elements,
            snr_shift=self.snr_shift,
            gain_lut=view.constant("gain_lut"),
        )
        return KernelCall("kibi_signal_pcan_u32", params, inplace_distance_bytes=(0, 0))


def _gain(noise: Any, lut: Any) -> Any:
    """A parabola for each number of bits, which begins at its power of two; wrapped to s16."""
    bits = np.maximum(2, np.frexp(noise.astype(np.float64))[1].astype(np.int64))
    start, slope, bend = (lut[4 * bits - 6 + k] for k in range(3))
    fraction = (noise << np.maximum(0, 11 - bits) >> np.maximum(0, bits - 11)) & 0x3FF
    rise = ((bend * fraction >> 5) + (slope << 5)) * fraction + (1 << 14) >> 15
    return np.where(noise <= 2, lut[np.minimum(noise, 2)], start + rise).astype(np.int16)


register(SignalPCAN)
