"""SignalFramer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, OperatorError, Rows, TensorType
from kibi.kernels.params.signal import FramerParams
from kibi.ops import checks
from kibi.ops.registry import register
from kibi.ops.signal.checks import StatefulLines, apart, lines_of, whole


@dataclass(frozen=True, slots=True)
class SignalFramer(StatefulLines):
    """Frames that overlap: input [..., N] s16 → output [..., N / frame_step, frame_size] s16 and valid [] bool.

    A frame is complete as soon as `frame_size` samples are there; with `prefill`, zeros are there before the first. The output is
    valid where all its frames are complete. A frame that is not is 0 here; TFLM leaves it as it is in memory.

    Source: TFLM `signal/micro/kernels/framer.cc`.
    """

    name: ClassVar[str] = "SignalFramer"
    inputs: ClassVar[tuple[str, ...]] = ("input", "samples", "available")
    outputs: ClassVar[tuple[str, ...]] = ("output", "valid")
    states: ClassVar[tuple[str, ...]] = ("samples", "available")
    kernels: ClassVar[tuple[str, ...]] = ("kibi_signal_framer_s16",)
    types: ClassVar[tuple[DType, ...]] = (DType.S16,)

    frame_size: int = 1
    frame_step: int = 1
    prefill: bool = False

    @property
    def kept(self) -> int:
        """The most samples of a line that stay between two frames."""
        return (self.frame_size - 1) // max(1, self.frame_step) * self.frame_step

    @property
    def first_available(self) -> int:
        """The samples of a line that are there before the first inference."""
        return self.frame_size - self.frame_step if self.prefill else 0

    def memory(self, source: TensorType) -> TensorType:
        """The samples of each line that later frames need, too."""
        lines = source.elements // max(1, source.shape[-1] if source.shape else 1)
        return TensorType((max(1, lines * self.kept),), DType.S16)

    def infer(self, view: NodeView) -> list[TensorType]:
        """A frame for each step of each line, and one truth value."""
        checks.dtype(view, "input", DType.S16)
        _, size = lines_of(view, "input")
        if self.frame_size < 1 or self.frame_step < 1 or self.first_available < 0:
            what = f"frames of {self.frame_size} samples every {self.frame_step} make no sense"
            raise OperatorError(f"{what}{' with zeros in front' if self.prefill else ''}")
        if size % self.frame_step:
            what = f"input has lines of {size} samples, which are no multiple of {self.frame_step}, the frames' step"
            raise OperatorError(what, operand="input")
        *outer, size = view["input"].type.shape
        shape = (*outer, size // self.frame_step, self.frame_size)
        return [TensorType(shape, DType.S16), TensorType((), DType.BOOL)]

    def stateful_reference(self, view: NodeView) -> Callable[[Rows, Sequence[Array]], list[Array]]:
        """Step after step of each line."""
        size = view["input"].type.shape[-1]
        frames = view.output.type.shape[-2:]

        def step(rows: Rows, states: Sequence[Array]) -> list[Array]:
            lines = whole(rows[0]).reshape(-1, size // self.frame_step, self.frame_step)
            samples, available = states[0].reshape(-1), int(states[1].reshape(-1)[0])
            output = np.zeros((len(lines), *frames), np.int16)
            is_valid = True
            for number, line in enumerate(lines):
                kept = samples[number * self.kept : (number + 1) * self.kept]
                data = np.concatenate([kept[:available], line.reshape(-1)])
                for frame in range(len(line)):
                    complete = len(data) - self.frame_step * (len(line) - 1 - frame) >= self.frame_size
                    if complete:
                        output[number, frame], data = data[: self.frame_size], data[self.frame_step :]
                    is_valid = is_valid and complete
                kept[: len(data)] = data
                states[1][...] = len(data)
            return [output, np.array(is_valid)]

        return step

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The kernel."""
        kind = view["input"].type
        params = FramerParams(
            lines=kind.elements // kind.shape[-1],
            frames=kind.shape[-1] // self.frame_step,
            size=self.frame_size,
            step=self.frame_step,
            kept=self.kept,
        )
        return KernelCall("kibi_signal_framer_s16", params, inplace_distance_bytes=apart(view))


register(SignalFramer)
