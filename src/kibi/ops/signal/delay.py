"""SignalDelay."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, OperatorError, Rows, TensorType
from kibi.kernels.params.signal import DelayParams
from kibi.ops import checks
from kibi.ops.registry import register
from kibi.ops.signal.checks import StatefulLines, apart, lines_of, whole


@dataclass(frozen=True, slots=True)
class SignalDelay(StatefulLines):
    """Each line some samples later: input [..., N] s16 → output [..., N] s16; the first `delay_length` samples are 0.

    Source: TFLM `signal/micro/kernels/delay.cc`.
    """

    name: ClassVar[str] = "SignalDelay"
    inputs: ClassVar[tuple[str, ...]] = ("input", "samples")
    states: ClassVar[tuple[str, ...]] = ("samples",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_signal_delay_s16",)
    types: ClassVar[tuple[DType, ...]] = (DType.S16,)

    delay_length: int = 0

    def memory(self, source: TensorType) -> TensorType:
        """The samples of each line that are still to come."""
        lines = source.elements // max(1, source.shape[-1] if source.shape else 1)
        return TensorType((max(1, lines * self.delay_length),), DType.S16)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape, type s16."""
        checks.dtype(view, "input", DType.S16)
        lines_of(view, "input")
        if self.delay_length < 0:
            raise OperatorError(f"the delay is {self.delay_length}, but at least 0 is required")
        return view["input"].type.shape, DType.S16

    def stateful_reference(self, view: NodeView) -> Callable[[Rows, Sequence[Array]], Array]:
        """Returns what was there, then what comes."""
        size, delay = view["input"].type.shape[-1], self.delay_length

        def step(rows: Rows, states: Sequence[Array]) -> Array:
            lines = whole(rows[0]).reshape(-1, size)
            samples = states[0].reshape(-1)[: len(lines) * delay].reshape(len(lines), delay)
            both = np.concatenate([samples, lines], axis=1)
            samples[:] = both[:, size:]
            return both[:, :size].reshape(-1)

        return step

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The kernel."""
        shape = view["input"].type.shape
        lines = view["input"].type.elements // shape[-1]
        params = DelayParams(lines=lines, size=shape[-1], delay=self.delay_length)
        return KernelCall("kibi_signal_delay_s16", params, inplace_distance_bytes=apart(view))


register(SignalDelay)
