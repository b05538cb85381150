"""Graphs as frozen data: tensors, nodes, operators' contract, row access, verification."""

from kibi.ir.by_hand import BoundOperator
from kibi.ir.evaluation import counted_graphs, counted_steps, evaluation, evaluator
from kibi.ir.graph import Graph, Node, Signature, Site, bodies_within
from kibi.ir.operands import Operand
from kibi.ir.operator import Accumulation, KernelCall, Operator, OperatorError, Rows, StatefulOperator
from kibi.ir.rows import RowAccess
from kibi.ir.stops import stops
from kibi.ir.tensor import Quantization, Tensor, TensorType
from kibi.ir.verify import verify
from kibi.ir.versions import can_overwrite, in_order, overwrites

__all__ = [
    "Accumulation",
    "BoundOperator",
    "Graph",
    "KernelCall",
    "Node",
    "Operand",
    "Operator",
    "OperatorError",
    "Quantization",
    "RowAccess",
    "Rows",
    "Signature",
    "Site",
    "StatefulOperator",
    "Tensor",
    "TensorType",
    "bodies_within",
    "can_overwrite",
    "counted_graphs",
    "counted_steps",
    "evaluation",
    "evaluator",
    "in_order",
    "overwrites",
    "stops",
    "verify",
]
