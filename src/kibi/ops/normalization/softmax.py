"""SOFTMAX."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.kernels.params.normalization import SoftmaxF32Params, SoftmaxS8Params
from kibi.ops import checks
from kibi.ops.elementwise.logistic import input_radius
from kibi.ops.normalization import softmax_s16
from kibi.ops.registry import register
from kibi.ops.sums.float_sums import add_in_order
from kibi.quant import (
    exp_f32,
    exp_on_negative_values,
    quantize_multiplier,
    reciprocal,
    rounding_divide_by_power_of_two,
    saturating_rounding_doubling_high_multiply,
)

_DIFFERENCE_BITS = 5
_SUM_BITS = 12
_SCALE_ERRORS = {DType.S8: 0.0, DType.S16: 0.001}
"""By how much of itself the output's scale may be off, as TFLM has it."""


@dataclass(frozen=True, slots=True)
class Softmax(Operator):
    """Softmax along the last axis: input s8 of rank 1 to 4 → output s8 of scale 1/256 and zero point -128; or both are f32.

    Or input s8 → output s16 of scale 1/65536 and zero point -32768; or input s16 → output s16 of scale 1/32768, both symmetric.
    Source: TFLM `micro/kernels/softmax_common.cc` and `kernels/internal/reference/softmax.h`.
    """

    name: ClassVar[str] = "SOFTMAX"
    inputs: ClassVar[tuple[str, ...]] = ("input",)
    kernels: ClassVar[tuple[str, ...]] = (
        "kibi_softmax_s8", "kibi_softmax_s8_s16", "kibi_softmax_s16", "kibi_softmax_f32",
    )  # fmt: skip
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)

    ulps: ClassVar[int] = 1

    beta: float = 1.0

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape, or another of the same rows and vectors; the input's type."""
        shape, source = checks.rank(view, "input", 1, 2, 3, 4), view["input"].type.dtype
        target = checks.dtype(view, "output", *((DType.S8, DType.S16) if source is DType.S8 else (source,)))
        if source is DType.S8:
            self._check_scales(view, shape)
        elif source is DType.S16:
            softmax_s16.check(view, self.beta)
        same_vectors = view.output.type.shape[-1:] == shape[-1:]
        return checks.same_rows(view) if same_vectors else shape, target

    def _check_scales(self, view: NodeView, shape: tuple[int, ...]) -> None:
        source = checks.per_tensor(view, "input")
        output, dtype = checks.per_tensor(view, "output"), view.output.type.dtype
        scale, zero_point = 2.0 ** (-8 * dtype.size_bytes), dtype.limits[0]
        if output.zero_point != zero_point or abs(output.scale / scale - 1) > _SCALE_ERRORS[dtype]:
            what = f"output has {output}, but scale 1/{round(1 / scale)}, zero point {zero_point} is required"
            raise OperatorError(what, operand="output")
        if shape[-1] > 1 << _SUM_BITS - 1:
            what = f"the last axis has {shape[-1]} elements, more than {1 << _SUM_BITS - 1}: the sum may overflow"
            raise OperatorError(what, operand="input")
        if self._real_multiplier(source.scale) <= 1:
            what = f"beta {self.beta} * input scale {source.scale} is too small for fixed point"
            raise OperatorError(what, operand="input")

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Row by row; vectors along the last axis are inside rows."""
        return (RowAccess.same(view.output.type.rows),)

    def _real_multiplier(self, scale: float) -> float:
        return min(self.beta * scale * (1 << (31 - _DIFFERENCE_BITS)), (1 << 31) - 1.0)

    def exponentials(self, view: NodeView) -> NDArray[np.int32]:
        """Rule N15: exp of -d times the input's scale, for differences d = 0, 1, … that count; no integer bits."""
        factor = quantize_multiplier(self._real_multiplier(view["input"].quantization.scale))
        radius = input_radius(_DIFFERENCE_BITS, factor.shift)
        differences = -np.arange(min(radius, 255) + 1, dtype=np.int64)
        scaled = saturating_rounding_doubling_high_multiply(differences << factor.shift, factor.value)
        return exp_on_negative_values(scaled, _DIFFERENCE_BITS).astype(np.int32)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Exponentials of the differences to the largest, times the reciprocal of their sum; floats are divided by it."""
        if view["input"].type.dtype is DType.F32:
            return self._float_rows(view)
        if view["input"].type.dtype is DType.S16:
            return softmax_s16.rows_of(view, self.beta)
        target = view.output.type.dtype
        table = self.exponentials(view).astype(np.int64)
        table = np.concatenate([table, np.zeros(256 - len(table), np.int64)])
        counts = np.arange(256) < len(self.exponentials(view))
        depth = view["input"].type.shape[-1]

        def vector(values: Array) -> Array:
            differences = int(values.max()) - values.astype(np.int64)
            exps, counted = table[differences], counts[differences]
            total = int(rounding_divide_by_power_of_two(exps[counted], _SUM_BITS).sum())
            scale, over = reciprocal(total, _SUM_BITS)
            products = saturating_rounding_doubling_high_multiply(scale, exps)
            outputs = rounding_divide_by_power_of_two(products, over + 31 - 8 * target.size_bytes) + target.limits[0]
            return np.where(counted, np.clip(outputs, *target.limits), target.limits[0]).astype(target.numpy)

        def row(rows: Rows) -> Array:
            return np.stack([vector(values) for values in np.asarray(rows[0][0]).reshape(-1, depth)])

        return row

    def _float_rows(self, view: NodeView) -> Callable[[Rows], Array]:
        depth = view["input"].type.shape[-1]
        return lambda rows: softmax_of_floats(np.asarray(rows[0][0], np.float32).reshape(-1, depth), self.beta)

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each pair of types, with a table of exponentials where they are few."""
        if view["input"].type.dtype is DType.F32:
            return self._float_call(view)
        if view["input"].type.dtype is DType.S16:
            return softmax_s16.call_of(view, self.beta)
        table = self.exponentials(view)
        depth = view["input"].type.shape[-1]
        params = SoftmaxS8Params(
            exponentials=table,
            differences=len(table),
            vectors=view.output.type.row_elements // depth,
            depth=depth,
        )
        if view.output.type.dtype is DType.S8:
            return KernelCall("kibi_softmax_s8", params, inplace_distance_bytes=(0,))
        # The last element is read when all outputs but one, which are twice as large, have been written.
        return KernelCall("kibi_softmax_s8_s16", params, inplace_distance_bytes=(view.output.type.row_elements - 1,))

    def _float_call(self, view: NodeView) -> KernelCall:
        depth = view["input"].type.shape[-1]
        params = SoftmaxF32Params(
            beta=float(np.float32(self.beta)), vectors=view.output.type.row_elements // depth, depth=depth
        )
        return KernelCall("kibi_softmax_f32", params, inplace_distance_bytes=(0,))


def softmax_of_floats(vectors: NDArray[np.float32], beta: float) -> NDArray[np.float32]:
    """Exponentials of the differences to the largest, divided by their sum, of vectors `[N, depth]`."""
    # Numbers alone count: one that is none is never larger.
    largest = np.fmax.reduce(vectors, axis=1, keepdims=True, initial=np.finfo(np.float32).min)
    with np.errstate(all="ignore"):
        powers = exp_f32((vectors - largest) * np.float32(beta))
        sums = add_in_order(np.zeros(len(vectors), np.float32), powers.T)
        divided: NDArray[np.float32] = powers / sums[:, None]
    return divided


register(Softmax)
