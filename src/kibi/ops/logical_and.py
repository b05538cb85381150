"""LOGICAL_AND."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, Rows, Site
from kibi.ops.broadcast import Broadcast2
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class LogicalAnd(Broadcast2):
    """Whether both inputs are true: two inputs bool that broadcast → output bool.

    Source: TFLM `micro/kernels/logical_common.cc`.
    """

    name: ClassVar[str] = "LOGICAL_AND"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_logical_and_bool",)
    types: ClassVar[tuple[DType, ...]] = (DType.BOOL,)

    def reference(self, site: Site) -> Callable[[Rows], Array]:
        """Element by element."""
        planes = self.planes(site)
        return lambda rows: np.asarray(np.logical_and(*planes(rows)))

    def kernel_call(self, site: Site) -> KernelCall:
        """The one kernel, without scratch."""
        return self.call(site)


register(LogicalAnd)
