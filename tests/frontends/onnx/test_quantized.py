"""Quantized ONNX models: which integers and scales come into the file, and what is computed with them."""

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from kibi.dtypes import DType
from kibi.errors import ModelError
from kibi.frontends.onnx import Conversion, convert
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from tests.frontends.onnx.elsewhere import computed_elsewhere
from tests.frontends.onnx.running import given, run, taken
from tests.support.onnx_models import OnnxBuilder

_X, _Y = (np.float32(0.05), np.int8(3)), (np.float32(0.1), np.int8(-7))


def _read(model: Any) -> tuple[Conversion, Graph]:
    conversion = convert(model.SerializeToString(), "model.onnx")
    return conversion, parse_tflite(conversion.data, "model.tflite")


def _operators(graph: Graph) -> list[str]:
    return [view.op.name for view in graph.views]


def _quantize(b: OnnxBuilder, x: str, meaning: tuple[Any, Any]) -> str:
    return str(b.node("QuantizeLinear", x, *(b.constant(np.array(each)) for each in meaning)))


def _dequantize(b: OnnxBuilder, x: str, meaning: tuple[Any, Any], **attributes: Any) -> str:
    return str(b.node("DequantizeLinear", x, *(b.constant(np.array(each)) for each in meaning), **attributes))


def _pair(b: OnnxBuilder, x: str, meaning: tuple[Any, Any]) -> str:
    return _dequantize(b, _quantize(b, x, meaning), meaning)


def _weights(b: OnnxBuilder, stored: Any, scales: Any, zeros: Any, axis: int = 0) -> str:
    return _dequantize(b, b.constant(stored), (scales, zeros), axis=axis)


def _dense(stored: Any, scales: Any, zeros: Any, activation: str = "", bias: Any = None) -> Any:
    """A Gemm whose weights `[O, K]` are dequantized."""
    b = OnnxBuilder(3)
    x = _pair(b, b.input((2, stored.shape[1])), _X)
    extra = [] if bias is None else [b.constant(bias)]
    y = b.node("Gemm", x, _weights(b, stored, scales, zeros), *extra, transB=1)
    y = b.node(activation, y) if activation else y
    return b.model(_pair(b, str(y), _Y))


def _inputs(shape: tuple[int, ...] = (2, 6), seed: int = 5) -> dict[str, Any]:
    return {"x": np.random.default_rng(seed).normal(size=shape).astype(np.float32)}


def _steps(model: Any, inputs: dict[str, Any], scale: float) -> float:
    """How many steps of the output Kibi is from ONNX Runtime, at the most."""
    conversion, graph = _read(model)
    names = [output.name for output in model.graph.output]
    mine = taken(conversion, names, run(graph, given(graph, conversion, inputs)), [np.float32])
    return float(np.abs(mine[0] - computed_elsewhere(model, inputs)[0]).max() / scale)


_STORED = np.random.default_rng(1).integers(-127, 128, (4, 6))
_SCALES = np.array([0.01, 0.02, 0.005, 0.03], np.float32)


def test_scales_of_the_file_are_those_of_the_tensors() -> None:
    """Per channel, per tensor and zero points: as they are in ONNX's file, and no float32 between."""
    _, graph = _read(_dense(_STORED.astype(np.int8), _SCALES, np.zeros(4, np.int8)))
    assert _operators(graph) == ["QUANTIZE", "FULLY_CONNECTED", "DEQUANTIZE"]
    layer = graph.views[1]
    meanings = [layer[name].type.quantization for name in ("input", "filter", "output")]
    assert [each and (each.scales, each.zero_points) for each in meanings] == [
        ((float(_X[0]),), (3,)),
        (tuple(float(each) for each in _SCALES), (0, 0, 0, 0)),
        ((float(_Y[0]),), (-7,)),
    ]
    assert layer.constant("filter").tolist() == _STORED.tolist()


