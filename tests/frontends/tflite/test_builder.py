"""The test-side writer of models: TFLM reads what it writes, and it writes what it is told, sound or not."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pytest
import tflite

from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from kibi.tflm import Oracle


@dataclass(frozen=True, slots=True)
class Case:
    """A model, its inputs, and the one output that arithmetic on paper gives."""

    model: bytes
    inputs: Sequence[Array]
    expected: Array


def _ones(*shape: int) -> Array:
    return np.ones(shape, np.int8)


def _one_operator(
    name: str,
    inputs: Sequence[Array],
    expected: Array,
    constants: Callable[[ModelBuilder], Sequence[int]] = lambda _: [],
    *,
    output: tuple[float, int] = (1.0, 0),
    attributes: Mapping[str, Attribute] = MappingProxyType({}),
) -> Case:
    """A model of one operator, whose s8 inputs have scale 1 and zero point 0, so that paper is exact."""
    builder = ModelBuilder()
    operands = []
    for array in inputs:
        dtype = DType.of(array)
        operands.append(builder.input(array.shape, dtype, *((1.0, 0) if dtype is DType.S8 else ())))
    operands += constants(builder)
    kind = DType.of(expected)
    result = builder.tensor(expected.shape, kind, *(output if kind is DType.S8 else ()))
    builder.operator(name, operands, [result], attributes)
    return Case(builder.finish([result]), inputs, expected)


def _conv_2d(scale: float | Sequence[float], second: int) -> Case:
    """3x3 ones at stride 2 count the pixels under them; the second channel's weight and scale cancel out."""
    weights = _ones(2, 3, 3, 1)
    weights[1] = second
    counts = np.array([[10, 7], [7, 5]], np.int8)

    def constants(builder: ModelBuilder) -> list[int]:
        bias = np.array([1, second], np.int32)
        return [
            builder.constant(weights, scale, np.zeros(np.size(scale), np.int64).tolist(), axis=0),
            builder.constant(bias, scale, np.zeros(np.size(scale), np.int64).tolist()),
        ]

    expected = np.stack([counts, counts], -1)[np.newaxis]
    return _one_operator(
        "CONV_2D",
        [_ones(1, 4, 4, 1)],
        expected,
        constants,
        attributes={"stride_h": 2, "stride_w": 2, "padding": "SAME"},
    )


def _depthwise_conv_2d(scale: float | Sequence[float], second: int) -> Case:
    """3x3 ones give 9, which the fused RELU6 cuts to 6."""
    weights = _ones(1, 3, 3, 2)
    weights[..., 1] = second

    def constants(builder: ModelBuilder) -> list[int]:
        zeros = np.zeros(np.size(scale), np.int64).tolist()
        return [builder.constant(weights, scale, zeros, axis=3), builder.constant(np.zeros(2, np.int32), scale, zeros)]

    return _one_operator(
        "DEPTHWISE_CONV_2D",
        [_ones(1, 4, 4, 1)],
        np.full([1, 2, 2, 2], 6, np.int8),
        constants,
        attributes={
            "stride_h": 1,
            "stride_w": 1,
            "padding": "VALID",
            "depth_multiplier": 2,
            "fused_activation_function": "RELU6",
        },
    )


def _fully_connected(scale: float | Sequence[float], second: int, *, bias: bool = True) -> Case:
    """Each output is the sum of four ones, plus the bias of one."""
    weights = _ones(2, 4)
    weights[1] = second

    def constants(builder: ModelBuilder) -> list[int]:
        zeros = np.zeros(np.size(scale), np.int64).tolist()
        filters = builder.constant(weights, scale, zeros)
        return [filters, builder.constant(np.array([1, second], np.int32), scale, zeros) if bias else -1]

    return _one_operator("FULLY_CONNECTED", [_ones(1, 4)], np.full([1, 2], 5 if bias else 4, np.int8), constants)


_RAMP = np.arange(16, dtype=np.int8).reshape(1, 4, 4, 1)
_POOL: Mapping[str, Attribute] = {
    "filter_height": 2,
    "filter_width": 2,
    "stride_h": 2,
    "stride_w": 2,
    "padding": "VALID",
}


def _numbers(*values: int | Sequence[int]) -> Callable[[ModelBuilder], Sequence[int]]:
    return lambda builder: [builder.constant(np.array(values, np.int32))]


def _s8(*values: int) -> Array:
    return np.array([values], np.int8)


