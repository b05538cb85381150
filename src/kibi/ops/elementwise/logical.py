"""What LOGICAL_AND and LOGICAL_OR share."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from kibi.dtypes import DType
from kibi.ir import KernelCall, NodeView
from kibi.kernels.params.binary import PairParams
from kibi.ops.elementwise.broadcast import Broadcast2

_BYTES = "it takes elements for bools, of which C++ leaves all but 0 and 1 undefined"
_WIDER = "it takes the first bytes of the tensor for bools, one for each element"


@dataclass(frozen=True, slots=True)
class Logical(Broadcast2):
    """Two inputs bool that broadcast (ranks up to 6) → output bool.

    TFLM checks no type, and reads tensors of any other type as bools, too. What it gives then is undefined, so Kibi refuses them.
    Source: TFLM `micro/kernels/logical_common.cc`.
    """

    types: ClassVar[tuple[DType, ...]] = (DType.BOOL,)
    undefined: ClassVar[Mapping[DType, str]] = MappingProxyType(
        {dtype: _BYTES if dtype.size_bytes == 1 else _WIDER for dtype in DType if dtype is not DType.BOOL}
    )

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The one kernel, without scratch."""
        return self.call(view, PairParams)
