"""Tensors: what is read, and every way in which one can be wrong."""

from collections.abc import Callable

import numpy as np
import pytest
import tflite

from kibi.dtypes import Array, DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.frontends.tflite.reader import TensorRecord
from kibi.frontends.tflite.tensors import import_tensor
from kibi.ir import Quantization, Tensor, TensorType
from tests.frontends.models import fully_connected, problems_of, relu_on

_S8 = DType.S8


def _tensor(name: str, data: bytes) -> Tensor:
    return next(tensor for tensor in parse_tflite(data, "model").tensors if tensor.name == name)


def _elements(tensor: Tensor) -> Array:
    assert tensor.data is not None
    return tensor.data


def test_constant_is_a_read_only_array_of_the_tensors_shape() -> None:
    """Weights come out as they went in, and nobody can change them."""
    weights = _elements(_tensor("weights", fully_connected()))
    assert weights.shape == (3, 6)
    assert weights.dtype == np.int8
    bias = _elements(_tensor("bias", fully_connected()))
    assert (bias.dtype.str, bias.tolist()) == ("<i4", [1, -2, 3])
    assert not weights.flags.writeable
    assert not bias.flags.writeable


def test_misaligned_constant_becomes_an_aligned_copy() -> None:
    """A file whose buffers lie anywhere gives arrays that C code can read all the same."""
    sound = fully_connected()
    root = int.from_bytes(sound[:4], "little")
    for shift in range(1, 4):
        moved = (root + shift).to_bytes(4, "little") + sound[4:8] + b"\0" * shift + sound[8:]
        bias = _elements(_tensor("bias", moved))
        assert bias.flags.aligned
        assert not bias.flags.writeable
        assert bias.tolist() == [1, -2, 3]


def test_misaligned_constant_is_counted_as_a_copy() -> None:
    """Views of the file cost nothing however many there are; copies are held to the file's size."""
    copied: list[int] = []
    for shift in range(2):
        data = np.frombuffer(bytes(16), np.uint8)[shift : shift + 12]
        record = TensorRecord("x", tflite.TensorType.INT32, (3,), (), None, data, False, False, False)
        assert import_tensor(0, record, copied.append)[1] == []
    assert copied == [12]


def test_scales_are_the_files_float32_values() -> None:
    """A scale is kept exactly, as the Python float of the float32 in the file."""
    data = relu_on(lambda builder: builder.tensor([1, 4], _S8, 0.1, -7, name="x"))
    assert _tensor("x", data).quantization == Quantization((float(np.float32(0.1)),), (-7,))


def test_bias_with_the_axis_of_its_filter_keeps_its_scales() -> None:
    """Older converters write the filter's axis on the bias, which has one axis only."""
    builder = ModelBuilder()
    x = builder.input([1, 4, 4, 2], _S8, 0.5, 0)
    weights = builder.constant(np.ones((1, 1, 1, 2), np.int8), [0.5, 0.25], [0, 0], axis=3)
    bias = builder.constant(np.ones(2, np.int32), [0.25, 0.125], [0, 0], axis=3, name="bias")
    y = builder.tensor([1, 4, 4, 2], _S8, 0.5, 0)
    builder.operator("DEPTHWISE_CONV_2D", [x, weights, bias], [y], stride_h=1, stride_w=1)
    assert _tensor("bias", builder.finish([y])).quantization == Quantization((0.25, 0.125), (0, 0), 0)


def test_tensor_without_scales_is_not_quantized() -> None:
    """Empty arrays of scales mean the same as none."""
    builder = ModelBuilder()
    x = builder.tensor([1, 4], DType.F32, [], [], name="x")
    y = builder.tensor([1, 4], _S8, 0.5, 0)
    builder.operator("QUANTIZE", [x], [y])
    assert _tensor("x", builder.finish([y], [x])).type == TensorType((1, 4), DType.F32)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (None, "tensor_0"),
        ("twice", "twice"),
        ("größe", "größe"),
        ("\x1b[31mred\n", "\ufffd[31mred\ufffd"),
        ("n" * 2000, "n" * 1024 + "…"),
    ],
)
def test_name_of_a_tensor_is_fit_to_be_shown(name: str | None, expected: str) -> None:
    """Missing names are replaced, control characters too, and endless ones are cut."""
    graph = parse_tflite(relu_on(lambda builder: builder.tensor([1, 4], _S8, 0.05, 3, name=name)), "model")
    assert graph.tensors[0].name == expected


