"""Files whose inputs get other shapes: what follows is a file as an exporter with these shapes would have written it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import kibi
from kibi.dtypes import DType
from kibi.errors import ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.frontends.tflite.given_shapes import with_shapes
from kibi.ir import Graph
from kibi.planner import plan
from kibi.runtime import Interpreter
from kibi.targets import target
from kibi.tflm import Oracle
from tests.support.amount import amount
from tests.support.zoo import model_path, requires_zoo

_S8, _F32 = DType.S8, DType.F32
_WEIGHTS = np.random.default_rng(1).normal(size=(4, 3, 3, 2)).astype(np.float32)


def _network(height: int, width: int, signature: Sequence[int] | None = None) -> bytes:
    """A convolution with stride 2, a padding, a RESHAPE that keeps the channels, and a mean of all places."""
    b = ModelBuilder()
    x = b.tensor([1, height, width, 2], _F32, name="image", shape_signature=signature)
    rows, columns = -(-height // 2), -(-width // 2)
    y = b.tensor([1, rows, columns, 4], _F32, name="conv", shape_signature=signature and [-1, -1, -1, 4])
    operands = [x, b.constant(_WEIGHTS), b.constant(np.ones(4, np.float32))]
    b.operator("CONV_2D", operands, [y], padding="SAME", stride_h=2, stride_w=2)
    z = b.tensor([1, rows + 2, columns, 4], _F32, name="padded")
    b.operator("PAD", [y, b.constant(np.array([[0, 0], [1, 1], [0, 0], [0, 0]], np.int32))], [z])
    flat = b.tensor([1, (rows + 2) * columns, 4], _F32, name="flat", shape_signature=signature and [-1, -1, 4])
    b.operator("RESHAPE", [z, b.constant(np.array([1, -1, 4], np.int32))], [flat])
    mean = b.tensor([1, 4], _F32, name="mean")
    b.operator("MEAN", [flat, b.constant(np.array([1], np.int32))], [mean], {"keep_dims": False})
    return b.finish([mean], [x])


def _computed(graph: Graph, image: NDArray[Any]) -> NDArray[Any]:
    """The only output of a model."""
    (found,) = Interpreter(graph, plan(graph, target("host"))).run([image])
    return found


@pytest.mark.parametrize(("height", "width"), [(8, 8), (7, 12), (1, 3), (1, 1)])
def test_file_is_what_an_exporter_with_these_shapes_writes(height: int, width: int, oracle: Oracle) -> None:
    """The graph is equal, and TFLM computes the same."""
    data, count = with_shapes(_network(1, 1, [-1, -1, -1, 2]), {"image": (1, height, width, 2)}, "model")
    graph = parse_tflite(data, "model")
    assert graph.nodes == parse_tflite(_network(height, width), "model").nodes
    assert [tensor.type for tensor in graph.tensors] == [
        tensor.type for tensor in parse_tflite(_network(height, width), "model").tensors
    ]
    assert (count > 0) == ((height, width) != (1, 1))
    image = np.random.default_rng(2).normal(size=(1, height, width, 2)).astype(np.float32)
    mine = _computed(graph, image)
    wanted: NDArray[Any] = np.asarray(oracle.run(data, [[image]])[0].outputs[0])
    np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)


def test_new_shape_that_is_computed_follows() -> None:
    """Converters write SHAPE, STRIDED_SLICE and PACK before a RESHAPE whose batch is open."""
    b = ModelBuilder()
    x = b.tensor([1, 4, 6], _S8, 0.5, 0, name="x", shape_signature=[-1, 4, 6])
    shape = b.tensor([3], DType.S32)
    b.operator("SHAPE", [x], [shape], {"out_type": 2})
    batch = b.tensor([], DType.S32)
    begin, end, step = (b.constant(np.array([number], np.int32)) for number in (0, 1, 1))
    b.operator("STRIDED_SLICE", [shape, begin, end, step], [batch], {"shrink_axis_mask": 1})
    new = b.tensor([2], DType.S32)
    b.operator("PACK", [batch, b.constant(np.array(24, np.int32))], [new], {"values_count": 2})
    y = b.tensor([1, 24], _S8, 0.5, 0, name="y", shape_signature=[-1, 24])
    b.operator("RESHAPE", [x, new], [y])
    data, _ = with_shapes(b.finish([y], [x]), {"x": (5, 4, 6)}, "model")
    graph = parse_tflite(data, "model")
    assert [graph.tensors[index].type.shape for index in (*graph.inputs, *graph.outputs)] == [(5, 4, 6), (5, 24)]


@requires_zoo
@pytest.mark.parametrize("shape", [(1, 24, 24, 3), (2, 9, 11, 3)])
def test_real_model_computes_a_dilated_convolution_at_any_shape(shape: tuple[int, ...], tmp_path: Path) -> None:
    """Twenty operators compute paddings from the shape, TFLM lacks some of them, and none is left in the graph."""
    path = tmp_path / "fixed.tflite"
    found = kibi.convert(model_path("tfls_dilated_conv"), path, shapes={"input_1": shape})
    assert found.notes == ("shapes that follow from those that were given: 4",)
    graph = kibi.load(path)
    assert [view.op.name for view in graph.views] == ["SPACE_TO_BATCH_ND", "CONV_2D", "BATCH_TO_SPACE_ND", "ADD"]
    image = np.random.default_rng(3).normal(size=shape).astype(np.float32)
    weights, bias = (
        np.asarray(graph.views[at].constant(name), np.float32) for at, name in ((1, "filter"), (3, "input2"))
    )
    padded = np.pad(image, ((0, 0), (6, 6), (6, 6), (0, 0)))
    wanted = sum(
        padded[:, 6 * row : 6 * row + shape[1], 6 * column : 6 * column + shape[2]] @ weights[:, row, column].T
        for row in range(3)
        for column in range(3)
    )
    np.testing.assert_allclose(_computed(graph, image), wanted + bias, rtol=1e-4, atol=1e-4)


def _relu(builder: ModelBuilder, shape: Sequence[int], made: Sequence[int], signature: Sequence[int]) -> bytes:
    x = builder.tensor(shape, _S8, 0.5, 0, name="x", shape_signature=signature)
    y = builder.tensor(made, _S8, 0.5, 0, name="y")
    builder.operator("RELU", [x], [y])
    return builder.finish([y], [x])


def _fixed_reshape() -> bytes:
    b = ModelBuilder()
    x = b.tensor([1, 4], _S8, 0.5, 0, name="x", shape_signature=[-1, 4])
    y = b.tensor([2, 2], _S8, 0.5, 0, name="y")
    b.operator("RESHAPE", [x, b.constant(np.array([2, 2], np.int32))], [y])
    return b.finish([y], [x])


def _branch() -> bytes:
    b = ModelBuilder()
    condition = b.input([1], DType.BOOL, name="condition")
    x = b.tensor([1, 4], _S8, 0.5, 0, name="x", shape_signature=[-1, 4])
    y = b.tensor([1, 4], _S8, 0.5, 0, name="y")
    b.operator("IF", [condition, x], [y], {"then_subgraph_index": 1, "else_subgraph_index": 1})
    b.end_subgraph([y], [condition, x])
    inner, outer = (b.tensor([1, 4], _S8, 0.5, 0) for _ in range(2))
    b.operator("RELU", [inner], [outer])
    return b.finish([outer], [inner])


@pytest.mark.parametrize(
    ("made", "shape", "expected"),
    [
        (lambda b: _relu(b, [1, 4], [1, 4], [-1, 4]), (1, 5), "shape [1, 5] does not fit the file's [-1, 4]"),
        (lambda b: _relu(b, [1, 4], [1, 4], [-1, 4]), (1, 4, 1), "shape [1, 4, 1] does not fit the file's [-1, 4]"),
        (lambda b: _relu(b, [1, 4], [1, 4], [-1, 4]), (0, 4), "shape [0, 4] has a size below 1"),
        (lambda b: _relu(b, [1, 4], [1, 4], [-1, 4]), (1 << 40, 4), "more than 2147483647 elements"),
        (lambda b: _relu(b, [1, 4], [1, 4, 1], [-1, 4]), (2, 4), "RELU: its shape becomes [2, 4], and has 3 axes"),
        (lambda _: _fixed_reshape(), (3, 4), "output [2, 2] has not as many elements as input [3, 4]"),
        (lambda _: _branch(), (3, 4), "takes [1, 4] int8, but the operator passes [3, 4] int8"),
    ],
)
def test_shape_that_a_model_cannot_have_is_refused(
    made: Callable[[ModelBuilder], bytes], shape: Sequence[int], expected: str
) -> None:
    """The text names the tensor or the operator, and what to do."""
    with pytest.raises(ModelError) as refusal:
        with_shapes(made(ModelBuilder()), {"x": shape}, "model")
    assert expected in str(refusal.value)
    assert all(problem.remedy for problem in refusal.value.problems)


def test_input_that_is_not_there_is_named() -> None:
    """With those that are."""
    with pytest.raises(ModelError, match=r"there is no input 'z'. Its inputs are 'x'"):
        with_shapes(_relu(ModelBuilder(), [1, 4], [1, 4], [-1, 4]), {"z": (1, 4)}, "model")


def test_dynamic_shape_names_the_axes_and_the_option(tmp_path: Path) -> None:
    """The option can be copied, and works."""
    path = tmp_path / "open.tflite"
    path.write_bytes(_network(1, 1, [-1, -1, -1, 2]))
    with pytest.raises(ModelError) as refusal:
        kibi.load(path)
    text = str(refusal.value)
    assert "its shape is dynamic: [-1, -1, -1, 2]. The sizes of its axes 0, 1 and 2 are unknown" in text
    assert "--shape image=1,1,1,2" in text
    graph = kibi.load(path, shapes={"image": (1, 9, 9, 2)})
    assert graph.path is None
    assert [graph.tensors[index].type.shape for index in graph.inputs] == [(1, 9, 9, 2)]


def test_damaged_files_end_in_an_error_of_kibi_or_in_success() -> None:
    """Whatever is changed in a file, nothing else is raised."""
    whole, chance, refused = _network(1, 1, [-1, -1, -1, 2]), np.random.default_rng(4), 0
    for _ in range(amount(400, 10_000)):
        data = bytearray(whole)
        for _ in range(chance.integers(1, 4)):
            data[chance.integers(8, len(data))] = chance.choice(
                np.array([0, 1, 4, 127, 128, 255, chance.integers(256)])
            )
        try:
            parse_tflite(with_shapes(bytes(data), {"image": (1, 5, 6, 2)}, "model")[0], "model")
        except ModelError:
            refused += 1
    assert refused
