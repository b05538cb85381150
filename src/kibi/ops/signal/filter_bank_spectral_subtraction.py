"""SignalFilterBankSpectralSubtraction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Rows, TensorType
from kibi.kernels.params.signal import SpectralSubtractionParams
from kibi.ops.registry import register
from kibi.ops.signal.checks import StatefulLines, vector, within

_U32 = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class SignalFilterBankSpectralSubtraction(StatefulLines):
    """Signal less an estimate of the noise: input [C] u32 → output [C] u32 and noise_estimate [C] u32.

    Rule N47. Source: TFLM `signal/micro/kernels/filter_bank_spectral_subtraction.cc`,
    `signal/src/filter_bank_spectral_subtraction.cc`.
    """

    name: ClassVar[str] = "SignalFilterBankSpectralSubtraction"
    inputs: ClassVar[tuple[str, ...]] = ("input", "noise")
    outputs: ClassVar[tuple[str, ...]] = ("output", "noise_estimate")
    states: ClassVar[tuple[str, ...]] = ("noise",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_signal_filter_bank_spectral_subtraction_u32",)
    types: ClassVar[tuple[DType, ...]] = (DType.U32,)

    alternate_one_minus_smoothing: int = 0
    alternate_smoothing: int = 0
    clamping: bool = False
    min_signal_remaining: int = 0
    num_channels: int = 1
    one_minus_smoothing: int = 0
    smoothing: int = 0
    smoothing_bits: int = 0
    spectral_subtraction_bits: int = 0

    def memory(self) -> TensorType:
        """The estimate."""
        return TensorType((max(1, self.num_channels),), DType.U32)

    def infer(self, view: NodeView) -> list[TensorType]:
        """A number for each channel, twice."""
        vector(view, "input", DType.U32, self.num_channels)
        within("smoothing_bits", self.smoothing_bits, 0, 31)
        within("spectral_subtraction_bits", self.spectral_subtraction_bits, 0, 63)
        return [TensorType((self.num_channels,), DType.U32)] * 2

    def stateful_reference(self, view: NodeView) -> Callable[[Rows, Sequence[Array]], list[Array]]:
        """Rule N47."""
        del view

        def step(rows: Rows, states: Sequence[Array]) -> list[Array]:
            made, noise = self.subtracted(np.asarray(rows[0][0]), states[0].reshape(-1))
            states[0].reshape(-1)[:] = noise
            return [made, noise]

        return step

    def subtracted(self, signal: Any, noise: Any) -> tuple[Array, Array]:
        """The output and the new estimate, of signals and the last estimate of u32."""
        wide = signal.astype(np.uint64)
        scaled = wide << np.uint64(self.smoothing_bits) & np.uint64(_U32)
        bits = np.uint64(self.spectral_subtraction_bits)
        even = np.arange(signal.size) % 2 == 0
        factors = np.where(even, self.smoothing & _U32, self.alternate_smoothing & _U32).astype(np.uint64)
        others = np.where(even, self.one_minus_smoothing & _U32, self.alternate_one_minus_smoothing & _U32)
        estimate = (scaled * factors + noise.astype(np.uint64) * others.astype(np.uint64) >> bits).astype(np.uint32)
        removed = np.minimum(estimate, scaled)
        least = (wide * np.uint64(self.min_signal_remaining & _U32) >> bits).astype(np.uint32)
        left = (scaled - removed >> np.uint64(self.smoothing_bits)).astype(np.uint32)
        kept = removed if self.clamping else estimate
        return np.maximum(left, least), kept.astype(np.uint32)

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The kernel."""
        del view
        params = SpectralSubtractionParams(
            elements=self.num_channels,
            clamps=int(self.clamping),
            smoothing=self.smoothing,
            one_minus_smoothing=self.one_minus_smoothing,
            alternate_smoothing=self.alternate_smoothing,
            alternate_one_minus_smoothing=self.alternate_one_minus_smoothing,
            min_signal_remaining=self.min_signal_remaining,
            smoothing_bits=self.smoothing_bits,
            spectral_subtraction_bits=self.spectral_subtraction_bits,
        )
        # An output overwrites at most the element that has been read; the estimates are written at the end.
        return KernelCall("kibi_signal_filter_bank_spectral_subtraction_u32", params, inplace_distance_bytes=(0,))


register(SignalFilterBankSpectralSubtraction)
