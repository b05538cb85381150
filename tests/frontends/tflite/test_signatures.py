"""Graphs of a model file by the names of their entry points."""

from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import DType
from kibi.engines import HostEngine
from kibi.errors import ModelError, PlanError
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.tflm import available


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two entry points: `twice` gives 2 x, of subgraph 0; `rate` gives b - a of its inputs b and a, of subgraph 1."""
    b = ModelBuilder()
    x, y = b.input([4], DType.F32, name="serving_default_x:0"), b.tensor([4], DType.F32, name="PartitionedCall:0")
    b.operator("ADD", [x, x], [y])
    b.end_subgraph([y])
    first, second = (b.input([4], DType.F32, name=f"rate_{name}:0") for name in "ba")
    z = b.tensor([4], DType.F32, name="PartitionedCall_1:0")
    b.operator("SUB", [first, second], [z])
    b.signature("twice", 0, [("x", x)], [("sum", y)])
    b.signature("rate", 1, [("a", second), ("b", first)], [("difference", z)])
    b.signature("broken", 1, [("a", 7)], [])
    b.signature("nowhere", 5, [], [])
    file = tmp_path / "two ways.tflite"
    file.write_bytes(b.finish([z]))
    return file


def test_model_loaded_without_a_name_is_the_first_graph_and_lists_the_signatures(path: Path) -> None:
    """As TFLM, which knows no signatures; names of tensors are those of the file."""
    graph = kibi.load(path)
    assert graph.signature is None
    assert [each.key for each in graph.signatures] == ["twice", "rate", "broken", "nowhere"]
    assert graph.nodes[0].op.name == "ADD"
    assert graph.tensors[graph.inputs[0]].name == "serving_default_x:0"


def test_model_loaded_by_a_name_is_that_graph_with_the_names_of_the_signature(path: Path, tmp_path: Path) -> None:
    """Inputs stay in the graph's order; the graph's own name tells the two apart in one library."""
    graph, other = kibi.load(path, signature="rate"), kibi.load(path, signature="twice")
    assert [graph.tensors[index].name for index in (*graph.inputs, *graph.outputs)] == ["b", "a", "difference"]
    assert (graph.name, other.name, graph.source) == ("two_ways_rate", "two_ways_twice", "two ways.tflite")
    assert (graph.path, other.path) == (None, path)
    inputs = [np.arange(4, dtype=np.float32) ** 2, np.ones(4, np.float32)]
    library = kibi.compile([graph, other], None, tmp_path / "library", target="host")
    assert kibi.run(graph, None, inputs)[0].tolist() == HostEngine(library).run(inputs)[0].tolist() == [-1, 0, 3, 8]
    assert HostEngine(library, 1).run(inputs[:1])[0].tolist() == [0, 2, 8, 18]
    assert "--signature rate" in library.files["two_ways_rate.c"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("half", "there is no signature 'half'; there are: 'twice', 'rate', 'broken', 'nowhere'"),
        ("broken", "signature 'broken': its input 'a' is tensor 7, which is no input of the graph"),
        ("nowhere", "subgraph 5 is asked for, but there are 2"),
    ],
)
def test_name_that_leads_nowhere_is_refused(path: Path, name: str, text: str) -> None:
    """An unknown name lists those that there are; a broken one says what is wrong."""
    with pytest.raises(ModelError, match=text):
        kibi.load(path, signature=name)


def test_file_without_signatures_says_so(tmp_path: Path) -> None:
    """There may be none at all."""
    b = ModelBuilder()
    x, y = b.input([4], DType.F32), b.tensor([4], DType.F32)
    b.operator("RELU", [x], [y])
    path = tmp_path / "plain.tflite"
    path.write_bytes(b.finish([y]))
    with pytest.raises(ModelError, match="there is no signature 'serving_default'; the file has none"):
        kibi.load(path, signature="serving_default")


def test_second_graph_is_not_compared_with_tflm(path: Path) -> None:
    """TFLM runs the first graph alone, and its plan in a file is for that one."""
    found = kibi.verify(kibi.load(path, signature="rate"), target="host", runs=1)
    assert found.skipped == ("tflm: it runs the first graph of a file, not signature 'rate'",)
    with pytest.raises(PlanError, match="carries no plan"):
        kibi.plan(kibi.load(path, signature="rate"), use_embedded_plan=True)
    if available():
        assert "tflm" in kibi.verify(kibi.load(path, signature="twice"), target="host", runs=1).engines
