"""LOGICAL_OR."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array
from kibi.ir import NodeView, Rows
from kibi.ops.elementwise.logical import Logical
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class LogicalOr(Logical):
    """Whether at least one input is true: two inputs bool that broadcast → output bool.

    Source: TFLM `micro/kernels/logical_common.cc`.
    """

    name: ClassVar[str] = "LOGICAL_OR"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_logical_or_bool",)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Element by element."""
        planes = self.planes(view)
        return lambda rows: np.asarray(np.logical_or(*planes(rows)))


register(LogicalOr)