def test_uint8_means_the_same_numbers_128_lower() -> None:
    """Zero points go with the integers."""
    b = OnnxBuilder()
    x = _dequantize(b, b.input((1, 4), TensorProto.UINT8), (np.float32(0.5), np.uint8(130)))
    _, graph = _read(b.model(str(b.node("Relu", x))))
    source = graph.tensors[graph.inputs[0]].type
    assert (source.dtype, source.quantization and source.quantization.zero_point) == (DType.S8, 2)
    stored = np.array([[0, 130, 131, 255]], np.uint8)
    (output,) = run(graph, [(stored.astype(np.int16) - 128).astype(np.int8)])
    assert output.tolist() == [[0, 0, 0.5, 62.5]]


@pytest.mark.parametrize(
    ("kind", "zero"), [(np.uint8, 128), (np.uint8, 121), (np.int8, -3), (ml_dtypes.int4, 0), (ml_dtypes.uint4, 8)]
)
def test_weights_with_a_zero_point_become_symmetric_and_mean_the_same(kind: Any, zero: int) -> None:
    """As long as the differences have 8 bits the layer computes with integers; also weights of 4 bits."""
    limits: Any = ml_dtypes.iinfo(kind)  # type: ignore[no-untyped-call]
    stored = np.random.default_rng(2).integers(max(limits.min, zero - 127), min(limits.max, zero + 127) + 1, (4, 6))
    model = _dense(stored.astype(kind), _SCALES, np.full(4, zero).astype(kind))
    _, graph = _read(model)
    assert _operators(graph) == ["QUANTIZE", "FULLY_CONNECTED", "DEQUANTIZE"]
    assert graph.views[1].constant("filter").tolist() == (stored - zero).tolist()
    assert _steps(model, _inputs(), float(_Y[0])) < 1.01


@pytest.mark.parametrize(("kind", "zero"), [(ml_dtypes.int4, 0), (ml_dtypes.uint4, 8)])
def test_weights_of_4_bits_stay_int4_where_tflm_has_that(kind: Any, zero: int) -> None:
    """In convolutions, and dense layers with one scale; with several, these get int8. The numbers are the same."""
    stored = np.random.default_rng(3).integers(zero - 8, zero + 8, (4, 6)).astype(kind)
    one, several = (
        _dense(stored, scales, np.full(scales.shape, zero).astype(kind)) for scales in (_SCALES[1], _SCALES)
    )
    for model, is_int4 in ((one, True), (several, False), (_pointwise(stored, np.full(4, zero).astype(kind)), True)):
        _, graph = _read(model)
        layer = graph.views[1]
        assert layer["filter"].is_int4 is is_int4
        assert layer.constant("filter").reshape(4, 6).tolist() == (stored.astype(np.int8) - zero).tolist()
        shape = tuple(each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim)
        assert _steps(model, _inputs(shape), float(_Y[0])) < 1.01


def test_weights_of_4_bits_whose_differences_take_more_are_int8() -> None:
    """A zero point at the end of the range leaves numbers up to 15."""
    _, graph = _read(_dense(np.array([[0, 15, 3, 4, 5, 6]], ml_dtypes.uint4), _SCALES[1], np.array(0, ml_dtypes.uint4)))
    assert not graph.views[1]["filter"].is_int4
    assert graph.views[1].constant("filter").tolist() == [[0, 15, 3, 4, 5, 6]]


def _pointwise(stored: Any, zeros: Any) -> Any:
    """A Conv of one pixel whose weights `[O, K]` have a scale for each channel."""
    b = OnnxBuilder()
    x = _pair(b, b.input((1, stored.shape[1], 3, 3)), _X)
    y = b.node("Conv", x, _weights(b, stored[:, :, None, None], _SCALES, zeros))
    return b.model(_pair(b, str(y), _Y))


