"""Comparing models before and after passes."""

from collections.abc import Sequence

from kibi.dtypes import Array
from kibi.ir import Graph
from kibi.passes import PASSES, Simplified, simplify
from kibi.planner import Granularity, plan, validate
from kibi.runtime import Interpreter
from kibi.targets import target
from tests.ops.comparison import assert_same, graph_of
from tests.support.operator_models import Case


def only(name: str) -> list[str]:
    """The names of all other passes, to be left out."""
    return [each.name for each in PASSES if each.name != name]


def alone(case: Case, name: str) -> Simplified:
    """The model after one pass, which has been found to keep the bits of the case's outputs."""
    graph = graph_of(case)
    simplified = simplify(graph, only(name))
    check_same(graph, simplified.graph, case.inputs)
    assert {change.by for change in simplified.changes} <= {name}
    return simplified


def check_same(before: Graph, after: Graph, inputs: Sequence[Array]) -> None:
    """Both give the same bits in the same shapes, and take the same inputs."""
    assert [before.tensors[index] for index in before.inputs] == [after.tensors[index] for index in after.inputs]
    assert_same(after, outputs_of(after, inputs), outputs_of(before, inputs))


def outputs_of(graph: Graph, inputs: Sequence[Array]) -> list[Array]:
    """What the Python runtime gives, in a checked plan of whole tensors."""
    made = plan(graph, target("host"), granularity=Granularity.TENSOR)
    validate(graph, made)
    return Interpreter(graph, made).run(inputs)


def names_of(simplified: Simplified) -> list[str]:
    """The operators that are left."""
    return [node.op.name for node in simplified.graph.nodes]