CASES = {
    "CONV_2D per tensor": _conv_2d(1.0, 1),
    "CONV_2D per channel": _conv_2d([1.0, 0.5], 2),
    "DEPTHWISE_CONV_2D per tensor": _depthwise_conv_2d(1.0, 1),
    "DEPTHWISE_CONV_2D per channel": _depthwise_conv_2d([1.0, 0.5], 2),
    "FULLY_CONNECTED per tensor": _fully_connected(1.0, 1),
    "FULLY_CONNECTED per channel": _fully_connected([1.0, 0.5], 2),
    "FULLY_CONNECTED without bias": _fully_connected(1.0, 1, bias=False),
    "AVERAGE_POOL_2D": _one_operator(
        "AVERAGE_POOL_2D", [_RAMP * 2], np.array([[5, 9], [21, 25]], np.int8).reshape(1, 2, 2, 1), attributes=_POOL
    ),
    "MAX_POOL_2D": _one_operator(
        "MAX_POOL_2D", [_RAMP], np.array([[5, 7], [13, 15]], np.int8).reshape(1, 2, 2, 1), attributes=_POOL
    ),
    "ADD": _one_operator("ADD", [_s8(1, -2, 3), _s8(10, 20, 30)], _s8(11, 18, 33)),
    "ADD broadcast": _one_operator("ADD", [_s8(1, -2, 3), np.array([10], np.int8)], _s8(11, 8, 13)),
    "MUL": _one_operator("MUL", [_s8(1, -2, 3), _s8(5, 6, 7)], _s8(5, -12, 21)),
    "MEAN": _one_operator(
        "MEAN", [_RAMP * 2], np.array([[15]], np.int8), _numbers(1, 2), attributes={"keep_dims": False}
    ),
    "PAD": _one_operator("PAD", [_s8(1, 2)], np.array([[0, 0, 0], [1, 2, 0]], np.int8), _numbers([1, 0], [0, 1])),
    "RELU": _one_operator("RELU", [_s8(-5, 0, 9)], _s8(0, 0, 9)),
    "RELU6": _one_operator("RELU6", [_s8(-5, 0, 9)], _s8(0, 0, 6)),
    "LOGISTIC": _one_operator("LOGISTIC", [_s8(-100, 0, 100)], _s8(-128, 0, 127), output=(1 / 256, -128)),
    "SOFTMAX": _one_operator(
        "SOFTMAX", [_s8(3, 3, 3, 3)], _s8(-64, -64, -64, -64), output=(1 / 256, -128), attributes={"beta": 1.0}
    ),
    "RESHAPE by tensor": _one_operator("RESHAPE", [_RAMP], _RAMP.reshape(2, 8), _numbers(2, 8)),
    "RESHAPE by attribute": _one_operator("RESHAPE", [_RAMP], _RAMP.reshape(2, 8), attributes={"new_shape": [2, 8]}),
    "QUANTIZE": _one_operator("QUANTIZE", [np.array([[-1.0, 0.4, 300.0]], np.float32)], _s8(-1, 0, 127)),
    "DEQUANTIZE": _one_operator("DEQUANTIZE", [_s8(-7, 0, 9)], np.array([[-7.0, 0.0, 9.0]], np.float32)),
}


@pytest.mark.parametrize("name", CASES)
def test_operator_runs_in_tflm_as_on_paper(oracle: Oracle, name: str) -> None:
    """Each operator, with the attributes it was given, computes in TFLM what it should."""
    case = CASES[name]
    ((output,),) = [run.outputs for run in oracle.run(case.model, [case.inputs])]
    assert output.dtype == case.expected.dtype
    np.testing.assert_array_equal(output, case.expected)


def _read(model: bytes) -> tflite.Model:
    return tflite.Model.GetRootAs(model, 0)


def test_finish_aligns_the_data_of_every_buffer_to_16_bytes() -> None:
    """Kernels may read constants in place with wide loads, whatever was written before them."""
    for length in range(1, 40):
        builder = ModelBuilder()
        builder.input([1], DType.S8, 1.0, 0, name="n" * length)
        for size in (length, 3, 40):
            builder.tensor([size], DType.S8, data=bytes([0xA5] * size))
        data = builder.finish([0])
        model = _read(data)
        for index in range(1, model.BuffersLength()):
            buffer = model.Buffers(index)
            place = buffer._tab.Vector(buffer._tab.Offset(4))
            assert place % 16 == 0
            assert data[place : place + buffer.DataLength()] == bytes([0xA5] * buffer.DataLength())