def test_channels_whose_zero_point_leaves_no_8_bits_are_rounded_and_noted() -> None:
    """A channel with 255 less 0 gets a larger scale; the others stay exact, and the conversion says so."""
    stored = np.array([[0, 255, 3, 4, 5, 6], [9, 120, 3, 4, 127, 6]], np.uint8)
    model = _dense(stored, np.array(0.01, np.float32), np.array(0, np.uint8))
    conversion, graph = _read(model)
    assert _operators(graph) == ["QUANTIZE", "FULLY_CONNECTED", "DEQUANTIZE"]
    assert [list(names) for text, names in conversion.notes.items() if "8 bits" in text] == [["gemm_3"]]
    filter_ = graph.views[1]["filter"]
    meant = filter_.type.quantization
    assert meant is not None
    assert meant.scales == pytest.approx((0.01 * 255 / 127, 0.01))
    assert graph.views[1].constant("filter").tolist() == [[0, 127, 1, 2, 2, 3], [9, 120, 3, 4, 127, 6]]
    assert _steps(model, _inputs(), float(_Y[0])) < 2.01


@pytest.mark.parametrize(("op", "number"), [("Mul", 0.17), ("Div", 6.0), ("Add", -1.5), ("Sub", 3.0)])
def test_number_beside_integers_gets_a_scale_of_its_own(op: str, number: float) -> None:
    """A factor that nobody quantized does not make the operator float32."""
    b = OnnxBuilder(3)
    y = b.node(op, _pair(b, b.input((2, 6)), _X), b.constant(np.array(number, np.float32)))
    model = b.model(_pair(b, str(y), _Y))
    _, graph = _read(model)
    assert _operators(graph) == ["QUANTIZE", {"Div": "MUL"}.get(op, op.upper()), "DEQUANTIZE"]
    assert _steps(model, _inputs(), float(_Y[0])) < 1.01


def test_float_bias_becomes_integers_in_the_scale_of_the_sums() -> None:
    """A bias that no DequantizeLinear makes is rounded to the product of both scales."""
    bias = np.array([0.5, -0.25, 0, 7], np.float32)
    model = _dense(_STORED.astype(np.int8), _SCALES, np.zeros(4, np.int8), bias=bias)
    _, graph = _read(model)
    scales = np.float32(_X[0]) * _SCALES
    assert graph.views[1].constant("bias").tolist() == np.rint(bias / scales.astype(np.float64)).tolist()
    assert _steps(model, _inputs(), float(_Y[0])) < 1.01


def test_bias_that_takes_more_than_32_bits_makes_the_layer_float32() -> None:
    """Nothing is cut off."""
    bias = np.array([1e9, 0, 0, 0], np.float32)
    model = _dense(_STORED.astype(np.int8), _SCALES, np.zeros(4, np.int8), bias=bias)
    conversion, graph = _read(model)
    assert "32 bits" in next(iter(conversion.notes))
    assert "DEQUANTIZE" in _operators(graph)[:2]


@pytest.mark.parametrize("activation", ["", "Relu"])
def test_relu_is_neither_lost_nor_added(activation: str) -> None:
    """The output's zero point is in the middle of the range: with it nothing is below zero, and without it much is."""
    model = _dense(_STORED.astype(np.int8), _SCALES, np.zeros(4, np.int8), activation)
    conversion, graph = _read(model)
    assert _operators(graph) == ["QUANTIZE", "FULLY_CONNECTED", "DEQUANTIZE"]
    inputs = {"x": np.random.default_rng(5).normal(size=(2, 6), scale=3).astype(np.float32)}
    (output,) = run(graph, given(graph, conversion, inputs))
    assert (output < 0).any() == (not activation)
    assert _steps(model, inputs, float(_Y[0])) < 1.01