def test_name_that_is_no_utf8_is_made_readable() -> None:
    """Bytes that are no text are replaced, and the model loads."""
    data = relu_on(lambda builder: builder.tensor([1, 4], _S8, 0.05, 3, name="abcdefgh"))
    graph = parse_tflite(data.replace(b"abcdefgh", b"abc\xff\xfefgh"), "model")
    assert graph.tensors[0].name == "abc\ufffd\ufffdfgh"


def test_names_may_repeat() -> None:
    """Tensors are told apart by their indices."""
    graph = parse_tflite(relu_on(lambda builder: builder.tensor([1, 4], _S8, 0.05, 3, name="y")), "model")
    assert [tensor.name for tensor in graph.tensors] == ["y", "y"]


def test_tensor_that_nothing_names_is_not_judged() -> None:
    """Leftovers of any type and shape, with any buffer, do not stop a model; they become placeholders."""

    def add_input(builder: ModelBuilder) -> int:
        builder.tensor([0, -1], "RESOURCE", name="leftover", buffer=99, variable=True)
        return builder.tensor([1, 4], _S8, 0.05, 3)

    graph = parse_tflite(relu_on(add_input), "model")
    assert [tensor.index for tensor in graph.tensors] == [0, 1, 2]
    assert graph.tensors[0] == Tensor(0, "tensor_0", TensorType((), _S8))


def test_batch_that_is_unknown_in_the_signature_is_accepted_as_one() -> None:
    """Keras exports `[-1, …]` beside a shape of `[1, …]`."""
    data = relu_on(lambda builder: builder.tensor([1, 4], _S8, 0.05, 3, shape_signature=[-1, 4]))
    assert parse_tflite(data, "model").tensors[0].type.shape == (1, 4)


def test_batch_that_is_unknown_in_the_signature_is_that_of_the_shape() -> None:
    """The file's own shape decides, as in TFLM, and holds behind the input, too, wherever the batch has gone."""
    b = ModelBuilder()
    x = b.tensor([3, 4, 5], _S8, 0.05, 3, shape_signature=[-1, 4, 5])
    y = b.tensor([4, 3, 5], _S8, 0.05, 3, shape_signature=[4, -1, 5])
    b.operator("TRANSPOSE", [x, b.constant(np.array([1, 0, 2], np.int32))], [y])
    graph = parse_tflite(b.finish([y], [x]), "model")
    assert [graph.tensors[index].type.shape for index in (*graph.inputs, *graph.outputs)] == [(3, 4, 5), (4, 3, 5)]


def test_batch_that_an_operator_does_not_carry_on_is_refused() -> None:
    """A file whose input's batch was changed alone does not compute what it says."""
    b = ModelBuilder()
    x = b.tensor([2, 4], _S8, 0.05, 3, shape_signature=[-1, 4])
    y = b.tensor([1, 4], _S8, 0.05, 3, shape_signature=[-1, 4])
    b.operator("RELU", [x], [y])
    (problem,) = problems_of(b.finish([y], [x]))
    assert "output has shape [1, 4], its inputs give [2, 4]" in problem.what


@pytest.mark.parametrize(
    ("shape", "signature", "expected"),
    [
        ([1, 4], [-1, -1], "dynamic: [-1, -1]"),
        ([1, 4], [1, -1], "dynamic: [1, -1]"),
        ([-1, 4], None, "dynamic: [-1, 4]"),
        ([1, 4], [1, 4, 1], "its shape has 2 axes, its shape signature 3"),
        ([1, -2], None, "negative"),
        ([1, 0], None, "no elements"),
        ([1] * 9, None, "9 axes"),
        ([1 << 30, 4], None, "takes 4294967296 bytes"),
        ([0x7FFFFFFF] * 8, None, "bytes; at most"),
    ],
)
def test_shape_that_cannot_be_planned_is_refused(shape: list[int], signature: list[int] | None, expected: str) -> None:
    """Dynamic, negative, empty and endless shapes end in an error that names the tensor."""
    data = relu_on(lambda builder: builder.tensor(shape, _S8, 0.05, 3, name="x", shape_signature=signature))
    (problem,) = problems_of(data)
    assert expected in problem.what
    assert (problem.operator, problem.tensor) == (0, "x")
    if "dynamic" in expected:
        assert "kibi convert MODEL -o FILE --shape x=" in problem.remedy


