"""Numbers about shapes that are computed while a model is loaded."""

from typing import Any

import numpy as np
import pytest

from kibi.dtypes import DType
from kibi.errors import ModelError
from kibi.frontends.tflite import folding, handles, parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.runtime import Interpreter
from kibi.tflm import Oracle
from tests.ops.comparison import assert_same
from tests.support.variable_models import call_once, handle


def _reshaped_like_another() -> bytes:
    """A vector that is given the shape of another input, which is cast once on the way."""
    b = ModelBuilder()
    x = b.input([12], DType.F32)
    other = b.input([3, 4], DType.F32)
    shape, cast, y = b.tensor([2], DType.S32), b.tensor([2], DType.S32), b.tensor([3, 4], DType.F32)
    b.operator("SHAPE", [other], [shape])
    b.operator("CAST", [shape], [cast])
    b.operator("RESHAPE", [x, cast], [y])
    return b.finish([y])


def test_chain_of_shapes_is_folded_and_equals_tflm(oracle: Oracle) -> None:
    """What follows from shapes alone becomes constants, so that RESHAPE finds its shape; outputs are TFLM's."""
    model = _reshaped_like_another()
    graph = parse_tflite(model, "model")
    assert [node.op.name for node in graph.nodes] == ["RESHAPE"]
    inputs = (np.arange(12, dtype=np.float32), np.zeros((3, 4), np.float32))
    assert_same(graph, Interpreter(graph).run(inputs), oracle.run(model, [inputs])[0].outputs)


def test_shape_that_is_an_output_stays() -> None:
    """A model's output is made by a node."""
    b = ModelBuilder()
    x, shape = b.input([3, 4], DType.F32), b.tensor([2], DType.S32)
    b.operator("SHAPE", [x], [shape])
    (node,) = parse_tflite(b.finish([shape]), "model").nodes
    assert node.op.name == "SHAPE"


def _filled(variables: int, elements: int) -> bytes:
    """Variables of floats whose first values a subgraph makes with FILL, from a few bytes each."""
    b = ModelBuilder()
    call_once(b)
    ends = []
    for number in range(variables):
        place, value, first = handle(b, f"v{number}"), b.tensor([elements], DType.F32), b.tensor([1], DType.F32)
        b.operator("READ_VARIABLE", [place], [value])
        b.operator("SLICE", [value, b.constant(np.zeros(1, np.int32)), b.constant(np.ones(1, np.int32))], [first])
        ends.append(first)
    b.end_subgraph(ends)
    for number in range(variables):
        place, value = handle(b, f"v{number}"), b.tensor([elements], DType.F32)
        b.operator("FILL", [b.constant(np.array([elements], np.int32)), b.constant(np.array(1.5, np.float32))], [value])
        b.operator("ASSIGN_VARIABLE", [place, value], [])
    return b.finish([], [])


def test_first_values_that_are_computed_have_a_limit_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred variables of 4 MB in a file of 80 kB: an error with the bytes before anything is computed; fewer are right."""
    made: list[int] = []

    def counting(*arguments: Any) -> Any:
        made.append(1)
        return folding.evaluated(*arguments)

    monkeypatch.setattr(handles, "evaluated", counting)
    data = _filled(20, 1 << 20)
    with pytest.raises(ModelError, match=r"at most 2,1[0-9]{2},[0-9]{3} are computed when this file is loaded"):
        parse_tflite(data, "large.tflite")
    assert not made
    graph = parse_tflite(_filled(3, 1000), "small.tflite")
    assert len(made) == 3
    assert [output.tolist() for output in Interpreter(graph).run([])] == [[1.5]] * 3
    with pytest.raises(ModelError, match="are computed when this file is loaded"):
        parse_tflite(_filled(30, 20_000), "many.tflite")  # each is small, all together are not
    assert 3 < len(made) < 20


def test_folding_reads_a_bounded_number_of_elements_and_leaves_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many parts of one large constant: those within the bound are folded, the others stay as they are, with the same outputs."""
    b = ModelBuilder()
    large, size = b.constant(np.arange(1000, dtype=np.int32)), b.constant(np.array([1], np.int32))
    x = b.input([1], DType.S32)
    for number in range(6):
        part, y = b.tensor([1], DType.S32), b.tensor([1], DType.S32)
        b.operator("SLICE", [large, b.constant(np.array([number], np.int32)), size], [part])
        b.operator("ADD", [x, part], [y])
        x = y
    data = b.finish([x])
    whole = parse_tflite(data, "parts.tflite")
    assert len(whole.nodes) == 6
    monkeypatch.setattr(folding, "MOST_READ", 3500)
    bounded = parse_tflite(data, "parts.tflite")
    assert len(bounded.nodes) == 9
    inputs = [np.array([7], np.int32)]
    assert Interpreter(bounded).run(inputs)[0].tolist() == Interpreter(whole).run(inputs)[0].tolist() == [7 + 15]
