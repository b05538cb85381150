"""What each operator of the schema needs of the scales of its operands when it computes integers.

Source: the TensorFlow Lite 8-bit quantization specification, and the kernels of TFLM that Kibi's operators name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from kibi.dtypes import DType


class Scales(Enum):
    """Where the scale and the zero point of an operator's outputs come from."""

    OWN = "the range of the output"
    SOURCE = "the input that it moves or compares: the kernel copies elements"
    JOINED = "all inputs and outputs share them: the kernel copies elements of several inputs"
    FIXED = "the kernel"
    NONE = "the output has none: it is no real number"


@dataclass(frozen=True, slots=True)
class Weights:
    """The places of weights and bias among an operator's inputs.

    Attributes:
        place: of the weights, which have a symmetric scale for each output channel.
        axis: of the output channels.
        bias: the place of the bias, whose scale is that of the input times that of the weights.
    """

    place: int
    axis: int
    bias: int


@dataclass(frozen=True, slots=True)
class Rule:
    """How an operator is quantized.

    Attributes:
        scales: where those of the outputs come from.
        source: the place of the input that is meant by that; of the data, for an operator with weights.
        weights: None for an operator without weights.
        fixed: the scale and the zero point of the output by its type, where the kernel has them.
        widens: False if constants do not widen the range that is shared: where an operator chooses between elements, one outside of
            the range of all others may become its end.
        is_symmetric: True if the source must have the zero point 0, because the kernel takes elements of 0 for zeros.
        joins_inputs: True if all inputs share scale and zero point, and the output has its own.
        narrow: the place of a constant that is s8 beside elements of s16; None: all have one type.
    """

    scales: Scales = Scales.OWN
    source: int = 0
    weights: Weights | None = None
    fixed: Mapping[DType, tuple[float, int]] = field(default_factory=lambda: MappingProxyType({}))
    widens: bool = True
    is_symmetric: bool = False
    joins_inputs: bool = False
    narrow: int | None = None

    def copies(self, place: int) -> bool:
        """True if the kernel copies elements of the input at a place, so that its scale must be that of the output."""
        return self.scales is Scales.JOINED or (self.scales is Scales.SOURCE and place == self.source)


_OWN = Rule()
_MOVES = Rule(Scales.SOURCE)
_JOINS = Rule(Scales.JOINED)
_CHOOSES = Rule(Scales.JOINED, widens=False)
_ASKS = Rule(Scales.NONE)


def _fixed(s8: tuple[float, int], s16: tuple[float, int] | None = None) -> Rule:
    return Rule(Scales.FIXED, fixed={DType.S8: s8} if s16 is None else {DType.S8: s8, DType.S16: s16})


_PART_OF_ONE = _fixed((2.0**-8, -128), (2.0**-15, 0))

_COMPUTE = (
    "ABS", "ADD", "BATCH_MATMUL", "DIV", "ELU", "HARD_SWISH", "LEAKY_RELU", "MEAN", "MUL", "RELU", "RSQRT",
    "SQUARED_DIFFERENCE", "SUB", "SUM",
)  # fmt: skip
_MOVE = (
    "AVERAGE_POOL_2D", "BATCH_TO_SPACE_ND", "BROADCAST_TO", "DEPTH_TO_SPACE", "EXPAND_DIMS", "GATHER", "GATHER_ND",
    "MAX_POOL_2D", "MIRROR_PAD", "PAD", "REDUCE_MAX", "REDUCE_MIN", "RELU6", "RESHAPE", "RESIZE_BILINEAR",
    "RESIZE_NEAREST_NEIGHBOR", "REVERSE_V2", "SLICE", "SPACE_TO_DEPTH", "SPLIT_V", "SQUEEZE", "STRIDED_SLICE",
    "TRANSPOSE", "UNPACK",
)  # fmt: skip
_ASK = ("ARG_MAX", "ARG_MIN", "EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL", "SHAPE")

RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_COMPUTE, _OWN),
    **dict.fromkeys(_MOVE, _MOVES),
    **dict.fromkeys(("CONCATENATION", "PACK", "DYNAMIC_UPDATE_SLICE"), _JOINS),
    **dict.fromkeys(("MAXIMUM", "MINIMUM", "SELECT_V2", "PADV2"), _CHOOSES),
    **dict.fromkeys(_ASK, _ASKS),
    **dict.fromkeys(("UNIDIRECTIONAL_SEQUENCE_LSTM", "SVDF"), _OWN),
    "ADD_N": Rule(joins_inputs=True, is_symmetric=True),
    "CUMSUM": Rule(is_symmetric=True),
    "SPACE_TO_BATCH_ND": Rule(Scales.SOURCE, is_symmetric=True),
    "PRELU": Rule(narrow=1),
    "EMBEDDING_LOOKUP": Rule(Scales.SOURCE, source=1),
    "SPLIT": Rule(Scales.SOURCE, source=1),
    "CONV_2D": Rule(weights=Weights(1, 0, 2)),
    "DEPTHWISE_CONV_2D": Rule(weights=Weights(1, 3, 2)),
    "FULLY_CONNECTED": Rule(weights=Weights(1, 0, 2)),
    "TRANSPOSE_CONV": Rule(source=2, weights=Weights(1, 0, 3)),
    "LOGISTIC": _PART_OF_ONE,
    "SOFTMAX": _PART_OF_ONE,
    "TANH": _fixed((2.0**-7, 0), (2.0**-15, 0)),
    "LOG_SOFTMAX": _fixed((2.0**-4, 127)),
    "L2_NORMALIZATION": _fixed((2.0**-7, 0)),
}
"""By the schema's name of the operator. One that is not here stays float32: an island between integers."""
