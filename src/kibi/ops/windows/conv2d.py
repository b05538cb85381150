"""CONV_2D, and the arithmetic that DEPTHWISE_CONV_2D and FULLY_CONNECTED share with it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import ColumnReach, KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.ir.codebook import Codebook
from kibi.kernels.params.conv2d import Conv2DS8Params, Conv2DS16Params
from kibi.kernels.params.conv2d_packed import Conv2DCodebookParams, Conv2DInt4Params
from kibi.ops import checks
from kibi.ops.attributes import ActivatedOperator, Activation, ExplicitPadding, Padding
from kibi.ops.overlap import blockwise_distance, convolution_distance, grouped_distance
from kibi.ops.registry import register
from kibi.ops.sums import float_sums
from kibi.ops.sums.accumulator import Requantization, check_scaling, folded_bias, integer_matmul
from kibi.ops.sums.codebook import codebook_params, filter_codebook
from kibi.ops.sums.int4 import INT4_CHANNELS, has_int4_filter, packed_int4
from kibi.ops.sums.sums_s16 import ScalingS16, check_layer, check_symmetric, is_s16
from kibi.ops.windows.window import Window, output_shape

_LEAST_RUN = 16
"""Neighbouring elements of a window's row that are worth reading in place, for any number of output channels."""
_LEAST_APART = 32
"""The same for a single column, where the columns do not touch."""
_DECODED_BYTES = 2304
"""Filters that are decoded at once, in whole fours of output channels, which the kernels multiply at once."""
_FEW_CHANNELS = 16
"""Output channels for which gathering never pays."""


