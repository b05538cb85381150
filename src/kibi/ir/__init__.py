"""Graphs as frozen data: tensors, nodes, operators' contract, row access, verification."""

from kibi.ir.graph import Graph, Node, Site
from kibi.ir.operator import Accumulation, KernelCall, Operator, OperatorError, Param, Rows
from kibi.ir.rows import RowAccess
from kibi.ir.tensor import Quantization, Tensor, TensorType
from kibi.ir.verify import verify

__all__ = [
    "Accumulation",
    "Graph",
    "KernelCall",
    "Node",
    "Operator",
    "OperatorError",
    "Param",
    "Quantization",
    "RowAccess",
    "Rows",
    "Site",
    "Tensor",
    "TensorType",
    "verify",
]
