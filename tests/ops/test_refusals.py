"""Scales that 32-bit arithmetic cannot follow: refused when the model is loaded, never computed wrongly."""

from collections.abc import Callable

import numpy as np
import pytest

from kibi.dtypes import DType
from kibi.errors import ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from kibi.tflm import Oracle

Operands = Callable[[ModelBuilder], list[int]]

_SHAPE = (1, 2, 2, 3)


def _none(builder: ModelBuilder) -> list[int]:
    del builder
    return []


def _filter(*shape: int) -> Operands:
    return lambda builder: [builder.constant(np.ones(shape, np.int8), 1.0, 0)]


def _other(builder: ModelBuilder) -> list[int]:
    return [builder.constant(np.ones(_SHAPE, np.int8), 1.0, 0)]


def _axes(builder: ModelBuilder) -> list[int]:
    return [builder.constant(np.array([0], np.int32))]


_KEEPING: dict[str, tuple[Operands, dict[str, Attribute]]] = {
    "CONV_2D": (_filter(3, 1, 1, 3), {"stride_h": 1, "stride_w": 1}),
    "DEPTHWISE_CONV_2D": (_filter(1, 1, 1, 3), {"stride_h": 1, "stride_w": 1, "depth_multiplier": 1}),
    "FULLY_CONNECTED": (_filter(3, 3), {"keep_num_dims": True}),
    "MEAN": (_axes, {"keep_dims": True}),
    "MUL": (_other, {}),
    "ADD": (_other, {}),
    "MAX_POOL_2D": (_none, {"stride_h": 1, "stride_w": 1, "filter_height": 1, "filter_width": 1}),
    "AVERAGE_POOL_2D": (_none, {"stride_h": 1, "stride_w": 1, "filter_height": 1, "filter_width": 1}),
    "RELU": (_none, {}),
    "RELU6": (_none, {}),
    "QUANTIZE": (_none, {}),
}
"""Operators in a form that keeps the shape: their other operands and their attributes."""


def _model(name: str, source_scale: float, output_scale: float, **more: Attribute) -> bytes:
    operands, attributes = _KEEPING[name]
    b = ModelBuilder()
    x = b.input(_SHAPE, DType.S8, source_scale, 0, name="x")
    others = operands(b)
    y = b.tensor(_SHAPE, DType.S8, output_scale, 0, name="y")
    b.operator(name, [x, *others], [y], {**attributes, **more})
    return b.finish([y])


