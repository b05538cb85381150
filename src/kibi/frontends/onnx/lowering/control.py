"""Operators that run graphs: If becomes IF, and a Loop that stays one becomes WHILE.

A graph of a `.tflite` file sees nothing of what is around it. What it takes from outside is passed to it; what a loop takes is
carried from one iteration to the next as it is. Constants are in each graph that takes them, and their data once in the file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.onnx.draft import Draft, Operation, Tensor
from kibi.frontends.onnx.emitter import Emitter, channels_last, plain_order
from kibi.frontends.onnx.graph import Node, OnnxGraph
from kibi.frontends.onnx.lowering.entry import Lowering
from kibi.frontends.onnx.problems import Unsupported

_MOST_PASSED = 32
"""Values that a graph may take, as in Kibi's IF and WHILE."""
_UNLIMITED = DType.S32.limits[1]
"""Loops that run as long as their condition holds have a number of iterations of at least that."""
_REALS = ("FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE")
_ROWS = (DType.S8, DType.S16, DType.S32, DType.F32)
"""Types of which DYNAMIC_UPDATE_SLICE replaces rows."""


def _if(e: Emitter, node: Node) -> None:
    condition, names = e.tensor(node.inputs[0]), node.inputs[1:]
    graphs: list[OnnxGraph] = [node.attributes[name] for name in ("then_branch", "else_branch")]
    branches = [e.within(graph) for graph in graphs]
    formals = [[graph.inputs[place] for graph in graphs] for place in range(len(names))]
    orders = [_order(list(zip(branches, inner, strict=True))) for inner in formals]
    given = [_whole(e, e.tensor(name, order)) for name, order in zip(names, orders, strict=True)]
    _check_count(given)
    results = [
        _order([(e if name else branches[0], name or inner)])
        for name, inner in zip(node.outputs, graphs[0].outputs, strict=True)
    ]
    drafts = []
    for branch in branches:
        inputs = _taken(branch, branch.graph.inputs, given, orders)
        branch.convert()
        outputs = [_given(branch, name, order) for name, order in zip(branch.graph.outputs, results, strict=True)]
        drafts.append(_draft(branch, inputs, branch.distinct(inputs, outputs)))
    made = [Tensor(tensor.shape, tensor.dtype) for tensor in drafts[0].outputs]
    graph_options = {"then_subgraph_index": drafts[0], "else_subgraph_index": drafts[1]}
    e.operations.append(Operation("IF", (condition, *given), tuple(made), {}, graph_options))
    for name, tensor, order in zip(node.outputs, made, results, strict=True):
        if name:
            e.give(name, tensor, order)


def _loop(e: Emitter, node: Node) -> None:
    """A WHILE that carries the number of the iteration, the condition, states, scan outputs, and what is taken from outside."""
    loop = _Loop.of(e, node)
    _check_count(loop.given)
    check, body = loop.check(e), loop.body(e)
    made = [Tensor(tensor.shape, tensor.dtype, tensor.quantization) for tensor in loop.given]
    graph_options = {"cond_subgraph_index": check, "body_subgraph_index": body}
    e.operations.append(Operation("WHILE", tuple(loop.given), tuple(made), {}, graph_options))
    first = loop.first_state
    for name, tensor, order in zip(node.outputs, made[first : first + loop.states], loop.orders, strict=False):
        if name:
            e.give(name, tensor, order)
    for (name, _), tensor in zip(loop.rows, made[first + loop.states :], strict=False):
        e.give(name, tensor)


