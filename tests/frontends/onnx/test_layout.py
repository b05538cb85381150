"""Where channels are: which axes are moved, and where they need not be."""

from collections.abc import Callable

import numpy as np
import pytest

from kibi.frontends.onnx import convert
from kibi.frontends.tflite import parse_tflite
from tests.frontends.onnx.elsewhere import computed_elsewhere
from tests.frontends.onnx.running import given, run, taken
from tests.support.onnx_models import OnnxBuilder

_Network = Callable[[OnnxBuilder, str], str]


def _operators(build: _Network, shape: tuple[int, ...] = (1, 4, 6, 8)) -> list[str]:
    """The operators of the converted network, after its outputs were compared with ONNX Runtime's."""
    b = OnnxBuilder(1)
    x = b.input(shape)
    model = b.model(build(b, x))
    inputs = {"x": np.random.default_rng(2).normal(size=shape).astype(np.float32)}
    conversion = convert(model.SerializeToString(), "model.onnx")
    graph = parse_tflite(conversion.data, "model.tflite")
    names = [output.name for output in model.graph.output]
    mine = taken(conversion, names, run(graph, given(graph, conversion, inputs)), [np.float32] * len(names))
    for got, wanted in zip(mine, computed_elsewhere(model, inputs), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    return [view.op.name for view in graph.views]


def _conv(b: OnnxBuilder, x: str, inputs: int = 4, outputs: int = 4) -> str:
    return str(b.node("Conv", x, b.weights(outputs, inputs, 3, 3), b.vector(outputs), pads=(1, 1, 1, 1)))


def _shape(b: OnnxBuilder, *sizes: int) -> str:
    return b.constant(np.array(sizes, np.int64))


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda b, x: b.node("Relu", _conv(b, x)), ["CONV_2D"]),
        (lambda b, x: b.node("Gemm", b.node("Flatten", _conv(b, x)), b.weights(192, 3)), ["CONV_2D", "RESHAPE", "FULLY_CONNECTED"]),
        (
            lambda b, x: b.node("Gemm", b.node("Relu", b.node("Flatten", _conv(b, b.node("Sigmoid", x)))), b.weights(192, 3)),
            ["LOGISTIC", "CONV_2D", "RESHAPE", "RELU", "FULLY_CONNECTED"],
        ),
        (
            lambda b, x: b.node("MatMul", b.node("Reshape", _conv(b, x), _shape(b, 1, -1)), b.weights(192, 3)),
            ["CONV_2D", "RESHAPE", "FULLY_CONNECTED"],
        ),
        (
            lambda b, x: b.node("Reshape", b.node("GlobalAveragePool", _conv(b, x)), _shape(b, 1, 4)),
            ["CONV_2D", "MEAN", "RESHAPE"],
        ),
        (lambda b, x: b.node("Transpose", _conv(b, x), perm=(0, 2, 3, 1)), ["CONV_2D"]),
        (lambda b, x: _conv(b, b.node("Transpose", x, perm=(0, 3, 1, 2)), 8), ["CONV_2D"]),
        (
            lambda b, x: b.node("Softmax", b.node("ReduceMean", _conv(b, x), _shape(b, 2, 3), keepdims=0), axis=1),
            ["CONV_2D", "MEAN", "RESHAPE", "SOFTMAX"],
        ),
        (lambda b, x: b.node("Softmax", _conv(b, x), axis=1), ["CONV_2D", "SOFTMAX"]),
        (lambda b, x: b.node("Concat", _conv(b, x), x, axis=1), ["CONV_2D", "CONCATENATION"]),
        (lambda b, x: b.node("Mul", _conv(b, x), b.constant(np.ones((4, 6, 1), np.float32) * 3)), ["CONV_2D", "MUL"]),
        (lambda b, x: b.node("Mul", b.constant(np.arange(4, dtype=np.float32).reshape(4, 1, 1)), _conv(b, x)), ["CONV_2D"]),
        (lambda b, x: b.node("Sub", b.constant(np.ones((1, 1, 1), np.float32)), _conv(b, x)), ["CONV_2D"]),
        (lambda b, x: b.node("Div", _conv(b, x), b.constant(np.array([[[2]], [[3]], [[4]], [[5]]], np.float32))), ["CONV_2D"]),
        (
            lambda b, x: b.node(
                "Add", b.node("ConvTranspose", x, b.weights(4, 3, 3, 3)), b.constant(np.array([[[2]], [[3]], [[4]]], np.float32))
            ),
            ["TRANSPOSE_CONV"],
        ),
        (lambda b, x: b.node("Add", _conv(b, x), b.constant(np.arange(8, dtype=np.float32))), ["CONV_2D", "ADD"]),
        (lambda b, x: b.node("Add", b.constant(np.ones((1, 4, 6, 8), np.float32)), _conv(b, x)), ["CONV_2D", "ADD"]),
        (
            lambda b, x: b.node("Slice", _conv(b, x), _shape(b, 1, 2), _shape(b, 3, 6), _shape(b, 1, 2)),
            ["CONV_2D", "SLICE"],
        ),
        (
            lambda b, x: b.node("Reshape", _conv(b, x), _shape(b, 1, 4, 48)),
            ["CONV_2D", "RESHAPE"],
        ),
        (
            lambda b, x: b.node(
                "MatMul",
                b.node("Transpose", b.node("Reshape", _conv(b, x), _shape(b, 1, 4, 48)), perm=(0, 2, 1)),
                b.weights(4, 5),
            ),
            ["CONV_2D", "RESHAPE", "FULLY_CONNECTED"],
        ),
        (lambda b, x: b.node("Pad", _conv(b, x), _shape(b, 0, 0, 1, 1, 0, 0, 1, 2)), ["CONV_2D", "PAD"]),
        (lambda b, x: _conv(b, b.node("Pad", x, _shape(b, 0, 0, 1, 1, 0, 0, 1, 1))), ["PAD", "CONV_2D"]),
        (
            lambda b, x: _conv(b, b.node("Pad", b.node("Sigmoid", x), _shape(b, 0, 0, 0, 1, 0, 0, 0, 1))),
            ["LOGISTIC", "PAD", "CONV_2D"],
        ),
        (
            lambda b, x: b.node("BatchNormalization", _conv(b, x), *(b.vector(4, 0.5, 1) for _ in range(4))),
            ["CONV_2D"],
        ),
    ],
)  # fmt: skip
def test_network_has_exactly_these_operators(build: _Network, expected: list[str]) -> None:
    """No TRANSPOSE, nothing twice, and the numbers are ONNX Runtime's."""
    assert _operators(build) == expected


