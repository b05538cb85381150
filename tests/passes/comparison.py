"""Comparing models before and after passes.

Most tests of passes show two texts (`docs/graph-text.md`): the graph that a pass is given, and the one that it makes of it.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from difflib import unified_diff

import numpy as np

from kibi.dtypes import Array, DType
from kibi.frontends.text import parse_text
from kibi.ir import Graph
from kibi.ir.text import graph_text
from kibi.passes import PASSES, Simplified, simplify
from kibi.planner import Granularity, plan, validate
from kibi.runtime import Interpreter, seeded_inputs
from kibi.targets import target
from tests.ops.comparison import assert_same, graph_of
from tests.support.operator_models import Case

_DRAWN = 4
"""Inferences with drawn inputs."""
_VALUES = np.arange(-128, 128, dtype=np.int8)
_DECLARED = re.compile(r'%(\d+) "')


def only(name: str) -> list[str]:
    """Returns the names of all other passes, to be left out."""
    return [each.name for each in PASSES if each.name != name]


def assert_rewrites(before: str, after: str, name: str) -> Simplified:
    """Asserts that a pass makes the second graph of the first one, and that both give the same bits.

    Args:
        before: a graph as text.
        after: the graph that the pass must give as text: equal in everything, weights included. It may leave out tensors of
            `before` that no operator makes or reads any more.
        name: the name of the pass.

    Returns:
        The graph, and the changes.
    """
    graph = parse_text(before, "before")
    simplified = simplify(graph, only(name))
    assert_becomes(graph, simplified.graph, after)
    assert {change.by for change in simplified.changes} == {name}
    return simplified


def assert_stays(text: str, name: str, keep: Collection[int] = ()) -> None:
    """Asserts that a pass changes nothing in a graph, and that the graph can run; `keep` is that of `simplify`."""
    graph = parse_text(text)
    simplified = simplify(graph, only(name), keep)
    assert_equal(simplified.graph, graph)
    assert simplified.changes == ()
    outputs_of(graph, seeded_inputs(graph, 0))


def assert_becomes(graph: Graph, found: Graph, after: str) -> None:
    """Asserts that the graph that a rewrite has made is that of a text, as in `assert_rewrites`, and gives the same bits."""
    assert_equal(found, _completed(after, graph))
    check_same(graph, found, *runs_of(graph))


def assert_equal(found: Graph, wanted: Graph) -> None:
    """Asserts that two graphs are equal, weights included; the error shows the lines that differ."""
    if found == wanted:
        return
    old, new = graph_text(wanted).splitlines(), graph_text(found).splitlines()
    lines = unified_diff(old, new, "wanted", "found", lineterm="", n=len(old))
    raise AssertionError("the graphs differ:\n" + "\n".join(lines))


def _completed(text: str, before: Graph) -> Graph:
    """Returns the graph of a text that leaves out unused tensors, with those tensors as they were before.

    Passes keep the indices of tensors, so each tensor stays in the graph, used or not.
    """
    declared = {int(index) for index in _DECLARED.findall(text)}
    lines = graph_text(replace(before, nodes=())).splitlines()[1:-1]
    unused = [tensor.index for tensor in before.tensors if tensor.index not in declared]
    end = text.rindex("}")
    graph = parse_text("\n".join([text[:end], *(lines[index] for index in unused), text[end:]]), "after")
    used = {*graph.inputs, *graph.outputs, *(index for node in graph.nodes for index in node.inputs)}
    assert not used & {*unused}, f"tensors {used & {*unused}} are used, and have no line"
    return graph


def runs_of(graph: Graph) -> list[list[Array]]:
    """Returns inputs for successive inferences.

    There are drawn ones, both ends of s8, and as many as it takes for each input of s8 to have all of its values.
    """
    kinds = [graph.tensors[index].type for index in graph.inputs]
    sizes = [kind.elements for kind in kinds if kind.dtype is DType.S8]
    most = -(-_VALUES.size // min(sizes)) if sizes else 0
    rolled = [np.roll(_VALUES, -number * min(sizes)) for number in range(most)]
    runs = [seeded_inputs(graph, seed) for seed in range(_DRAWN)]
    for seed, values in enumerate([_VALUES[:1], _VALUES[-1:], *rolled] if sizes else []):
        others = zip(kinds, seeded_inputs(graph, _DRAWN + seed), strict=True)
        runs.append([np.resize(values, kind.shape) if kind.dtype is DType.S8 else drawn for kind, drawn in others])
    return runs


def alone(case: Case, name: str) -> Simplified:
    """Returns the model after one pass, and asserts that the case's outputs keep their bits."""
    graph = graph_of(case)
    simplified = simplify(graph, only(name))
    check_same(graph, simplified.graph, case.inputs)
    assert {change.by for change in simplified.changes} <= {name}
    return simplified


def check_same(before: Graph, after: Graph, *runs: Sequence[Array]) -> None:
    """Asserts that both take the same inputs and give the same bits in the same shapes, in each of successive inferences."""
    assert [before.tensors[index] for index in before.inputs] == [after.tensors[index] for index in after.inputs]
    old, new = _interpreter(before), _interpreter(after)
    for inputs in runs:
        assert_same(after, new.run(inputs), old.run(inputs))


def outputs_of(graph: Graph, inputs: Sequence[Array]) -> list[Array]:
    """Returns the outputs of the Python runtime, in a validated plan of complete tensors."""
    return _interpreter(graph).run(inputs)


def _interpreter(graph: Graph) -> Interpreter:
    made = plan(graph, target("host"), granularity=Granularity.TENSOR)
    validate(graph, made)
    return Interpreter(graph, made)
