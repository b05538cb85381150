"""REDUCE_MAX and REDUCE_MIN."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import Accumulation, KernelCall, NodeView, OperatorError
from kibi.kernels.params.reductions import ReduceExtremeParams
from kibi.ops import checks
from kibi.ops.reductions.reduction import Reduction, accumulation, loop_params
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Extreme(Reduction):
    """The largest or smallest element; s8 input and output have the same scale and zero point.

    A NaN is passed over; of zeros of both signs the first counts.

    Source of the rules: TFLM `micro/kernels/reduce_common.cc`, `EvalMinMaxHelper`.
    """

    kernels: ClassVar[tuple[str, ...]] = ("kibi_reduce_extreme_s8", "kibi_reduce_extreme_f32")
    is_max: ClassVar[bool]

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape with the axes dropped or set to 1, the input's type."""
        dtype = checks.dtype(view, "input", *self.types)
        if dtype is DType.S8:
            source, target = checks.per_tensor(view, "input"), checks.per_tensor(view, "output")
            if (source.scale, source.zero_point) != (target.scale, target.zero_point):
                what = f"input ({source}) and output ({target}) must have the same scale and zero point"
                raise OperatorError(what, operand="output")
        return self.reduced_shape(view), dtype

    def accumulation(self, view: NodeView) -> Accumulation:
        """An element takes the place of what has grown where it is beyond it."""
        dtype = view["input"].type.dtype
        lowest, highest = dtype.limits if dtype is DType.S8 else (np.finfo(np.float32).min, np.finfo(np.float32).max)
        start = np.full(view.output.type.elements, lowest if self.is_max else highest, dtype.numpy)
        return accumulation(view, start, self.combine, lambda grown: grown)

    def combine(self, grown: Array, places: NDArray[np.int64], row: Array) -> None:
        """Brings the elements of a row into what has grown, at their places."""
        present = ~np.isnan(row.astype(np.float32))
        values, places = row[present], places[present]
        # Stable: the first of the best elements of each place is the first that the place names.
        order = np.lexsort((-values.astype(np.float64) if self.is_max else values, places))
        named, firsts = np.unique(places[order], return_index=True)
        best = values[order][firsts]
        beyond = np.greater if self.is_max else np.less
        is_beyond = beyond(best, grown[named])
        grown[named[is_beyond]] = best[is_beyond]

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each type, called for each row; the scratch holds what has grown."""
        dtype = view["input"].type.dtype
        params = ReduceExtremeParams(is_max=int(self.is_max), **loop_params(view))
        scratch_bytes = view.output.type.size_bytes
        # The last call has read its row before it writes.
        return KernelCall(
            f"kibi_reduce_extreme_{dtype}", params, scratch_bytes, takes_step=True, inplace_distance_bytes=(0,)
        )


@dataclass(frozen=True, slots=True)
class ReduceMax(Extreme):
    """The largest element over axes.

    Source: TFLM `micro/kernels/reduce.cc`.
    """

    name: ClassVar[str] = "REDUCE_MAX"
    is_max: ClassVar[bool] = True


register(ReduceMax)


@dataclass(frozen=True, slots=True)
class ReduceMin(Extreme):
    """The smallest element over axes.

    Source: TFLM `micro/kernels/reduce.cc`.
    """

    name: ClassVar[str] = "REDUCE_MIN"
    is_max: ClassVar[bool] = False


register(ReduceMin)
