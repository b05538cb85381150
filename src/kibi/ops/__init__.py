"""Operators: one file each, and the registry."""

from kibi.ops.abs import Abs
from kibi.ops.add import Add
from kibi.ops.attributes import Activation, ExplicitPadding, Padding
from kibi.ops.average_pool2d import AveragePool2D
from kibi.ops.ceil import Ceil
from kibi.ops.conv2d import Conv2D
from kibi.ops.custom_operator import CustomOperator, CustomOptions
from kibi.ops.depthwise_conv2d import DepthwiseConv2D
from kibi.ops.dequantize import Dequantize
from kibi.ops.div import Div
from kibi.ops.elu import Elu
from kibi.ops.floor import Floor
from kibi.ops.fully_connected import FullyConnected
from kibi.ops.hard_swish import HardSwish
from kibi.ops.leaky_relu import LeakyRelu
from kibi.ops.logistic import Logistic
from kibi.ops.max_pool2d import MaxPool2D
from kibi.ops.maximum import Maximum
from kibi.ops.mean import Mean
from kibi.ops.minimum import Minimum
from kibi.ops.mul import Mul
from kibi.ops.neg import Neg
from kibi.ops.pad import Pad
from kibi.ops.prelu import Prelu
from kibi.ops.quantize import Quantize
from kibi.ops.registry import (
    custom_operators,
    find_custom,
    is_custom,
    operators,
    register,
    register_custom,
    unregister_custom,
)
from kibi.ops.relu import Relu
from kibi.ops.relu6 import Relu6
from kibi.ops.reshape import Reshape
from kibi.ops.round import Round
from kibi.ops.rsqrt import Rsqrt
from kibi.ops.softmax import Softmax
from kibi.ops.sqrt import Sqrt
from kibi.ops.square import Square
from kibi.ops.squared_difference import SquaredDifference
from kibi.ops.sub import Sub
from kibi.ops.tanh import Tanh

__all__ = [
    "Abs",
    "Activation",
    "Add",
    "AveragePool2D",
    "Ceil",
    "Conv2D",
    "CustomOperator",
    "CustomOptions",
    "DepthwiseConv2D",
    "Dequantize",
    "Div",
    "Elu",
    "ExplicitPadding",
    "Floor",
    "FullyConnected",
    "HardSwish",
    "LeakyRelu",
    "Logistic",
    "MaxPool2D",
    "Maximum",
    "Mean",
    "Minimum",
    "Mul",
    "Neg",
    "Pad",
    "Padding",
    "Prelu",
    "Quantize",
    "Relu",
    "Relu6",
    "Reshape",
    "Round",
    "Rsqrt",
    "Softmax",
    "Sqrt",
    "Square",
    "SquaredDifference",
    "Sub",
    "Tanh",
    "custom_operators",
    "find_custom",
    "is_custom",
    "operators",
    "register",
    "register_custom",
    "unregister_custom",
]
