"""What newer converters write becomes what TFLM reads: data after the flatbuffer, float16, and weights of hybrid operators."""

import contextlib
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import tflite
from hypothesis import given, settings
from hypothesis import strategies as st

from kibi.dtypes import Array, DType
from kibi.errors import KibiError, ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.frontends.tflite.model_tables import ModelSlot, ModelTables
from kibi.frontends.tflite.new_root import NewRoot
from kibi.frontends.tflite.normal_form import normal_form
from kibi.runtime import Interpreter, seeded_inputs
from kibi.tflm import Oracle
from tests.frontends.models import classifier, fully_connected
from tests.ops.comparison import assert_same_as_tflm
from tests.support import zoo

_WEIGHTS = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float16)
_SCALES = (0.01, 0.02, 0.03)


def _constants(data: bytes) -> list[bytes]:
    model = tflite.Model.GetRootAs(data)
    return [bytes(np.asarray(model.Buffers(index).DataAsNumpy())) for index in range(model.BuffersLength())]


def float16_model(*, shared: bool = False) -> bytes:
    """FULLY_CONNECTED of float32 whose weights are stored as float16, as the converter writes it; twice, if they are shared."""
    builder = ModelBuilder()
    x = builder.input([1, 6], DType.F32)
    half = builder.tensor([3, 6], "FLOAT16", data=_WEIGHTS.tobytes())
    weights = builder.tensor([3, 6], DType.F32)
    builder.operator("DEQUANTIZE", [half], [weights])
    outputs = []
    for _ in range(1 + shared):
        outputs.append(builder.tensor([1, 3], DType.F32))
        builder.operator("FULLY_CONNECTED", [x, weights, -1], [outputs[-1]], fused_activation_function="RELU")
    return builder.finish(outputs=outputs)


def _hybrid(
    scales: Sequence[float], dtype: DType = DType.S8, zero_points: Sequence[int] = (0, 0, 0)
) -> tuple[bytes, Array]:
    """FULLY_CONNECTED of float32 whose weights are stored as integers; and what they mean."""
    builder, low = ModelBuilder(), dtype.limits[0]
    stored = np.random.default_rng(1).integers(low, low + 256, (3, 6)).astype(dtype.numpy)
    x = builder.input([1, 6], DType.F32)
    weights = builder.constant(stored, list(scales), list(zero_points[: len(scales)]))
    y = builder.tensor([1, 3], DType.F32)
    builder.operator("FULLY_CONNECTED", [x, weights, -1], [y])
    along = np.asarray(scales, np.float32)[:, None]
    offsets = np.asarray(zero_points[: len(scales)])[:, None]
    return builder.finish(outputs=[y]), (stored.astype(np.int64) - offsets).astype(np.float32) * along


def _moved_out(data: bytes) -> bytes:
    """The same model with the data of all its buffers after the flatbuffer, at multiples of 16 bytes."""
    contents = _constants(data)

    def packed(places: Sequence[int]) -> bytes:
        tables = ModelTables(data)
        new, buffers = NewRoot(tables, data), list[int]()
        for content, place in zip(contents, places, strict=True):
            tflite.BufferStart(new._builder)
            tflite.BufferAddOffset(new._builder, place if content else 0)
            tflite.BufferAddSize(new._builder, len(content))
            buffers.append(tflite.BufferEnd(new._builder))
        return new.finished({ModelSlot.BUFFERS: buffers})

    start = len(packed([1 << 20] * len(contents)))
    places, after = [], bytearray()
    for content in contents:
        after += bytes(-(start + len(after)) % 16)
        places.append(start + len(after))
        after += content
    return packed(places) + bytes(after)


def _assert_runs_as_tflm(data: bytes, oracle: Oracle) -> None:
    """The file runs in Kibi as it does in TFLM."""
    graph = parse_tflite(data, "model.tflite")
    inputs = seeded_inputs(graph, 0)
    assert_same_as_tflm(graph, Interpreter(graph).run(inputs), oracle.run(data, [inputs])[0].outputs)


@pytest.mark.parametrize("data", [fully_connected(), classifier(), b"", b"\0\0\0\0TFL3", fully_connected()[:200]])
def test_file_that_tflm_reads_or_nobody_can_stays_as_it_is(data: bytes) -> None:
    """It is the same object: what is wrong with it, its reader says."""
    found = normal_form(data)
    assert found.data is data
    assert not found.is_changed


@pytest.mark.parametrize("model", [fully_connected, classifier])
def test_data_after_the_flatbuffer_come_into_it(model: Callable[[], bytes], oracle: Oracle) -> None:
    """Each buffer has the bytes that it had; without this, the data are missing."""
    data = model()
    outside = _moved_out(data)
    with pytest.raises(ModelError, match="stored after the flatbuffer"):
        parse_tflite(outside, "model.tflite")
    found = normal_form(outside)
    assert found.inlined == sum(bool(each) for each in _constants(data))
    assert _constants(found.data) == _constants(data)
    _assert_runs_as_tflm(found.data, oracle)