@pytest.mark.parametrize(("low", "high"), [(0.0, 100.0), (-3.0, 2.5)])
def test_clip_by_itself_is_kept_where_the_range_goes_beyond_it(low: float, high: float) -> None:
    """The integers of the result can mean numbers outside of the limits, and none does."""
    b = OnnxBuilder(3)
    limits = [b.constant(np.array(limit, np.float32)) for limit in (low, high)]
    model = b.model(_pair(b, str(b.node("Clip", _pair(b, b.input((2, 6)), _X), *limits)), _Y))
    conversion, graph = _read(model)
    inputs = {"x": np.random.default_rng(5).normal(size=(2, 6), scale=4).astype(np.float32)}
    (output,) = run(graph, given(graph, conversion, inputs))
    assert output.min() >= low - 0.05
    assert output.max() <= high + 0.05
    assert _steps(model, inputs, float(_Y[0])) < 1.01


def test_relu_that_the_range_of_the_output_implies_costs_nothing() -> None:
    """The zero point is the least integer: the exporter folded the activation into the range."""
    b = OnnxBuilder(3)
    x = _pair(b, b.input((1, 4)), _X)
    sigmoid = b.node("Relu", b.node("Sigmoid", x))
    _, graph = _read(b.model(_pair(b, str(sigmoid), (np.float32(1 / 256), np.int8(-128)))))
    assert _operators(graph) == ["QUANTIZE", "LOGISTIC", "DEQUANTIZE"]


@pytest.mark.parametrize("limit", [2.0, 6.0])
def test_clip_to_any_limit_is_exact_in_the_scale_of_the_result(limit: float) -> None:
    """6 is the schema's own; another limit is a MINIMUM of integers."""
    b = OnnxBuilder(3)
    x = _pair(b, b.input((2, 6)), _X)
    y = b.node("Clip", x, b.constant(np.array(-1, np.float32)), b.constant(np.array(limit, np.float32)))
    model = b.model(_pair(b, str(y), (np.float32(0.073), np.int8(-7))))
    inputs = {"x": np.random.default_rng(5).normal(size=(2, 6), scale=4).astype(np.float32)}
    assert _steps(model, inputs, 0.073) < 1e-3


def test_value_that_is_read_as_real_numbers_too_stays_float32() -> None:
    """A layer whose output somebody needs before it is rounded computes with floats."""
    b = OnnxBuilder(3)
    x = _pair(b, b.input((2, 6)), _X)
    y = b.node("Gemm", x, _weights(b, _STORED.astype(np.int8), _SCALES, np.zeros(4, np.int8)), transB=1)
    model = b.model(_pair(b, str(y), _Y), str(b.node("Neg", y)))
    conversion, graph = _read(model)
    assert "no QuantizeLinear gives its output a scale" in next(iter(conversion.notes))
    outputs = run(graph, given(graph, conversion, _inputs()))
    for mine, its in zip(outputs, computed_elsewhere(model, _inputs()), strict=True):
        np.testing.assert_allclose(mine, its, atol=1e-5)


def _qoperator() -> tuple[Any, Any]:
    """A QLinearConv, and the same in QDQ form."""
    rng = np.random.default_rng(4)
    weights, bias = rng.integers(-127, 128, (3, 2, 3, 3)).astype(np.int8), rng.integers(-900, 900, 3).astype(np.int32)
    x, w, y = (np.float32(0.05), np.uint8(120)), (_SCALES[:3], np.zeros(3, np.int8)), (np.float32(0.2), np.uint8(99))
    models = []
    for is_single in (True, False):
        b = OnnxBuilder()
        source = b.input((1, 2, 6, 7))
        stored = _quantize(b, source, x)
        meanings = [[b.constant(np.array(each)) for each in meaning] for meaning in (x, w, y)]
        constants = [b.constant(weights), b.constant(bias)]
        if is_single:
            inputs = [stored, *meanings[0], constants[0], *meanings[1], *meanings[2], constants[1]]
            made = b.node("QLinearConv", *inputs, pads=(1, 1, 1, 1))
        else:
            scales = (x[0] * w[0], np.zeros(3, np.int32))
            bias_name = _dequantize(b, constants[1], scales, axis=0)
            real = b.node("Conv", _dequantize(b, stored, x), _weights(b, weights, *w), bias_name, pads=(1, 1, 1, 1))
            made = _quantize(b, str(real), y)
        models.append(b.model(_dequantize(b, str(made), y)))
    return models[0], models[1]


