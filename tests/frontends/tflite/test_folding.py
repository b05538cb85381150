"""Numbers about shapes that are computed while a model is loaded."""

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite import parse_tflite
from kibi.oracle import Oracle
from kibi.runtime import Interpreter
from tests.ops.comparison import assert_same
from tests.support.tflite_builder import ModelBuilder


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