@dataclass(frozen=True, slots=True)
class _Loop:
    """A Loop that becomes a WHILE.

    Attributes:
        graph: its body.
        states: how many values it keeps.
        orders: of the axes of states and of what is taken from outside.
        rows: names of scan outputs, and of what the body gives for each.
        given: all that is carried, before the first iteration: the number of the iteration, the condition if it may end the
            loop, states, scan outputs, what is taken from outside, and the number of iterations if it is computed.
        trips: the number of iterations if it is constant.
        is_counted: true if the number of iterations alone ends the loop.
        is_limited: true if there is a number of iterations.
    """

    graph: OnnxGraph
    states: int
    orders: tuple[tuple[int, ...], ...]
    rows: tuple[tuple[str, str], ...]
    given: tuple[Tensor, ...]
    trips: int | None
    is_counted: bool
    is_limited: bool

    @staticmethod
    def of(e: Emitter, node: Node) -> "_Loop":
        graph, states = node.attributes["body"], node.integer("states", 0)
        is_counted, body = bool(node.integer("is_counted", 0)), e.within(graph)
        outer = [(e, name) for name in node.outputs[:states]]
        orders = tuple(_order([(body, name), *outer[place : place + 1]]) for place, name in enumerate(graph.inputs[2:]))
        carried = node.inputs[2:]
        given = [e.constant(np.zeros(body.shape(graph.inputs[0]), np.int32))]
        if not is_counted:
            given.append(_condition(e, node.inputs[1], body.shape(graph.inputs[1])))
        given += [_given(e, name, order) for name, order in zip(carried[:states], orders[:states], strict=True)]
        limit = e.graph.data(node.inputs[0])
        trips = None if limit is None else min(int(limit.reshape(-1)[0]), _UNLIMITED)
        rows = tuple(pair for pair in zip(node.outputs[states:], graph.outputs[1 + states :], strict=True) if pair[0])
        given += [_empty(e, name) for name, _ in rows]
        given += [
            _whole(e, e.tensor(name, order)) for name, order in zip(carried[states:], orders[states:], strict=True)
        ]
        if node.inputs[0] and trips is None:
            given.append(e.tensor(node.inputs[0]))
        is_limited = bool(node.inputs[0]) and (is_counted or trips != _UNLIMITED)
        return _Loop(graph, states, orders, rows, tuple(given), trips, is_counted, is_limited)

    @property
    def first_state(self) -> int:
        """The place of the first state among what is carried."""
        return 1 if self.is_counted else 2

    def check(self, e: Emitter) -> Draft:
        """The graph that says whether another iteration follows."""
        inner = e.within(OnnxGraph((), {}, (), (), self.graph.opset))
        inputs = [Tensor(tensor.shape, tensor.dtype, tensor.quantization) for tensor in self.given]
        holds = None if self.is_counted else inner.reshaped(inputs[1], inputs[0].shape)
        if self.is_limited:
            limit = inputs[-1] if self.trips is None else inner.constant(np.array(self.trips, np.int32))
            limit = inner.reshaped(limit, inputs[0].shape)
            follows = inner.add("LESS", [inputs[0], limit], inputs[0].shape, DType.BOOL)
            holds = follows if holds is None else inner.like("LOGICAL_AND", [holds, follows])
        if holds is None:
            raise Unsupported("nothing ends it", "Give it a number of iterations, or a condition")
        return _draft(inner, inputs, inner.distinct(inputs, [holds]))

    def body(self, e: Emitter) -> Draft:
        """The graph of one iteration."""
        inner, names, first = e.within(self.graph), self.graph.outputs, self.first_state
        inputs = [Tensor(tensor.shape, tensor.dtype, tensor.quantization) for tensor in self.given]
        inner.give(self.graph.inputs[0], inputs[0])
        inner.naturals.add(self.graph.inputs[0])
        shape = inner.shape(self.graph.inputs[1])
        inner.give(self.graph.inputs[1], inner.constant(np.ones(shape, np.bool_)) if self.is_counted else inputs[1])
        captured = inputs[first + self.states + len(self.rows) :]
        kept = [*inputs[first : first + self.states], *captured]
        for name, tensor, order in zip(self.graph.inputs[2:], kept, self.orders, strict=False):
            inner.give(name, tensor, order)
        inner.convert()
        outputs = [
            inner.like("ADD", [inputs[0], inner.constant(np.array(1, np.int32))], fused_activation_function="NONE")
        ]
        if not self.is_counted:
            outputs.append(inner.reshaped(inner.tensor(names[0]), inputs[1].shape))
        outputs += [
            _given(inner, name, order) for name, order in zip(names[1 : 1 + self.states], self.orders, strict=False)
        ]
        for (_, name), sequence in zip(self.rows, inputs[first + self.states :], strict=False):
            row = _given(inner, name, None)
            row = inner.reshaped(row, (1, *row.shape))
            place = inner.reshaped(inputs[0], (1,))
            if len(row.shape) > 1:
                parts = [place, inner.numbers([0] * (len(row.shape) - 1))]
                place = inner.add(
                    "CONCATENATION", parts, (len(row.shape),), DType.S32, axis=0, fused_activation_function="NONE"
                )
            outputs.append(inner.like("DYNAMIC_UPDATE_SLICE", [sequence, row, place]))
        return _draft(inner, inputs, [*inner.distinct(inputs, outputs), *captured])


