"""LOGICAL_AND."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array
from kibi.ir import NodeView, Rows
from kibi.ops.elementwise.logical import Logical
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class LogicalAnd(Logical):
    """Whether both inputs are true: two inputs bool that broadcast → output bool.

    Source: TFLM `micro/kernels/logical_common.cc`.
    """

    name: ClassVar[str] = "LOGICAL_AND"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_logical_and_bool",)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Element by element."""
        planes = self.planes(view)
        return lambda rows: np.asarray(np.logical_and(*planes(rows)))


register(LogicalAnd)
