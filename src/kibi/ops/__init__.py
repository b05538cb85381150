"""Operators: one file each, and the registry."""

from kibi.ops.add import Add
from kibi.ops.attributes import Activation, ExplicitPadding, Padding
from kibi.ops.average_pool2d import AveragePool2D
from kibi.ops.conv2d import Conv2D
from kibi.ops.custom_operator import CustomOperator, CustomOptions
from kibi.ops.depthwise_conv2d import DepthwiseConv2D
from kibi.ops.dequantize import Dequantize
from kibi.ops.fully_connected import FullyConnected
from kibi.ops.logistic import Logistic
from kibi.ops.max_pool2d import MaxPool2D
from kibi.ops.mean import Mean
from kibi.ops.mul import Mul
from kibi.ops.pad import Pad
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
from kibi.ops.softmax import Softmax

__all__ = [
    "Activation",
    "Add",
    "AveragePool2D",
    "Conv2D",
    "CustomOperator",
    "CustomOptions",
    "DepthwiseConv2D",
    "Dequantize",
    "ExplicitPadding",
    "FullyConnected",
    "Logistic",
    "MaxPool2D",
    "Mean",
    "Mul",
    "Pad",
    "Padding",
    "Quantize",
    "Relu",
    "Relu6",
    "Reshape",
    "Softmax",
    "custom_operators",
    "find_custom",
    "is_custom",
    "operators",
    "register",
    "register_custom",
    "unregister_custom",
]
