"""WHILE."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from kibi.dtypes import Array, DType
from kibi.errors import LimitError
from kibi.ir import Graph, KernelCall, NodeView, OperatorError, Rows, TensorType, counted_steps, evaluator
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
class While(ControlFlow):
    """A graph again and again: inputs of any type → the same after the last iteration, or as they are.

    The condition takes what is carried and gives a bool first; as long as it holds, the body takes and gives what is carried.
    It ends when the model says so, or with an error after `most_turns` iterations, in Python also after `most_steps` row
    steps. Source: TFLM `micro/kernels/while.cc` (no limit).

    Attributes:
        condition: says whether another iteration follows.
        body: one iteration.
    """

    name: ClassVar[str] = "WHILE"
    inputs: ClassVar[tuple[str, ...]] = operand_names("input0")
    row_inputs: ClassVar[tuple[str, ...]] = tuple(name.rstrip("?") for name in inputs)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_while_any",)
    types: ClassVar[tuple[DType, ...]] = tuple(DType)
    subgraph_names: ClassVar[tuple[str, ...]] = ("condition", "body")
    most_turns: ClassVar[int] = 100_000
    """Iterations of one run of a loop in Python; assign another number to allow more. In C the macro `KIBI_WHILE_LIMIT` says so."""
    most_steps: ClassVar[int] = 1_000_000
    """Row steps that a loop takes in Python, with those of the loops inside of it; assign another number to allow more."""
    may_loop = True

    condition: Graph = NOTHING
    body: Graph = NOTHING

    def infer(self, view: NodeView) -> list[TensorType]:
        """Condition and body take what is carried, and the body gives it."""
        self.check_inputs(view, "the condition", self.condition)
        self.check_inputs(view, "the body", self.body)
        answers = types_of(self.condition, self.condition.outputs)
        if not answers or answers[0].dtype is not DType.BOOL or answers[0].elements != 1:
            given = ", ".join(map(str, answers)) or "nothing"
            raise OperatorError(
                f"the condition gives {given}, not one bool", "Export the model again; the file is damaged"
            )
        carried = types_of(self.body, self.body.inputs)
        outputs = types_of(self.body, self.body.outputs)
        check_same_outputs("the body", outputs, "it takes", carried)
        self.check_outputs(view, "the body", outputs)
        return outputs

    def reference(self, view: NodeView) -> Callable[[Rows], list[Array]]:
        """Returns a function that iterates with the references of the operators in condition and body."""
        holds, turn = evaluator(self.condition), evaluator(self.body)

        def row(rows: Rows) -> list[Array]:
            carried, turns = arrays(view, rows), 0
            with counted_steps() as count:
                while holds(carried)[0].any():
                    if turns == self.most_turns or count.steps > self.most_steps:
                        raise LimitError(f"{view.node.label}, whose condition still holds,", turns, count.steps)
                    carried, turns = turn(carried), turns + 1
            return carried

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """A loop around calls of two functions; what is carried is in the outputs."""
        return self.kernel(view, "kibi_while_any")

    def macs(self, view: NodeView) -> int:
        """Returns those of one iteration: how many there are is not known ahead of time."""
        del view
        return self.condition.macs + self.body.macs


register(While)