@pytest.mark.parametrize("is_divided_first", [False, True])
@pytest.mark.parametrize("op", ["Div", "Mul"])
def test_hard_swish_that_is_taken_apart_becomes_one_operator(op: str, is_divided_first: bool) -> None:
    """`x * Clip(x + 3, 0, 6) / 6`, as exporters write it; another number is another function."""

    def build(b: OnnxBuilder, x: str, number: float) -> str:
        three, zero, six = (b.constant(np.array(each, np.float32)) for each in (3, 0, 6))
        last = b.constant(np.array(number if op == "Div" else 1 / number, np.float32))
        y = _conv(b, x)
        clipped = b.node("Clip", b.node("Add", y, three), zero, six)
        if is_divided_first:
            return str(b.node("Mul", y, b.node(op, clipped, last)))
        return str(b.node(op, b.node("Mul", y, clipped), last))

    assert _operators(lambda b, x: build(b, x, 6)) == ["CONV_2D", "HARD_SWISH"]
    assert len(_operators(lambda b, x: build(b, x, 5))) == 4


def test_shuffle_of_channels_moves_elements_once() -> None:
    """Channels in groups, turned and joined again, take one TRANSPOSE: between convolutions all else stays."""

    def build(b: OnnxBuilder, x: str) -> str:
        grouped = b.node("Reshape", _conv(b, x), _shape(b, 1, 2, 2, 6, 8))
        turned = b.node("Transpose", grouped, perm=(0, 2, 1, 3, 4))
        return _conv(b, b.node("Reshape", turned, _shape(b, 1, 4, 6, 8)))

    assert _operators(build).count("TRANSPOSE") == 1


def test_reshape_that_needs_onnxs_order_gets_a_transpose() -> None:
    """Rows of another width are other elements when channels are last."""
    assert "TRANSPOSE" in _operators(lambda b, x: b.node("Reshape", _conv(b, x), _shape(b, 1, 24, 8)))


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reduction_over_an_axis_of_an_image_is_over_that_axis(axis: int, keepdims: int) -> None:
    """Axes are ONNX's, wherever they are stored."""

    def build(b: OnnxBuilder, x: str) -> str:
        return str(b.node("ReduceSum", _conv(b, x), _shape(b, axis), keepdims=keepdims))

    # Without a batch the output has no channels of its own: they come first again.
    assert _operators(build).count("TRANSPOSE") == (axis == 0 and not keepdims)


@pytest.mark.parametrize("axis", [1, 2, 3])
def test_softmax_split_and_gather_are_along_onnxs_axis(axis: int) -> None:
    """The same for operators along one axis."""

    def build(b: OnnxBuilder, x: str) -> str:
        halves = b.node("Split", _conv(b, x), count=2, axis=axis, num_outputs=2)
        y = b.node("Softmax", b.node("Mul", halves[0], halves[1]), axis=axis)
        return str(b.node("Gather", y, b.constant(np.array([1, 0, 1])), axis=axis))

    _operators(build)


def test_input_of_an_image_network_is_channels_last_and_the_conversion_says_so() -> None:
    """The order of axes is told by name, and as a line for people."""
    b = OnnxBuilder(1)
    x = b.input((1, 3, 6, 8), name="image")
    conversion = convert(b.model(_conv(b, x, 3)).SerializeToString(), "model.onnx")
    graph = parse_tflite(conversion.data, "model.tflite")
    assert graph.tensors[graph.inputs[0]].type.shape == (1, 6, 8, 3)
    assert conversion.orders == {"image": (0, 2, 3, 1), "conv_0": (0, 2, 3, 1)}
    assert conversion.lines()[0] == "'image' is stored channels last: its axes are ONNX's [0, 2, 3, 1]"


def test_input_that_no_window_slides_over_keeps_its_order() -> None:
    """A matrix of four axes is no image."""
    b = OnnxBuilder(1)
    x = b.input((1, 2, 6, 8))
    conversion = convert(b.model(b.node("MatMul", x, b.weights(8, 3))).SerializeToString(), "model.onnx")
    assert conversion.orders == {}


def test_output_that_is_an_input_or_another_output_is_a_copy() -> None:
    """A `.tflite` file has a tensor of its own for each."""
    b = OnnxBuilder(1)
    x = b.input((1, 4))
    y = b.node("Relu", x)
    model = b.model(str(b.node("Identity", x)), str(y), str(b.node("Identity", y)))
    conversion = convert(model.SerializeToString(), "model.onnx")
    graph = parse_tflite(conversion.data, "model.tflite")
    outputs = run(graph, [np.array([[-1, 0, 1, 2]], np.float32)])
    assert [array.tolist() for array in outputs] == [[[-1, 0, 1, 2]], [[0, 0, 1, 2]], [[0, 0, 1, 2]]]
    assert len(set(graph.outputs)) == 3
