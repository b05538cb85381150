"""DEPTHWISE_CONV_2D."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import ColumnReach, KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.kernels.params.depthwise_conv2d import DepthwiseF32Params, DepthwiseS8Params, DepthwiseS16Params
from kibi.ops import checks
from kibi.ops.attributes import ActivatedOperator, Activation, ExplicitPadding, Padding
from kibi.ops.overlap import multiplied_distance, window_distance
from kibi.ops.registry import register
from kibi.ops.sums import float_sums
from kibi.ops.sums.accumulator import Requantization, folded_bias
from kibi.ops.sums.sums_s16 import ScalingS16, check_layer, check_symmetric, is_s16
from kibi.ops.windows.conv2d import check_integer_layer, convolution_call, convolution_rows, is_float
from kibi.ops.windows.window import Window, output_shape

_THREE, _FOUR = 3, 4


@dataclass(frozen=True, slots=True)
class DepthwiseConv2D(ActivatedOperator):
    """Depthwise convolution: input [N, H, W, C] s8, filter [1, KH, KW, C * M] s8, bias [C * M] s32 → output [N, OH, OW, C * M] s8.

    Output channel `c * M + m` reads input channel `c` alone: a convolution in C groups. The depth multiplier M follows from
    the shapes. Or input and output are s16, and the bias is s64. Or all four are f32. Source: TFLM
    `kernels/internal/reference/integer_ops/depthwise_conv.h`, `DepthwiseConvPerChannel`; of floats
    `kernels/internal/reference/depthwiseconv_float.h`, `DepthwiseConv`.
    """

    name: ClassVar[str] = "DEPTHWISE_CONV_2D"
    inputs: ClassVar[tuple[str, ...]] = ("input", "filter", "bias?")
    kernels: ClassVar[tuple[str, ...]] = (
        "kibi_depthwise_conv2d_s8", "kibi_conv2d_s8", "kibi_depthwise_conv2d_s16", "kibi_depthwise_conv2d_f32",
    )  # fmt: skip
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)
    is_fast: ClassVar[bool] = True

    stride: tuple[int, int] = (1, 1)
    padding: Padding | ExplicitPadding = Padding.VALID
    dilation: tuple[int, int] = (1, 1)
    activation: Activation = Activation.NONE

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """Shape `[N, OH, OW, C * M]`, the input's type."""
        channels = checks.rank(view, "input", 4)[3]
        ones, height, width, output_channels = checks.rank(view, "filter", 4)
        checks.positive("stride", self.stride)
        checks.positive("dilation", self.dilation)
        if is_float(view):
            float_sums.check_layer(view, output_channels)
        elif is_s16(view):
            check_symmetric(view)
            check_layer(view, output_channels, 3, self.activation, (DType.S64,))
        else:
            check_integer_layer(view, output_channels, 3, self.activation)
        if ones != 1 or output_channels % channels:
            what = f"filter has shape {list(view['filter'].type.shape)}, but [1, KH, KW, a multiple of {channels}]"
            raise OperatorError(f"{what} is required", operand="filter")
        shape = output_shape(view, (height, width), self.stride, self.dilation, self.padding, output_channels)
        return shape, view["input"].type.dtype

    def window(self, view: NodeView) -> Window:
        """The geometry."""
        _, height, width, _ = view["filter"].type.shape
        return Window.of(view, (height, width), self.stride, self.dilation, self.padding)

    def steps(self, view: NodeView) -> int:
        """One for each output row along the window's rows."""
        return self.window(view).steps

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """A window of input rows; rows outside are the zero point, or, but of s8, null."""
        fill = view["input"].quantization.zero_point if view["input"].type.dtype is DType.S8 else None
        return (self.window(view).access(fill),)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Computes it as a grouped convolution with one input channel in each group."""
        window = self.window(view)
        grouped = _grouped_filter(view, window)
        if is_float(view):
            return float_sums.convolution_rows(view, window, grouped.astype(np.float32), self.activation)
        scaling = (ScalingS16 if is_s16(view) else Requantization).of(view, self.activation)
        return convolution_rows(view, window, grouped.astype(np.int8), scaling)

    def kernel_call(self, view: NodeView) -> KernelCall:
        """A kernel of its own for multiplier 1, and for floats and s16; else the grouped convolution."""
        window = self.window(view)
        if is_float(view):
            return self._float_call(view, window)
        if is_s16(view):
            return self._s16_call(view, window)
        scaling = Requantization.of(view, self.activation)
        grouped = _grouped_filter(view, window).astype(np.int8)
        if window.channels != len(grouped):
            return convolution_call(view, window, grouped, scaling)
        zero_point = view["input"].quantization.zero_point
        taps = grouped.reshape(len(grouped), -1)
        params = DepthwiseS8Params(
            filter=np.ascontiguousarray(taps.T).reshape(-1),
            bias=folded_bias(scaling.bias, taps, zero_point),
            **scaling.params(),
            input_width=window.input_width,
            channels=window.channels,
            input_zero_point=zero_point,
            output_width=window.output_width,
            kernel_rows=window.kernel_rows,
            kernel_width=window.kernel_width,
            stride=window.stride_width,
            dilation=window.dilation_width,
            pad=window.pad_width,
        )
        return KernelCall(
            "kibi_depthwise_conv2d_s8", params, inplace_distance_bytes=(window_distance(window),),
            features=fast_parts(window) | least_parts(window), least_features=least_parts(window),
        )  # fmt: skip

    def _float_call(self, view: NodeView, window: Window) -> KernelCall:
        """The kernel of floats, for any multiplier."""
        grouped = _grouped_filter(view, window).astype(np.float32)
        outputs = len(grouped)
        multiplier = outputs // window.channels
        taps = grouped.reshape(outputs, -1).T
        shared = float_sums.convolution_params(view, window, taps, self.activation)
        params = DepthwiseF32Params(**shared, depth_multiplier=multiplier)
        distance = DType.F32.size_bytes * multiplied_distance(window, outputs)
        return KernelCall(
            "kibi_depthwise_conv2d_f32", params, inplace_distance_bytes=(distance,),
            features=float_parts(outputs, multiplier),
        )  # fmt: skip

    def _s16_call(self, view: NodeView, window: Window) -> KernelCall:
        """The kernel of s16, for any multiplier."""
        grouped = _grouped_filter(view, window).astype(np.int8)
        outputs = len(grouped)
        scaling = ScalingS16.of(view, self.activation)
        params = DepthwiseS16Params(
            filter=np.ascontiguousarray(grouped.reshape(outputs, -1).T).reshape(-1),
            bias=scaling.bias,
            **scaling.params(),
            is_wide=int(scaling.is_wide),
            input_width=window.input_width,
            input_channels=window.channels,
            depth_multiplier=outputs // window.channels,
            output_width=window.output_width,
            kernel_rows=window.kernel_rows,
            kernel_width=window.kernel_width,
            stride=window.stride_width,
            dilation=window.dilation_width,
            pad=window.pad_width,
        )
        distance = DType.S16.size_bytes * multiplied_distance(window, outputs)
        return KernelCall("kibi_depthwise_conv2d_s16", params, inplace_distance_bytes=(distance,))

    def columns(self, view: NodeView) -> ColumnReach | None:
        """Those under the window."""
        return self.window(view).columns

    def on_columns(self, view: NodeView, front: int, back: int) -> Operator:
        """The same with padding of its own across."""
        return replace(self, padding=self.window(view).padded_across(front, back))

    def macs(self, view: NodeView) -> int:
        """Window elements for each output element."""
        _, height, width, _ = view["filter"].type.shape
        return view.output.type.elements * height * width


def fast_parts(window: Window) -> frozenset[str]:
    """The parts of `kibi_depthwise_conv2d_s8` that save instructions in a layer."""
    has_fours = window.channels >= _FOUR
    has_threes = has_fours and window.kernel_width == _THREE and window.dilation_width == 1
    parts = {"KIBI_DEPTHWISE_CONV2D_S8_OF_THREES": has_threes, "KIBI_REQUANTIZE_S8_OF_FOURS": has_fours}
    return frozenset(name for name, is_of_use in parts.items() if is_of_use)


def least_parts(window: Window) -> frozenset[str]:
    """The parts of `kibi_depthwise_conv2d_s8` without which it cannot compute a layer."""
    return frozenset({"KIBI_DEPTHWISE_CONV2D_S8_OF_SINGLES"} if window.channels % _FOUR else ())


def _grouped_filter(view: NodeView, window: Window) -> Array:
    """The filter as `[C * M, kernel rows, kernel width, 1]` of the window."""
    weights = view.constant("filter")[0]
    rows_first = weights.transpose(1, 0, 2) if window.is_swapped else weights
    return np.ascontiguousarray(rows_first.transpose(2, 0, 1))[..., None]


register(DepthwiseConv2D)


def float_parts(outputs: int, multiplier: int) -> frozenset[str]:
    """The parts of kernels of floats for so many output channels, of which so many read one of the input.

    One saves instructions where four output channels read one input channel, or each its own; the others are those of vectors.
    """
    is_plain = multiplier == 1
    parts = {
        "OF_FOURS": (outputs if is_plain else multiplier) >= float_sums.FLOAT_BLOCK,
        "BY_SIXTEENS": is_plain and outputs >= 16,
        "BY_EIGHTS": is_plain and outputs % 16 >= 8,
        "BY_FOURS": is_plain and outputs % 8 > 0,
        "MULTIPLIED": not is_plain,
    }
    return frozenset(f"KIBI_DEPTHWISE_CONV2D_F32_{name}" for name, is_needed in parts.items() if is_needed)
