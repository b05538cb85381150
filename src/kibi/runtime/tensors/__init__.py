"""Tensors: each kind says where its data lies and how it is reached; operators do not care which."""

from kibi.runtime.tensors.file import FileTensor
from kibi.runtime.tensors.interface import FastOperator, TensorInterface
from kibi.runtime.tensors.layouts import STRUCTS, c_declaration
from kibi.runtime.tensors.plain import BufferTensor, RamTensor, RomTensor
from kibi.runtime.tensors.rows import CameraTensor, RowTensor

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
