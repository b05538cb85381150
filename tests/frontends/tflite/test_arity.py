"""Operators with too few or too many inputs or outputs."""

from collections.abc import Iterator

import pytest

from kibi.errors import ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.frontends.tflite.model_tables import ModelSlot, ModelTables, OperatorSlot, SubgraphSlot
from tests.frontends.models import problems_of
from tests.support.amount import share
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS

_SIDES = (OperatorSlot.INPUTS, OperatorSlot.OUTPUTS)


def _recounted(data: bytes) -> Iterator[bytes]:
    """The model with each number of inputs and of outputs of each operator, from none to a few more than there are."""
    tables = ModelTables(data)
    for graph in tables.children(tables.model, ModelSlot.SUBGRAPHS):
        for operator in tables.children(graph, SubgraphSlot.OPERATORS):
            for place in (tables.reference(operator, slot) for slot in _SIDES):
                if place is None:
                    continue
                count = int.from_bytes(data[place : place + 4], "little")
                for other in {*range(count), count + 1, count + 2, count + 40}:
                    yield data[:place] + other.to_bytes(4, "little") + data[place + 4 :]


@pytest.mark.parametrize("name", share(OPERATOR_MODELS, 0, 2))
def test_operator_with_any_number_of_operands_loads_or_is_refused(name: str) -> None:
    """Whatever number of inputs and outputs an operator has, what comes of it is a graph or a `ModelError`."""
    data = OPERATOR_MODELS[name](Seeded(1)).model
    parse_tflite(data, "sound.tflite")
    refused = 0
    for changed in _recounted(data):
        try:
            parse_tflite(changed, "recounted.tflite")
        except ModelError:
            refused += 1
    assert refused


@pytest.mark.parametrize("name", ["READ_VARIABLE", "ASSIGN_VARIABLE", "RELU", "SPLIT", "CONCATENATION", "SVDF"])
def test_operator_without_operands_is_refused_with_what_it_takes(name: str) -> None:
    """The problem names the operands that the operator has in a file, and how many there are."""
    b = ModelBuilder()
    b.operator(name, [], [])
    (problem, *_) = problems_of(b.finish([]))
    assert f"{name} takes " in problem.what
    assert "0 inputs and 0 outputs" in problem.what
