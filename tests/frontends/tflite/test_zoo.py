"""Real models: those that Kibi supports load, the others end in one error that names all that is unsupported."""

import json

import pytest

from kibi.errors import ModelError
from kibi.frontends import load
from kibi.frontends.tflite.importers import CUSTOM
from kibi.ops import operators
from tests.support.zoo import BENCHMARKS, catalog, requires_zoo, zoo_path

pytestmark = requires_zoo


def _operator_files() -> list[str]:
    path = zoo_path() / "ops.json"
    return [entry["file"] for entry in json.loads(path.read_text()).values()] if path.is_file() else []


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_model_loads(name: str) -> None:
    """The eight models of the benchmarks become graphs with as many operators as the file has."""
    entry = catalog()[name]
    graph = load(entry.path)
    assert graph.name == name
    assert len(graph.nodes) == sum(entry.operators.values())
    assert [list(graph.tensors[index].type.shape) for index in graph.inputs] == [
        list(shape) for shape, _ in entry.inputs
    ]


@pytest.mark.timeout(5)
@pytest.mark.parametrize("name", catalog())
def test_model_loads_or_names_exactly_what_is_unsupported(name: str) -> None:
    """The operators named as unsupported are those of the catalogue that are not registered."""
    entry = catalog()[name]
    unsupported = set(entry.operators) - set(operators()) - {f"CUSTOM:{code}" for code in CUSTOM}
    try:
        graph = load(entry.path)
    except ModelError as error:
        named = {
            problem.what.split(" is not supported")[0]
            for problem in error.problems
            if problem.tensor is None and problem.operator is not None and ": " not in problem.what
        }
        assert named == unsupported
        lists = [problem.remedy for problem in error.problems if problem.remedy.startswith("Supported operators: ")]
        assert len(lists) == bool(unsupported)
        assert all(operator in text for operator in operators() for text in lists)
    else:
        assert not unsupported
        # An operator with several outputs is as many nodes; what follows from shapes alone is none.
        assert len({node.source for node in graph.nodes}) <= sum(entry.operators.values())


@pytest.mark.timeout(60)
def test_every_operator_file_loads_or_is_refused() -> None:
    """Hundreds of files of one or a few operators, many strange, end in a graph or a `ModelError`."""
    loaded = 0
    for file in _operator_files():
        try:
            load(zoo_path() / file)
        except ModelError:
            continue
        loaded += 1
    assert loaded > 50
