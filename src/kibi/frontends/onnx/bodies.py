"""Graphs within nodes of an ONNX file, which If, Loop and Scan run: what they take from outside, and copies in place of a node.

Source: ONNX `docs/Operators.md`; of names, `docs/IR.md`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kibi.dtypes import Array
from kibi.frontends.onnx.library import onnx_library


def graphs_of(node: Any) -> Iterator[Any]:
    """Yields the graphs of a node."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def graph_of(node: Any, name: str) -> Any:
    """Returns the graph that is an attribute of a node; an empty one if the node has none of that name."""
    return next((each.g for each in node.attribute if each.name == name), onnx_library().GraphProto())


def depth(graph: Any) -> int:
    """Returns how deep graphs are within one another: 0 for a graph without further ones."""
    found, level = 0, [graph]
    while level := [inner for each in level for node in each.node for inner in graphs_of(node)]:
        found += 1
    return found


def size(graph: Any) -> int:
    """Returns how many nodes a graph has, with those of the graphs within."""
    return sum(1 for _ in _nodes(graph))


def operators(graph: Any) -> frozenset[str]:
    """Returns the names of the operators of a graph and of the graphs within."""
    return frozenset(node.op_type for node in _nodes(graph))


def _nodes(graph: Any) -> Iterator[Any]:
    return (node for each in _graphs(graph) for node in each.node)


def _graphs(graph: Any) -> Iterator[Any]:
    """Yields a graph and those within."""
    waiting = [graph]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += [inner for node in each.node for inner in graphs_of(node)]


def taken(graph: Any) -> Iterator[str]:
    """Yields the names of the values that a graph takes from outside, as often as it takes them."""
    own = _defined(graph)
    for node in graph.node:
        for name in (*node.input, *(each for inner in graphs_of(node) for each in taken(inner))):
            if name and name not in own:
                yield name
    yield from (each.name for each in graph.output if each.name not in own)


def _defined(graph: Any) -> set[str]:
    names = {each.name for each in (*graph.input, *graph.initializer)}
    names.update(each.values.name for each in graph.sparse_initializer)
    names.update(name for node in graph.node for name in node.output)
    return names


class Names:
    """Names that nothing in a graph has, nor in the graphs within.

    Args:
        graph: the graph.
    """

    def __init__(self, graph: Any) -> None:
        self._known = {name for each in _graphs(graph) for name in _defined(each)}

    def fresh(self, near: str) -> str:
        """Returns a new name that begins with another one."""
        name = near
        while name in self._known:
            name += "_"
        self._known.add(name)
        return name


