"""Tensors: each kind says where its data lies and how it is reached; operators do not care which."""

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
