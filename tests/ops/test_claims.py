"""What `kibi operators` claims is true: each type of each operator runs as in TFLM, and all others are refused."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from kibi.dtypes import DType
from kibi.errors import ModelError, OracleError
from kibi.ir import Graph, verify
from kibi.ops import operators
from kibi.oracle import Oracle
from kibi.runtime import Interpreter
from tests.ops.comparison import assert_same_as_tflm, graph_of, outputs_of, python_outputs_of
from tests.support.choices import Choices, Seeded
from tests.support.operator_models import OPERATOR_MODELS, Case
from tests.support.wider_models import WIDER_MODELS

_MOST_DRAWS = 400


def _types_of(graph: Graph, name: str) -> list[DType]:
    """The type of the first input, or, without one, the output of that operator; none where none is left of it.

    Of a loop, whose inputs are all alike, that of each.
    """
    site = next((site for site in graph.sites if site.op.name == name), None)
    if site is None:
        return []
    if name == "WHILE":
        return [tensor.type.dtype for tensor in site.row_tensors]
    first = site[site.op.inputs[0].rstrip("?")] if site.op.inputs else site.output
    return [first.type.dtype]


def _drawn(name: str, draw: Callable[[Choices], Case]) -> dict[DType, tuple[Case, Graph]]:
    """For each element type that an operator claims and that is drawn, the first model of it."""
    found: dict[DType, tuple[Case, Graph]] = {}
    for seed in range(_MOST_DRAWS):
        case = draw(Seeded(seed))
        graph = graph_of(case)
        for kind in _types_of(graph, name):
            found.setdefault(kind, (case, graph))
        if set(found) >= set(operators()[name].types):
            break
    return found


@pytest.mark.parametrize("name", operators())
def test_operator_runs_as_in_tflm_on_every_type_that_it_claims(name: str, oracle: Oracle) -> None:
    """A model of each claimed type is drawn, loads, runs, and gives TFLM's bits; no other type is.

    A few types have a meaning that TFLM refuses to compute; their models run, and TFLM does refuse them.
    """
    found = _drawn(name, OPERATOR_MODELS[name])
    wider = _drawn(name, WIDER_MODELS[name]) if name in WIDER_MODELS else {}
    assert set(found) | set(wider) == set(operators()[name].types)
    for case, graph in found.values():
        assert_same_as_tflm(graph, python_outputs_of(case, Interpreter(graph)), outputs_of(case, oracle))
    for kind in set(wider) - set(found):
        case, graph = wider[kind]
        assert python_outputs_of(case, Interpreter(graph))
        with pytest.raises(OracleError):
            outputs_of(case, oracle)


@pytest.mark.parametrize("name", [name for name, operator in operators().items() if operator.inputs])
def test_operator_refuses_every_type_that_it_does_not_claim(name: str) -> None:
    """The same model with its tensors of another type is refused, with that type named."""
    claimed = operators()[name].types
    graph = graph_of(OPERATOR_MODELS[name](Seeded(0)))
    kind = _types_of(graph, name)[0]
    for other in set(DType) - set(claimed):
        tensors = tuple(
            replace(tensor, type=replace(tensor.type, dtype=other)) if tensor.type.dtype is kind else tensor
            for tensor in graph.tensors
        )
        with pytest.raises(ModelError) as raised:
            verify(replace(graph, tensors=tensors))
        assert f"{name}: input of type {other} is not supported" in str(raised.value)
