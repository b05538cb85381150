"""SignalFilterBank."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, OperatorError, Rows
from kibi.kernels.params.signal import FilterBankParams
from kibi.ops.registry import register
from kibi.ops.signal.checks import Vectors, apart, vector

_PLACES = ("frequency_starts", "weight_starts", "widths")


@dataclass(frozen=True, slots=True)
class SignalFilterBank(Vectors):
    """Energies in bands that overlap by halves: input [F] u32, weights, unweights [W] s16 → output [C] u64.

    Band c is the sum of the energies of stretch c times their unweights, and those of stretch c + 1 times their weights.
    Stretches begin at `frequency_starts` and `weight_starts` and have `widths`, all [C + 1] s16; all but the input are
    constants. Sums and products wrap at 64 bits.

    Source: TFLM `signal/micro/kernels/filter_bank.cc`, `signal/src/filter_bank.cc`.
    """

    name: ClassVar[str] = "SignalFilterBank"
    inputs: ClassVar[tuple[str, ...]] = ("input", "weights", "unweights", *_PLACES)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_signal_filter_bank_u32",)
    types: ClassVar[tuple[DType, ...]] = (DType.U32,)

    num_channels: int = 0

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """One sum for each channel, type u64; no stretch leaves its tensor."""
        energies, weights = vector(view, "input", DType.U32), vector(view, "weights", DType.S16)
        vector(view, "unweights", DType.S16, weights)
        for name in _PLACES:
            if vector(view, name, DType.S16) != self.num_channels + 1:
                what = f"{name} has {view[name].type.elements} elements, but {self.num_channels + 1} are required"
                raise OperatorError(what, operand=name)
        for name, most in (("frequency_starts", energies), ("weight_starts", weights)):
            starts, widths = (view.constant(each).astype(np.int64) for each in (name, "widths"))
            used = widths > 0
            if (starts[used] < 0).any() or ((starts + widths)[used] > most).any():
                raise OperatorError(f"with {name} a stretch leaves the {most} elements that there are", operand=name)
        return (self.num_channels,), DType.U64

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Sums modulo 2**64."""
        weights, unweights = (view.constant(name).astype(np.int64).view(np.uint64) for name in ("weights", "unweights"))
        places = np.stack([view.constant(name) for name in _PLACES], axis=1).astype(np.int64).tolist()

        def step(rows: Rows) -> Array:
            energies = np.asarray(rows[0][0]).astype(np.uint64)
            sums = np.zeros((2, len(places) + 1), np.uint64)
            for channel, (frequency, weight, width) in enumerate(places):
                used, factors = slice(frequency, frequency + max(0, width)), slice(weight, weight + max(0, width))
                sums[0, channel] = (weights[factors] * energies[used]).sum(dtype=np.uint64)
                sums[1, channel + 1] = (unweights[factors] * energies[used]).sum(dtype=np.uint64)
            return np.asarray(sums.sum(axis=0, dtype=np.uint64)[1:-1])

        return step

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The kernel, with the constants as they are."""
        names = ("weights", "unweights", *_PLACES)
        params = FilterBankParams(channels=self.num_channels, **{name: view.constant(name) for name in names})
        return KernelCall("kibi_signal_filter_bank_u32", params, inplace_distance_bytes=apart(view))

    def macs(self, view: NodeView) -> int:
        """Two for each energy of a stretch."""
        return 2 * int(np.maximum(view.constant("widths"), 0).sum())


register(SignalFilterBank)