@pytest.mark.parametrize(
    ("scale", "zero_point", "axis", "expected"),
    [
        ([0.5] * 4, [0], 1, "scales (4) and zero points (1) differ"),
        (0.5, None, 0, "scales (1) and zero points (0) differ"),
        (-0.5, 0, 0, "scale -0.5"),
        (float("nan"), 0, 0, "scale nan"),
        (float("inf"), 0, 0, "scale inf"),
        (0.5, 128, 0, "zero point 128"),
        (0.5, -129, 0, "zero point -129"),
        (0.5, -(1 << 63), 0, "zero point -9223372036854775808"),
        ([0.5] * 3, [0] * 3, 1, "3 scales along axis 1"),
        ([0.5] * 4, [0] * 4, 0, "4 scales along axis 0"),
        ([0.5] * 4, [0] * 4, 2, "4 scales along axis 2"),
        ([0.5] * 4, [0] * 4, -1, "4 scales along axis -1"),
    ],
)
def test_quantization_that_makes_no_sense_is_refused(
    scale: float | list[float], zero_point: int | list[int] | None, axis: int, expected: str
) -> None:
    """Counts, signs, ranges and axes of scales and zero points are checked before they are used."""
    data = relu_on(lambda builder: builder.tensor([1, 4], _S8, scale, zero_point, axis=axis, name="x"))
    (problem,) = problems_of(data)
    assert expected in problem.what
    assert (problem.operator, problem.tensor) == (0, "x")


def test_all_that_is_wrong_with_a_tensor_is_said_at_once() -> None:
    """One run names every problem."""
    data = relu_on(lambda builder: builder.tensor([1, 4], _S8, [0.5, -1.0], [200], name="x", variable=True))
    texts = " ".join(problem.what for problem in problems_of(data))
    assert all(
        part in texts for part in ("scales (2) and zero points (1)", "scale -1.0", "zero point 200", "along axis 0")
    )


@pytest.mark.parametrize(("dtype", "expected"), [("STRING", "STRING"), ("FLOAT16", "FLOAT16")])
def test_element_type_that_kibi_lacks_is_refused(dtype: str, expected: str) -> None:
    """The error names the type as the schema does."""
    (problem,) = problems_of(relu_on(lambda builder: builder.tensor([1, 4], dtype, name="x")))
    assert f"element type {expected} is not supported" in problem.what


