"""The mapping table: from the schema's operators and their options to Kibi's operators.

A new operator is one function and one line of `IMPORTERS`; custom ones are registered with `kibi.ops.register_custom`.
Options that an operator leaves out have the schema's defaults.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from kibi.errors import InputError
from kibi.frontends.tflite.reader import ACTIVATIONS, PADDINGS, WEIGHTS_FORMATS, Options
from kibi.ir import Node, Operator, OperatorError, Tensor
from kibi.ops import (
    Abs,
    Activation,
    Add,
    ArgMax,
    ArgMin,
    AveragePool2D,
    BatchToSpaceNd,
    BroadcastTo,
    Cast,
    Ceil,
    Concatenation,
    Conv2D,
    CustomOperator,
    CustomOptions,
    DepthToSpace,
    DepthwiseConv2D,
    Dequantize,
    Div,
    Elu,
    ExpandDims,
    Fill,
    Floor,
    FullyConnected,
    Gather,
    GatherNd,
    HardSwish,
    LeakyRelu,
    Logistic,
    Maximum,
    MaxPool2D,
    Mean,
    Minimum,
    MirrorPad,
    Mul,
    Neg,
    Pack,
    Pad,
    Padding,
    PadV2,
    Prelu,
    Quantize,
    ReduceMax,
    ReduceMin,
    Relu,
    Relu6,
    Reshape,
    ResizeBilinear,
    ResizeNearestNeighbor,
    Round,
    Rsqrt,
    Shape,
    Slice,
    Softmax,
    SpaceToBatchNd,
    SpaceToDepth,
    Split,
    SplitV,
    Sqrt,
    Square,
    SquaredDifference,
    Squeeze,
    StridedSlice,
    Sub,
    Sum,
    Tanh,
    Transpose,
    Unpack,
    ZerosLike,
    find_custom,
)

# The schema's `MirrorPadMode`.
_REFLECT, _SYMMETRIC = 0, 1


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
        part: where there are several outputs, from the operator to the one that makes output `number` of `count`; it raises
            `OptionsError` for another count than it should be.
        order: where the schema has the inputs in another order than the operator, their places there.
    """

    make: Callable[[Options], Operator]
    options_type: str | None = None
    check: Callable[[Options, Sequence[Tensor | None]], None] | None = None
    part: Callable[[Operator, int, int], Operator] | None = None
    order: tuple[int, ...] | None = None

    def nodes(
        self, op: Operator, inputs: tuple[int | None, ...], outputs: tuple[int, ...], source: int
    ) -> tuple[Node, ...]:
        """The nodes of an operator: one, or one for each of several outputs.

        Args:
            op: what `make` gave.
            inputs: tensor indices in the schema's order; None for an optional input that is left out.
            outputs: tensor indices.
            source: the operator's index in the file.

        Raises:
            OptionsError: it should have another number of outputs.
        """
        if self.order is not None and len(inputs) == len(self.order):
            inputs = tuple(inputs[place] for place in self.order)
        if self.part is None or not outputs:
            return (Node(op, inputs, outputs, source),)
        parts = (self.part(op, number, len(outputs)) for number in range(len(outputs)))
        return tuple(Node(each, inputs, (output,), source) for each, output in zip(parts, outputs, strict=True))


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


def _concatenation(options: Options) -> Operator:
    activation = _activation(options)
    if activation is not Activation.NONE:
        remedy = "Make the activation an operator of its own"
        raise OptionsError(f"fused activation {activation.name} is not supported, neither by TFLM", remedy)
    return Concatenation(axis=options.integer("Axis"))


def _check_values_count(options: Options, inputs: Sequence[Tensor | None]) -> None:
    """TFLM takes the number of inputs from the options. Source: `micro/kernels/pack.cc`."""
    count = options.integer("ValuesCount")
    if count != len(inputs):
        what = f"its options say {count} inputs, but it has {len(inputs)}"
        raise OptionsError(what, "Export the model again; the file is damaged")


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


def _resize_bilinear(options: Options) -> Operator:
    return ResizeBilinear(
        align_corners=options.flag("AlignCorners"), half_pixel_centers=options.flag("HalfPixelCenters")
    )


def _gather(options: Options) -> Operator:
    return Gather(axis=options.integer("Axis"), batch_dims=options.integer("BatchDims"))


def _mirror_pad(options: Options) -> Operator:
    """TFLM takes every mode but REFLECT for SYMMETRIC; one that the schema lacks is refused."""
    code = options.integer("Mode")
    if code not in (_REFLECT, _SYMMETRIC):
        raise OptionsError(f"mode {code} is unknown", "Use REFLECT or SYMMETRIC")
    return MirrorPad(is_reflecting=code == _REFLECT)


def _resize_nearest_neighbor(options: Options) -> Operator:
    return ResizeNearestNeighbor(
        align_corners=options.flag("AlignCorners"), half_pixel_centers=options.flag("HalfPixelCenters")
    )


def _softmax(options: Options) -> Operator:
    beta = options.real("Beta")
    if not isfinite(beta):
        raise OptionsError(f"beta is {beta}", "Export the model again; the file is damaged")
    return Softmax(beta=beta)


def _strided_slice(options: Options) -> Operator:
    for name, text in (("EllipsisMask", "an ellipsis mask"), ("NewAxisMask", "a new axis mask")):
        if options.integer(name):
            what = f"{text} ({options.integer(name)}) is not supported; TFLM takes it for 0"
            raise OptionsError(what, "Export the model with a begin, end and stride for each axis of the input")
    if options.flag("Offset"):
        what = "ends that are counted from the begins are not supported; TFLM counts them from the front"
        raise OptionsError(what, "Export the model with ends that are indices")
    masks = {"begin_mask": "BeginMask", "end_mask": "EndMask", "shrink_axis_mask": "ShrinkAxisMask"}
    return StridedSlice(**{field: options.integer(name) for field, name in masks.items()})