@pytest.mark.parametrize("name", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MEAN", "MUL", "RELU", "QUANTIZE"])
@pytest.mark.parametrize("source_scale", [2.0**30, 1e38])
def test_load_factor_beyond_32_bits_is_refused(name: str, source_scale: float) -> None:
    """A factor of 2**30 or more would shift every bit out; the operator and its output are named."""
    with pytest.raises(ModelError, match=rf"operator 0, tensor 'y': {name}: the scales give a factor of"):
        parse_tflite(_model(name, source_scale, 1.0 if source_scale < 1e30 else 1e-38), "m.tflite")


@pytest.mark.parametrize("name", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MEAN", "MUL", "RELU", "QUANTIZE"])
def test_load_factor_just_inside_32_bits_is_accepted(name: str) -> None:
    """A factor just below 2**30 is what the kernels can still apply."""
    assert parse_tflite(_model(name, 2.0**29, 1.0), "m.tflite").nodes


@pytest.mark.parametrize("name", ["ADD", "MUL", "CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D"])
@pytest.mark.parametrize("scale", [1e-9, 1e-45])
def test_load_activation_bound_beyond_32_bits_is_refused(name: str, scale: float) -> None:
    """A 6 that does not fit 32 bits in the output's scale is refused, as by TFLM."""
    model = _model(name, scale, scale, fused_activation_function="RELU6")
    with pytest.raises(ModelError, match=r"RELU6: 6 at a scale of .* does not fit 32 bits"):
        parse_tflite(model, "m.tflite")


def test_load_add_of_inputs_far_below_the_output_is_accepted() -> None:
    """A factor below 2**-32 is zero, as in TFLM; one of 1 or more, which TFLM does not survive, is refused."""
    assert parse_tflite(_model("ADD", 1.0, 1e6), "m.tflite").nodes
    with pytest.raises(ModelError, match=r"ADD: output scale .* is out of proportion"):
        parse_tflite(_model("ADD", 1.0, 2.0**-19), "m.tflite")


def test_load_relu6_of_a_tiny_scale_is_refused() -> None:
    """The operator RELU6 has the same limit; TFLM's result is undefined there."""
    with pytest.raises(ModelError, match="RELU6: RELU6: 6 at a scale of 1e-09 does not fit 32 bits"):
        parse_tflite(_model("RELU6", 1e-9, 1e-9), "m.tflite")


def _s16_model(
    name: str, bias: np.dtype[np.generic], *, zero_point: int = 0, scale: float = 1.0, most: int | tuple[int, ...] = 1
) -> bytes:
    """A model of an operator of s16 on one pixel."""
    b = ModelBuilder()
    shape = (1, 3) if name == "FULLY_CONNECTED" else (1, 1, 1, 3)
    filter_shape = {"FULLY_CONNECTED": (3, 3), "DEPTHWISE_CONV_2D": (1, 1, 1, 3)}.get(name, (3, 1, 1, 3))
    x = b.input(shape, DType.S16, scale, zero_point, name="x")
    weights = b.constant(np.ones(filter_shape, np.int8), 1.0, 0)
    biases = b.constant(np.full(3, most).astype(bias), 1.0, 0, name="bias")
    sizes = [b.constant(np.array(shape, np.int32)), weights, x] if name == "TRANSPOSE_CONV" else [x, weights]
    y = b.tensor(shape, DType.S16, 1.0, 0, name="y")
    strides = {} if name == "FULLY_CONNECTED" else {"stride_h": 1, "stride_w": 1}
    strides |= {"depth_multiplier": 1} if name == "DEPTHWISE_CONV_2D" else {}
    b.operator(name, [*sizes, biases], [y], strides)
    return b.finish([y])


_S16_LAYERS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")


def test_load_s16_bias_of_32_bits_that_tflm_misreads_is_refused() -> None:
    """TFLM takes what lies in the file for 64-bit numbers; Kibi computes nothing from that."""
    name = "DEPTHWISE_CONV_2D"
    with pytest.raises(
        ModelError, match=rf"tensor 'bias': {name}: bias has type s32, which TFLM reads as s64"
    ) as raised:
        parse_tflite(_s16_model(name, np.dtype(np.int32)), "m.tflite")
    assert "24 bytes of the 12 that are there" in str(raised.value)
    assert "undefined" in str(raised.value)


def test_tflm_reads_s16_biases_of_32_bits_as_twice_as_many_bytes(oracle: Oracle) -> None:
    """Why DEPTHWISE_CONV_2D refuses them: its second output has the third bias, and the third is read beyond the end."""
    outputs = {}
    for bias in (np.dtype(np.int32), np.dtype(np.int64)):
        model = _s16_model("DEPTHWISE_CONV_2D", bias, most=(10, 20, 30))
        (found,) = oracle.run(model, [[np.zeros((1, 1, 1, 3), np.int16)]])[0].outputs
        outputs[bias.itemsize] = found.reshape(-1).tolist()
    assert outputs[8] == [10, 20, 30]
    assert outputs[4][:2] == [10, 30]


@pytest.mark.parametrize("name", _S16_LAYERS)
def test_load_s16_bias_of_floats_is_refused(name: str) -> None:
    """No other type is taken for a bias."""
    with pytest.raises(ModelError, match=rf"tensor 'bias': {name}: bias has type f32"):
        parse_tflite(_s16_model(name, np.dtype(np.float32)), "m.tflite")


@pytest.mark.parametrize("name", _S16_LAYERS)
def test_load_s16_beyond_sums_of_64_bits_is_refused(name: str) -> None:
    """A bias of 2**46 and a factor of 2**7 are what products of 64 bits have no room for."""
    wide = np.dtype(np.int64)
    assert parse_tflite(_s16_model(name, wide, scale=127.0, most=(1 << 46) - 1), "m.tflite").nodes
    with pytest.raises(ModelError, match=r"bias has elements of 2\*\*46 or more"):
        parse_tflite(_s16_model(name, wide, most=1 << 46), "m.tflite")
    with pytest.raises(ModelError, match=r"factor of 128, but less than 2\*\*7 is required"):
        parse_tflite(_s16_model(name, wide, scale=128.0), "m.tflite")


@pytest.mark.parametrize("name", ["CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV"])
def test_load_s16_convolution_with_zero_point_is_refused(name: str) -> None:
    """TFLM takes no notice of zero points there."""
    with pytest.raises(ModelError, match="input has zero point 5, but 0 is required of s16"):
        parse_tflite(_s16_model(name, np.dtype(np.int64), zero_point=5), "m.tflite")


def test_load_transpose_conv_without_room_for_a_window_is_refused() -> None:
    """Without padding an output holds a whole window at least."""
    b = ModelBuilder()
    x, y = b.input((1, 1, 1, 1), DType.F32), b.tensor((1, 2, 3, 1), DType.F32, name="y")
    weights = b.constant(np.ones((1, 3, 3, 1), np.float32))
    sizes = b.constant(np.array((1, 2, 3, 1), np.int32))
    b.operator("TRANSPOSE_CONV", [sizes, weights, x], [y], stride_h=1, stride_w=1, padding="VALID")
    with pytest.raises(ModelError, match="tensor 'y': TRANSPOSE_CONV: output of 2 x 3 has no room for a whole window"):
        parse_tflite(b.finish([y]), "m.tflite")


def test_load_average_of_more_s16_elements_than_32_bits_hold_is_refused() -> None:
    """Sums of 65,536 elements may overflow."""
    b = ModelBuilder()
    x, y = b.input((1, 256, 256, 1), DType.S16, 1.0, 0), b.tensor((1, 1, 1, 1), DType.S16, 1.0, 0)
    sizes = {"filter_height": 256, "filter_width": 256, "stride_h": 1, "stride_w": 1}
    b.operator("AVERAGE_POOL_2D", [x], [y], sizes, padding="VALID")
    with pytest.raises(ModelError, match="a window over 65536 elements of s16 is too large"):
        parse_tflite(b.finish([y]), "m.tflite")


@pytest.mark.parametrize(("beta", "is_taken"), [(-1.0, True), (-1e-9, True), (-(2.0**10), True), (-1e9, False)])
def test_load_s16_softmax_with_a_negative_beta_is_taken_until_products_overflow(beta: float, is_taken: bool) -> None:
    """TFLM runs them all; where its product leaves 32 bits, what comes out is undefined."""
    b = ModelBuilder()
    x, y = b.input([2, 7], DType.S16, 2.0**-15, 0), b.tensor([2, 7], DType.S16, 2.0**-15, 0)
    b.operator("SOFTMAX", [x], [y], beta=beta)
    model = b.finish([y])
    if is_taken:
        assert parse_tflite(model, "m.tflite").nodes
        return
    with pytest.raises(ModelError, match=r"a factor of -2e\+08, but 0 or more is required"):
        parse_tflite(model, "m.tflite")
