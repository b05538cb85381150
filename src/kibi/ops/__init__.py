"""Operators: one file each, and the registry."""

from kibi.ops.attributes import Activation, ExplicitPadding, Padding
from kibi.ops.control.circular_buffer import CircularBuffer
from kibi.ops.control.conditional import If
from kibi.ops.control.control_flow import as_body
from kibi.ops.control.variables import AssignVariable, ReadVariable
from kibi.ops.control.while_loop import While
from kibi.ops.custom.custom_operator import CustomOperator, CustomOptions
from kibi.ops.detection_postprocess import DetectionPostProcess
from kibi.ops.elementwise.abs import Abs
from kibi.ops.elementwise.add import Add
from kibi.ops.elementwise.add_n import AddN
from kibi.ops.elementwise.cast import Cast
from kibi.ops.elementwise.comparison import Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual
from kibi.ops.elementwise.dequantize import Dequantize
from kibi.ops.elementwise.div import Div
from kibi.ops.elementwise.elu import Elu
from kibi.ops.elementwise.floor_division import FloorDiv, FloorMod
from kibi.ops.elementwise.hard_swish import HardSwish
from kibi.ops.elementwise.leaky_relu import LeakyRelu
from kibi.ops.elementwise.logical import LogicalAnd, LogicalNot, LogicalOr
from kibi.ops.elementwise.logistic import Logistic
from kibi.ops.elementwise.maximum_minimum import Maximum, Minimum
from kibi.ops.elementwise.mul import Mul
from kibi.ops.elementwise.prelu import Prelu
from kibi.ops.elementwise.quantize import Quantize
from kibi.ops.elementwise.relu import Relu, Relu6
from kibi.ops.elementwise.rsqrt import Rsqrt
from kibi.ops.elementwise.select_v2 import SelectV2
from kibi.ops.elementwise.squared_difference import SquaredDifference
from kibi.ops.elementwise.sub import Sub
from kibi.ops.elementwise.tanh import Tanh
from kibi.ops.elementwise.unary import Ceil, Cos, Exp, Floor, Log, Neg, Round, Sin, Sqrt, Square
from kibi.ops.linear.batch_matmul import BatchMatmul
from kibi.ops.linear.fully_connected import FullyConnected
from kibi.ops.movement.batch_to_space_nd import BatchToSpaceNd, SpaceToBatchNd
from kibi.ops.movement.broadcast_to import BroadcastArgs, BroadcastTo
from kibi.ops.movement.concatenation import Concatenation
from kibi.ops.movement.depth_to_space import DepthToSpace, SpaceToDepth
from kibi.ops.movement.dynamic_update_slice import DynamicUpdateSlice
from kibi.ops.movement.embedding_lookup import EmbeddingLookup
from kibi.ops.movement.fill import Fill, ZerosLike
from kibi.ops.movement.gather import Gather, GatherNd
from kibi.ops.movement.mirror_pad import MirrorPad
from kibi.ops.movement.pack import Pack
from kibi.ops.movement.pad import Pad, PadV2
from kibi.ops.movement.reshape import ExpandDims, Reshape, Squeeze
from kibi.ops.movement.resize_nearest_neighbor import ResizeNearestNeighbor
from kibi.ops.movement.reverse_v2 import ReverseV2
from kibi.ops.movement.shape import Shape
from kibi.ops.movement.slice import Slice, StridedSlice
from kibi.ops.movement.split import Split, SplitV, Unpack
from kibi.ops.movement.transpose import Transpose
from kibi.ops.normalization.l2_normalization import L2Normalization
from kibi.ops.normalization.log_softmax import LogSoftmax
from kibi.ops.normalization.softmax import Softmax
from kibi.ops.recurrent.svdf import Svdf
from kibi.ops.recurrent.unidirectional_sequence_lstm import UnidirectionalSequenceLstm
from kibi.ops.reductions.arg_extreme import ArgMax, ArgMin
from kibi.ops.reductions.cumsum import Cumsum
from kibi.ops.reductions.extremes import ReduceMax, ReduceMin
from kibi.ops.reductions.mean import Mean
from kibi.ops.reductions.reduce_all import ReduceAll
from kibi.ops.reductions.sum import Sum
from kibi.ops.registry import (
    custom_operators,
    find_custom,
    is_custom,
    operators,
    register,
    register_custom,
    unregister_custom,
)
from kibi.ops.signal.delay import SignalDelay
from kibi.ops.signal.energy import SignalEnergy
from kibi.ops.signal.fft_auto_scale import SignalFftAutoScale
from kibi.ops.signal.filter_bank import SignalFilterBank
from kibi.ops.signal.filter_bank_log import SignalFilterBankLog
from kibi.ops.signal.filter_bank_spectral_subtraction import SignalFilterBankSpectralSubtraction
from kibi.ops.signal.filter_bank_square_root import SignalFilterBankSquareRoot
from kibi.ops.signal.framer import SignalFramer
from kibi.ops.signal.irfft import SignalIrfft
from kibi.ops.signal.overlap_add import SignalOverlapAdd
from kibi.ops.signal.pcan import SignalPCAN
from kibi.ops.signal.rfft import SignalRfft
from kibi.ops.signal.stacker import SignalStacker
from kibi.ops.signal.window import SignalWindow
from kibi.ops.windows.average_pool2d import AveragePool2D
from kibi.ops.windows.conv2d import Conv2D
from kibi.ops.windows.depthwise_conv2d import DepthwiseConv2D
from kibi.ops.windows.l2_pool2d import L2Pool2D
from kibi.ops.windows.max_pool2d import MaxPool2D
from kibi.ops.windows.resize_bilinear import ResizeBilinear
from kibi.ops.windows.transpose_conv import TransposeConv

