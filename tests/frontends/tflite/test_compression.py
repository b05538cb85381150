"""Compressed constants: decoded as TFLM decodes them, or refused with the reason."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kibi.dtypes import Array, DType
from kibi.errors import ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.runtime import Interpreter
from kibi.tflm import Oracle
from tests.support import compressed_models as compressed
from tests.support.choices import Drawn


@st.composite
def _encodings(draw: st.DrawFn, kind: str, b: ModelBuilder) -> tuple[int, Array]:
    return compressed.ENCODINGS[kind](Drawn(draw), b)


_NOTHING = np.zeros(1, np.int8)


@pytest.mark.parametrize("kind", compressed.ENCODINGS)
@settings(max_examples=100)
@given(data=st.data())
def test_decode_any_encoding_equals_tflm(kind: str, data: st.DataObject, oracle: Oracle) -> None:
    """Whatever the type, the shape, the channels and the bits, the constant holds what TFLM decodes."""
    b = ModelBuilder()
    b.input([1], DType.S8, 1.0, 0)
    output, array = data.draw(_encodings(kind, b))
    model = b.finish([output])
    found = parse_tflite(model, "drawn.tflite").tensors[output].data
    assert found is not None
    assert not found.flags.writeable
    assert (found.shape, found.dtype, found.tobytes()) == (array.shape, array.dtype, array.tobytes())
    assert oracle.run(model, [[_NOTHING]])[0].outputs[0].tobytes() == array.tobytes()


_VALUES = np.array([-100, 3, 127], np.int8)


def _layer(*, legacy: bool, scales: tuple[float, ...] = (0.5,), operator: str = "FULLY_CONNECTED") -> bytes:
    """A layer of 3 channels with a filter of three values."""
    b = ModelBuilder()
    rng = np.random.default_rng(5)
    entries: list[tuple[int, int, int]] | None = [] if legacy else None
    if operator == "FULLY_CONNECTED":
        x = b.input([1, 10], DType.S8, 1.0, 0)
        weights = compressed.codebook_in_use(b, rng.choice(_VALUES, (3, 10)), scales, legacy=entries)
        y = b.tensor([1, 3], DType.S8, 10.0, 0)
        b.operator(operator, [x, weights], [y])
    else:
        x = b.input([1, 4, 4, 3], DType.S8, 1.0, 0)
        weights = compressed.codebook_in_use(b, rng.choice(_VALUES, (1, 1, 1, 3)), scales, axis=3, legacy=entries)
        y = b.tensor([1, 4, 4, 3], DType.S8, 10.0, 0)
        b.operator(operator, [x, weights], [y], stride_h=1, stride_w=1, depth_multiplier=1)
    if entries is not None:
        b.metadata("COMPRESSION_METADATA", compressed.metadata(entries))
    return b.finish([y])


@pytest.mark.parametrize("operator", ["FULLY_CONNECTED", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize("scales", [(0.5,), (0.5, 0.25, 1.0)])
@pytest.mark.parametrize("legacy", [True, False])
def test_layer_with_compressed_weights_equals_tflm(
    operator: str, scales: tuple[float, ...], legacy: bool, oracle: Oracle
) -> None:
    """By metadata or by TFLM_DECODE, with one table or one for each channel of the first or last axis."""
    model = _layer(legacy=legacy, scales=scales, operator=operator)
    graph = parse_tflite(model, "layer.tflite")
    assert [node.op.name for node in graph.nodes] == [operator]
    shape = graph.tensors[graph.inputs[0]].type.shape
    inputs = [np.random.default_rng(6).integers(-128, 128, shape).astype(np.int8)]
    assert Interpreter(graph).run(inputs)[0].tobytes() == oracle.run(model, [inputs])[0].outputs[0].tobytes()


def _with_metadata(data: bytes) -> bytes:
    b = ModelBuilder()
    x = b.input([1, 2], DType.S8, 1.0, 0)
    weights = b.tensor([1, 2], DType.S8, 1.0, 0, data=b"\x40")
    b.buffer(b"\x01\x02")
    y = b.tensor([1, 1], DType.S8, 1.0, 0)
    b.operator("FULLY_CONNECTED", [x, weights], [y])
    b.metadata("COMPRESSION_METADATA", data)
    return b.finish([y])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "are empty"),
        (b"\1", "have 1 bytes"),
        (b"anything that is no flatbuffer", "is corrupt"),
        (compressed.metadata([(1, 2, 1)], version=2), "version 2; 1 is known"),
        (compressed.metadata([], subgraphs=0), "no subgraph"),
        (compressed.metadata([(1, 2, 1)], subgraphs=2), "2 subgraphs, the model 1"),
        (compressed.metadata([(3, 2, 1)]), "name tensor 3, but there are 3"),
        (compressed.metadata([(-1, 2, 1)]), "name tensor -1"),
        (compressed.metadata([(1, 2, 1), (1, 2, 1)]), "tensor 1 twice"),
        (compressed.metadata([(1, 99, 1)]), "in buffer 99"),
        (compressed.metadata([(1, 0, 1)]), "no indices or no values"),
        (compressed.metadata([(1, 2, 0)]), "indices of 0 bits"),
        (compressed.metadata([(1, 2, 8)]), "indices of 8 bits"),
        (compressed.metadata([(1, 2, 7)]), "1 bytes of indices, too few for 2 of 7 bits"),
        (compressed.metadata([(1, 1, 1)]), "an index is 1, but there are 1 values"),
    ],
)
def test_load_metadata_that_make_no_sense_are_refused(data: bytes, expected: str) -> None:
    """TFLM runs on with the indices for weights, or reads beyond a table; Kibi says what is wrong."""
    with pytest.raises(ModelError, match=expected):
        parse_tflite(_with_metadata(data), "m.tflite")


def test_load_metadata_that_are_right_are_accepted() -> None:
    """The model that the broken ones are made from."""
    graph = parse_tflite(_with_metadata(compressed.metadata([(1, 2, 1)])), "m.tflite")
    data = graph.tensors[1].data
    assert data is not None
    assert data.tolist() == [[1, 2]]


_TABLE = np.array([1, 2, 3, 4], np.int8).tobytes()
_INDICES = compressed.packed(np.array([0, 1, 2, 3, 0, 1]), 2)


def _decoded(
    description: bytes,
    data: Array = _INDICES,
    dtype: DType = DType.S8,
    scales: int = 1,
    axis: int = 0,
    shape: tuple[int, ...] = (2, 3),
    points: int = 0,
) -> bytes:
    """A model whose output is one of TFLM_DECODE."""
    b = ModelBuilder()
    b.input([1], DType.S8, 1.0, 0)
    y = b.tensor(shape, dtype, [1.0] * scales or None, [points] * scales or None, axis=axis)
    compressed.decode(b, data, description, y)
    return b.finish([y])


_HUFFMAN_16 = compressed.huffman(np.array([1, 1, 1, 2, 3, 1]), 1, wide=False)
_HUFFMAN_32 = compressed.huffman(np.array([1, 1, 1, 2, 3, 1]), 2, wide=True)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: _decoded(b"\0\1"), "2 bytes, less than a header's 16"),
        (lambda: _decoded(compressed.header(3)), "kind 3 of encoding is not supported"),
        (lambda: _decoded(compressed.header(127)), "kind 127 of encoding is not supported"),
        (lambda: _decoded(compressed.header(0, 2, 4, version=2) + _TABLE), "version 2 of the encoding"),
        (lambda: _decoded(compressed.header(0, 2, 4, own_version=3) + _TABLE), "version 3 of the encoding"),
        (lambda: _decoded(compressed.header(0, 0xF0, 4) + _TABLE), "indices of 0 bits"),
        (lambda: _decoded(compressed.header(0, 0xF2, 129) + _TABLE), "129 values"),
        (lambda: _decoded(compressed.header(0, 0xF2, 5) + _TABLE), "0 tables of values, but 1 by its scales"),
        (lambda: _decoded(compressed.header(0, 0x02, 2) + _TABLE), "2 tables of values, but 1 by its scales"),
        (lambda: _decoded(compressed.header(0, 0xF2, 2) + _TABLE, scales=2), "1 tables of values, but 2 by its scales"),
        (lambda: _decoded(compressed.header(0, 0xF2, 3) + _TABLE), "an index is 3, but there are 3 values"),
        (lambda: _decoded(compressed.header(0, 0xF3, 4) + _TABLE), "too few for 6 of 3 bits"),
        (lambda: _decoded(compressed.header(0, 0xF2, 4) + _TABLE, dtype=DType.U8), "compressed UINT8 is not supported"),
        (
            lambda: _decoded(compressed.header(0, 0x12, 2) + _TABLE, scales=2, axis=1, shape=(1, 2, 3)),
            "2 scales along axis 1",
        ),
        (lambda: _decoded(compressed.header(1, 0x00), _HUFFMAN_16[0]), "leads to entry . of a table of 0"),
        (lambda: _decoded(_HUFFMAN_16[1], _HUFFMAN_16[0][:0]), "must be constants|too few"),
        (lambda: _decoded(_HUFFMAN_16[1], _HUFFMAN_16[0][:1], shape=(8,)), "end early"),
        (lambda: _decoded(_HUFFMAN_16[1], _HUFFMAN_16[0], dtype=DType.S16), "Huffman codes of INT16 in entries of 16"),
        (lambda: _decoded(_HUFFMAN_32[1], _HUFFMAN_32[0], dtype=DType.F32), "Huffman codes of FLOAT32"),
        (lambda: _decoded(_HUFFMAN_16[1], _HUFFMAN_16[0], shape=(1 << 20, 1 << 10)), "too few for 1073741824"),
        (lambda: _decoded(compressed.header(2) + b"\1", np.array([0xFF], np.uint8)), "6 values are kept, .* are 1"),
        (lambda: _decoded(compressed.header(2) + _TABLE, np.array([3], np.uint8), shape=(9,)), "too few for 9"),
        (
            lambda: _decoded(compressed.header(2) + _TABLE, np.array([3], np.uint8), dtype=DType.S16, points=1),
            "zero points of 0 alone",
        ),
    ],
)
def test_load_decode_that_makes_no_sense_is_refused(make: Callable[[], bytes], expected: str) -> None:
    """Unknown kinds and versions, tables that do not fit, and streams that end: operator and tensor are named."""
    with pytest.raises(ModelError, match=expected) as raised:
        parse_tflite(make(), "m.tflite")
    assert raised.value.problems[0].operator == 0
    assert raised.value.problems[0].tensor == "tensor_1"


def _wired(inputs: list[int], outputs: list[int]) -> bytes:
    b = ModelBuilder()
    x = b.input([2, 3], DType.S8, 1.0, 0)
    b.constant(_INDICES)
    b.constant(np.frombuffer(compressed.header(0, 0xF2, 4) + _TABLE, np.uint8))
    b.tensor([2, 3], DType.S8, 1.0, 0)
    y = b.tensor([2, 3], DType.S8, 1.0, 0)
    b.operator("CUSTOM", inputs, outputs, custom_code="TFLM_DECODE")
    b.operator("ADD", [x, 3], [y])
    return b.finish([y])


@pytest.mark.parametrize(
    ("inputs", "outputs", "expected"),
    [
        ([1], [3], "1 inputs for 1 outputs"),
        ([1, 2, 1, 2], [3], "4 inputs for 1 outputs"),
        ([], [], "0 inputs for 0 outputs"),
        ([1, 99], [3], "an operand is tensor 99"),
        ([-1, 2], [3], "an operand is tensor -1"),
        ([0, 2], [3], "must be constants"),
        ([1, 0], [3], "must be constants"),
        ([1, 2, 1, 2], [3, 3], "another one has the same output"),
    ],
)
def test_load_decode_with_wrong_operands_is_refused(inputs: list[int], outputs: list[int], expected: str) -> None:
    """Its operands are pairs of constants, and an output for each pair."""
    with pytest.raises(ModelError, match=expected):
        parse_tflite(_wired(inputs, outputs), "m.tflite")
    assert parse_tflite(_wired([1, 2], [3]), "m.tflite").nodes


def test_decode_of_a_scalar_with_several_scales_is_refused() -> None:
    """A tensor without axes has none for the tables of channels."""
    b = ModelBuilder()
    x, y = b.input([1], DType.S8, 0.5, 0), b.tensor([1], DType.S8, 0.5, 0)
    decoded = b.tensor([], DType.S8, [0.5, 0.25], [0, 0])
    compressed.decode(b, np.zeros(1, np.uint8), compressed.header(0, 0xF1, 1) + bytes(1), decoded)
    b.operator("ADD", [x, decoded], [y])
    with pytest.raises(ModelError, match="2 scales along axis 0"):
        parse_tflite(b.finish([y]), "m.tflite")
