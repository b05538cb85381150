"""Graphs as frozen data: tensors, nodes, operators' contract, row access, verification."""

from kibi.ir.early_exit import early_exits
from kibi.ir.evaluation import counted_graphs, counted_steps, evaluation, evaluator
from kibi.ir.graph import Graph, Node, Signature, Site, subgraphs_within
from kibi.ir.operator import Accumulation, KernelCall, Made, Operator, OperatorError, Rows, StatefulOperator
from kibi.ir.rows import RowAccess
from kibi.ir.state_updates import can_overwrite, in_order, overwrites
from kibi.ir.tensor import Quantization, Tensor, TensorType
from kibi.ir.verify import verify

__all__ = [
    "Accumulation",
    "Graph",
    "KernelCall",
    "Made",
    "Node",
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
    "can_overwrite",
    "counted_graphs",
    "counted_steps",
    "early_exits",
    "evaluation",
    "evaluator",
    "in_order",
    "overwrites",
    "subgraphs_within",
    "verify",
]
