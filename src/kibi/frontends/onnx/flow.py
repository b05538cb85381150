"""If, Loop and Scan while a model is folded: nodes in their place where that is bounded, else graphs with complete shapes.

A Scan becomes a Loop. A Loop with few iterations becomes the nodes of all of them. The graphs of what is left are read like models
of their own, whose inputs are what their nodes give them and what they take from outside.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kibi.dtypes import Array
from kibi.errors import ModelError
from kibi.frontends.onnx.bodies import (
    Names,
    Replacement,
    branch_inlined,
    graph_of,
    loop_unrolled,
    operators,
    scan_as_loop,
    size,
    taken,
)
from kibi.frontends.onnx.budget import Budget
from kibi.frontends.onnx.graph import Node, OnnxGraph
from kibi.frontends.onnx.library import array_of, onnx_library
from kibi.frontends.onnx.problems import Unsupported, grouped

CONTROL = frozenset(("If", "Loop", "Scan"))
"""Operators that run graphs."""
_MOST_UNROLLED = 512
"""Nodes that a Loop may become; one with more stays a loop, and so does one with loops inside."""
_MOST_ELEMENTS = 1 << 26
"""Elements of the rows that a loop makes."""
_LOOPS = frozenset(("Loop", "Scan"))
_OWN = ("", "ai.onnx")
_OPEN_LENGTH = Unsupported(
    "how often it runs is not known ahead of time, and so neither is the size of its scan outputs",
    "Let the number of iterations be constant, and the condition stay true; or keep what is needed as a state",
)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the values of a graph.

    Attributes:
        types: `ValueInfoProto`s of values whose shapes are complete, by name; further ones come as graphs are read.
        array: returns the elements of a constant; None for what is computed.
        constant: returns the `TensorProto` of a constant by its name; None for what is computed.
        meanings: nodes by what they give, which give the meaning of constants: graphs get copies of them.
    """

    types: dict[str, Any]
    array: Callable[[str], Array | None]
    constant: Callable[[str], Any]
    meanings: Mapping[str, Any]

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Returns a complete shape; None if it is not known."""
        if name not in self.types:
            return None
        return tuple(each.dim_value for each in self.types[name].type.tensor_type.shape.dim)


@dataclass(frozen=True, slots=True)
class Bodies:
    """The graphs of an If or a Loop.

    Attributes:
        captures: names of what they take from outside, in the order of their last inputs.
        graphs: by the names of the attributes.
        states: how many values a Loop keeps from one iteration to the next.
        is_counted: true for a Loop whose condition stays true, so that the number of iterations alone ends it.
    """

    captures: tuple[str, ...]
    graphs: Mapping[str, OnnxGraph]
    states: int = 0
    is_counted: bool = False

    def attributes(self) -> dict[str, Any]:
        """The attributes of the node, for its conversion."""
        return {**self.graphs, "states": self.states, "is_counted": int(self.is_counted)}


@dataclass(slots=True)
class Flow:
    """The nodes of one graph that run graphs.

    Attributes:
        path: of the file, for errors.
        fold: reads a `ModelProto` of a body.
        left: what the file may still take.
        bodies: of the nodes that stay, by the names of their outputs.
        types: of the outputs of these nodes, by name: the library's inference leaves them open.
    """

    path: str
    fold: Callable[[Any], OnnxGraph]
    left: Budget
    bodies: dict[tuple[str, ...], Bodies] = field(default_factory=dict)
    types: dict[str, Any] = field(default_factory=dict)

    def replacement(self, node: Any, known: Known, names: Names) -> Replacement | None:
        """Returns what replaces a node: a branch, all iterations, or another node; None if it stays, or if that is not known yet.

        Raises:
            ModelError: its graphs contradict what is around them, or have no bounds.
        """
        with self._errors(node):
            if node.op_type == "If":
                return self._branch(node, known, names)
            return self._of_scan(node, known, names) if node.op_type == "Scan" else self._iterations(node, known, names)

    def read(self, model: Any, node: Any, known: Known) -> None:
        """Reads the graphs of a node that stays, if the shapes of all that they take are known.

        Raises:
            ModelError: they cannot be read, or contradict what is around them.
        """
        with self._errors(node):
            if tuple(node.output) in self.bodies or node.op_type == "Scan":
                return
            found = (
                self._of_condition(model, node, known) if node.op_type == "If" else self._of_loop(model, node, known)
            )
            if found is not None:
                self.bodies[tuple(node.output)] = found

    @contextmanager
    def _errors(self, node: Any) -> Iterator[None]:
        """Names the node in what is wrong with it."""
        try:
            yield
        except Unsupported as error:
            raise ModelError(self.path, grouped([(_titled(node), error)])) from error
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            what = f"its graphs, inputs and attributes do not fit together ({type(error).__name__}: {error})"
            unfit = Unsupported(what, "Export the model again, or report it to Kibi if other runtimes take it")
            raise ModelError(self.path, grouped([(_titled(node), unfit)])) from error

    def _branch(self, node: Any, known: Known, names: Names) -> Replacement | None:
        chosen = known.array(node.input[0])
        if chosen is None:
            return None
        branch = graph_of(node, "then_branch" if chosen.reshape(-1)[0] else "else_branch")
        self.left.need_nodes(size(branch))
        return branch_inlined(node, branch, names)

    def _of_condition(self, model: Any, node: Any, known: Known) -> Bodies | None:
        branches = [graph_of(node, name) for name in ("then_branch", "else_branch")]
        captures = _captures(branches, known)
        if captures is None:
            return None
        first, second = (self.fold(_model(model, branch, [], captures, known)) for branch in branches)
        for name, ours, theirs in zip(node.output, first.outputs, second.outputs, strict=True):
            one, other = first.values[ours], second.values[theirs]
            if (one.shape, one.kind) != (other.shape, other.kind):
                shown = f"{one.kind} {list(one.shape)} and {other.kind} {list(other.shape)}"
                raise Unsupported(f"its branches give {shown}", "Let both give the same shape and type")
            self._know(known, name, one.shape, one.kind)
        return Bodies(captures, {"then_branch": first, "else_branch": second})

    def _of_scan(self, node: Any, known: Known, names: Names) -> Replacement | None:
        attributes = {each.name: each for each in node.attribute}
        sequences = attributes["num_scan_inputs"].i
        if not 0 < sequences <= len(node.input):
            raise Unsupported(f"it has {sequences} sequences", "Export the model again")
        moved = "scan_output_axes" in attributes and any(attributes["scan_output_axes"].ints)
        shapes = {name: known.shape(name) for name in (*node.input, *(node.output if moved else ())) if name}
        axes = list(attributes["scan_input_axes"].ints) if "scan_input_axes" in attributes else [0] * sequences
        inputs = [shapes[name] for name in node.input[-sequences:]]
        if any(shape is None for shape in shapes.values()):
            return None
        lengths = {shape[axis] for shape, axis in zip(inputs, axes, strict=True) if shape is not None}
        if len(lengths) != 1:
            raise Unsupported(f"its sequences have the lengths {sorted(lengths)}", "Give sequences of one length")
        ranks = {name: len(shape) for name, shape in shapes.items() if shape is not None}
        elements = {name: known.types[name].type.tensor_type.elem_type for name in node.input}
        return scan_as_loop(node, lengths.pop(), ranks, elements, names)

    def _iterations(self, node: Any, known: Known, names: Names) -> Replacement | None:
        """The nodes of all iterations of a Loop, if these are few and have no loops inside."""
        body, trips = graph_of(node, "body"), _trips(node, known)
        _check_body(node, body)
        if trips is None or not _is_counted(node, body, known):
            return None
        if not trips and len(node.output) > len(node.input[2:]):
            raise Unsupported("it never runs, and its scan outputs have no elements", "Leave it out")
        count = trips * (size(body) + 1)
        if count > _MOST_UNROLLED or operators(body) & _LOOPS or not self.left.take_nodes(count):
            return None
        return loop_unrolled(node, trips, names)

    def _of_loop(self, model: Any, node: Any, known: Known) -> Bodies | None:
        body, states, trips = graph_of(node, "body"), list(node.input[2:]), _trips(node, known)
        captures = _captures([body], known)
        needed = [*states, *(name for name in node.input[:2] if name)]
        if captures is None or any(known.shape(name) is None for name in needed):
            return None
        is_counted = _is_counted(node, body, known)
        if len(node.output) > len(states) and (trips is None or not is_counted):
            raise _OPEN_LENGTH
        types = [*_counters(body), *(known.types[name] for name in states)]
        graph = self.fold(_model(model, body, types, captures, known))
        for name, formal, result in zip(states, body.input[2:], graph.outputs[1:], strict=False):
            before, after = known.shape(name), graph.values[result].shape
            if before != after:
                what = f"state {formal.name!r} has shape {list(before or ())}, and {list(after)} after an iteration"
                raise Unsupported(what, "Let states keep their shapes")
        for number, (name, result) in enumerate(zip(node.output, graph.outputs[1:], strict=True)):
            value = graph.values[result]
            shape = value.shape if number < len(states) else (trips or 0, *value.shape)
            if math.prod(shape) > _MOST_ELEMENTS:
                raise Unsupported(f"its output {name!r} has {math.prod(shape):,} elements", "Use fewer iterations")
            self._know(known, name, shape, value.kind)
        return Bodies(captures, {"body": graph}, len(states), is_counted)

    def _know(self, known: Known, name: str, shape: Sequence[int], kind: str) -> None:
        onnx = onnx_library()
        if name:
            known.types[name] = self.types[name] = onnx.helper.make_tensor_value_info(
                name, onnx.TensorProto.DataType.Value(kind), shape
            )


def _titled(node: Any) -> Node:
    return Node(node.op_type, "", tuple(node.input), tuple(node.output), {}, node.name)


def _trips(node: Any, known: Known) -> int | None:
    """How often a Loop runs at the most; None if that is computed, or if there is no bound."""
    data = known.array(node.input[0]) if node.input[0] else None
    return None if data is None else max(int(data.reshape(-1)[0]), 0)


def _check_body(node: Any, body: Any) -> None:
    """Checks what the body of a Loop takes and gives.

    Raises:
        Unsupported: it takes or gives sequences, values that may be absent, or another number of values.
    """
    states = len(node.input[2:])
    if len(body.input) != 2 + states or len(body.output) != 1 + len(node.output) or len(node.output) < states:
        raise Unsupported("its body takes or gives another number of values", "Export the model again")
    for value in (*body.input, *body.output):
        kind = value.type.WhichOneof("value")
        if kind not in (None, "tensor_type"):
            what = f"{value.name!r} is of {str(kind).removesuffix('_type')} type, whose size is not known ahead of time"
            raise Unsupported(what, "Export with tensors of fixed sizes, such as one that a loop fills row by row")


def _captures(graphs: Sequence[Any], known: Known) -> tuple[str, ...] | None:
    """The names of what graphs take from outside and what is computed there; None if a shape is not known as yet."""
    names = dict.fromkeys(name for graph in graphs for name in taken(graph))
    computed = [name for name in names if known.constant(name) is None and name not in known.meanings]
    return None if any(known.shape(name) is None for name in computed) else tuple(computed)


def _counters(body: Any) -> list[Any]:
    """The types of the first two inputs of a Loop's body: the number of the iteration, and the condition."""
    onnx = onnx_library()
    kinds = (onnx.TensorProto.INT64, onnx.TensorProto.BOOL)
    return [
        onnx.helper.make_tensor_value_info(value.name, kind, [1] * min(len(value.type.tensor_type.shape.dim), 1))
        for value, kind in zip(body.input[:2], kinds, strict=True)
    ]


