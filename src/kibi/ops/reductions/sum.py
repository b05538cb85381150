"""SUM."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import Accumulation, KernelCall, NodeView
from kibi.kernels.params.reductions import MeanParams, ReductionParams
from kibi.ops import checks
from kibi.ops.reductions.reduction import Reduction, accumulation, axes_of, loop_params
from kibi.ops.registry import register
from kibi.ops.sums.integer_sums import ScaledSums


@dataclass(frozen=True, slots=True)
class Sum(Reduction):
    """Sum over axes, in the order in which elements are stored: input f32 of rank 1 to 4, axes s32 constant → output f32.

    Or input and output are s8 or s16, and the sum is brought into the output's scale. Source: TFLM
    `micro/kernels/reduce_common.cc`, `EvalSumHelper`, and `kernels/internal/reference/reduce.h`, `QuantizedMeanOrSum`.
    """

    name: ClassVar[str] = "SUM"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_mean_s8", "kibi_mean_s16", "kibi_sum_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape with the axes dropped or set to 1, the input's type."""
        shape, dtype = self.reduced_shape(view), view["input"].type.dtype
        if dtype is not DType.F32:
            checks.per_tensor(view, "input")
            checks.per_tensor(view, "output")
            _scaled(view)
        return shape, dtype

    def accumulation(self, view: NodeView) -> Accumulation:
        """Rounded to float32 after each addition, as TFLM does; of integers rule N11, without a division."""
        if view["input"].type.dtype is not DType.F32:
            return _scaled(view).accumulation(view)
        return accumulation(view, np.zeros(view.output.type.elements, np.float32), _add, lambda sums: sums)

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel, called for each row; the scratch holds the sums. Integers take that of MEAN with another factor."""
        dtype, loops = view["input"].type.dtype, loop_params(view)
        kernel, params = "kibi_sum_f32", ReductionParams(**loops)
        if dtype is not DType.F32:
            kernel, params = f"kibi_mean_{dtype}", MeanParams(**loops, **_scaled(view).scaling_params(view))
        # The last call has read its row before it writes.
        scratch_bytes = 4 * view.output.type.elements
        return KernelCall(kernel, params, scratch_bytes, takes_step=True, inplace_distance_bytes=(0,))


def _scaled(view: NodeView) -> ScaledSums:
    shape = view["input"].type.shape
    factor = checks.factor(view["input"].quantization.scale / view.output.quantization.scale)
    return ScaledSums(factor, prod(shape[axis] for axis in axes_of(view)))


def _add(sums: Array, places: NDArray[np.int64], row: Array) -> None:
    """One after another: `add.at` keeps the order."""
    with np.errstate(all="ignore"):  # infinities and NaN arise here as in C
        np.add.at(sums, places, row)


register(Sum)
