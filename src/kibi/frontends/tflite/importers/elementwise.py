"""Importers of elementwise operators."""

from collections.abc import Mapping
from math import isfinite

from kibi.frontends.tflite.importers.base import Importer, OptionsError, activation_of, plain
from kibi.frontends.tflite.importers.repeated_axes import broadcasting, repeated
from kibi.frontends.tflite.reader import Options
from kibi.ir import Operator
from kibi.ops import (
    Abs,
    Add,
    Ceil,
    Dequantize,
    Div,
    Elu,
    Floor,
    HardSwish,
    LeakyRelu,
    Logistic,
    Maximum,
    Minimum,
    Mul,
    Neg,
    Prelu,
    Quantize,
    Relu,
    Relu6,
    Round,
    Rsqrt,
    Sqrt,
    Square,
    SquaredDifference,
    Sub,
    Tanh,
)


def _leaky_relu(options: Options) -> Operator:
    alpha = options.real("Alpha")
    if not isfinite(alpha):
        raise OptionsError(f"alpha is {alpha}", "Export the model again; the file is damaged")
    return LeakyRelu(alpha=alpha)


ELEMENTWISE: Mapping[str, Importer] = {
    "ABS": plain(Abs),
    "ADD": Importer(lambda options: Add(activation=activation_of(options)), "AddOptions", instead=repeated),
    "CEIL": plain(Ceil),
    "DEQUANTIZE": plain(Dequantize),
    "DIV": Importer(lambda options: Div(activation=activation_of(options)), "DivOptions", instead=repeated),
    "ELU": plain(Elu),
    "FLOOR": plain(Floor),
    "HARD_SWISH": plain(HardSwish),
    "LEAKY_RELU": Importer(_leaky_relu, "LeakyReluOptions"),
    "LOGISTIC": plain(Logistic),
    "MAXIMUM": broadcasting(Maximum),
    "MINIMUM": broadcasting(Minimum),
    "MUL": Importer(lambda options: Mul(activation=activation_of(options)), "MulOptions", instead=repeated),
    "NEG": plain(Neg),
    "PRELU": broadcasting(Prelu),
    "QUANTIZE": plain(Quantize),
    "RELU": plain(Relu),
    "RELU6": plain(Relu6),
    "ROUND": plain(Round),
    "RSQRT": plain(Rsqrt),
    "SQRT": plain(Sqrt),
    "SQUARE": plain(Square),
    "SQUARED_DIFFERENCE": broadcasting(SquaredDifference),
    "SUB": Importer(lambda options: Sub(activation=activation_of(options)), "SubOptions", instead=repeated),
    "TANH": plain(Tanh),
}
"""By the schema's name of the operator."""