def test_qoperator_form_becomes_what_qdq_form_becomes() -> None:
    """The same operators, constants and bits."""
    single, apart = _qoperator()
    inputs = _inputs((1, 2, 6, 7))
    results = []
    for model in (single, apart):
        conversion, graph = _read(model)
        assert _operators(graph) == ["QUANTIZE", "CONV_2D", "DEQUANTIZE"]
        results.append(run(graph, given(graph, conversion, inputs))[0].tobytes())
    assert results[0] == results[1]
    assert _steps(single, inputs, 0.2) < 1.01


_MICROSOFT = "com.microsoft"


@pytest.mark.parametrize(
    "op", ["QLinearAdd", "QLinearMul", "QLinearConcat", "QLinearSigmoid", "QLinearGlobalAveragePool", "QGemm"]
)
def test_operator_of_onnx_runtime_computes_what_it_does(op: str) -> None:
    """Its operators that hold scales, in its own domain."""
    b = OnnxBuilder(4)
    shape = (2, 6) if op == "QGemm" else (1, 2, 4, 4)
    x = (np.float32(0.05), np.uint8(120))
    y = (np.float32(1 / 256), np.uint8(0)) if op == "QLinearSigmoid" else (np.float32(0.1), np.uint8(99))
    stored = _quantize(b, b.input(shape), x)
    first, last = ([b.constant(np.array(each)) for each in meaning] for meaning in (x, y))
    attributes: dict[str, int] = {}
    if op == "QGemm":
        weights = (
            _STORED.astype(np.int8),
            np.array(0.02, np.float32),
            np.array(0, np.int8),
            np.arange(4, dtype=np.int32),
        )
        inputs = [stored, *first, *(b.constant(np.asarray(each)) for each in weights), *last]
        attributes = {"transA": 0, "transB": 1}
    elif op == "QLinearConcat":
        inputs, attributes = [*last, stored, *first, stored, *first], {"axis": 1}
    elif op in ("QLinearAdd", "QLinearMul"):
        inputs = [stored, *first, stored, *first, *last]
    else:
        inputs, attributes = [stored, *first, *last], {"channels_last": 0} if "Pool" in op else {}
    made = b.node(op, *inputs, domain=_MICROSOFT, **attributes)
    output = {"QGemm": (2, 4), "QLinearConcat": (1, 4, 4, 4), "QLinearGlobalAveragePool": (1, 2, 1, 1)}.get(op, shape)
    model = b.model(_dequantize(b, str(made), y), domains=(_MICROSOFT,), shape=output)
    assert _steps(model, _inputs(shape), float(y[0])) < 1.01


def test_weights_that_are_quantized_while_the_model_runs_stay_real() -> None:
    """DynamicQuantizeLinear before MatMulInteger: the input is not rounded, so that results are nearer to the float model's."""
    b = OnnxBuilder(4)
    x = b.input((3, 6))
    stored, scale, zero = b.node("DynamicQuantizeLinear", x, count=3)
    weights, weight_scale = _STORED.T.astype(np.int8), np.float32(0.02)
    sums = b.node("MatMulInteger", stored, b.constant(weights), zero, b.constant(np.array(0, np.int8)))
    factor = b.node("Mul", scale, b.constant(np.array(weight_scale)))
    y = b.node("Mul", b.node("Cast", sums, to=TensorProto.FLOAT), factor)
    conversion, graph = _read(b.model(str(y)))
    inputs = _inputs((3, 6))
    (output,) = run(graph, given(graph, conversion, inputs))
    np.testing.assert_allclose(output, inputs["x"] @ (weights * weight_scale), rtol=1e-5, atol=1e-5)
    assert _operators(graph) == ["FULLY_CONNECTED", "MUL"]


