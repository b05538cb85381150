"""Operators: one file each, and the registry."""

from kibi.ops.abs import Abs
from kibi.ops.add import Add
from kibi.ops.arg_max import ArgMax
from kibi.ops.arg_min import ArgMin
from kibi.ops.attributes import Activation, ExplicitPadding, Padding
from kibi.ops.average_pool2d import AveragePool2D
from kibi.ops.batch_to_space_nd import BatchToSpaceNd
from kibi.ops.broadcast_to import BroadcastTo
from kibi.ops.cast import Cast
from kibi.ops.ceil import Ceil
from kibi.ops.concatenation import Concatenation
from kibi.ops.conv2d import Conv2D
from kibi.ops.custom_operator import CustomOperator, CustomOptions
from kibi.ops.depth_to_space import DepthToSpace
from kibi.ops.depthwise_conv2d import DepthwiseConv2D
from kibi.ops.dequantize import Dequantize
from kibi.ops.div import Div
from kibi.ops.elu import Elu
from kibi.ops.expand_dims import ExpandDims
from kibi.ops.fill import Fill
from kibi.ops.floor import Floor
from kibi.ops.fully_connected import FullyConnected
from kibi.ops.gather import Gather
from kibi.ops.gather_nd import GatherNd
from kibi.ops.hard_swish import HardSwish
from kibi.ops.leaky_relu import LeakyRelu
from kibi.ops.logistic import Logistic
from kibi.ops.max_pool2d import MaxPool2D
from kibi.ops.maximum import Maximum
from kibi.ops.mean import Mean
from kibi.ops.minimum import Minimum
from kibi.ops.mirror_pad import MirrorPad
from kibi.ops.mul import Mul
from kibi.ops.neg import Neg
from kibi.ops.pack import Pack
from kibi.ops.pad import Pad
from kibi.ops.padv2 import PadV2
from kibi.ops.part import Part
from kibi.ops.prelu import Prelu
from kibi.ops.quantize import Quantize
from kibi.ops.reduce_max import ReduceMax
from kibi.ops.reduce_min import ReduceMin
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
from kibi.ops.resize_bilinear import ResizeBilinear
from kibi.ops.resize_nearest_neighbor import ResizeNearestNeighbor
from kibi.ops.round import Round
from kibi.ops.rsqrt import Rsqrt
from kibi.ops.shape import Shape
from kibi.ops.signal_delay import SignalDelay
from kibi.ops.signal_energy import SignalEnergy
from kibi.ops.signal_fft_auto_scale import SignalFftAutoScale
from kibi.ops.signal_filter_bank import SignalFilterBank
from kibi.ops.signal_filter_bank_log import SignalFilterBankLog
from kibi.ops.signal_filter_bank_spectral_subtraction import SignalFilterBankSpectralSubtraction
from kibi.ops.signal_filter_bank_square_root import SignalFilterBankSquareRoot
from kibi.ops.signal_framer import SignalFramer
from kibi.ops.signal_irfft import SignalIrfft
from kibi.ops.signal_overlap_add import SignalOverlapAdd
from kibi.ops.signal_pcan import SignalPCAN
from kibi.ops.signal_rfft import SignalRfft
from kibi.ops.signal_stacker import SignalStacker
from kibi.ops.signal_window import SignalWindow
from kibi.ops.slice import Slice
from kibi.ops.softmax import Softmax
from kibi.ops.space_to_batch_nd import SpaceToBatchNd
from kibi.ops.space_to_depth import SpaceToDepth
from kibi.ops.split import Split
from kibi.ops.split_v import SplitV
from kibi.ops.sqrt import Sqrt
from kibi.ops.square import Square
from kibi.ops.squared_difference import SquaredDifference
from kibi.ops.squeeze import Squeeze
from kibi.ops.strided_slice import StridedSlice
from kibi.ops.sub import Sub
from kibi.ops.sum import Sum
from kibi.ops.tanh import Tanh
from kibi.ops.transpose import Transpose
from kibi.ops.unpack import Unpack
from kibi.ops.zeros_like import ZerosLike

__all__ = [
    "Abs",
    "Activation",
    "Add",
    "ArgMax",
    "ArgMin",
    "AveragePool2D",
    "BatchToSpaceNd",
    "BroadcastTo",
    "Cast",
    "Ceil",
    "Concatenation",
    "Conv2D",
    "CustomOperator",
    "CustomOptions",
    "DepthToSpace",
    "DepthwiseConv2D",
    "Dequantize",
    "Div",
    "Elu",
    "ExpandDims",
    "ExplicitPadding",
    "Fill",
    "Floor",
    "FullyConnected",
    "Gather",
    "GatherNd",
    "HardSwish",
    "LeakyRelu",
    "Logistic",
    "MaxPool2D",
    "Maximum",
    "Mean",
    "Minimum",
    "MirrorPad",
    "Mul",
    "Neg",
    "Pack",
    "Pad",
    "PadV2",
    "Padding",
    "Part",
    "Prelu",
    "Quantize",
    "ReduceMax",
    "ReduceMin",
    "Relu",
    "Relu6",
    "Reshape",
    "ResizeBilinear",
    "ResizeNearestNeighbor",
    "Round",
    "Rsqrt",
    "Shape",
    "SignalDelay",
    "SignalEnergy",
    "SignalFftAutoScale",
    "SignalFilterBank",
    "SignalFilterBankLog",
    "SignalFilterBankSpectralSubtraction",
    "SignalFilterBankSquareRoot",
    "SignalFramer",
    "SignalIrfft",
    "SignalOverlapAdd",
    "SignalPCAN",
    "SignalRfft",
    "SignalStacker",
    "SignalWindow",
    "Slice",
    "Softmax",
    "SpaceToBatchNd",
    "SpaceToDepth",
    "Split",
    "SplitV",
    "Sqrt",
    "Square",
    "SquaredDifference",
    "Squeeze",
    "StridedSlice",
    "Sub",
    "Sum",
    "Tanh",
    "Transpose",
    "Unpack",
    "ZerosLike",
    "custom_operators",
    "find_custom",
    "is_custom",
    "operators",
    "register",
    "register_custom",
    "unregister_custom",
]
