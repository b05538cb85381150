"""SignalStacker."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Rows, TensorType
from kibi.kernels.params.signal import StackerParams
from kibi.ops.registry import register
from kibi.ops.signal.checks import StatefulLines, apart, vector, whole, within

_MOST = 1 << 24


@dataclass(frozen=True, slots=True)
class SignalStacker(StatefulLines):
    """Neighbouring frames side by side: input [C] s16 → output [(left + 1 + right) * C] s16 and valid [] bool.

    Before the first frame there are `stacker_left_context` copies of it; each stack begins `stacker_step` frames after the one
    before. The output is valid where the stack is complete. One that is not is 0 here; TFLM leaves it as it is in memory.

    Source: TFLM `signal/micro/kernels/stacker.cc`.
    """

    name: ClassVar[str] = "SignalStacker"
    inputs: ClassVar[tuple[str, ...]] = ("input", "samples", "available")
    outputs: ClassVar[tuple[str, ...]] = ("output", "valid")
    states: ClassVar[tuple[str, ...]] = ("samples", "available")
    kernels: ClassVar[tuple[str, ...]] = ("kibi_signal_stacker_s16",)
    types: ClassVar[tuple[DType, ...]] = (DType.S16,)

    num_channels: int = 1
    stacker_left_context: int = 0
    stacker_right_context: int = 0
    stacker_step: int = 1

    @property
    def kept(self) -> int:
        """The most frames that stay between two stacks."""
        return self.stacker_left_context + self.stacker_right_context

    def memory(self) -> TensorType:
        """The frames that later stacks need, too."""
        return TensorType((max(1, self.kept * self.num_channels),), DType.S16)

    def infer(self, view: NodeView) -> list[TensorType]:
        """A stack, and one truth value."""
        within("stacker_left_context", self.stacker_left_context, 0, _MOST)
        within("stacker_right_context", self.stacker_right_context, 0, _MOST)
        within("stacker_step", self.stacker_step, 1, self.kept + 1)
        vector(view, "input", DType.S16, self.num_channels)
        return [TensorType(((self.kept + 1) * self.num_channels,), DType.S16), TensorType((), DType.BOOL)]

    def stateful_reference(self, view: NodeView) -> Callable[[Rows, Sequence[Array]], list[Array]]:
        """A frame more; a number of frames below 0 means that there was none yet."""
        del view

        def step(rows: Rows, states: Sequence[Array]) -> list[Array]:
            frame, count = whole(rows[0]), int(states[1].reshape(-1)[0])
            samples = states[0].reshape(-1)
            old = [frame] * self.stacker_left_context if count < 0 else [samples[: count * self.num_channels]]
            data = np.concatenate([*old, frame])
            is_valid = data.size == (self.kept + 1) * frame.size
            stack = data if is_valid else np.zeros((self.kept + 1) * frame.size, np.int16)
            data = data[self.stacker_step * self.num_channels :] if is_valid else data
            samples[: data.size] = data
            states[1][...] = data.size // self.num_channels
            return [stack, np.array(is_valid)]

        return step

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The kernel."""
        params = StackerParams(
            channels=self.num_channels,
            left=self.stacker_left_context,
            kept=self.kept,
            step=self.stacker_step,
        )
        return KernelCall("kibi_signal_stacker_s16", params, inplace_distance_bytes=apart(view))


register(SignalStacker)