@dataclass(frozen=True, slots=True)
class Replacement:
    """What replaces a node.

    Attributes:
        nodes: in an order in which they can run.
        constants: `TensorProto`s that they take.
    """

    nodes: tuple[Any, ...]
    constants: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy of a graph's nodes.

    Attributes:
        nodes, constants: with names of their own.
        outputs: the names of what the graph gives.
    """

    nodes: tuple[Any, ...]
    constants: tuple[Any, ...]
    outputs: tuple[str, ...]


def _copied(graph: Any, given: Mapping[str, str], near: str, names: Names) -> _Copy:
    """A copy whose inputs are other values.

    Args:
        graph: the graph.
        given: the names of other values, by the names of its inputs.
        near: with what new names begin.
        names: of the graph in which the copy will be.
    """
    copy = type(graph)()
    copy.CopyFrom(graph)
    _rename(copy, given, near, names)
    return _Copy(tuple(copy.node), tuple(copy.initializer), tuple(each.name for each in copy.output))


def _rename(graph: Any, given: Mapping[str, str], near: str, names: Names) -> None:
    """Gives all values of a graph new names, also in the graphs within: the library's inference takes equal ones for one value.

    Args:
        graph: the graph, which changes.
        given: names that are decided, of inputs and of values outside.
        near: with what new names begin.
        names: of the graph in which it will be.
    """
    own = _defined(graph)
    renamed = dict(given)
    renamed.update((name, names.fresh(f"{near}/{name}")) for name in sorted(own) if name and name not in given)
    del graph.value_info[:]
    for value in (*graph.input, *graph.output, *graph.initializer, *(each.values for each in graph.sparse_initializer)):
        value.name = renamed.get(value.name, value.name)
    for node in graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]
        node.output[:] = [renamed.get(name, name) for name in node.output]
        node.name = f"{near}/{node.name}" if node.name else ""
        for inner in graphs_of(node):
            hidden = _defined(inner)
            outer = {name: other for name, other in renamed.items() if name not in hidden}
            _rename(inner, outer, near, names)


def branch_inlined(node: Any, branch: Any, names: Names) -> Replacement:
    """Returns what replaces an If whose condition is constant: the nodes of a branch."""
    copy = _copied(branch, {}, node.output[0], names)
    return Replacement((*copy.nodes, *_identities(copy.outputs, node.output)), copy.constants)


def _identities(sources: Iterable[str], results: Iterable[str]) -> Iterator[Any]:
    helper = onnx_library().helper
    for source, result in zip(sources, results, strict=True):
        if result:
            yield helper.make_node("Identity", [source], [result])


def loop_unrolled(node: Any, trips: int, names: Names) -> Replacement:
    """Returns what replaces a Loop that runs a known number of times: the nodes of its body, as often.

    Args:
        node: the Loop.
        trips: how often its body runs; 0 if it has no scan outputs.
        names: of the graph that has the node.
    """
    onnx = onnx_library()
    body, near = graph_of(node, "body"), node.output[0]
    states = list(node.input[2:])
    true = _constant(names.fresh(f"{near}/true"), _shaped(True, body.input[1]))
    axes = _constant(names.fresh(f"{near}/axes"), np.array([0], np.int64))
    nodes: list[Any] = []
    constants = [true, axes]
    rows: list[list[str]] = [[] for _ in node.output[len(states) :]]
    for trip in range(trips):
        count = _constant(names.fresh(f"{near}/{trip}"), _shaped(np.int64(trip), body.input[0]))
        given = dict(zip((each.name for each in body.input), (count.name, true.name, *states), strict=True))
        copy = _copied(body, given, f"{near}/{trip}", names)
        nodes += copy.nodes
        constants += [count, *copy.constants]
        states = list(copy.outputs[1 : 1 + len(states)])
        for row, name in zip(rows, copy.outputs[1 + len(states) :], strict=True):
            row.append(names.fresh(f"{name}/row"))
            nodes.append(onnx.helper.make_node("Unsqueeze", [name, axes.name], [row[-1]]))
    results = node.output[len(states) :]
    nodes += [
        onnx.helper.make_node("Concat", row, [name], axis=0) for row, name in zip(rows, results, strict=True) if name
    ]
    return Replacement((*nodes, *_identities(states, node.output[: len(states)])), tuple(constants))


def _shaped(number: Any, value: Any) -> Array:
    """A number as an input of a graph takes it: `[]` or `[1]`."""
    return np.asarray(number).reshape((1,) * min(len(value.type.tensor_type.shape.dim), 1))


def scan_as_loop(
    node: Any, length: int, ranks: Mapping[str, int], elements: Mapping[str, int], names: Names
) -> Replacement:
    """Returns what replaces a Scan: a Loop that takes one part of each sequence in each iteration.

    Args:
        node: the Scan.
        length: of the sequences.
        ranks: of the node's inputs and outputs, by name.
        elements: the element types of the node's inputs, by name.
        names: of the graph that has the node.
    """
    onnx = onnx_library()
    helper, attributes = onnx.helper, {each.name: each for each in node.attribute}
    body, near = attributes["body"].g, node.output[0]
    sequences = int(attributes["num_scan_inputs"].i)
    count = len(node.input) - sequences
    states, sources = list(node.input[:count]), list(node.input[count:])
    iteration, holds, still = (names.fresh(f"{near}/{role}") for role in ("iteration", "holds", "still"))
    last, backwards = names.fresh(f"{near}/last"), names.fresh(f"{near}/backwards")
    trips, constants = _constant(names.fresh(f"{near}/trips"), np.array(length, np.int64)), []
    inner, given = [], {}
    if any(directions := _numbers(attributes, "scan_input_directions", sequences)):
        constants.append(_constant(last, np.array(length - 1, np.int64)))
        inner.append(helper.make_node("Sub", [last, iteration], [backwards]))
    axes = _numbers(attributes, "scan_input_axes", sequences)
    for formal, source, axis, is_backwards in zip(body.input[count:], sources, axes, directions, strict=True):
        given[formal.name] = part = names.fresh(f"{near}/{formal.name}")
        place = backwards if is_backwards else iteration
        inner.append(helper.make_node("Gather", [source, place], [part], axis=axis))
    formals = [names.fresh(f"{near}/{each.name}") for each in body.input[:count]]
    given.update(zip((each.name for each in body.input[:count]), formals, strict=True))
    copy = _copied(body, given, near, names)
    made = helper.make_graph(
        [*inner, *copy.nodes, helper.make_node("Identity", [holds], [still])],
        "body",
        [
            helper.make_tensor_value_info(iteration, onnx.TensorProto.INT64, []),
            helper.make_tensor_value_info(holds, onnx.TensorProto.BOOL, []),
            *(
                helper.make_tensor_value_info(name, elements[state], None)
                for name, state in zip(formals, states, strict=True)
            ),
        ],
        [onnx.ValueInfoProto(name=name) for name in (still, *copy.outputs)],
        list(copy.constants),
    )
    nodes: list[Any] = []
    outputs = list(node.output[:count])
    for number, name in enumerate(node.output[count:]):
        made_of = name
        for step in _placed(attributes, number, length, ranks.get(name, 1), len(node.output) - count):
            before = names.fresh(f"{name}/raw")
            operands = [before, *step.operands(constants, names)]
            nodes.insert(0, helper.make_node(step.op, operands, [made_of], **step.options))
            made_of = before
        outputs.append(made_of)
    loop = helper.make_node("Loop", [trips.name, "", *states], outputs, name=node.name, body=made)
    return Replacement((loop, *nodes), (trips, *constants))


@dataclass(frozen=True, slots=True)
class _Step:
    """A node after a loop that brings a sequence into its order: its operator, an operand of integers, and its attributes."""

    op: str
    operand: tuple[int, ...]
    options: Mapping[str, Any]

    def operands(self, constants: list[Any], names: Names) -> list[str]:
        if not self.operand:
            return []
        constants.append(_constant(names.fresh("order"), np.array(self.operand, np.int64)))
        return [constants[-1].name]


def _placed(attributes: Mapping[str, Any], number: int, length: int, rank: int, count: int) -> list[_Step]:
    """How the rows of a loop become a sequence, the last step first: along another axis, and backwards."""
    steps = []
    axis = _numbers(attributes, "scan_output_axes", count)[number]
    axis += rank if axis < 0 else 0
    if axis:
        steps.append(_Step("Transpose", (), {"perm": [*range(1, axis + 1), 0, *range(axis + 1, rank)]}))
    if _numbers(attributes, "scan_output_directions", count)[number]:
        steps.append(_Step("Gather", tuple(range(length - 1, -1, -1)), {"axis": 0}))
    return steps


def _numbers(attributes: Mapping[str, Any], name: str, count: int) -> Sequence[int]:
    """A list of integers; zeros if it is left out."""
    return tuple(attributes[name].ints) if name in attributes else (0,) * count


def _constant(name: str, data: Any) -> Any:
    return onnx_library().numpy_helper.from_array(np.asarray(data), name)
