"""Operators: one file each, and the registry."""

from kibi.ops.abs import Abs
from kibi.ops.add import Add
from kibi.ops.add_n import AddN
from kibi.ops.arg_max import ArgMax
from kibi.ops.arg_min import ArgMin
from kibi.ops.assign_variable import AssignVariable
from kibi.ops.attributes import Activation, ExplicitPadding, Padding
from kibi.ops.average_pool2d import AveragePool2D
from kibi.ops.batch_matmul import BatchMatmul
from kibi.ops.batch_to_space_nd import BatchToSpaceNd
from kibi.ops.broadcast_args import BroadcastArgs
from kibi.ops.broadcast_to import BroadcastTo
from kibi.ops.cast import Cast
from kibi.ops.ceil import Ceil
from kibi.ops.circular_buffer import CircularBuffer
from kibi.ops.concatenation import Concatenation
from kibi.ops.conditional import If
from kibi.ops.control_flow import as_body
from kibi.ops.conv2d import Conv2D
from kibi.ops.cos import Cos
from kibi.ops.cumsum import Cumsum
from kibi.ops.custom_operator import CustomOperator, CustomOptions
from kibi.ops.depth_to_space import DepthToSpace
from kibi.ops.depthwise_conv2d import DepthwiseConv2D
from kibi.ops.dequantize import Dequantize
from kibi.ops.detection_postprocess import DetectionPostProcess
from kibi.ops.div import Div
from kibi.ops.dynamic_update_slice import DynamicUpdateSlice
from kibi.ops.elu import Elu
from kibi.ops.embedding_lookup import EmbeddingLookup
from kibi.ops.equal import Equal
from kibi.ops.exp import Exp
from kibi.ops.expand_dims import ExpandDims
from kibi.ops.fill import Fill
from kibi.ops.floor import Floor
from kibi.ops.floor_div import FloorDiv
from kibi.ops.floor_mod import FloorMod
from kibi.ops.fully_connected import FullyConnected
from kibi.ops.gather import Gather
from kibi.ops.gather_nd import GatherNd
from kibi.ops.greater import Greater
from kibi.ops.greater_equal import GreaterEqual
from kibi.ops.hard_swish import HardSwish
from kibi.ops.l2_normalization import L2Normalization
from kibi.ops.l2_pool2d import L2Pool2D
from kibi.ops.leaky_relu import LeakyRelu
from kibi.ops.less import Less
from kibi.ops.less_equal import LessEqual
from kibi.ops.log import Log
from kibi.ops.log_softmax import LogSoftmax
from kibi.ops.logical_and import LogicalAnd
from kibi.ops.logical_not import LogicalNot
from kibi.ops.logical_or import LogicalOr
from kibi.ops.logistic import Logistic
from kibi.ops.max_pool2d import MaxPool2D
from kibi.ops.maximum import Maximum
from kibi.ops.mean import Mean
from kibi.ops.minimum import Minimum
from kibi.ops.mirror_pad import MirrorPad
from kibi.ops.mul import Mul
from kibi.ops.neg import Neg
from kibi.ops.not_equal import NotEqual
from kibi.ops.pack import Pack
from kibi.ops.pad import Pad
from kibi.ops.padv2 import PadV2
from kibi.ops.part import Part
from kibi.ops.prelu import Prelu
from kibi.ops.quantize import Quantize
from kibi.ops.read_variable import ReadVariable
from kibi.ops.reduce_all import ReduceAll
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
from kibi.ops.reverse_v2 import ReverseV2
from kibi.ops.round import Round
from kibi.ops.rsqrt import Rsqrt
from kibi.ops.select_v2 import SelectV2
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
from kibi.ops.sin import Sin
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
from kibi.ops.svdf import Svdf
from kibi.ops.tanh import Tanh
from kibi.ops.transpose import Transpose
from kibi.ops.transpose_conv import TransposeConv
from kibi.ops.unidirectional_sequence_lstm import UnidirectionalSequenceLstm
from kibi.ops.unpack import Unpack
from kibi.ops.while_loop import While
from kibi.ops.zeros_like import ZerosLike

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
    "Part",
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
