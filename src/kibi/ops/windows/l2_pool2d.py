"""L2_POOL_2D."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import NodeView, Rows
from kibi.ops.registry import register
from kibi.ops.sums.float_sums import clamp
from kibi.ops.windows.pooling import Pool2D, Spans


@dataclass(frozen=True, slots=True)
class L2Pool2D(Pool2D):
    """The root of the mean square of each window, then clamped: input [N, H, W, C] f32 → output [N, OH, OW, C] f32.

    Source: TFLM `micro/kernels/l2_pool_2d.cc` and `kernels/internal/reference/pooling.h`, `L2Pool`.
    """

    name: ClassVar[str] = "L2_POOL_2D"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_l2_pool2d_f32",)
    types: ClassVar[tuple[DType, ...]] = (DType.F32,)

    def accumulates(self, view: NodeView) -> bool:
        """Never."""
        del view
        return False

    def kernels_of(self, view: NodeView) -> tuple[str, str]:
        """The one kernel."""
        del view
        return self.kernels[0], ""

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Rule N24: squares of the elements inside, added up in order, divided by their number."""
        spans = Spans.of(self.window(view))
        shape = spans.window.output_width, spans.window.channels

        def row(rows: Rows) -> Array:
            values = spans.rows(rows).astype(np.float32)
            totals = np.zeros(shape, np.float32)
            with np.errstate(all="ignore"):
                for line in values * values:
                    spans.add(totals, line)
                means = totals / (len(values) * spans.counts[:, None]).astype(np.float32)
            return clamp(np.sqrt(means), self.activation)

        return row


register(L2Pool2D)
