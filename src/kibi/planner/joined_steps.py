"""Joins the row steps of nodes that copy: one step, and one call of the kernel, where rows are stored one after another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from kibi.dtypes import Array
from kibi.errors import PlanError
from kibi.ir import Graph, JoinedSteps, KernelCall, NodeView, RowAccess, Rows, Tensor
from kibi.ir.evaluation import evaluation
from kibi.planner.plan import Buffer, Plan, Run
from kibi.selection import LoweredGraph

_PIECE_INSTRUCTIONS = 64
"""What a piece takes at most besides its bytes: that of the kernel, and that of the function that copies."""
_WORD_BYTES = 4
_SEVERAL_WORDS = "thumb2"
"""The kernels that copy several words at once, in at most one instruction a word."""


@dataclass(frozen=True)
class JoinedView(NodeView):
    """A node whose rows are made in one step, from inputs that are in one piece each.

    Attributes:
        starts: the first row of each input that is read.
    """

    starts: tuple[int, ...] = ()

    @cached_property
    def steps(self) -> int:
        """One."""
        return 1

    @cached_property
    def accesses(self) -> tuple[RowAccess, ...]:
        """The rows of each input, by a pointer to the first."""
        rows = [tensor.type.rows for tensor in self.row_tensors]
        return tuple(
            RowAccess(count, 1, count - start, stride=0, start=start, is_joined=count - start > 1)
            for count, start in zip(rows, self.starts, strict=True)
        )

    def reference(self) -> Callable[[Rows], Array]:
        """Returns the reference of all steps at once."""
        run = evaluation(NodeView(self.node, self.operands))

        def rows_of(rows: Rows) -> Array:
            known = {}
            for tensor, start, pieces in zip(self.row_tensors, self.starts, rows, strict=True):
                unread = np.zeros(start * tensor.type.row_elements, tensor.type.dtype.numpy)
                known[tensor.index] = np.concatenate([unread, *(np.asarray(piece).reshape(-1) for piece in pieces)])
            return run(known)[0]

        return rows_of


@dataclass(frozen=True, kw_only=True)
class JoinedGraph(LoweredGraph):
    """A lowered graph in which some nodes make all their rows in one step.

    Attributes:
        made_views: each node with its tensors.
        made_calls: the call of each node's kernel.
        made_generals: the call of each node's general kernel; of a joined one the same, as no other can make its step.
    """

    made_views: tuple[NodeView, ...]
    made_calls: tuple[KernelCall, ...]
    made_generals: tuple[KernelCall, ...]

    @property
    def views(self) -> tuple[NodeView, ...]:
        """Each node with its tensors."""
        return self.made_views

    @property
    def general_calls(self) -> tuple[KernelCall, ...]:
        """The call of each node's general kernel."""
        return self.made_generals

    @property
    def calls(self) -> tuple[KernelCall, ...]:
        """The call of the kernel that runs each node."""
        return self.made_calls


def with_joined(graph: LoweredGraph, nodes: Sequence[int]) -> LoweredGraph:
    """Returns a lowered graph in which these nodes make all their rows in one step.

    Raises:
        PlanError: there is no such node, or no kernel makes its rows in one step.
    """
    if not nodes:
        return graph
    views, calls, generals = list(graph.views), list(graph.calls), list(graph.general_calls)
    for number in nodes:
        found = _joined(views[number]) if 0 <= number < len(views) else None
        if found is None:
            raise PlanError(f"node {number} of {graph.name} does not make its rows in one step. Make the plan again.")
        starts = found.starts or (0,) * len(views[number].row_tensors)
        views[number] = JoinedView(views[number].node, views[number].operands, starts)
        calls[number] = generals[number] = found.call
    facts = {each.name: getattr(graph, each.name) for each in fields(LoweredGraph)}
    made = {"made_views": tuple(views), "made_calls": tuple(calls), "made_generals": tuple(generals)}
    return JoinedGraph(**facts | {"arenas": ()} | made)


