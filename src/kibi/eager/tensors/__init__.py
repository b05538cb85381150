"""Tensors: each kind says where its data is stored and how it is accessed; operators work with all kinds."""

from kibi.eager.tensors.file import FileTensor
from kibi.eager.tensors.interface import FastOperator, TensorInterface
from kibi.eager.tensors.layouts import STRUCTS, c_declaration
from kibi.eager.tensors.plain import BufferTensor, RamTensor, RomTensor
from kibi.eager.tensors.rows import CameraTensor, RowTensor

__all__ = [
    "STRUCTS",
    "BufferTensor",
    "CameraTensor",
    "FastOperator",
    "FileTensor",
    "RamTensor",
    "RomTensor",
    "RowTensor",
    "TensorInterface",
    "c_declaration",
]
