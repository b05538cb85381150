"""SignalWindow."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, Operator, OperatorError, RowAccess, Rows, Site
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

    def infer(self, site: Site) -> tuple[tuple[int, ...], DType]:
        """The input's shape, type s16."""
        checks.dtype(site, "input", DType.S16)
        size, row = vector(site, "weights", DType.S16), site["input"].type.row_elements
        lines_of(site, "input")
        within("shift", self.shift, 0, 31)
        if row % size:
            raise OperatorError(f"weights have {size} elements, of which rows of {row} are no multiple", "", "weights")
        return site["input"].type.shape, DType.S16

    def accesses(self, site: Site) -> tuple[RowAccess, ...]:
        """Row by row."""
        return (RowAccess.same(site.output.type.rows),)

    def reference(self, site: Site) -> Callable[[Rows], Array]:
        """The products, shifted and cut."""
        weights = site.constant("weights").astype(np.int64)

        def row(rows: Rows) -> Array:
            products = np.asarray(rows[0][0]).reshape(-1, weights.size).astype(np.int64) * weights >> self.shift
            return np.asarray(np.clip(products, *DType.S16.limits).astype(np.int16).reshape(-1))

        return row

    def kernel_call(self, site: Site) -> KernelCall:
        """The kernel, which may work in place."""
        params = WindowParams(
            elements=site["input"].type.row_elements,
            size=site["weights"].type.elements,
            shift_bits=self.shift,
            weights=site.constant("weights"),
        )
        return KernelCall("kibi_signal_window_s16", params, inplace_distance_bytes=(0,))


register(SignalWindow)