def with_steps_joined(graph: LoweredGraph, plan: Plan) -> Plan:
    """Returns the plan with one step for each node that copies rows which are stored one after another.

    The node has one run, each of its inputs and its output is in one buffer or outside of the arena, and the kernel that copies all
    rows may have its output where the plan has it. A step that is joined copies less than the plan's longest step computes, so that
    no slice becomes longer. Every byte stays where it is.

    Args:
        graph: the lowered graph of the plan.
        plan: a plan of separate steps.
    """
    most = max(_least_instructions(view) for view in graph.views)
    nodes = [
        run.node
        for run in plan.runs
        if run.steps == graph.views[run.node].steps and _may_be_joined(graph, run.node, plan, most)
    ]
    if not nodes:
        return plan
    before = plan.steps
    runs = tuple(Run(run.node, 0, 1) if run.node in nodes else run for run in plan.runs)
    # Each step that there was, and the one in which it is now.
    is_first = [node not in nodes or step == 0 for node, step in before]
    now = (np.cumsum(is_first) - 1).tolist()
    buffers = tuple(
        replace(each, start=now[each.start], end=now[each.end - 1] + 1 if each.end else 0) for each in plan.buffers
    )
    return replace(plan, runs=runs, buffers=buffers, joined=tuple(sorted(nodes)))


def separate_runs(graph: Graph, plan: Plan) -> tuple[Run, ...]:
    """Returns the runs of a plan as they are without joined steps.

    Args:
        graph: the model, with its inputs and outputs handed over.
        plan: its plan.
    """
    joined = frozenset(plan.joined)
    return tuple(replace(run, steps=graph.views[run.node].steps) if run.node in joined else run for run in plan.runs)


def _joined(view: NodeView) -> JoinedSteps | None:
    """Returns the one step of a node; None where it has none, or needs it not."""
    if view.window is not None or view.op.has_several_outputs or view.accumulates:
        return None
    if view.steps == 1 and all(access.count == 1 for access in view.accesses):
        return None
    return view.op.joined_steps(view)


def _may_be_joined(graph: LoweredGraph, node: int, plan: Plan, most: float) -> bool:
    """True if one step may make all rows of a node, in at most so many instructions."""
    view = graph.views[node]
    found = _joined(view)
    if found is None or not all(is_in_one_piece(tensor, plan) for tensor in (*view.row_tensors, view.output)):
        return False
    size = view.output.type.size_bytes
    moves = size // _WORD_BYTES if _moves_words(graph, view, plan, found) else size
    if found.pieces * _PIECE_INSTRUCTIONS + moves > most:
        return False
    distances = found.call.inplace_distance_bytes
    return all(
        keeps_distance(graph, plan, tensor, view.output, None if view.row_tensors.count(tensor) > 1 else distance)
        for tensor, distance in zip(view.row_tensors, distances, strict=True)
    )


def _moves_words(graph: LoweredGraph, view: NodeView, plan: Plan, found: JoinedSteps) -> bool:
    """True if all that a step copies is in whole words, and the core's kernels copy several of them at once.

    Each variable begins at a whole word. Nothing is known of what the caller owns.
    """
    tensors = (*view.row_tensors, view.output)
    if found.unit_bytes % _WORD_BYTES or _SEVERAL_WORDS not in graph.target.kernel_sets:
        return False
    return all(
        tensor.is_state or (tensor.is_planned and _only(plan, tensor).offset % _WORD_BYTES == 0) for tensor in tensors
    )


def _least_instructions(view: NodeView) -> float:
    """Returns how many instructions a step of a node takes at least; 0 for one that may be joined."""
    if view.op.receives or view.op.fetches or _joined(view) is not None:
        return 0
    return max(view.op.macs(view) // 2, view.output.type.elements) / view.steps


def is_in_one_piece(tensor: Tensor, plan: Plan) -> bool:
    """True if the rows of a tensor are one after another."""
    return not tensor.is_planned or len(plan.buffers_of(tensor.index)) == 1


def keeps_distance(graph: Graph, plan: Plan, tensor: Tensor, output: Tensor, distance: int | None) -> bool:
    """True if a kernel may write its output where it is: apart from an input, or so far below it or more."""
    if tensor.is_state and output.is_state and graph.variable_of(tensor.index) == graph.variable_of(output.index):
        return distance == 0
    if not (tensor.is_planned and output.is_planned):
        return True
    source, made = _only(plan, tensor), _only(plan, output)
    is_apart = made.offset + made.size_bytes <= source.offset or source.offset + source.size_bytes <= made.offset
    return (
        source.region != made.region or is_apart or (distance is not None and source.offset - made.offset >= distance)
    )


def _only(plan: Plan, tensor: Tensor) -> Buffer:
    return plan.buffers_of(tensor.index)[0]