def _condition(e: Emitter, name: str, shape: tuple[int, ...]) -> Tensor:
    """The condition before the first iteration; it holds if it is left out."""
    return e.reshaped(e.tensor(name), shape) if name else e.constant(np.ones(shape, np.bool_))


def _empty(e: Emitter, name: str) -> Tensor:
    """Zeros, which the rows of a scan output replace."""
    dtype = e.dtype(name)
    if dtype not in _ROWS:
        raise Unsupported(
            f"its scan output {name!r} has elements of {dtype}", "Cast it to float32 or int32 in the body"
        )
    zero = e.constant(np.zeros((), dtype.numpy))
    return e.add("FILL", [e.numbers(e.shape(name)), zero], e.shape(name), dtype)


def _order(values: Sequence[tuple[Emitter, str]]) -> tuple[int, ...]:
    """The order of axes of a value that graphs give to one another: channels last if one of them slides windows over it."""
    rank = len(values[0][0].shape(values[0][1]))
    is_spatial = any(name and e.is_spatial(name) for e, name in values)
    return channels_last(rank) if is_spatial else plain_order(rank)


def _whole(e: Emitter, tensor: Tensor) -> Tensor:
    """A tensor that can be passed: channels have no scales of their own."""
    is_mixed = tensor.quantization is not None and tensor.quantization.is_per_channel
    return e.dequantized(tensor) if is_mixed else tensor


def _given(e: Emitter, name: str, order: tuple[int, ...] | None) -> Tensor:
    """A value that a graph gives or that a loop keeps: real numbers, or integers without a scale."""
    tensor = e.tensor(name, order)
    if tensor.quantization is not None and e.graph.values[name].kind not in _REALS:
        raise Unsupported(f"{name!r} is quantized where a graph gives it", "Dequantize it within the graph")
    return e.dequantized(tensor)


def _taken(
    e: Emitter, names: Sequence[str], given: Sequence[Tensor], orders: Sequence[tuple[int, ...]]
) -> list[Tensor]:
    """The inputs of a graph to which tensors are passed."""
    inputs = [Tensor(tensor.shape, tensor.dtype, tensor.quantization) for tensor in given]
    for name, tensor, order in zip(names, inputs, orders, strict=True):
        e.give(name, tensor, order)
    return inputs


def _draft(e: Emitter, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Draft:
    return Draft(tuple(e.operations), tuple(inputs), tuple(outputs)).needed()


def _check_count(given: Sequence[Tensor]) -> None:
    if len(given) > _MOST_PASSED:
        what = f"its graphs take {len(given)} values from outside; at most {_MOST_PASSED} are possible"
        raise Unsupported(what, "Join values, or move what makes them into the graphs")


def _scan(e: Emitter, node: Node) -> None:
    del e, node
    raise Unsupported("the length of its sequences is not known ahead of time", "Fix the sizes when you export")


_SIZES = "All shapes are known ahead of time"
CONTROL: Mapping[str, Lowering] = {
    "If": Lowering(_if, ("IF",), False, f"{_SIZES}, and those of both branches are equal."),
    "Loop": Lowering(
        _loop,
        ("WHILE", "LESS", "LOGICAL_AND", "ADD", "DYNAMIC_UPDATE_SLICE", "CONCATENATION", "FILL"),
        False,
        f"{_SIZES}, and states keep theirs; with scan outputs the number of iterations is constant. Sequences are refused.",
    ),
    "Scan": Lowering(_scan, ("WHILE",), False, f"{_SIZES}. It becomes a Loop first."),
}
"""By ONNX's name of the operator."""
