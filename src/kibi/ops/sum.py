"""SUM."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import Accumulation, KernelCall, Param, Site
from kibi.ops import checks
from kibi.ops.reduction import Reduction, accumulation, loop_params
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Sum(Reduction):
    """Sum of floats over axes, in the order in which they lie: input f32 of rank 1 to 4, axes s32 constant → output f32.

    Source: TFLM `micro/kernels/reduce_common.cc`, `EvalSumHelper`.
    """

    name: ClassVar[str] = "SUM"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_sum_f32",)
    types: ClassVar[tuple[DType, ...]] = (DType.F32,)

    def infer(self, site: Site) -> tuple[tuple[int, ...], DType]:
        """The input's shape with the axes dropped or set to 1, type f32."""
        checks.dtype(site, "input", *self.types)
        return self.reduced_shape(site), DType.F32

    def accumulation(self, site: Site) -> Accumulation:
        """Rounded to float32 after each addition, as TFLM does."""
        return accumulation(site, np.zeros(site.output.type.elements, np.float32), _add, lambda sums: sums)

    def kernel_call(self, site: Site) -> KernelCall:
        """One kernel, called for each row; the scratch holds the sums."""
        params: tuple[Param, ...] = loop_params(site)
        # The last call has read its row before it writes.
        return KernelCall("kibi_sum_f32", params, site.output.type.size_bytes, takes_step=True, overlap_bytes=(0,))


def _add(sums: Array, places: NDArray[np.int64], row: Array) -> None:
    """One after another: `add.at` keeps the order."""
    with np.errstate(all="ignore"):  # infinities and NaN arise here as in C
        np.add.at(sums, places, row)


register(Sum)
