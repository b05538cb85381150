"""IF."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import Graph, KernelCall, NodeView, OperatorError, Rows, TensorType, evaluator
from kibi.ops.control.control_flow import (
    NOTHING,
    ControlFlow,
    arrays,
    check_same_outputs,
    operand_names,
    types_of,
)
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class If(ControlFlow):
    """One of two graphs: condition bool of one element, any inputs → what the chosen graph gives.

    Both graphs take the inputs after the condition, and give the same shapes and types. Source: TFLM `micro/kernels/if.cc`.

    Attributes:
        then_body: runs where the condition holds.
        else_body: runs where it does not.
    """

    name: ClassVar[str] = "IF"
    inputs: ClassVar[tuple[str, ...]] = operand_names("condition")
    row_inputs: ClassVar[tuple[str, ...]] = tuple(name.rstrip("?") for name in inputs)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_if_any",)
    types: ClassVar[tuple[DType, ...]] = (DType.BOOL,)
    subgraph_names: ClassVar[tuple[str, ...]] = ("then_body", "else_body")
    passed_from: ClassVar[int] = 1

    then_body: Graph = NOTHING
    else_body: Graph = NOTHING

    def infer(self, view: NodeView) -> list[TensorType]:
        """Both branches take what is passed, and give the same."""
        condition = view["condition"].type
        if condition.elements != 1:
            raise OperatorError(f"the condition has shape {list(condition.shape)}, not one element", "", "condition")
        self.check_inputs(view, "the branch taken", self.then_body)
        self.check_inputs(view, "the branch otherwise taken", self.else_body)
        outputs = types_of(self.then_body, self.then_body.outputs)
        others = types_of(self.else_body, self.else_body.outputs)
        check_same_outputs("the branch taken", outputs, "the other one", others)
        self.check_outputs(view, "the branch taken", outputs)
        return outputs

    def reference(self, view: NodeView) -> Callable[[Rows], list[Array]]:
        """The chosen branch by its own operators' references."""
        then_run, else_run = evaluator(self.then_body), evaluator(self.else_body)

        def row(rows: Rows) -> list[Array]:
            condition, *passed = arrays(view, rows)
            return (then_run if bool(np.any(condition)) else else_run)(passed)

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The call of one of two functions."""
        return self.kernel(view, "kibi_if_any")

    def macs(self, view: NodeView) -> int:
        """The operations of the branch that has more."""
        del view
        return max(self.then_body.macs, self.else_body.macs)


register(If)