def test_weights_that_the_file_quantizes_itself_are_folded() -> None:
    """QuantizeLinear of a constant, as quantization-aware training leaves it."""
    b = OnnxBuilder(3)
    x = _pair(b, b.input((2, 6)), _X)
    real = (_STORED * 0.01).astype(np.float32)
    y = b.node("Gemm", x, _pair(b, b.constant(real), (np.float32(0.01), np.int8(0))), transB=1)
    _, graph = _read(b.model(_pair(b, str(y), _Y)))
    assert _operators(graph) == ["QUANTIZE", "FULLY_CONNECTED", "DEQUANTIZE"]
    assert graph.views[1].constant("filter").tolist() == _STORED.tolist()


def test_weights_in_blocks_become_the_numbers_that_they_mean() -> None:
    """Scales of blocks have no form in a `.tflite` file."""
    stored = np.random.default_rng(1).integers(-7, 8, (4, 6)).astype(np.int8)
    scales = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]], np.float32)
    b = OnnxBuilder(3)
    blocks = b.node("DequantizeLinear", b.constant(stored), b.constant(scales), axis=1, block_size=3)
    model = b.model(str(b.node("Gemm", b.input((2, 6)), blocks, transB=1)))
    conversion, graph = _read(model)
    assert _operators(graph) == ["FULLY_CONNECTED"]
    (output,) = run(graph, given(graph, conversion, _inputs()))
    np.testing.assert_allclose(output, computed_elsewhere(model, _inputs())[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("scale", [0.0, -0.1, float("nan"), float("inf")])
def test_scale_that_is_no_positive_number_is_refused(scale: float) -> None:
    """Nothing is divided by it."""
    b = OnnxBuilder(3)
    x = b.constant(np.array(scale, np.float32))
    y = b.node("DequantizeLinear", b.node("QuantizeLinear", b.input((1, 4)), x), x)
    with pytest.raises(ModelError, match="a scale is not a positive number"):
        _read(b.model(str(y)))


def test_integers_of_64_bits_become_32_or_are_refused() -> None:
    """A limit that is the largest integer means none; another number that needs 64 bits has no form."""
    most = np.array(np.iinfo(np.int64).max)
    b = OnnxBuilder(3)
    x = b.node("Cast", b.input((1, 4)), to=TensorProto.INT64)
    clipped = b.node("Clip", x, b.constant(np.array(-2)), b.constant(most))
    _, graph = _read(b.model(str(b.node("Cast", clipped, to=TensorProto.FLOAT))))
    (output,) = run(graph, [np.array([[-5, -1, 3, 1e6]], np.float32)])
    assert output.tolist() == [[-2, -1, 3, 1e6]]
    wide = b.node("Cast", b.node("Add", clipped, b.constant(most)), to=TensorProto.FLOAT)
    with pytest.raises(ModelError, match="more than 32 bits"):
        _read(b.model(str(wide)))


def test_half_precision_is_computed_as_float32() -> None:
    """Weights of float16 hold the same numbers in float32."""
    weights = np.random.default_rng(1).normal(size=(6, 3)).astype(np.float16)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT16, shape)
        for name, shape in (("x", (2, 6)), ("y", (2, 3)))
    ]
    graph = helper.make_graph([node], "half", values[:1], values[1:], [numpy_helper.from_array(weights, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    conversion, made = _read(model)
    inputs = {"x": _inputs()["x"].astype(np.float16)}
    (output,) = run(made, given(made, conversion, inputs))
    np.testing.assert_allclose(
        output, inputs["x"].astype(np.float32) @ weights.astype(np.float32), rtol=1e-5, atol=1e-6
    )
