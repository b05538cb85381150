"""L2_NORMALIZATION."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.kernels.params.normalization import L2NormalizationS8Params, VectorsParams
from kibi.ops import checks
from kibi.ops.registry import register
from kibi.ops.sums.float_sums import add_in_order
from kibi.quant import inverse_square_root, requantize

_OUTPUT_BITS = 7
_MOST_ELEMENTS = 33_025
"""Squares of 255 whose sum fits 32 bits."""
_LEAST_NORM = np.float32(1e-6)


@dataclass(frozen=True, slots=True)
class L2Normalization(Operator):
    """Vectors along the last axis, each divided by its length: input s8 of rank 1 to 4 → output s8; or both are f32.

    The output's scale is taken to be 1/128, its zero point 0. Source: TFLM `micro/kernels/l2norm.cc` and
    `kernels/internal/reference/integer_ops/l2normalization.h`; of floats `kernels/internal/reference/l2normalization.h`.
    """

    name: ClassVar[str] = "L2_NORMALIZATION"
    inputs: ClassVar[tuple[str, ...]] = ("input",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_l2_normalization_s8", "kibi_l2_normalization_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.F32)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape and type."""
        shape = checks.rank(view, "input", 1, 2, 3, 4)
        if view["input"].type.dtype is DType.S8:
            checks.per_tensor(view, "input")
            checks.per_tensor(view, "output")
            if shape[-1] > _MOST_ELEMENTS:
                what = f"the last axis has {shape[-1]} elements, more than {_MOST_ELEMENTS}: the sum may overflow"
                raise OperatorError(what, operand="input")
        return shape, view["input"].type.dtype

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Row by row; vectors along the last axis are inside rows."""
        return (RowAccess.same(view.output.type.rows),)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Rule N28: times the inverse root of the sum of squares; of floats, divided by the root, or by 1e-6 at least."""
        depth = view["input"].type.shape[-1]
        if view["input"].type.dtype is DType.F32:
            return lambda rows: divided(np.asarray(rows[0][0], np.float32).reshape(-1, depth))
        zero_point = view["input"].quantization.zero_point

        def row(rows: Rows) -> Array:
            return np.stack([scaled(values, zero_point) for values in np.asarray(rows[0][0]).reshape(-1, depth)])

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each type."""
        dtype, depth = view["input"].type.dtype, view["input"].type.shape[-1]
        vectors = view.output.type.row_elements // depth
        params: VectorsParams | L2NormalizationS8Params = VectorsParams(vectors=vectors, depth=depth)
        if dtype is DType.S8:
            zero_point = view["input"].quantization.zero_point
            params = L2NormalizationS8Params(vectors=vectors, depth=depth, zero_point=zero_point)
        return KernelCall(f"kibi_l2_normalization_{dtype}", params, inplace_distance_bytes=(0,))


def scaled(values: Array, zero_point: int) -> NDArray[np.int8]:
    """Rule N28, of a vector of s8: times the inverse root of its sum of squares."""
    centred = values.astype(np.int64) - zero_point
    multiplier, shift = inverse_square_root((centred * centred).sum())
    return np.clip(requantize(centred, multiplier, shift + _OUTPUT_BITS), -128, 127).astype(np.int8)


def divided(vectors: NDArray[np.float32]) -> Array:
    """Rule N24: squares are added up in order."""
    with np.errstate(all="ignore"):
        squares = (vectors * vectors).astype(np.float32)
        norms = np.sqrt(add_in_order(np.zeros(len(vectors), np.float32), squares.T))
        # std::max: a NaN stays.
        return np.asarray(vectors / np.where(norms < _LEAST_NORM, _LEAST_NORM, norms)[:, None])


register(L2Normalization)
