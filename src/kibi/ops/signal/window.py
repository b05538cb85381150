"""SignalWindow."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.kernels.params.signal import WindowParams
from kibi.ops import checks
from kibi.ops.registry import register
from kibi.ops.signal.checks import lines_of, vector, within


@dataclass(frozen=True, slots=True)
class SignalWindow(Operator):
    """Samples times a window: input s16 of any shape, weights [W] s16 constant → output s16 of the same shape.

    The window is laid over each W samples; products are shifted right by `shift`, rounded down, and cut to s16.

    Source: TFLM `signal/micro/kernels/window.cc`, `signal/src/window.cc`.
    """

    name: ClassVar[str] = "SignalWindow"
    inputs: ClassVar[tuple[str, ...]] = ("input", "weights")
    kernels: ClassVar[tuple[str, ...]] = ("kibi_signal_window_s16",)
    types: ClassVar[tuple[DType, ...]] = (DType.S16,)

    shift: int = 0

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape, type s16."""
        checks.dtype(view, "input", DType.S16)
        size, row = vector(view, "weights", DType.S16), view["input"].type.row_elements
        lines_of(view, "input")
        within("shift", self.shift, 0, 31)
        if row % size:
            raise OperatorError(f"weights have {size} elements, of which rows of {row} are no multiple", "", "weights")
        return view["input"].type.shape, DType.S16

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Row by row."""
        return (RowAccess.same(view.output.type.rows),)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The products, shifted and cut."""
        weights = view.constant("weights").astype(np.int64)

        def row(rows: Rows) -> Array:
            products = np.asarray(rows[0][0]).reshape(-1, weights.size).astype(np.int64) * weights >> self.shift
            return np.asarray(np.clip(products, *DType.S16.limits).astype(np.int16).reshape(-1))

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The kernel, which may work in place."""
        params = WindowParams(
            elements=view["input"].type.row_elements,
            size=view["weights"].type.elements,
            shift_bits=self.shift,
            weights=view.constant("weights"),
        )
        return KernelCall("kibi_signal_window_s16", params, inplace_distance_bytes=(0,))


register(SignalWindow)
