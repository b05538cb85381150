"""Operators: one file each, and the registry."""

from kibi.ops.add import Add
from kibi.ops.attributes import Activation, ExplicitPadding, Padding
from kibi.ops.average_pool2d import AveragePool2D
from kibi.ops.concatenation import Concatenation
from kibi.ops.conv2d import Conv2D
from kibi.ops.custom_operator import CustomOperator, CustomOptions
from kibi.ops.depthwise_conv2d import DepthwiseConv2D
from kibi.ops.dequantize import Dequantize
from kibi.ops.expand_dims import ExpandDims
from kibi.ops.fully_connected import FullyConnected
from kibi.ops.logistic import Logistic
from kibi.ops.max_pool2d import MaxPool2D
from kibi.ops.mean import Mean
from kibi.ops.mul import Mul
from kibi.ops.pack import Pack
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
from kibi.ops.slice import Slice
from kibi.ops.softmax import Softmax
from kibi.ops.split import Split
from kibi.ops.split_v import SplitV
from kibi.ops.squeeze import Squeeze
from kibi.ops.strided_slice import StridedSlice
from kibi.ops.transpose import Transpose
from kibi.ops.unpack import Unpack

__all__ = [
    "Activation",
    "Add",
    "AveragePool2D",
    "Concatenation",
    "Conv2D",
    "CustomOperator",
    "CustomOptions",
    "DepthwiseConv2D",
    "Dequantize",
    "ExpandDims",
    "ExplicitPadding",
    "FullyConnected",
    "Logistic",
    "MaxPool2D",
    "Mean",
    "Mul",
    "Pack",
    "Pad",
    "Padding",
    "Quantize",
    "Relu",
    "Relu6",
    "Reshape",
    "Slice",
    "Softmax",
    "Split",
    "SplitV",
    "Squeeze",
    "StridedSlice",
    "Transpose",
    "Unpack",
    "custom_operators",
    "find_custom",
    "is_custom",
    "operators",
    "register",
    "register_custom",
    "unregister_custom",
]
