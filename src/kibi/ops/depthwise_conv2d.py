"""DEPTHWISE_CONV_2D."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, Operator, OperatorError, Param, RowAccess, Rows, Site
from kibi.ops import checks
from kibi.ops.accumulator import Requantization, check_scaling, folded_bias
from kibi.ops.attributes import Activation, ExplicitPadding, Padding
from kibi.ops.conv2d import convolution_call, convolution_rows
from kibi.ops.overlap import window_distance
from kibi.ops.registry import register
from kibi.ops.window import Window, output_shape


@dataclass(frozen=True, slots=True)
class DepthwiseConv2D(Operator):
    """Depthwise convolution: input [N, H, W, C] s8, filter [1, KH, KW, C * M] s8, bias [C * M] s32 → output [N, OH, OW, C * M] s8.

    Output channel `c * M + m` reads input channel `c` alone: a convolution in C groups. The depth multiplier M follows from
    the shapes. Source: TFLM `kernels/internal/reference/integer_ops/depthwise_conv.h`, `DepthwiseConvPerChannel`.
    """

    name: ClassVar[str] = "DEPTHWISE_CONV_2D"
    inputs: ClassVar[tuple[str, ...]] = ("input", "filter", "bias?")
    kernels: ClassVar[tuple[str, ...]] = ("kibi_depthwise_conv2d_s8", "kibi_conv2d_s8")
    types: ClassVar[tuple[DType, ...]] = (DType.S8,)
    is_fast: ClassVar[bool] = True

    stride: tuple[int, int] = (1, 1)
    padding: Padding | ExplicitPadding = Padding.VALID
    dilation: tuple[int, int] = (1, 1)
    activation: Activation = Activation.NONE

    def infer(self, site: Site) -> tuple[tuple[int, ...], DType]:
        """Shape `[N, OH, OW, C * M]`, type s8."""
        channels = checks.rank(site, "input", 4)[3]
        ones, height, width, output_channels = checks.rank(site, "filter", 4)
        checks.dtype(site, "filter", DType.S8)
        checks.positive("stride", self.stride)
        checks.positive("dilation", self.dilation)
        checks.per_tensor(site, "input")
        checks.per_tensor(site, "output")
        checks.symmetric_weights(site, "filter", output_channels, axis=3)
        checks.bias(site, output_channels)
        check_scaling(site, self.activation)
        if ones != 1 or output_channels % channels:
            what = f"filter has shape {list(site['filter'].type.shape)}, but [1, KH, KW, a multiple of {channels}]"
            raise OperatorError(f"{what} is required", operand="filter")
        shape = output_shape(site, (height, width), self.stride, self.dilation, self.padding, output_channels)
        return shape, DType.S8

    def window(self, site: Site) -> Window:
        """The geometry."""
        _, height, width, _ = site["filter"].type.shape
        return Window.of(site, (height, width), self.stride, self.dilation, self.padding)

    def steps(self, site: Site) -> int:
        """One for each output row along the window's rows."""
        return self.window(site).steps

    def accesses(self, site: Site) -> tuple[RowAccess, ...]:
        """A window of input rows; rows outside are the zero point."""
        return (self.window(site).access(site["input"].quantization.zero_point),)

    def reference(self, site: Site) -> Callable[[Rows], Array]:
        """As a grouped convolution with one input channel in each group."""
        window = self.window(site)
        return convolution_rows(site, window, _grouped_filter(site, window), Requantization.of(site, self.activation))

    def kernel_call(self, site: Site) -> KernelCall:
        """A kernel of its own for multiplier 1; else the grouped convolution."""
        window = self.window(site)
        scaling = Requantization.of(site, self.activation)
        grouped = _grouped_filter(site, window)
        if window.channels != len(grouped):
            return convolution_call(site, window, grouped, scaling)
        zero_point = site["input"].quantization.zero_point
        taps = grouped.reshape(len(grouped), -1)
        params = (
            Param("filter", np.ascontiguousarray(taps.T).reshape(-1)),
            Param("bias", folded_bias(scaling.bias, taps, zero_point)),
            *scaling.params(),
            Param("input_width", window.input_width),
            Param("channels", window.channels),
            Param("input_zero_point", zero_point),
            Param("output_width", window.output_width),
            Param("kernel_rows", window.kernel_rows),
            Param("kernel_width", window.kernel_width),
            Param("stride", window.stride_width),
            Param("dilation", window.dilation_width),
            Param("pad", window.pad_width),
        )
        return KernelCall("kibi_depthwise_conv2d_s8", params, overlap_bytes=(window_distance(window),))

    def macs(self, site: Site) -> int:
        """Window elements for each output element."""
        _, height, width, _ = site["filter"].type.shape
        return site.output.type.elements * height * width


def _grouped_filter(site: Site, window: Window) -> NDArray[np.int8]:
    """The filter as `[C * M, kernel rows, kernel width, 1]` of the window."""
    weights = site.constant("filter").astype(np.int8)[0]
    rows_first = weights.transpose(1, 0, 2) if window.is_swapped else weights
    return np.ascontiguousarray(rows_first.transpose(2, 0, 1))[..., None]


register(DepthwiseConv2D)
