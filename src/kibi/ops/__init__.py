"""Operators: one file each, and the registry."""

from kibi.ops.attributes import Activation, ExplicitPadding, Padding
from kibi.ops.control.assign_variable import AssignVariable
from kibi.ops.control.circular_buffer import CircularBuffer
from kibi.ops.control.conditional import If
from kibi.ops.control.control_flow import as_body
from kibi.ops.control.read_variable import ReadVariable
from kibi.ops.control.while_loop import While
from kibi.ops.custom.custom_operator import CustomOperator, CustomOptions
from kibi.ops.detection_postprocess import DetectionPostProcess
from kibi.ops.elementwise.abs import Abs
from kibi.ops.elementwise.add import Add
from kibi.ops.elementwise.add_n import AddN
from kibi.ops.elementwise.cast import Cast
from kibi.ops.elementwise.ceil import Ceil
from kibi.ops.elementwise.cos import Cos
from kibi.ops.elementwise.dequantize import Dequantize
from kibi.ops.elementwise.div import Div
from kibi.ops.elementwise.elu import Elu
from kibi.ops.elementwise.equal import Equal
from kibi.ops.elementwise.exp import Exp
from kibi.ops.elementwise.floor import Floor
from kibi.ops.elementwise.floor_div import FloorDiv
from kibi.ops.elementwise.floor_mod import FloorMod
from kibi.ops.elementwise.greater import Greater
from kibi.ops.elementwise.greater_equal import GreaterEqual
from kibi.ops.elementwise.hard_swish import HardSwish
from kibi.ops.elementwise.leaky_relu import LeakyRelu
from kibi.ops.elementwise.less import Less
from kibi.ops.elementwise.less_equal import LessEqual
from kibi.ops.elementwise.log import Log
from kibi.ops.elementwise.logical_and import LogicalAnd
from kibi.ops.elementwise.logical_not import LogicalNot
from kibi.ops.elementwise.logical_or import LogicalOr
from kibi.ops.elementwise.logistic import Logistic
from kibi.ops.elementwise.maximum import Maximum
from kibi.ops.elementwise.minimum import Minimum
from kibi.ops.elementwise.mul import Mul
from kibi.ops.elementwise.neg import Neg
from kibi.ops.elementwise.not_equal import NotEqual
from kibi.ops.elementwise.prelu import Prelu
from kibi.ops.elementwise.quantize import Quantize
from kibi.ops.elementwise.relu import Relu
from kibi.ops.elementwise.relu6 import Relu6
from kibi.ops.elementwise.round import Round
from kibi.ops.elementwise.rsqrt import Rsqrt
from kibi.ops.elementwise.select_v2 import SelectV2
from kibi.ops.elementwise.sin import Sin
from kibi.ops.elementwise.sqrt import Sqrt
from kibi.ops.elementwise.square import Square
from kibi.ops.elementwise.squared_difference import SquaredDifference
from kibi.ops.elementwise.sub import Sub
from kibi.ops.elementwise.tanh import Tanh
from kibi.ops.linear.batch_matmul import BatchMatmul
from kibi.ops.linear.fully_connected import FullyConnected
from kibi.ops.movement.batch_to_space_nd import BatchToSpaceNd
from kibi.ops.movement.broadcast_args import BroadcastArgs
from kibi.ops.movement.broadcast_to import BroadcastTo
from kibi.ops.movement.concatenation import Concatenation
from kibi.ops.movement.depth_to_space import DepthToSpace
from kibi.ops.movement.dynamic_update_slice import DynamicUpdateSlice
from kibi.ops.movement.embedding_lookup import EmbeddingLookup
from kibi.ops.movement.expand_dims import ExpandDims
from kibi.ops.movement.fill import Fill
from kibi.ops.movement.gather import Gather
from kibi.ops.movement.gather_nd import GatherNd
from kibi.ops.movement.mirror_pad import MirrorPad
from kibi.ops.movement.pack import Pack
from kibi.ops.movement.pad import Pad
from kibi.ops.movement.padv2 import PadV2
from kibi.ops.movement.reshape import Reshape
from kibi.ops.movement.resize_nearest_neighbor import ResizeNearestNeighbor
from kibi.ops.movement.reverse_v2 import ReverseV2
from kibi.ops.movement.shape import Shape
from kibi.ops.movement.slice import Slice
from kibi.ops.movement.space_to_batch_nd import SpaceToBatchNd
from kibi.ops.movement.space_to_depth import SpaceToDepth
from kibi.ops.movement.split import Split
from kibi.ops.movement.split_v import SplitV
from kibi.ops.movement.squeeze import Squeeze
from kibi.ops.movement.strided_slice import StridedSlice
from kibi.ops.movement.transpose import Transpose
from kibi.ops.movement.unpack import Unpack
from kibi.ops.movement.zeros_like import ZerosLike
from kibi.ops.normalization.l2_normalization import L2Normalization
from kibi.ops.normalization.log_softmax import LogSoftmax
from kibi.ops.normalization.softmax import Softmax
from kibi.ops.recurrent.svdf import Svdf
from kibi.ops.recurrent.unidirectional_sequence_lstm import UnidirectionalSequenceLstm
from kibi.ops.reductions.arg_max import ArgMax
from kibi.ops.reductions.arg_min import ArgMin
from kibi.ops.reductions.cumsum import Cumsum
from kibi.ops.reductions.mean import Mean
from kibi.ops.reductions.reduce_all import ReduceAll
from kibi.ops.reductions.reduce_max import ReduceMax
from kibi.ops.reductions.reduce_min import ReduceMin
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
