"""Graphs as frozen data: tensors, nodes, operators' contract, row access, verification."""

from kibi.ir.arguments import check_graph
from kibi.ir.early_exit import early_exits
from kibi.ir.evaluation import counted_graphs, counted_steps, evaluation, evaluator
from kibi.ir.graph import Graph, Node, NodeView, Signature, subgraphs_within
from kibi.ir.operator import (
    Accumulation,
    JoinedSteps,
    KernelCall,
    Made,
    Operator,
    OperatorError,
    Rows,
    StatefulOperator,
)
from kibi.ir.rows import ColumnReach, RowAccess
from kibi.ir.state_updates import can_overwrite, in_order, overwrites
from kibi.ir.tensor import Quantization, Tensor, TensorType
from kibi.ir.verify import verify
from kibi.renames import warn_of_rename

__all__ = [
    "Accumulation",
    "ColumnReach",
    "Graph",
    "JoinedSteps",
    "KernelCall",
    "Made",
    "Node",
    "NodeView",
    "Operator",
    "OperatorError",
    "Quantization",
    "RowAccess",
    "Rows",
    "Signature",
    "StatefulOperator",
    "Tensor",
    "TensorType",
    "can_overwrite",
    "check_graph",
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


def __getattr__(name: str) -> object:
    """Returns what an earlier name means now, with a `DeprecationWarning`."""
    if name == "Site":
        warn_of_rename("kibi.ir.Site", "kibi.ir.NodeView", stack_level=3)
        return NodeView
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
