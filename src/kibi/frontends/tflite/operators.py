"""The mapping table: from the schema's operators and their options to Kibi's operators.

A new operator is one function and one line of `IMPORTERS`; custom ones are registered with `kibi.ops.register_custom`.
Options that an operator leaves out have the schema's defaults.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from kibi.errors import InputError
from kibi.frontends.tflite.reader import ACTIVATIONS, PADDINGS, WEIGHTS_FORMATS, Options
from kibi.ir import Operator, OperatorError, Tensor
from kibi.ops import (
    Abs,
    Activation,
    Add,
    AveragePool2D,
    Ceil,
    Conv2D,
    CustomOperator,
    CustomOptions,
    DepthwiseConv2D,
    Dequantize,
    Div,
    Elu,
    Floor,
    FullyConnected,
    HardSwish,
    LeakyRelu,
    Logistic,
    Maximum,
    MaxPool2D,
    Mean,
    Minimum,
    Mul,
    Neg,
    Pad,
    Padding,
    Prelu,
    Quantize,
    Relu,
    Relu6,
    Reshape,
    Round,
    Rsqrt,
    Softmax,
    Sqrt,
    Square,
    SquaredDifference,
    Sub,
    Tanh,
    find_custom,
)


class OptionsError(Exception):
    """An operator's options ask for what Kibi does not support, or make no sense.

    Attributes:
        what: the fact.
        remedy: what the user can do.
    """

    def __init__(self, what: str, remedy: str) -> None:
        self.what = what
        self.remedy = remedy
        super().__init__(what)


@dataclass(frozen=True, slots=True)
class Importer:
    """How one of the schema's operators becomes one of Kibi's.

    Attributes:
        make: the operator from its options.
        options_type: the schema's table of options; None where the operator has none that matter.
        check: looks at options beside the input tensors, None for those left out, and raises `OptionsError`.
    """

    make: Callable[[Options], Operator]
    options_type: str | None = None
    check: Callable[[Options, Sequence[Tensor | None]], None] | None = None


def _padding(options: Options) -> Padding:
    code = options.integer("Padding")
    if code not in PADDINGS:
        raise OptionsError(f"padding scheme {code} is unknown", "Use SAME or VALID padding")
    return Padding[PADDINGS[code]]


def _activation(options: Options) -> Activation:
    code = options.integer("FusedActivationFunction")
    name = ACTIVATIONS.get(code, str(code))
    if name not in Activation.__members__:
        remedy = f"Use one of {', '.join(Activation.__members__)}, or make it an operator of its own"
        raise OptionsError(f"fused activation {name} is not supported", remedy)
    return Activation[name]


def _pair(options: Options, what: str, height: str, width: str) -> tuple[int, int]:
    """Two sizes of at least 1, height first."""
    pair = options.integer(height), options.integer(width)
    if min(pair) < 1:
        raise OptionsError(
            f"{what} [{pair[0]}, {pair[1]}] is less than 1", "Export the model again; the file is damaged"
        )
    return pair


def _conv2d(options: Options) -> Operator:
    return Conv2D(
        stride=_pair(options, "stride", "StrideH", "StrideW"),
        padding=_padding(options),
        dilation=_pair(options, "dilation", "DilationHFactor", "DilationWFactor"),
        activation=_activation(options),
    )


def _depthwise_conv2d(options: Options) -> Operator:
    return DepthwiseConv2D(
        stride=_pair(options, "stride", "StrideH", "StrideW"),
        padding=_padding(options),
        dilation=_pair(options, "dilation", "DilationHFactor", "DilationWFactor"),
        activation=_activation(options),
    )


def _check_depth_multiplier(options: Options, inputs: Sequence[Tensor | None]) -> None:
    """The multiplier is written twice, as a number and in the shapes; TFLM reads the number, which must not lie.

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
    return FullyConnected(activation=_activation(options), keep_dims=options.flag("KeepNumDims"))


def _average_pool2d(options: Options) -> Operator:
    return AveragePool2D(
        kernel=_pair(options, "kernel", "FilterHeight", "FilterWidth"),
        stride=_pair(options, "stride", "StrideH", "StrideW"),
        padding=_padding(options),
        activation=_activation(options),
    )


def _max_pool2d(options: Options) -> Operator:
    return MaxPool2D(
        kernel=_pair(options, "kernel", "FilterHeight", "FilterWidth"),
        stride=_pair(options, "stride", "StrideH", "StrideW"),
        padding=_padding(options),
        activation=_activation(options),
    )