def test_operator_writes_the_attributes_it_is_given() -> None:
    """Enumerators, numbers and defaults of the options are in the file under their names."""
    builder = ModelBuilder()
    builder.operator("CONV_2D", [0, 1, -1], [2], padding="VALID", stride_h=3, dilation_w_factor=2, version=5)
    builder.operator("CALL_ONCE", [], [], init_subgraph_index=1)
    builder.operator("VAR_HANDLE", [], [0], shared_name="state")
    model = _read(builder.finish([]))
    operators = [model.Subgraphs(0).Operators(index) for index in range(3)]
    conv, variable = tflite.Conv2DOptions(), tflite.VarHandleOptions()
    conv.Init(operators[0].BuiltinOptions().Bytes, operators[0].BuiltinOptions().Pos)
    variable.Init(operators[2].BuiltinOptions().Bytes, operators[2].BuiltinOptions().Pos)
    assert operators[0].BuiltinOptionsType() == tflite.BuiltinOptions.Conv2DOptions
    assert (conv.Padding(), conv.StrideH(), conv.StrideW()) == (tflite.Padding.VALID, 3, 0)
    assert (conv.DilationHFactor(), conv.DilationWFactor()) == (1, 2)
    assert operators[0].InputsAsNumpy().tolist() == [0, 1, -1]
    assert variable.SharedName() == b"state"
    codes = [model.OperatorCodes(operator.OpcodeIndex()) for operator in operators]
    assert [code.BuiltinCode() for code in codes] == [3, 129, 142]
    assert [code.DeprecatedBuiltinCode() for code in codes] == [3, 127, 127]
    assert codes[0].Version() == 5


def test_operator_without_attributes_refuses_them() -> None:
    """An attribute that cannot be written is the test's mistake and not a silence."""
    with pytest.raises(TypeError, match="LOGISTIC has no attributes"):
        ModelBuilder().operator("LOGISTIC", [0], [1], stride_h=1)


def test_builder_writes_broken_models_as_told() -> None:
    """Indices, sizes, codes and quantization that make no sense are written as they are given."""
    builder = ModelBuilder()
    builder.tensor([1, -7], "INT4", [1.0, 2.0, 3.0], [1], axis=-9, data=b"abc")
    builder.tensor(None, DType.S8, name=None, buffer=99)
    builder.operator("RELU", [-5, 1234], [77], opcode_index=41, options_type="Pool2DOptions", stride_h=-1)
    model = _read(builder.finish([500], inputs=[-2], version=9, identifier=b"NOPE"))
    graph = model.Subgraphs(0)
    first, second = graph.Tensors(0), graph.Tensors(1)
    assert first.ShapeAsNumpy().tolist() == [1, -7]
    assert first.Type() == tflite.TensorType.INT4
    assert first.Quantization().ScaleAsNumpy().tolist() == [1.0, 2.0, 3.0]
    assert first.Quantization().ZeroPointAsNumpy().tolist() == [1]
    assert first.Quantization().QuantizedDimension() == -9
    assert model.Buffers(first.Buffer()).DataAsNumpy().tobytes() == b"abc"
    assert (second.ShapeIsNone(), second.Name(), second.Buffer()) == (True, None, 99)
    operator = graph.Operators(0)
    assert (operator.OpcodeIndex(), operator.BuiltinOptionsType()) == (41, tflite.BuiltinOptions.Pool2DOptions)
    assert (operator.InputsAsNumpy().tolist(), operator.OutputsAsNumpy().tolist()) == ([-5, 1234], [77])
    assert (graph.InputsAsNumpy().tolist(), graph.OutputsAsNumpy().tolist()) == ([-2], [500])
    assert (model.Version(), tflite.Model.ModelBufferHasIdentifier(model._tab.Bytes, 0)) == (9, False)


def test_end_subgraph_starts_another_with_its_own_indices() -> None:
    """A model may have several subgraphs, and metadata beside them."""
    builder = ModelBuilder()
    builder.end_subgraph([builder.input([1], DType.S8)])
    builder.metadata("note", b"data")
    index = builder.input([2], DType.S8)
    model = _read(builder.finish([index]))
    assert (index, model.SubgraphsLength(), model.Metadata(0).Name()) == (0, 2, b"note")
    assert model.Subgraphs(1).Tensors(0).ShapeAsNumpy().tolist() == [2]
    assert model.Buffers(model.Metadata(0).Buffer()).DataAsNumpy().tobytes() == b"data"


def test_finish_gives_the_same_bytes_for_the_same_calls() -> None:
    """A failing model can be made again."""
    assert _conv_2d(1.0, 1).model == _conv_2d(1.0, 1).model
