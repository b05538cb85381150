"""SignalOverlapAdd."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Rows, TensorType
from kibi.kernels.params.signal import OverlapAddParams
from kibi.ops import checks
from kibi.ops.registry import register
from kibi.ops.signal.checks import StatefulLines, apart, whole, within


@dataclass(frozen=True, slots=True)
class SignalOverlapAdd(StatefulLines):
    """Frames added where they overlap: input [..., F, S] s16 or f32 → output [..., F * frame_step] of that type.

    Each frame begins `frame_step` elements after the one before, also those of the inference before. Sums of s16 are cut.

    Source: TFLM `signal/micro/kernels/overlap_add.cc`, `signal/src/overlap_add.cc`.
    """

    name: ClassVar[str] = "SignalOverlapAdd"
    inputs: ClassVar[tuple[str, ...]] = ("input", "rest")
    states: ClassVar[tuple[str, ...]] = ("rest",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_signal_overlap_add_s16", "kibi_signal_overlap_add_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S16, DType.F32)

    frame_step: int = 1

    def memory(self, source: TensorType) -> TensorType:
        """The memory that the last frame of each line adds to frames to come."""
        *outer, _, size = source.shape if len(source.shape) > 1 else (1, 1)
        return TensorType((max(1, int(np.prod(outer, dtype=np.int64)) * (size - self.frame_step)),), source.dtype)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape without the last two axes, and their steps."""
        dtype = checks.dtype(view, "input", *self.types)
        *outer, frames, size = checks.rank(view, "input", *range(2, 9))
        within("frame_step", self.frame_step, 1, size)
        return (*outer, frames * self.frame_step), dtype

    def stateful_reference(self, view: NodeView) -> Callable[[Rows, Sequence[Array]], Array]:
        """Frame after frame."""
        kind, advance = view["input"].type, self.frame_step
        frames, size = kind.shape[-2:]

        def step(rows: Rows, states: Sequence[Array]) -> Array:
            data = whole(rows[0]).reshape(-1, frames, size)
            kept = states[0].reshape(-1)[: len(data) * (size - advance)].reshape(len(data), size - advance)
            output = np.zeros((len(data), frames, advance), kind.dtype.numpy)
            for frame in range(frames):
                total = sum_of(np.pad(kept, ((0, 0), (0, advance))), data[:, frame])
                output[:, frame], kept[:] = total[:, :advance], total[:, advance:]
            return output.reshape(-1)

        return step

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each type."""
        *_, frames, size = view["input"].type.shape
        params = OverlapAddParams(
            lines=view["input"].type.elements // (frames * size),
            frames=frames,
            size=size,
            step=self.frame_step,
        )
        return KernelCall(
            f"kibi_signal_overlap_add_{view['input'].type.dtype}", params, inplace_distance_bytes=apart(view)
        )


def sum_of(a: Any, b: Any) -> Any:
    """Sums of elements: those of s16 are cut."""
    if a.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return a + b
    return np.clip(a.astype(np.int32) + b, *DType.S16.limits).astype(np.int16)


register(SignalOverlapAdd)
