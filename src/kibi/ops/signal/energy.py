"""SignalEnergy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, OperatorError, Rows
from kibi.kernels.params.signal import EnergyParams
from kibi.ops import checks
from kibi.ops.registry import register
from kibi.ops.signal.checks import Vectors, vector


@dataclass(frozen=True, slots=True)
class SignalEnergy(Vectors):
    """The energy of each frequency: input [2 * N] s16, pairs of real and imaginary parts → output [M] u32.

    The sum of both squares, of the frequencies from `start_index` up to, not with, `end_index`. TFLM leaves the others as
    they are in memory; here they are 0.

    Source: TFLM `signal/micro/kernels/energy.cc`, `signal/src/energy.cc`.
    """

    name: ClassVar[str] = "SignalEnergy"
    inputs: ClassVar[tuple[str, ...]] = ("input",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_signal_energy_s16",)
    types: ClassVar[tuple[DType, ...]] = (DType.S16,)

    start_index: int = 0
    end_index: int = 0

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The output's own size, type u32."""
        pairs, (elements,) = vector(view, "input", DType.S16) // 2, checks.rank(view, "output", 1)
        if not 0 <= self.start_index <= self.end_index <= min(pairs, elements):
            what = f"frequencies {self.start_index} to {self.end_index} are asked for, of {pairs} in the input"
            raise OperatorError(f"{what} and {elements} in the output")
        return (elements,), DType.U32

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Sums of squares."""
        elements, used = view.output.type.elements, slice(self.start_index, self.end_index)

        def step(rows: Rows) -> Array:
            data = np.asarray(rows[0][0]).astype(np.int64)
            energies = np.zeros(elements, np.uint32)
            energies[used] = data[0::2][used] ** 2 + data[1::2][used] ** 2
            return energies

        return step

    def kernel_call(self, view: NodeView) -> KernelCall:
        """A pair is read right before its sum is written, which is as large."""
        params = EnergyParams(
            elements=view.output.type.elements,
            start=self.start_index,
            end=self.end_index,
        )
        return KernelCall("kibi_signal_energy_s16", params, inplace_distance_bytes=(0,))


register(SignalEnergy)
