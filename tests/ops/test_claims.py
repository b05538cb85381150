"""What `kibi operators` claims is true: each type of each operator runs as in TFLM, and all others are refused."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from kibi.dtypes import Array, DType
from kibi.errors import ModelError, OracleError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph, verify
from kibi.ops import operators
from kibi.runtime import Interpreter
from kibi.tflm import Oracle
from tests.ops.comparison import assert_same_as_tflm, graph_of, outputs_of, python_outputs_of
from tests.support.choices import Choices, Seeded
from tests.support.operator_models import OPERATOR_MODELS, Case
from tests.support.wider_models import WIDER_MODELS

_MOST_DRAWS = 400
_UNDEFINED = [(name, kind) for name, operator in operators().items() for kind in operator.undefined]
"""Types that TFLM runs and Kibi refuses."""
_FRESH_ARENA_BYTES = 1 << 26
"""So large that the operating system hands it out anew, filled with zeros."""


def _types_of(graph: Graph, name: str) -> list[DType]:
    """The type of the first input, or, without one, the output of that operator; none where none is left of it.

    Of a loop, whose inputs are all alike, that of each.
    """
    view = next((view for view in graph.views if view.op.name == name), None)
    if view is None:
        return []
    if name == "WHILE":
        return [tensor.type.dtype for tensor in view.row_tensors]
    first = view[view.op.inputs[0].rstrip("?")] if view.op.inputs else view.output
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


@pytest.mark.share(3, part=0)
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


def _undefined(name: str, kind: DType, data: Array) -> bytes:
    """An operator that gives bool, on inputs of a type that it does not claim."""
    b = ModelBuilder()
    quantization = (0.5, 0) if kind in (DType.S8, DType.S16) else ()
    operands = [b.input(data.shape, kind, *quantization) for _ in operators()[name].inputs]
    output = b.tensor(data.shape, DType.BOOL)
    b.operator(name, operands, [output])
    return b.finish([output])


@pytest.mark.parametrize(("name", "kind"), _UNDEFINED, ids=str)
def test_operator_refuses_a_type_that_tflm_leaves_undefined_with_the_cause(
    name: str, kind: DType, oracle: Oracle
) -> None:
    """TFLM does run it; the error says what it does with such elements."""
    data = np.ones((4,), kind.numpy)
    model = _undefined(name, kind, data)
    assert oracle.run(model, [[data] * len(operators()[name].inputs)])
    with pytest.raises(ModelError) as raised:
        parse_tflite(model, "m.tflite")
    cause = f"what TFLM makes of it is undefined: {operators()[name].undefined[kind]}"
    assert f"{name}: input of type {kind} is not supported" in str(raised.value)
    assert cause in str(raised.value)


def test_tflm_compares_s16_by_what_lay_in_its_arena(oracle: Oracle) -> None:
    """Where zeros lay there, everything is multiplied by 0, and nothing is greater: when this changes, so may GREATER of s16."""
    data = np.array([-(1 << 15), -1, 1, (1 << 15) - 1], np.int16)
    model = _undefined("GREATER", DType.S16, data)
    (outputs,) = oracle.run(model, [[data, data[::-1].copy()]], arena_bytes=_FRESH_ARENA_BYTES)[0].outputs
    assert not outputs.any()


def test_operator_of_bools_names_their_type_as_the_remedy() -> None:
    """To quantize the model would help nobody there."""
    model = _undefined("LOGICAL_AND", DType.F32, np.ones((4,), np.float32))
    with pytest.raises(ModelError, match="Give it an input of type bool"):
        parse_tflite(model, "m.tflite")
