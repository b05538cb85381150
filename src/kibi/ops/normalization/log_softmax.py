"""LOG_SOFTMAX."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.kernels.params.normalization import LogSoftmaxS8Params, VectorsParams
from kibi.ops import checks
from kibi.ops.elementwise.logistic import input_radius
from kibi.ops.normalization.softmax import Softmax
from kibi.ops.registry import register
from kibi.ops.sums.float_sums import add_in_order
from kibi.quant import (
    Multiplier,
    exp_f32,
    log_f32,
    log_of_sum,
    quantize_multiplier,
    requantize,
    rounding_divide_by_power_of_two,
    wrap_s32,
)

_DIFFERENCE_BITS, _SUM_BITS = 5, 12


@dataclass(frozen=True, slots=True)
class LogSoftmax(Operator):
    """The logarithm of SOFTMAX along the last axis: input s8 of rank 1 to 4 → output s8 of scale 1/16 and zero point 127.

    Or both are f32. Source: TFLM `micro/kernels/log_softmax.cc` and `kernels/internal/reference/log_softmax.h`.
    """

    name: ClassVar[str] = "LOG_SOFTMAX"
    inputs: ClassVar[tuple[str, ...]] = ("input",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_log_softmax_s8", "kibi_log_softmax_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.F32)
    ulps: ClassVar[int] = 1

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape and type."""
        shape = checks.rank(view, "input", 1, 2, 3, 4)
        if view["input"].type.dtype is DType.S8:
            _check_scales(view)
        return shape, view["input"].type.dtype

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Row by row; vectors along the last axis are inside rows."""
        return (RowAccess.same(view.output.type.rows),)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Rule N28, or the same in floats: differences to the largest, less the logarithm of the sum of exponentials."""
        if view["input"].type.dtype is DType.F32:
            return _float_rows(view)
        depth = view["input"].type.shape[-1]
        exponentials = Softmax().exponentials(view).astype(np.int64)
        factor, inverse = _factor(view), _inverse(view)
        least = -input_radius(_DIFFERENCE_BITS, factor.shift) - 1

        def row(rows: Rows) -> Array:
            vectors = np.asarray(rows[0][0]).reshape(-1, depth)
            return np.stack([log_softmax_of_s8(each, exponentials, factor, inverse, least) for each in vectors])

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each type, with a table of exponentials of s8."""
        depth, dtype = view["input"].type.shape[-1], view["input"].type.dtype
        vectors = view.output.type.row_elements // depth
        params: VectorsParams | LogSoftmaxS8Params = VectorsParams(vectors=vectors, depth=depth)
        if dtype is DType.S8:
            exponentials = Softmax().exponentials(view)
            factor, inverse = _factor(view), _inverse(view)
            params = LogSoftmaxS8Params(
                vectors=vectors,
                depth=depth,
                exponentials=exponentials,
                differences=len(exponentials),
                multiplier=factor.value,
                shift=factor.shift,
                inverse_multiplier=inverse.value,
                inverse_shift=inverse.shift,
                least_difference=-input_radius(_DIFFERENCE_BITS, factor.shift) - 1,
            )
        return KernelCall(f"kibi_log_softmax_{dtype}", params, inplace_distance_bytes=(0,))


def _factor(view: NodeView) -> Multiplier:
    """From differences of elements to 5 integer bits."""
    scale = view["input"].quantization.scale
    return quantize_multiplier(min(scale * (1 << 31 - _DIFFERENCE_BITS), (1 << 31) - 1.0))


def _inverse(view: NodeView) -> Multiplier:
    """And back."""
    factor = _factor(view)
    return quantize_multiplier((1 << 31 - factor.shift) / factor.value)


def _check_scales(view: NodeView) -> None:
    source, output = checks.per_tensor(view, "input"), checks.per_tensor(view, "output")
    if (output.scale, output.zero_point) != (1 / 16, 127):
        raise OperatorError(f"output has {output}, but scale 1/16, zero point 127 is required", operand="output")
    depth = view["input"].type.shape[-1]
    if depth > 1 << _SUM_BITS - 1:
        what = f"the last axis has {depth} elements, more than {1 << _SUM_BITS - 1}: the sum may overflow"
        raise OperatorError(what, operand="input")
    if source.scale * (1 << 31 - _DIFFERENCE_BITS) <= 1 or _inverse(view).shift > 0:
        what = f"input scale {source.scale} is too small for fixed point"
        raise OperatorError(what, operand="input")


def _float_rows(view: NodeView) -> Callable[[Rows], Array]:
    depth = view["input"].type.shape[-1]
    return lambda rows: log_softmax_of_floats(np.asarray(rows[0][0], np.float32).reshape(-1, depth))


def log_softmax_of_s8(
    values: Array, exponentials: NDArray[np.int64], factor: Multiplier, inverse: Multiplier, least: int
) -> NDArray[np.int8]:
    """Rule N28, of a vector of s8.

    Args:
        values: the vector.
        exponentials: of the differences 0, -1, …; those of others count as 0.
        factor: brings differences to fixed point.
        inverse: brings them back.
        least: differences up to this one give -128.
    """
    differences = values.astype(np.int64) - int(values.max())
    counted = differences > -len(exponentials)
    terms = rounding_divide_by_power_of_two(exponentials[-differences[counted]], _SUM_BITS)
    logarithm = log_of_sum(int(terms.sum()))
    lowest = int(wrap_s32(logarithm - (1 << 31)))
    bound = max(least, int(requantize(lowest, inverse.value, inverse.shift)))
    shifted = wrap_s32(requantize(differences, factor.value, factor.shift) - logarithm)
    outputs = rounding_divide_by_power_of_two(shifted, 22) + 127
    return np.where(differences > bound, np.clip(outputs, -128, 127), -128).astype(np.int8)


def log_softmax_of_floats(vectors: NDArray[np.float32]) -> Array:
    """Differences to the largest, less the logarithm of the sum of their exponentials, of vectors `[N, depth]`."""
    # Numbers alone count: one that is none is never larger.
    largest = np.fmax.reduce(vectors, axis=1, keepdims=True, initial=np.finfo(np.float32).min)
    with np.errstate(all="ignore"):
        differences = vectors - largest
        sums = add_in_order(np.zeros(len(vectors), np.float32), exp_f32(differences).T)
        logarithms: Array = differences - log_f32(sums)[:, None]
    return logarithms


register(LogSoftmax)