@dataclass(frozen=True, slots=True)
class Conv2D(ActivatedOperator):
    """2-D convolution: input [N, H, W, C] s8, filter [O, KH, KW, C / groups] s8, bias [O] s32 → output [N, OH, OW, O] s8.

    The filter is symmetric, per tensor or per output channel. Fewer filter channels than input channels make it grouped.
    Or input and output are s16, and the bias is s64 or s32; without one, `narrow_sums` says whether sums have 32 bits. Or all
    four are f32. Source: TFLM `kernels/internal/reference/integer_ops/conv.h`, `ConvPerChannel`; of floats
    `kernels/internal/reference/conv.h`, `Conv`.
    """

    name: ClassVar[str] = "CONV_2D"
    inputs: ClassVar[tuple[str, ...]] = ("input", "filter", "bias?")
    kernels: ClassVar[tuple[str, ...]] = (
        "kibi_conv2d_s8", "kibi_conv2d_s8_codebook", "kibi_conv2d_s8_int4", "kibi_conv2d_s16", "kibi_conv2d_f32",
    )  # fmt: skip
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)
    is_fast: ClassVar[bool] = True

    stride: tuple[int, int] = (1, 1)
    padding: Padding | ExplicitPadding = Padding.VALID
    dilation: tuple[int, int] = (1, 1)
    activation: Activation = Activation.NONE
    narrow_sums: bool = False

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """Shape `[N, OH, OW, O]`, the input's type."""
        channels = checks.rank(view, "input", 4)[3]
        output_channels, *kernel, filter_channels = checks.rank(view, "filter", 4)
        checks.positive("stride", self.stride)
        checks.positive("dilation", self.dilation)
        if is_float(view):
            float_sums.check_layer(view, output_channels)
        elif is_s16(view):
            check_symmetric(view)
            biases = (DType.S64, DType.S32)
            check_layer(view, output_channels, 0, self.activation, biases, narrow_sums=self.narrow_sums)
        else:
            check_integer_layer(view, output_channels, 0, self.activation)
        if channels % filter_channels or output_channels % (channels // filter_channels):
            what = f"{channels} input and {output_channels} output channels do not divide into groups"
            raise OperatorError(f"{what} of {filter_channels} filter channels", operand="filter")
        size = (kernel[0], kernel[1])
        shape = output_shape(view, size, self.stride, self.dilation, self.padding, output_channels)
        return shape, view["input"].type.dtype

    def window(self, view: NodeView) -> Window:
        """The geometry."""
        _, height, width, _ = view["filter"].type.shape
        return Window.of(view, (height, width), self.stride, self.dilation, self.padding)

    def steps(self, view: NodeView) -> int:
        """One for each output row along the window's rows."""
        return self.window(view).steps

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """A window of input rows; rows outside are the zero point, or, but of s8, null. All rows of a variable are in one."""
        fill = view["input"].quantization.zero_point if view["input"].type.dtype is DType.S8 else None
        window = self.window(view)
        return (replace(window.access(fill), is_joined=_is_one_piece(view, window)),)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Sum of (input - zero point) * filter, plus bias, requantized and clamped; rule N27 of s16, N24 of floats."""
        window, weights = self.window(view), _filter_by_rows(view, self.window(view))
        if is_float(view):
            return float_sums.convolution_rows(view, window, weights.astype(np.float32), self.activation)
        if is_s16(view):
            return convolution_rows(view, window, weights.astype(np.int8), self._scaling_s16(view))
        return convolution_rows(view, window, weights.astype(np.int8), Requantization.of(view, self.activation))

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for all geometries; the scratch holds the windows under two pixels or three, where they are copied."""
        window, weights = self.window(view), _filter_by_rows(view, self.window(view))
        if _is_one_piece(view, window):
            window, weights = window.as_pixel(), weights.reshape(len(weights), 1, 1, -1)
        if is_float(view):
            return float_sums.convolution_call(view, window, weights.astype(np.float32), self.activation)
        if is_s16(view):
            return convolution_call_s16(window, weights.astype(np.int8), self._scaling_s16(view))
        call = convolution_call(view, window, weights.astype(np.int8), Requantization.of(view, self.activation))
        if window.channels != weights.shape[3]:
            return call
        if has_int4_filter(view):
            return _int4_call(call, view["input"].quantization.zero_point, window, weights)
        found = filter_codebook(view)
        return call if found is None else _codebook_call(call, found, window, weights.shape)

    def _scaling_s16(self, view: NodeView) -> ScalingS16:
        return ScalingS16.of(view, self.activation, narrow_sums=self.narrow_sums)

    def channel_axes(self, view: NodeView) -> Mapping[str, int]:
        """The first axis of filter and bias, but of a grouped layer and of a filter that is decoded."""
        is_grouped = view["filter"].type.shape[3] != view["input"].type.shape[3]
        return {} if is_grouped or view["filter"].codebook_in_use is not None else {"filter": 0, "bias": 0}

    def columns(self, view: NodeView) -> ColumnReach | None:
        """Those under the window."""
        return self.window(view).columns

    def on_columns(self, view: NodeView, front: int, back: int) -> Operator:
        """The same with padding of its own across."""
        return replace(self, padding=self.window(view).padded_across(front, back))

    def macs(self, view: NodeView) -> int:
        """Filter elements of a channel for each output element."""
        return view.output.type.elements * int(np.prod(view["filter"].type.shape[1:]))


def is_float(view: NodeView) -> bool:
    """True if a layer is one of floats, by its input."""
    return view["input"].type.dtype is DType.F32


def check_integer_layer(view: NodeView, channels: int, axis: int, activation: Activation) -> None:
    """The types and scales of an s8 layer with `channels` output channels, which are along an axis of the filter.

    Raises:
        OperatorError: one is not as it must be.
    """
    checks.dtype(view, "filter", DType.S8)
    checks.per_tensor(view, "input")
    checks.per_tensor(view, "output")
    checks.symmetric_weights(view, "filter", channels, axis=axis)
    checks.bias(view, channels)
    check_scaling(view, activation)


def _is_one_piece(view: NodeView, window: Window) -> bool:
    """True if one step reads some rows of a variable as one vector: they are stored one after another, and it has no edges."""
    source, kernel = view["input"], view["filter"]
    if not source.is_state or source.type.dtype is not DType.S8 or kernel.type.shape[3] != window.channels:
        return False
    if kernel.codebook_in_use is not None or has_int4_filter(view):
        return False
    return window.kernel_rows > 1 and window.is_one_vector


def _filter_by_rows(view: NodeView, window: Window) -> Array:
    """The filter as `[O, kernel rows, kernel width, C]` of the window."""
    weights = view.constant("filter")
    return np.ascontiguousarray(weights.transpose(0, 2, 1, 3)) if window.is_swapped else weights


def convolution_rows(
    view: NodeView, window: Window, weights: NDArray[np.int8], scaling: Requantization | ScalingS16
) -> Callable[[Rows], Array]:
    """A function that computes one row `[output width, O]` from the window's rows.

    Args:
        view: the node.
        window: its geometry.
        weights: `[O, kernel rows, kernel width, C / groups]`.
        scaling: how accumulators become outputs.
    """
    zero_point = view["input"].quantization.zero_point
    output_channels, _, _, depth = weights.shape
    groups = window.channels // depth
    # Sums of products run as matrix products over the window's elements, one matrix for each group.
    matrices = weights.reshape(groups, output_channels // groups, -1)
    xs = np.arange(window.output_width)[:, None] * window.stride_width - window.pad_width
    columns = xs + np.arange(window.kernel_width)[None, :] * window.dilation_width
    inside = (columns >= 0) & (columns < window.input_width)
    picked = np.where(inside, columns, 0)

    def row(rows: Rows) -> Array:
        outside = np.full(window.input_width * window.channels, zero_point, np.int32)
        present = [outside if part is None else np.asarray(part).reshape(-1) for part in rows[0]]
        stacked = np.stack(present).reshape(-1, window.input_width, window.channels)
        centred = stacked.astype(np.int32) - zero_point
        patches = np.where(inside[None, :, :, None], centred[:, picked], 0)
        patches = patches.transpose(1, 0, 2, 3)  # [x, kernel row, kernel column, channel]
        grouped = patches.reshape(*patches.shape[:3], groups, depth).transpose(3, 0, 1, 2, 4)
        sums = [integer_matmul(grouped[g].reshape(window.output_width, -1), matrices[g].T) for g in range(groups)]
        return scaling.apply(np.concatenate(sums, axis=1))

    return row


def convolution_call(view: NodeView, window: Window, weights: NDArray[np.int8], scaling: Requantization) -> KernelCall:
    """The call of `kibi_conv2d_s8`; arguments as in `convolution_rows`."""
    output_channels, rows, width, depth = weights.shape
    groups = window.channels // depth
    uses_im2col = _uses_im2col(window, weights)
    zero_point = view["input"].quantization.zero_point
    params = Conv2DS8Params(
        filter=weights.reshape(-1),
        bias=folded_bias(scaling.bias, weights.reshape(output_channels, -1), zero_point),
        **scaling.params(),
        padding=np.full(max(1, columns_outside(window) * depth), zero_point, np.int8),
        input_width=window.input_width,
        input_channels=window.channels,
        output_width=window.output_width,
        output_channels=output_channels,
        groups=groups,
        uses_im2col=int(uses_im2col),
        kernel_rows=rows,
        kernel_width=width,
        stride=window.stride_width,
        dilation=window.dilation_width,
        pad=window.pad_width,
    )
    scratch_bytes = min(2, window.output_width) * rows * width * depth if uses_im2col else 0
    distance = convolution_distance(window, output_channels, depth, uses_im2col=uses_im2col)
    least = _least_parts(window, groups, uses_im2col=uses_im2col)
    pairs = frozenset({"KIBI_CONV2D_S8_OF_PAIRS"} if window.output_width > 1 else ())
    return KernelCall(
        "kibi_conv2d_s8", params, scratch_bytes, inplace_distance_bytes=(distance,), features=least | pairs,
        least_features=least,
    )  # fmt: skip


def _least_parts(window: Window, groups: int, *, uses_im2col: bool) -> frozenset[str]:
    """The parts of `kibi_conv2d_s8` without which it cannot compute a layer."""
    if uses_im2col:
        return frozenset({"KIBI_CONV2D_S8_GATHERED"})
    is_inside = window.dilation_width == groups == 1 and not columns_outside(window)
    return frozenset(() if is_inside else {"KIBI_CONV2D_S8_AT_EDGES"})


def convolution_call_s16(window: Window, weights: NDArray[np.int8], scaling: ScalingS16) -> KernelCall:
    """The call of `kibi_conv2d_s16`; arguments as in `convolution_rows`."""
    output_channels, rows, width, depth = weights.shape
    params = Conv2DS16Params(
        filter=weights.reshape(-1),
        bias=scaling.bias,
        **scaling.params(),
        is_wide=int(scaling.is_wide),
        input_width=window.input_width,
        input_channels=window.channels,
        output_width=window.output_width,
        output_channels=output_channels,
        groups=window.channels // depth,
        kernel_rows=rows,
        kernel_width=width,
        stride=window.stride_width,
        dilation=window.dilation_width,
        pad=window.pad_width,
    )
    distance = DType.S16.size_bytes * grouped_distance(window, output_channels, depth)
    return KernelCall("kibi_conv2d_s16", params, inplace_distance_bytes=(distance,))


def _codebook_call(call: KernelCall, found: Codebook, window: Window, shape: tuple[int, ...]) -> KernelCall:
    """The same layer with its filter as indices, decoded a few output channels at a time, for a whole row.

    Args:
        call: of `kibi_conv2d_s8`.
        found: the look-up.
        window: the geometry.
        shape: of the filter, by the window's rows.
    """
    channels, rows, width, depth = shape
    size = rows * width * depth
    block = min(max(4, _DECODED_BYTES // size & -4), channels)
    plain = call.params_as(Conv2DS8Params)
    params = Conv2DCodebookParams(
        **codebook_params(found, (0, 2, 1, 3) if window.is_swapped else (0, 1, 2, 3)),
        bias=plain.bias,
        multiplier=plain.multiplier,
        shift=plain.shift,
        padding=plain.padding,
        at_once=block,
        **plain.scalars_for(Conv2DCodebookParams),
    )
    gathered_bytes = min(2, window.output_width) * size if plain.uses_im2col else 0
    scratch_bytes = block * (size + window.output_width) + gathered_bytes
    # The whole row is read for each block of channels, and the output is written after each.
    distance = 0 if block == channels else window.output_width * channels
    # It calls the kernel for decoded filters, whose parts it needs.
    return KernelCall(
        "kibi_conv2d_s8_codebook", params, scratch_bytes, inplace_distance_bytes=(distance,), features=call.features,
        least_features=call.least_features,
    )  # fmt: skip


def _int4_call(call: KernelCall, zero_point: int, window: Window, weights: Array) -> KernelCall:
    """The same layer with its filter of int4.

    Args:
        call: of `kibi_conv2d_s8`.
        zero_point: of the input.
        window: the geometry.
        weights: `[O, kernel rows, kernel width, C]`.
    """
    channels, rows, width, depth = weights.shape
    is_one_piece = rows == 1 and (width == 1 or window.dilation_width == 1)
    gathers = not is_one_piece or columns_outside(window) > 0
    plain = call.params_as(Conv2DS8Params)
    params = Conv2DInt4Params(
        filter=packed_int4(weights.reshape(channels, 1, -1)),
        bias=plain.bias,
        multiplier=plain.multiplier,
        shift=plain.shift,
        input_zero_point=zero_point,
        gathers=int(gathers),
        **plain.scalars_for(Conv2DInt4Params),
    )
    scratch_bytes = rows * width * depth if gathers else 0
    distance = blockwise_distance(window, channels, INT4_CHANNELS, is_read_before=gathers)
    return KernelCall("kibi_conv2d_s8_int4", params, scratch_bytes, inplace_distance_bytes=(distance,))


def _uses_im2col(window: Window, weights: NDArray[np.int8]) -> bool:
    """True if windows are copied into scratch, once for all output channels, before they are multiplied.

    Read in place they take no scratch, but each piece of neighbouring elements costs some instructions again for every
    two channels, or, where the columns are apart, for every four channels of each pixel. The limits are where that became a
    fifth to a third of a layer's instructions on a Cortex-M4, and the scratch stays below a few hundred bytes.
    """
    shape: tuple[int, ...] = weights.shape
    output_channels, rows, width, depth = shape
    groups = window.channels // depth
    if groups > 1 or window.dilation_width > 1:
        return depth < _LEAST_APART
    return rows > 1 and width * depth < _LEAST_RUN and output_channels > _FEW_CHANNELS


def columns_outside(window: Window) -> int:
    """The most neighbouring columns of a window outside the input, on one side; they are read as one."""
    if window.dilation_width > 1:
        return 1
    end = (window.output_width - 1) * window.stride_width - window.pad_width + window.kernel_width
    return max(window.pad_width, end - window.input_width)


register(Conv2D)
