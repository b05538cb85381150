"""Importers of operators that multiply by filters, or slide windows."""

from collections.abc import Callable, Mapping, Sequence

from kibi.frontends.tflite.importers.base import Importer, OptionsError, activation_of, padding_of, pair
from kibi.frontends.tflite.importers.computed_filter import product_and_sum
from kibi.frontends.tflite.reader import TENSOR_TYPES, WEIGHTS_FORMATS, Options
from kibi.ir import Operator, Tensor
from kibi.ops import AveragePool2D, Conv2D, DepthwiseConv2D, FullyConnected, L2Pool2D, MaxPool2D, TransposeConv


def _conv2d(options: Options) -> Operator:
    return Conv2D(
        stride=pair(options, "stride", "StrideH", "StrideW"),
        padding=padding_of(options),
        dilation=pair(options, "dilation", "DilationHFactor", "DilationWFactor"),
        activation=activation_of(options),
        narrow_sums=_narrow_sums(options),
    )


def _narrow_sums(options: Options) -> bool:
    """True if sums of s16 elements have 32 bits where there is no bias whose type says it."""
    return TENSOR_TYPES.get(options.integer("QuantizedBiasType")) == "INT32"


def _depthwise_conv2d(options: Options) -> Operator:
    return DepthwiseConv2D(
        stride=pair(options, "stride", "StrideH", "StrideW"),
        padding=padding_of(options),
        dilation=pair(options, "dilation", "DilationHFactor", "DilationWFactor"),
        activation=activation_of(options),
    )


def _check_depth_multiplier(options: Options, inputs: Sequence[Tensor | None]) -> None:
    """The multiplier is written twice, as a number and in the shapes; TFLM reads the number, which must be right.

    Source: TFLM `kernels/depthwise_conv_common.cc`; 0 is what the schema has where the number is left out.
    """
    multiplier = options.integer("DepthMultiplier")
    shapes = [() if tensor is None else tensor.type.shape for tensor in inputs[:2]]
    if multiplier and all(len(shape) == 4 for shape in shapes) and len(shapes) == 2:
        channels, output_channels = shapes[0][3], shapes[1][3]
        if channels * multiplier != output_channels:
            counts = f"{channels} input channels and {output_channels} filter channels"
            what = f"depth multiplier {multiplier} does not fit {counts}"
            raise OptionsError(what, "Export the model again; the file is damaged")


def _fully_connected(options: Options) -> Operator:
    code = options.integer("WeightsFormat")
    name = WEIGHTS_FORMATS.get(code, str(code))
    if name != "DEFAULT":
        raise OptionsError(
            f"weights format {name} is not supported", "Export the model with weights in the DEFAULT format"
        )
    return FullyConnected(
        activation=activation_of(options), keep_dims=options.flag("KeepNumDims"), narrow_sums=_narrow_sums(options)
    )


def _pooling(kind: type[AveragePool2D | L2Pool2D | MaxPool2D]) -> Callable[[Options], Operator]:
    def made(options: Options) -> Operator:
        return kind(
            kernel=pair(options, "kernel", "FilterHeight", "FilterWidth"),
            stride=pair(options, "stride", "StrideH", "StrideW"),
            padding=padding_of(options),
            activation=activation_of(options),
        )

    return made


def _transpose_conv(options: Options) -> Operator:
    return TransposeConv(
        stride=pair(options, "stride", "StrideH", "StrideW"),
        padding=padding_of(options),
        activation=activation_of(options),
    )


WINDOWS: Mapping[str, Importer] = {
    "AVERAGE_POOL_2D": Importer(_pooling(AveragePool2D), "Pool2DOptions"),
    "CONV_2D": Importer(_conv2d, "Conv2DOptions"),
    "DEPTHWISE_CONV_2D": Importer(_depthwise_conv2d, "DepthwiseConv2DOptions", _check_depth_multiplier),
    "FULLY_CONNECTED": Importer(_fully_connected, "FullyConnectedOptions", instead=product_and_sum),
    "L2_POOL_2D": Importer(_pooling(L2Pool2D), "Pool2DOptions"),
    "MAX_POOL_2D": Importer(_pooling(MaxPool2D), "Pool2DOptions"),
    # TFLM does not look at the first input, the output's shape.
    "TRANSPOSE_CONV": Importer(_transpose_conv, "TransposeConvOptions", order=(2, 1, 3)),
}
"""By the schema's name of the operator."""
