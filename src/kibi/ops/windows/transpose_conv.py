"""TRANSPOSE_CONV."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.kernels.params import PARAMS
from kibi.ops import checks
from kibi.ops.attributes import Activation, Padding
from kibi.ops.registry import register
from kibi.ops.sums import float_sums
from kibi.ops.sums.accumulator import Requantization, integer_matmul
from kibi.ops.sums.sums_s16 import ScalingS16, check_layer, check_symmetric, is_s16
from kibi.ops.windows.conv2d import check_integer_layer, is_float
from kibi.ops.windows.transposed_window import TransposedWindow

_BIASES_S16 = (DType.S64, DType.S32, DType.S16)


@dataclass(frozen=True, slots=True)
class TransposeConv(Operator):
    """Transposed convolution: input [N, H, W, C] s8, filter [O, KH, KW, C] s8, bias [O] s32 → output [N, OH, OW, O] s8.

    Each input pixel is spread over a window of the output, windows are `stride` apart, and what they have in common is added
    up. The filter is symmetric, per tensor or per output channel. Or input and output are s16, and the bias is s64, s32 or s16;
    TFLM reads one of s32 as if it were s64, beyond its end, and here it counts as what it is. Or all four are f32. The file's
    tensor of the output's shape is not looked at: TFLM goes by the output itself. Source: TFLM
    `kernels/internal/reference/integer_ops/transpose_conv.h`; of floats `kernels/internal/reference/transpose_conv.h`.
    """

    name: ClassVar[str] = "TRANSPOSE_CONV"
    inputs: ClassVar[tuple[str, ...]] = ("input", "filter", "bias?")
    kernels: ClassVar[tuple[str, ...]] = (
        "kibi_transpose_conv_s8",
        "kibi_transpose_conv_s16",
        "kibi_transpose_conv_f32",
    )
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)

    stride: tuple[int, int] = (1, 1)
    padding: Padding = Padding.VALID
    activation: Activation = Activation.NONE

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """Shape `[N, OH, OW, O]`, the input's type; TFLM takes any OH and OW."""
        batches, _, _, depth = checks.rank(view, "input", 4)
        channels, *kernel, filter_depth = checks.rank(view, "filter", 4)
        checks.positive("stride", self.stride)
        if is_float(view):
            float_sums.check_layer(view, channels)
        elif is_s16(view):
            check_symmetric(view)
            check_layer(view, channels, 0, self.activation, _BIASES_S16, always_wide=True)
        else:
            check_integer_layer(view, channels, 0, self.activation)
        if depth != filter_depth:
            what = f"filter has {filter_depth} input channels, but the input has {depth}"
            raise OperatorError(what, operand="filter")
        declared = view.output.type.shape
        if len(declared) != 4:
            raise OperatorError(f"output has shape {list(declared)}, but rank 4 is required", operand="output")
        _, height, width, _ = declared
        if self.padding is Padding.VALID and (height < kernel[0] or width < kernel[1]):
            what = f"output of {height} x {width} has no room for a whole window of {kernel}, which VALID means"
            raise OperatorError(what, "Export the model again; the file is damaged", "output")
        return (batches, height, width, channels), view["input"].type.dtype

    def spread(self, view: NodeView) -> TransposedWindow:
        """The geometry."""
        along = zip(view.output.type.shape[1:3], view["filter"].type.shape[1:3], self.stride, strict=True)
        # TFLM pads as a convolution from the output to the input would.
        height, width = (
            self.padding.before(size, kernel, stride, 1, self.padding.output_size(size, kernel, stride, 1))
            for size, kernel, stride in along
        )
        return TransposedWindow.of(view, self.stride, (height, width))

    def steps(self, view: NodeView) -> int:
        """One for as many output rows as the stride has, where they fill the output; else all rows of a batch at once."""
        return self.spread(view).steps

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """The input rows whose windows meet the rows of a step; null for those outside."""
        return (self.spread(view).access,)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Sum of (input - zero point) * filter, plus bias, requantized and clamped; rule N27 of s16, N24 of floats."""
        spread, weights = self.spread(view), self._filter_by_rows(view)
        if is_float(view):
            return self._float_rows(view, spread, weights.astype(np.float32))
        zero_point = view["input"].quantization.zero_point
        scaling = (
            ScalingS16.of(view, self.activation, always_wide=True)
            if is_s16(view)
            else Requantization.of(view, self.activation)
        )

        def step(rows: Rows) -> Array:
            sums = np.zeros((spread.rows_made, spread.output_width, len(weights)), np.int64)
            for pixels, taps, made, columns in _products(rows, spread, weights):
                sums[made, columns] += integer_matmul(pixels.astype(np.int32) - zero_point, taps.T)
            return scaling.apply(sums)

        return step

    def _float_rows(self, view: NodeView, spread: TransposedWindow, weights: Array) -> Callable[[Rows], Array]:
        bias = float_sums.bias_of(view)

        def step(rows: Rows) -> Array:
            totals = np.zeros((spread.rows_made, spread.output_width, len(weights)), np.float32)
            for pixels, taps, made, columns in _products(rows, spread, weights):
                values, weighting = pixels.astype(np.float32).T[:, :, None], taps.astype(np.float32).T[:, None]
                totals[made, columns] = float_sums.add_products(totals[made, columns], values, weighting)
            return float_sums.finished(totals, bias, self.activation)

        return step

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each type, without scratch."""
        spread, weights = self.spread(view), self._filter_by_rows(view)
        dtype = view["input"].type.dtype
        kernel = f"kibi_transpose_conv_{dtype}"
        params = PARAMS[kernel](filter=weights.reshape(-1), **self._layer_params(view), **spread.params(len(weights)))
        distance = dtype.size_bytes * spread.distance(len(weights))
        return KernelCall(kernel, params, inplace_distance_bytes=(distance,))

    def macs(self, view: NodeView) -> int:
        """Filter elements of a channel for each input element."""
        channels, height, width, _ = view["filter"].type.shape
        return view["input"].type.elements * channels * height * width

    def _filter_by_rows(self, view: NodeView) -> Array:
        """The filter as `[O, kernel rows, kernel width, C]` of the geometry."""
        weights = view.constant("filter").astype(view["filter"].type.dtype.numpy)
        return np.ascontiguousarray(weights.transpose(0, 2, 1, 3)) if self.spread(view).is_swapped else weights

    def _layer_params(self, view: NodeView) -> dict[str, Any]:
        """The struct fields of the bias and of what is done with sums."""
        if is_float(view):
            return {"bias": float_sums.bias_of(view), **float_sums.activation_params(self.activation)}
        if is_s16(view):
            wide = ScalingS16.of(view, self.activation, always_wide=True)
            return {"bias": wide.bias, **wide.params()}
        scaling, zero_point = Requantization.of(view, self.activation), view["input"].quantization.zero_point
        return {"bias": scaling.bias, "input_zero_point": zero_point, **scaling.params()}


def _products(rows: Rows, spread: TransposedWindow, weights: Array) -> Iterator[tuple[Array, Array, int, slice]]:
    """Yields what is added to the outputs of a step: for each output element in order of input rows, then columns.

    Yields:
        Input pixels `[n, C]`, the weights `[O, C]` that they are all multiplied by, and where the `n` products belong: the row
        that is made, and the columns.
    """
    for number, pixels in enumerate(spread.pixels(rows)):
        if pixels is None:
            continue
        for ky in range(spread.kernel_rows):
            made = ky - spread.row_offset + number * spread.stride_rows
            if not 0 <= made < spread.rows_made:
                continue
            for kx in reversed(range(spread.kernel_width)):
                # Columns ix of the input whose output ix * stride + kx - pad is inside.
                first = max(0, -((kx - spread.pad) // spread.stride_width))
                end = min(spread.input_width, (spread.output_width - 1 - kx + spread.pad) // spread.stride_width + 1)
                if first < end:
                    x = first * spread.stride_width + kx - spread.pad
                    columns = slice(x, x + (end - 1 - first) * spread.stride_width + 1, spread.stride_width)
                    yield pixels[first:end], weights[:, ky, kx], made, columns


register(TransposeConv)
