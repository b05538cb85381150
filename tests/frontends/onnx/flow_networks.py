"""ONNX networks with branches and loops that are drawn, one within another."""

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from kibi.dtypes import Array
from tests.support.choices import Choices, flip
from tests.support.onnx_models import IR_VERSION, OPSET, OnnxCase

_REALS, _INTEGERS, _TRUTHS = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
_SHAPE = (2, 3)


def flow_network(c: Choices) -> OnnxCase:
    """A network of which each value is `[2, 3]`, with two inputs, and nodes that run graphs."""
    seed = c.integer(0, 1 << 30)
    drawn = _Graph(c, np.random.default_rng(seed), count())
    values = ["x", "y"]
    for _ in range(c.integer(1, 3)):
        values.append(drawn.step(values, level=0))
    for _ in range(c.integer(1, 2)):
        values.append(drawn.control(values, level=0))
    values.append(drawn.step([values[-1], *values], level=0))
    graph = helper.make_graph(
        drawn.nodes,
        "flow",
        [_value("x"), _value("y")],
        [_value(values[-1]), _value(values[-2])],
        [numpy_helper.from_array(array, name) for name, array in drawn.constants.items()],
    )
    opsets = [helper.make_opsetid("", OPSET)]
    rng = np.random.default_rng(seed + 1)
    inputs = {name: rng.normal(size=_SHAPE).astype(np.float32) for name in ("x", "y")}
    return OnnxCase(helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION), inputs)


def _value(name: str, kind: int = _REALS, shape: Sequence[int] | None = None) -> Any:
    return helper.make_tensor_value_info(name, kind, _SHAPE if shape is None else shape)


class _Graph:
    """Nodes and constants of a graph; names are unique in the file."""

    def __init__(self, c: Choices, rng: np.random.Generator, numbers: "count[int]") -> None:
        self.c, self.rng, self.numbers = c, rng, numbers
        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = {}

    def name(self, role: str) -> str:
        return f"{role}_{next(self.numbers)}"

    def constant(self, array: Array) -> str:
        name = self.name("constant")
        self.constants[name] = array
        return name

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = self.name(op.lower())
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def step(self, values: Sequence[str], level: int) -> str:
        """A node on some of the values; inside of graphs sometimes one that runs graphs itself."""
        if level and level < 3 and self.c.integer(0, 3) == 0:
            return self.control(values, level)
        kind = self.c.one_of(("Tanh", "Sigmoid", "Add", "Mul", "Sub", "MatMul", "weights"))
        x, y = self.c.one_of(values), self.c.one_of(values)
        if kind in ("Tanh", "Sigmoid"):
            return self.node(kind, x)
        if kind == "weights":
            return self.node("Add", x, self.constant(self.rng.normal(size=_SHAPE).astype(np.float32)))
        if kind == "MatMul":
            return self.node("MatMul", x, self.constant((self.rng.normal(size=(3, 3)) / 2).astype(np.float32)))
        return self.node(kind, x, y)

    def control(self, values: Sequence[str], level: int) -> str:
        """A node that runs graphs."""
        kind = self.c.one_of((self.condition, self.loop, self.scan))
        return kind(values, level)

    def condition(self, values: Sequence[str], level: int) -> str:
        if flip(self.c):
            holds = self.constant(np.array(flip(self.c)))
        else:
            mean = self.node("ReduceMean", self.c.one_of(values), keepdims=0)
            holds = self.node("Greater", mean, self.constant(np.array(0.1, np.float32)))
        branches = {name: self.inner(values, level)[0] for name in ("then_branch", "else_branch")}
        return self.node("If", holds, **branches)

    def inner(self, values: Sequence[str], level: int, inputs: Sequence[Any] = (), more: int = 0) -> tuple[Any, str]:
        """A graph with some nodes; it takes what is outside, too."""
        graph = _Graph(self.c, self.rng, self.numbers)
        own = [each.name for each in inputs if each.type.tensor_type.elem_type == _REALS]
        made = [*own, *own, *values]
        for _ in range(self.c.integer(0, 2) + more):
            made.append(graph.step([made[-1], *made], level + 1))
        last = graph.node("Identity", made[-1])
        return self.finished(graph, inputs, [_value(last)]), last

    @staticmethod
    def finished(graph: "_Graph", inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        constants = [numpy_helper.from_array(array, name) for name, array in graph.constants.items()]
        return helper.make_graph(graph.nodes, "inner", list(inputs), list(outputs), constants)

    def loop(self, values: Sequence[str], level: int) -> str:
        """A Loop: as often as a constant or an input says, or as a condition holds; with rows if the number is constant."""
        c = self.c
        trip, holds, state = (self.name(role) for role in ("trip", "holds", "state"))
        inputs = [_value(trip, _INTEGERS, []), _value(holds, _TRUTHS, []), _value(state)]
        graph, last = self.inner(values, level, inputs, more=1)
        is_open = flip(c)
        after, outputs, rows = self.name("after"), [self.name("loop")], []
        if is_open:
            squares, mean = self.name("squares"), self.name("mean")
            limit = numpy_helper.from_array(np.array(0.4, np.float32), self.name("limit"))
            graph.initializer.append(limit)
            graph.node.extend(
                [
                    helper.make_node("Mul", [last, last], [squares]),
                    helper.make_node("ReduceMean", [squares], [mean], keepdims=0),
                    helper.make_node("Less", [mean, limit.name], [after]),
                ]
            )
        else:
            graph.node.append(helper.make_node("Identity", [holds], [after]))
            if flip(c):
                rows = [self.name("row")]
                graph.node.append(helper.make_node("Tanh", [last], rows))
                outputs.append(self.name("rows"))
        del graph.output[:]
        graph.output.extend([_value(after, _TRUTHS, []), *(_value(name) for name in (last, *rows))])
        limit_name = self.constant(np.array(c.integer(1, 6), np.int64))
        start = self.constant(np.array(True)) if flip(c) else ""
        self.nodes.append(
            helper.make_node("Loop", [limit_name, start, c.one_of(values)], outputs, name=outputs[0], body=graph)
        )
        if not rows:
            return outputs[0]
        total = self.node("ReduceSum", outputs[1], self.constant(np.array([0], np.int64)), keepdims=0)
        return self.node("Add", total, outputs[0])

    def scan(self, values: Sequence[str], level: int) -> str:
        """A Scan over the columns of a value, in either direction, whose rows become columns again."""
        del level  # no graphs are within
        c = self.c
        state, column = self.name("state"), self.name("column")
        graph = _Graph(c, self.rng, self.numbers)
        total = graph.node("Add", state, column)
        made = graph.node(c.one_of(("Tanh", "Sigmoid")), total)
        if flip(c):
            mean = graph.node("ReduceMean", c.one_of(values), graph.constant(np.array([1], np.int64)), keepdims=0)
            made = graph.node("Add", made, mean)
        body = self.finished(
            graph,
            [_value(state, shape=[2]), _value(column, shape=[2])],
            [_value(total, shape=[2]), _value(made, shape=[2])],
        )
        first = self.constant(np.zeros(2, np.float32))
        outputs = [self.name("total"), self.name("columns")]
        node = helper.make_node(
            "Scan",
            [first, c.one_of(values)],
            outputs,
            name=outputs[0],
            body=body,
            num_scan_inputs=1,
            scan_input_axes=[c.one_of((1, -1))],
            scan_input_directions=[c.integer(0, 1)],
            scan_output_axes=[c.one_of((1, -1))],
            scan_output_directions=[c.integer(0, 1)],
        )
        self.nodes.append(node)
        return outputs[1]
