"""CIRCULAR_BUFFER."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, OperatorError, RowAccess, Rows, StatefulOperator
from kibi.kernels.params.control import CircularBufferParams
from kibi.ops import checks
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class CircularBuffer(StatefulOperator):
    """The newest slots of a stream: input [1, 1, W, C] s8, memory [1, S, W, C] s8 → output [1, S, W, C] s8, rule N38.

    The output is the next version of the memory: each inference drops the oldest slot, and the input becomes the newest. Only
    every `cycles`-th inference goes on after it; of the others it is the end. `countdown` [1] s32 says how many are still to
    come. Source: TFLM `micro/kernels/circular_buffer.cc` and `circular_buffer_common.cc`.
    """

    name: ClassVar[str] = "CIRCULAR_BUFFER"
    inputs: ClassVar[tuple[str, ...]] = ("input", "memory", "countdown")
    row_inputs: ClassVar[tuple[str, ...]] = ("input", "memory")
    states: ClassVar[tuple[str, ...]] = ("countdown",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_circular_buffer_s8",)
    types: ClassVar[tuple[DType, ...]] = (DType.S8,)

    cycles: int = 1

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The memory's shape, s8."""
        checks.positive("cycles", (self.cycles,))
        if self.cycles > DType.S32.limits[1]:
            raise OperatorError(f"cycles is {self.cycles}, but at most {DType.S32.limits[1]} can be counted")
        shape, memory = checks.rank(view, "input", 4), checks.rank(view, "memory", 4)
        checks.dtype(view, "memory", DType.S8)
        checks.dtype(view, "countdown", DType.S32)
        if shape != (1, 1, *memory[2:]) or memory[0] != 1:
            what = f"input has shape {list(shape)}, but [1, 1, {memory[2]}, {memory[3]}] is required"
            raise OperatorError(what, "Give it one slot of one batch in each inference", "input")
        return memory, DType.S8

    def steps(self, view: NodeView) -> int:
        """One for each slot."""
        return view["memory"].type.shape[1]

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """The new slot, and the old one that moves; none moves into the last place."""
        slots, rows = view["memory"].type.shape[1], view["memory"].type.rows
        moving = RowAccess(rows, slots, start=1 if slots > 1 else rows)
        return RowAccess.every(view["input"].type.rows, slots), moving

    def may_exit_early(self, view: NodeView) -> bool:
        """True if it takes several inferences."""
        del view
        return self.cycles > 1

    def stateful_reference(self, view: NodeView) -> Callable[[Rows, Sequence[Array]], Array]:
        """An old slot; or the new one, which is the last of the inference."""
        del view

        def output(rows: Rows, states: Sequence[Array]) -> Array:
            new, (old,) = rows
            if old is not None:
                return old
            countdown = states[0].reshape(-1)
            left = int(countdown.astype(np.int64)[0]) or self.cycles
            countdown[:] = np.array([left - 1], np.int32)
            return np.concatenate([np.asarray(piece).reshape(-1) for piece in new])

        return output

    def kernel_call(self, view: NodeView) -> KernelCall:
        """A copy of one slot, in place."""
        source = view["input"].type
        params = CircularBufferParams(
            pieces=source.rows,
            piece_bytes=source.row_bytes,
            cycles=self.cycles,
        )
        return KernelCall("kibi_circular_buffer_s8", params, inplace_distance_bytes=(None, 0))


register(CircularBuffer)