def test_element_type_that_the_schema_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number that stands for no type is shown as it is."""
    monkeypatch.setattr(tflite.TensorType, "UNKNOWN", 77, raising=False)
    (problem,) = problems_of(relu_on(lambda builder: builder.tensor([1, 4], "UNKNOWN", name="x")))
    assert "element type 77 is not supported" in problem.what


@pytest.mark.parametrize("size", [1, 17, 19, 1000])
def test_data_of_another_size_than_the_shape_takes_are_refused(size: int) -> None:
    """Both sizes are in the error."""
    builder = ModelBuilder()
    x = builder.input([1, 6], _S8, 0.5, 0)
    weights = builder.tensor([3, 6], _S8, 0.5, 0, name="weights", data=b"\1" * size)
    y = builder.tensor([1, 3], _S8, 0.5, 0)
    builder.operator("FULLY_CONNECTED", [x, weights, -1], [y])
    (problem,) = problems_of(builder.finish([y]))
    assert problem.what == f"it has {size} bytes of data, but shape [3, 6] of s8 takes 18"
    assert (problem.operator, problem.tensor) == (0, "weights")


@pytest.mark.parametrize("number", [1, 9])
def test_data_in_a_buffer_that_is_not_there_are_refused(number: int) -> None:
    """The index and the number of buffers are in the error."""
    (problem,) = problems_of(relu_on(lambda builder: builder.tensor([1, 4], _S8, 0.5, 0, buffer=number)))
    assert f"buffer {number}, but there are 1 buffers" in problem.what
    assert problem.tensor == "tensor_0"


def test_input_that_is_marked_as_a_variable_is_an_input() -> None:
    """A caller gives it, as in TFLM: nothing is kept."""
    data = relu_on(lambda builder: builder.tensor([1, 4], _S8, 0.5, 0, variable=True))
    graph = parse_tflite(data, "model")
    assert [graph.tensors[index].is_variable for index in graph.inputs] == [False]


def test_input_that_is_an_operators_state_is_refused() -> None:
    """What a caller gives anew each time cannot be what an operator remembers."""
    builder = ModelBuilder()
    x, y = builder.input([1, 2], _S8, 0.5, 0), builder.tensor([1, 1], _S8, 0.5, 0)
    weights = builder.constant(np.ones((1, 2), np.int8), 0.5, 0)
    time = builder.constant(np.ones((1, 3), np.int16), 0.5, 0)
    state = builder.tensor([1, 3], DType.S16, 0.5, 0, variable=True, name="state")
    builder.operator("SVDF", [x, weights, time, -1, state], [y], rank=1)
    (problem,) = problems_of(builder.finish([y], [x, state]))
    assert "state must be a variable" in problem.what
    assert problem.tensor == "state"


def test_variable_with_data_is_refused() -> None:
    """It would be a state and a constant at once."""
    builder = ModelBuilder()
    x, y = builder.input([1, 4], _S8, 0.5, 0), builder.tensor([1, 4], _S8, 0.5, 0)
    builder.operator("ADD", [x, builder.tensor([1, 4], _S8, 0.5, 0, data=bytes(4), variable=True)], [y])
    (problem,) = problems_of(builder.finish([y]))
    assert "has data as a constant has" in problem.what
    assert problem.remedy


def _table(builder: ModelBuilder, name: str, **fields: int) -> int:
    return builder._table(name, fields)


def _sparse(builder: ModelBuilder) -> dict[str, int]:
    return {"sparsity": _table(builder, "SparsityParameters")}


def _custom_quantization(builder: ModelBuilder) -> dict[str, int]:
    details = _table(builder, "CustomQuantization")
    return {"quantization": _table(builder, "QuantizationParameters", details_type=1, details=details)}


def _external(builder: ModelBuilder) -> dict[str, int]:
    builder._buffers.append(_table(builder, "Buffer", offset=4096, size=4))
    return {"buffer": len(builder._buffers) - 1}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [(_sparse, "sparse"), (_custom_quantization, "custom or blockwise"), (_external, "after the flatbuffer")],
)
def test_storage_that_kibi_lacks_is_refused(fields: Callable[[ModelBuilder], dict[str, int]], expected: str) -> None:
    """Sparse data, other schemes of quantization, and data after the flatbuffer are named for what they are."""

    def add_input(builder: ModelBuilder) -> int:
        known = {
            "shape": builder._numbers([1, 4], np.int32),
            "type": tflite.TensorType.INT8,
            "name": builder._wire.CreateString("x"),
        }
        builder._graph.tensors.append(builder._table("Tensor", {**known, **fields(builder)}))
        return len(builder._graph.tensors) - 1

    (problem,) = problems_of(relu_on(add_input))
    assert expected in problem.what
    assert problem.tensor == "x"
    assert problem.remedy


def test_boolean_constant_of_other_bytes_than_0_and_1_is_refused() -> None:
    """TFLM reads such a byte as a C++ `bool`, which has no meaning; Python and C would keep different bytes of it."""
    for byte, is_sound in ((1, True), (2, False), (255, False)):
        b = ModelBuilder()
        x, y = b.input([2], DType.BOOL), b.tensor([2], DType.BOOL)
        mask = b.tensor([2], DType.BOOL, name="mask", data=bytes([0, byte]))
        b.operator("LOGICAL_AND", [x, mask], [y])
        if is_sound:
            assert _elements(_tensor("mask", b.finish([y]))).tolist() == [False, True]
        else:
            assert f"one of its bytes is {byte}" in problems_of(b.finish([y]))[0].what