def _unpack_part(op: Operator, number: int, count: int) -> Operator:
    """One output of UNPACK; TFLM takes the number of outputs from the options."""
    if not isinstance(op, Unpack) or count != op.parts:
        raise OptionsError(
            f"its options say another number of outputs than {count}", "Export the model again; the file is damaged"
        )
    return replace(op, part=number)


def _unpack(options: Options) -> Operator:
    return Unpack(axis=options.integer("Axis"), parts=options.integer("Num"))


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
    "ARG_MAX": _plain(ArgMax),
    "ARG_MIN": _plain(ArgMin),
    "AVERAGE_POOL_2D": Importer(_average_pool2d, "Pool2DOptions"),
    "BATCH_TO_SPACE_ND": _plain(BatchToSpaceNd),
    "BROADCAST_TO": _plain(BroadcastTo),
    "CAST": _plain(Cast),
    "CEIL": _plain(Ceil),
    "CONCATENATION": Importer(_concatenation, "ConcatenationOptions"),
    "CONV_2D": Importer(_conv2d, "Conv2DOptions"),
    "DEPTHWISE_CONV_2D": Importer(_depthwise_conv2d, "DepthwiseConv2DOptions", _check_depth_multiplier),
    "DEPTH_TO_SPACE": Importer(
        lambda options: DepthToSpace(block_size=options.integer("BlockSize")), "DepthToSpaceOptions"
    ),
    "DEQUANTIZE": _plain(Dequantize),
    "DIV": Importer(lambda options: Div(activation=_activation(options)), "DivOptions"),
    "ELU": _plain(Elu),
    "EXPAND_DIMS": _plain(ExpandDims),
    "FILL": _plain(Fill),
    "FLOOR": _plain(Floor),
    "FULLY_CONNECTED": Importer(_fully_connected, "FullyConnectedOptions"),
    "GATHER": Importer(_gather, "GatherOptions"),
    "GATHER_ND": _plain(GatherNd),
    "HARD_SWISH": _plain(HardSwish),
    "LEAKY_RELU": Importer(_leaky_relu, "LeakyReluOptions"),
    "LOGISTIC": _plain(Logistic),
    "MAXIMUM": _plain(Maximum),
    "MAX_POOL_2D": Importer(_max_pool2d, "Pool2DOptions"),
    "MEAN": Importer(lambda options: Mean(keep_dims=options.flag("KeepDims")), "ReducerOptions"),
    "MINIMUM": _plain(Minimum),
    "MIRROR_PAD": Importer(_mirror_pad, "MirrorPadOptions"),
    "MUL": Importer(lambda options: Mul(activation=_activation(options)), "MulOptions"),
    "NEG": _plain(Neg),
    "PACK": Importer(lambda options: Pack(axis=options.integer("Axis")), "PackOptions", _check_values_count),
    "PAD": _plain(Pad),
    "PADV2": _plain(PadV2),
    "PRELU": _plain(Prelu),
    "QUANTIZE": _plain(Quantize),
    "REDUCE_MAX": Importer(lambda options: ReduceMax(keep_dims=options.flag("KeepDims")), "ReducerOptions"),
    "REDUCE_MIN": Importer(lambda options: ReduceMin(keep_dims=options.flag("KeepDims")), "ReducerOptions"),
    "RELU": _plain(Relu),
    "RELU6": _plain(Relu6),
    "RESHAPE": _plain(Reshape),
    "RESIZE_BILINEAR": Importer(_resize_bilinear, "ResizeBilinearOptions"),
    "RESIZE_NEAREST_NEIGHBOR": Importer(_resize_nearest_neighbor, "ResizeNearestNeighborOptions"),
    "ROUND": _plain(Round),
    "RSQRT": _plain(Rsqrt),
    "SHAPE": _plain(Shape),
    "SLICE": _plain(Slice),
    "SOFTMAX": Importer(_softmax, "SoftmaxOptions"),
    "SPACE_TO_BATCH_ND": _plain(SpaceToBatchNd),
    "SPACE_TO_DEPTH": Importer(
        lambda options: SpaceToDepth(block_size=options.integer("BlockSize")), "SpaceToDepthOptions"
    ),
    "SPLIT": Importer(lambda _: Split(), part=lambda _, number, count: Split(number, count), order=(1, 0)),
    "SPLIT_V": Importer(lambda _: SplitV(), part=lambda _, number, count: SplitV(number, count)),
    "SQRT": _plain(Sqrt),
    "SQUARE": _plain(Square),
    "SQUARED_DIFFERENCE": _plain(SquaredDifference),
    "SQUEEZE": Importer(lambda options: Squeeze(dims=options.integers("SqueezeDims")), "SqueezeOptions"),
    "STRIDED_SLICE": Importer(_strided_slice, "StridedSliceOptions"),
    "SUB": Importer(lambda options: Sub(activation=_activation(options)), "SubOptions"),
    "SUM": Importer(lambda options: Sum(keep_dims=options.flag("KeepDims")), "ReducerOptions"),
    "TANH": _plain(Tanh),
    "TRANSPOSE": _plain(Transpose),
    "UNPACK": Importer(_unpack, "UnpackOptions", part=_unpack_part),
    "ZEROS_LIKE": _plain(ZerosLike),
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