def _model(model: Any, graph: Any, types: Sequence[Any], captures: Sequence[str], known: Known) -> Any:
    """A graph within a node as a model of its own.

    Args:
        model: the model that has the node.
        graph: its graph.
        types: of the graph's inputs, in their order.
        captures: what it takes from outside besides constants; they are further inputs.
        known: what is known of the values outside.
    """
    made = type(model)()
    made.ir_version = model.ir_version
    made.opset_import.extend(model.opset_import)
    made.graph.CopyFrom(graph)
    del made.graph.input[:]
    for value, name in (
        *zip(types, [each.name for each in graph.input], strict=True),
        *((known.types[each], each) for each in captures),
    ):
        made.graph.input.add().CopyFrom(value)
        made.graph.input[-1].name = name
    constants = dict.fromkeys(name for name in taken(graph) if name not in captures)
    meanings = [known.meanings[name] for name in constants if name in known.meanings]
    for name in dict.fromkeys((*constants, *(each for node in meanings for each in node.input if each))):
        if (tensor := known.constant(name)) is not None:
            made.graph.initializer.add().CopyFrom(tensor)
            made.graph.initializer[-1].name = name
    nodes = [*meanings, *graph.node]
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    return made


def _is_counted(node: Any, body: Any, known: Known) -> bool:
    """True if a number of iterations alone ends a Loop: its condition holds before the first one and after each."""
    if not node.input[0]:
        return False
    if len(node.input) > 1 and node.input[1]:
        before = known.array(node.input[1])
        if before is None or not before.any():
            return False
    makers = {name: each for each in body.node for name in each.output}
    name = body.output[0].name
    for _ in body.node:
        if name not in makers or makers[name].op_type not in ("Identity", "Cast") or makers[name].domain not in _OWN:
            break
        name = makers[name].input[0]
    if name == body.input[1].name:
        return True
    constants = {each.name: each for each in body.initializer}
    if name in makers and makers[name].op_type == "Constant":
        constants.update((name, each.t) for each in makers[name].attribute if each.name == "value")
    if name in constants:
        return bool(array_of(constants[name]).all())
    is_inside = name in makers or any(name == each.name for each in body.input)
    outside = None if is_inside else known.array(name)
    return outside is not None and bool(outside.all())


def is_control(node: Any) -> bool:
    """True if a node runs graphs."""
    return node.op_type in CONTROL and node.domain in _OWN


def control_count(graph: Any) -> int:
    """Returns how many nodes of a graph run graphs."""
    return sum(map(is_control, graph.node))
