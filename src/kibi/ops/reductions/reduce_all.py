"""REDUCE_ALL."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import Accumulation, KernelCall, NodeView
from kibi.kernels.params.reductions import ReductionParams
from kibi.ops import checks
from kibi.ops.reductions.reduction import Reduction, accumulation, loop_params
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class ReduceAll(Reduction):
    """True if all elements over axes are true: input bool of rank 1 to 4, axes s32 constant → output bool.

    Source: TFLM `micro/kernels/reduce_common.cc`, `EvalAllHelper`.
    """

    name: ClassVar[str] = "REDUCE_ALL"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_reduce_all_bool",)
    types: ClassVar[tuple[DType, ...]] = (DType.BOOL,)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape with the axes dropped or set to 1, type bool."""
        return self.reduced_shape(view), checks.dtype(view, "input", *self.types)

    def accumulation(self, view: NodeView) -> Accumulation:
        """True until an element is false."""
        start = np.ones(view.output.type.elements, np.bool_)
        return accumulation(view, start, self._combine, lambda grown: grown)

    @staticmethod
    def _combine(grown: Array, places: NDArray[np.int64], row: Array) -> None:
        np.logical_and.at(grown, places, row)

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The one kernel, called for each row; the scratch holds what has grown."""
        scratch_bytes = view.output.type.size_bytes
        # The last call has read its row before it writes.
        params = ReductionParams(**loop_params(view))
        return KernelCall(self.kernels[0], params, scratch_bytes, takes_step=True, inplace_distance_bytes=(0,))


register(ReduceAll)
