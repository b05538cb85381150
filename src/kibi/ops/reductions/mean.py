"""MEAN."""

from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import Accumulation, KernelCall, NodeView
from kibi.kernels.params.reductions import MeanF32Params, MeanParams
from kibi.ops import checks
from kibi.ops.reductions.reduction import Reduction, accumulation, axes_of, loop_params
from kibi.ops.registry import register
from kibi.ops.sums.columns import SINGLE_COLUMNS, column_parts
from kibi.ops.sums.integer_sums import ScaledSums
from kibi.quant import Multiplier

_ANY_AXES = "KIBI_MEAN_S8_OF_ANY_AXES"
_FOUR = 4
"""Channels of columns that the kernel of bytes takes at once."""


@dataclass(frozen=True, slots=True)
class Mean(Reduction):
    """Mean over axes: input s8 of rank 1 to 4, axes s32 constant → output s8 without those axes, or with ones for them.

    Or input and output are s16 or f32. Source: TFLM `kernels/internal/reference/reduce.h`, `QuantizedMeanOrSum`; of floats
    `Mean`.
    """

    name: ClassVar[str] = "MEAN"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_mean_s8", "kibi_mean_s16", "kibi_mean_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape with the axes dropped or set to 1, the input's type."""
        shape, dtype = self.reduced_shape(view), view["input"].type.dtype
        if dtype is not DType.F32:
            checks.per_tensor(view, "input")
            checks.per_tensor(view, "output")
            self.multiplier(view)
        return shape, dtype

    @staticmethod
    def multiplier(view: NodeView) -> Multiplier:
        """Returns the factor of integers from the sum to the output, with 1 / count in it."""
        count = _count(view)
        factor = checks.factor(view["input"].quantization.scale / view.output.quantization.scale)
        shift = min(count.bit_length() - 1, 32, 31 + factor.shift)
        return Multiplier((factor.value << shift) // count, factor.shift - shift)

    def accumulation(self, view: NodeView) -> Accumulation:
        """Rule N11: the sum without its zero points, scaled once by a multiplier that includes the division; N24 of floats."""
        if view["input"].type.dtype is not DType.F32:
            return ScaledSums(self.multiplier(view), _count(view)).accumulation(view)
        count = np.float32(_count(view))
        start = np.zeros(view.output.type.elements, np.float32)
        return accumulation(view, start, _add, lambda sums: sums.astype(np.float32) / count)

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each type, called for each row; the scratch holds a 32-bit sum for each output element."""
        dtype, count, loops = view["input"].type.dtype, _count(view), loop_params(view)
        params: MeanF32Params | MeanParams = MeanF32Params(count=float(np.float32(count)), **loops)
        if dtype is not DType.F32:
            params = MeanParams(**loops, **ScaledSums(self.multiplier(view), count).scaling_params(view))
        # The last call has read its row before it writes.
        scratch_bytes = 4 * view.output.type.elements
        call = KernelCall(f"kibi_mean_{dtype}", params, scratch_bytes, takes_step=True, inplace_distance_bytes=(0,))
        return _with_features(call) if dtype is DType.S8 else call


def _with_features(call: KernelCall) -> KernelCall:
    """The call of the kernel of bytes with the parts that it needs: those for columns where a row's columns become one."""
    p = call.params_as(MeanParams)
    if (p.step2, p.step3) != (0, 1):
        return replace(call, features=frozenset({_ANY_AXES}))
    parts = column_parts(p.size3)
    features = parts if p.size3 >= _FOUR else parts | {_ANY_AXES}
    return replace(call, features=features, least_features=frozenset({_ANY_AXES, SINGLE_COLUMNS}))


def _add(sums: Array, places: NDArray[np.int64], row: Array) -> None:
    """One after another: `add.at` keeps the order."""
    with np.errstate(all="ignore"):  # infinities and NaN arise here as in C
        np.add.at(sums, places, row)


def _count(view: NodeView) -> int:
    """Elements of each mean."""
    shape = view["input"].type.shape
    return prod(shape[axis] for axis in axes_of(view))


register(Mean)
