"""MAXIMUM and MINIMUM."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import NodeView, Rows
from kibi.ops.elementwise.broadcast import Broadcast2
from kibi.ops.registry import register

_TYPES = (DType.S8, DType.S16, DType.S32, DType.S64, DType.F32)


@dataclass(frozen=True, slots=True)
class _Extreme(Broadcast2):
    """One of two inputs s8, s16, s32, s64 or f32 that broadcast → output of that type.

    Elements are compared as they stand: scales and zero points do not count. The second where the first is not the one, as with
    a NaN. Source: TFLM `micro/kernels/maximum_minimum.h`.
    """

    types: ClassVar[tuple[DType, ...]] = _TYPES

    @staticmethod
    @abstractmethod
    def takes_first(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
        """True for each element of which the first input is taken."""

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Element by element."""
        numpy = view.output.type.dtype.numpy
        planes = self.planes(view)

        def row(rows: Rows) -> Array:
            a, b = planes(rows)
            return np.where(self.takes_first(a, b), a, b).astype(numpy)

        return row


@dataclass(frozen=True, slots=True)
class Maximum(_Extreme):
    """The larger of two inputs s8, s16, s32, s64 or f32 that broadcast → output of that type.

    Elements are compared as they stand: scales and zero points do not count. The second where neither is larger, as with a
    NaN. Source: TFLM `micro/kernels/maximum_minimum.h`, `MaximumOp`.
    """

    name: ClassVar[str] = "MAXIMUM"
    kernels: ClassVar[tuple[str, ...]] = tuple(f"kibi_maximum_{dtype}" for dtype in _TYPES)

    @staticmethod
    def takes_first(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
        """True where the first is larger."""
        return np.asarray(a > b)


register(Maximum)


@dataclass(frozen=True, slots=True)
class Minimum(_Extreme):
    """The smaller of two inputs s8, s16, s32, s64 or f32 that broadcast → output of that type.

    Elements are compared as they stand: scales and zero points do not count. The second where neither is smaller, as with a
    NaN. Source: TFLM `micro/kernels/maximum_minimum.h`, `MinimumOp`.
    """

    name: ClassVar[str] = "MINIMUM"
    kernels: ClassVar[tuple[str, ...]] = tuple(f"kibi_minimum_{dtype}" for dtype in _TYPES)

    @staticmethod
    def takes_first(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
        """True where the first is smaller."""
        return np.asarray(a < b)


register(Minimum)