@pytest.mark.parametrize("place", [1 << 40, (1 << 64) - 1, 100_000])
def test_data_outside_of_the_file_are_refused(place: int) -> None:
    """An offset leads nowhere: the file is left to its reader, which refuses it."""
    builder = ModelBuilder()
    builder._buffers.append(builder._table("Buffer", {"offset": place, "size": 18}))
    x = builder.input([1, 6], DType.S8, 0.5, 0)
    weights = builder.tensor([3, 6], DType.S8, 0.5, 0, buffer=1)
    y = builder.tensor([1, 3], DType.S8, 0.5, 0)
    builder.operator("FULLY_CONNECTED", [x, weights, -1], [y])
    data = builder.finish(outputs=[y])
    found = normal_form(data)
    assert found.data is data
    with pytest.raises(ModelError, match="stored after the flatbuffer"):
        parse_tflite(found.data, "model.tflite")


@pytest.mark.parametrize("shared", [False, True])
def test_weights_of_float16_become_the_same_numbers_of_float32(shared: bool, oracle: Oracle) -> None:
    """The DEQUANTIZE is gone, for all that read its output."""
    data = float16_model(shared=shared)
    with pytest.raises(ModelError, match="FLOAT16"):
        parse_tflite(data, "model.tflite")
    found = normal_form(data)
    assert (found.inlined, found.float16, found.hybrid) == (0, 1, 0)
    graph = parse_tflite(found.data, "model.tflite")
    assert [node.op.name for node in graph.nodes] == ["FULLY_CONNECTED"] * (1 + shared)
    weights = graph.tensors[graph.nodes[0].inputs[1] or 0].data
    assert weights is not None
    np.testing.assert_array_equal(weights, _WEIGHTS.astype(np.float32))
    _assert_runs_as_tflm(found.data, oracle)


def test_weights_of_float16_that_are_an_output_stay() -> None:
    """What the model gives must be computed by an operator."""
    builder = ModelBuilder()
    half = builder.tensor([3, 6], "FLOAT16", data=_WEIGHTS.tobytes())
    y = builder.tensor([3, 6], DType.F32)
    builder.operator("DEQUANTIZE", [half], [y])
    found = normal_form(builder.finish(outputs=[y]))
    assert tflite.Model.GetRootAs(found.data).Subgraphs(0).OperatorsLength() == 1


@pytest.mark.parametrize(
    ("scales", "dtype", "zero_points"),
    [
        ((0.01,), DType.S8, (0,)),
        (_SCALES, DType.S8, (0, 0, 0)),
        ((0.01,), DType.U8, (131,)),
        (_SCALES, DType.S8, (1, -2, 3)),
    ],
)
def test_weights_of_a_hybrid_operator_become_the_numbers_that_they_mean(
    scales: Sequence[float], dtype: DType, zero_points: Sequence[int], oracle: Oracle
) -> None:
    """With one scale or one for each channel, with and without zero points."""
    data, wanted = _hybrid(scales, dtype, zero_points)
    found = normal_form(data)
    assert (found.inlined, found.float16, found.hybrid) == (0, 0, 1)
    graph = parse_tflite(found.data, "model.tflite")
    weights = graph.tensors[graph.nodes[0].inputs[1] or 0].data
    assert weights is not None
    np.testing.assert_array_equal(weights, wanted)
    _assert_runs_as_tflm(found.data, oracle)


def test_constant_that_other_operators_read_as_integers_stays() -> None:
    """A hybrid operator alone does not decide about it."""
    builder = ModelBuilder()
    x = builder.input([1, 6], DType.F32)
    weights = builder.constant(np.ones((3, 6), np.int8), 0.5, 0)
    y, z = builder.tensor([1, 3], DType.F32), builder.tensor([3, 6], DType.F32)
    builder.operator("FULLY_CONNECTED", [x, weights, -1], [y])
    builder.operator("DEQUANTIZE", [weights], [z])
    data = builder.finish(outputs=[y, z])
    assert normal_form(data).data is data


@pytest.mark.parametrize("make", [lambda: _moved_out(classifier()), float16_model, lambda: _hybrid(_SCALES)[0]])
@settings(max_examples=60)
@given(st.data())
def test_damaged_files_end_in_an_error_or_in_a_model(make: Callable[[], bytes], data: st.DataObject) -> None:
    """Whatever bytes change, nothing else is raised."""
    model = bytearray(make())
    for _ in range(data.draw(st.integers(1, 4))):
        model[data.draw(st.integers(0, len(model) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(KibiError):
        parse_tflite(normal_form(bytes(model)).data, "model.tflite")


@zoo.requires_zoo
def test_real_file_with_data_after_the_flatbuffer_has_them_inside() -> None:
    """Six buffers of it; the lists of the file refer to all of them."""
    data = zoo.operator_files()["litert_testdata/simple_group_norm_op"].path.read_bytes()
    found = normal_form(data)
    before, after = (tflite.Model.GetRootAs(each) for each in (data, found.data))
    assert found.inlined == 6
    for index in range(before.BuffersLength()):
        start, size = before.Buffers(index).Offset(), before.Buffers(index).Size()
        if start > 1:
            assert bytes(after.Buffers(index).DataAsNumpy()) == data[start : start + size]
            assert (after.Buffers(index)._tab.Vector(after.Buffers(index)._tab.Offset(4))) % 16 == 0