__all__ = [
    "Abs",
    "Activation",
    "Add",
    "AddN",
    "ArgMax",
    "ArgMin",
    "AssignVariable",
    "AveragePool2D",
    "BatchMatmul",
    "BatchToSpaceNd",
    "BroadcastArgs",
    "BroadcastTo",
    "Cast",
    "Ceil",
    "CircularBuffer",
    "Concatenation",
    "Conv2D",
    "Cos",
    "Cumsum",
    "CustomOperator",
    "CustomOptions",
    "DepthToSpace",
    "DepthwiseConv2D",
    "Dequantize",
    "DetectionPostProcess",
    "Div",
    "DynamicUpdateSlice",
    "Elu",
    "EmbeddingLookup",
    "Equal",
    "Exp",
    "ExpandDims",
    "ExplicitPadding",
    "Fill",
    "Floor",
    "FloorDiv",
    "FloorMod",
    "FullyConnected",
    "Gather",
    "GatherNd",
    "Greater",
    "GreaterEqual",
    "HardSwish",
    "If",
    "L2Normalization",
    "L2Pool2D",
    "LeakyRelu",
    "Less",
    "LessEqual",
    "Log",
    "LogSoftmax",
    "LogicalAnd",
    "LogicalNot",
    "LogicalOr",
    "Logistic",
    "MaxPool2D",
    "Maximum",
    "Mean",
    "Minimum",
    "MirrorPad",
    "Mul",
    "Neg",
    "NotEqual",
    "Pack",
    "Pad",
    "PadV2",
    "Padding",
    "Prelu",
    "Quantize",
    "ReadVariable",
    "ReduceAll",
    "ReduceMax",
    "ReduceMin",
    "Relu",
    "Relu6",
    "Reshape",
    "ResizeBilinear",
    "ResizeNearestNeighbor",
    "ReverseV2",
    "Round",
    "Rsqrt",
    "SelectV2",
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
    "Sin",
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
    "Svdf",
    "Tanh",
    "Transpose",
    "TransposeConv",
    "UnidirectionalSequenceLstm",
    "Unpack",
    "While",
    "ZerosLike",
    "as_body",
    "custom_operators",
    "find_custom",
    "is_custom",
    "operators",
    "register",
    "register_custom",
    "unregister_custom",
]