def _softmax(options: Options) -> Operator:
    beta = options.real("Beta")
    if not isfinite(beta):
        raise OptionsError(f"beta is {beta}", "Export the model again; the file is damaged")
    return Softmax(beta=beta)


def _leaky_relu(options: Options) -> Operator:
    alpha = options.real("Alpha")
    if not isfinite(alpha):
        raise OptionsError(f"alpha is {alpha}", "Export the model again; the file is damaged")
    return LeakyRelu(alpha=alpha)


def _plain(operator: Callable[[], Operator]) -> Importer:
    """An operator without attributes."""
    return Importer(lambda _: operator())


IMPORTERS: Mapping[str, Importer] = {
    "ABS": _plain(Abs),
    "ADD": Importer(lambda options: Add(activation=_activation(options)), "AddOptions"),
    "AVERAGE_POOL_2D": Importer(_average_pool2d, "Pool2DOptions"),
    "CEIL": _plain(Ceil),
    "CONV_2D": Importer(_conv2d, "Conv2DOptions"),
    "DEPTHWISE_CONV_2D": Importer(_depthwise_conv2d, "DepthwiseConv2DOptions", _check_depth_multiplier),
    "DEQUANTIZE": _plain(Dequantize),
    "DIV": Importer(lambda options: Div(activation=_activation(options)), "DivOptions"),
    "ELU": _plain(Elu),
    "FLOOR": _plain(Floor),
    "FULLY_CONNECTED": Importer(_fully_connected, "FullyConnectedOptions"),
    "HARD_SWISH": _plain(HardSwish),
    "LEAKY_RELU": Importer(_leaky_relu, "LeakyReluOptions"),
    "LOGISTIC": _plain(Logistic),
    "MAXIMUM": _plain(Maximum),
    "MAX_POOL_2D": Importer(_max_pool2d, "Pool2DOptions"),
    "MEAN": Importer(lambda options: Mean(keep_dims=options.flag("KeepDims")), "ReducerOptions"),
    "MINIMUM": _plain(Minimum),
    "MUL": Importer(lambda options: Mul(activation=_activation(options)), "MulOptions"),
    "NEG": _plain(Neg),
    "PAD": _plain(Pad),
    "PRELU": _plain(Prelu),
    "QUANTIZE": _plain(Quantize),
    "RELU": _plain(Relu),
    "RELU6": _plain(Relu6),
    "RESHAPE": _plain(Reshape),
    "ROUND": _plain(Round),
    "RSQRT": _plain(Rsqrt),
    "SOFTMAX": Importer(_softmax, "SoftmaxOptions"),
    "SQRT": _plain(Sqrt),
    "SQUARE": _plain(Square),
    "SQUARED_DIFFERENCE": _plain(SquaredDifference),
    "SUB": Importer(lambda options: Sub(activation=_activation(options)), "SubOptions"),
    "TANH": _plain(Tanh),
}
"""By the schema's name of the operator."""

_CUSTOM = "CUSTOM:"
"""In front of the name of a custom operator, as `reader` gives it."""


def importer_of(name: str) -> Importer | None:
    """The importer of an operator by the name that `reader` gives it; None where Kibi has none.

    Raises:
        OptionsError: a custom operator's distribution is broken.
    """
    if not name.startswith(_CUSTOM):
        return IMPORTERS.get(name)
    try:
        custom = find_custom(name.removeprefix(_CUSTOM))
    except InputError as error:
        what, _, remedy = str(error).rstrip(".").rpartition(". ")
        raise OptionsError(what, remedy) from error
    return None if custom is None else Importer(lambda options: _custom(custom, options))


def _custom(custom: CustomOperator, options: Options) -> Operator:
    if options.is_external:
        what = "its options lie behind the flatbuffer, which is not supported"
        raise OptionsError(what, "Export the model in less than 2 GB")
    try:
        return custom.make(CustomOptions(options.data))
    except OperatorError as error:
        raise OptionsError(error.what, error.remedy) from error


def remedy_for(name: str) -> str:
    """What to do about an operator that Kibi does not have: custom ones can be added."""
    if not name.startswith(_CUSTOM):
        return ""
    code = name.removeprefix(_CUSTOM)
    return (
        f"Register it with kibi.ops.register_custom({code!r}, …), or install a distribution that has it: see "
        "docs/custom-operators.md"
    )
