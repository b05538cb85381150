"""The mapping table: options become attributes; what Kibi lacks is refused."""

import numpy as np
import pytest
import tflite

from kibi.dtypes import DType
from kibi.errors import Problem
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.frontends.tflite.importers import CUSTOM, IMPORTERS
from kibi.ops import (
    Activation,
    Add,
    AveragePool2D,
    Conv2D,
    DepthwiseConv2D,
    FullyConnected,
    MaxPool2D,
    Mean,
    Mul,
    Padding,
    Relu,
    Relu6,
    Softmax,
    operators,
)
from tests.frontends.models import classifier, problems_of, residual

_S8 = DType.S8


def test_each_registered_operator_has_an_importer() -> None:
    """No operator of Kibi's is out of reach of a `.tflite` file, and none is promised that does not exist."""
    assert {*IMPORTERS, *CUSTOM} == set(operators())
    assert set(IMPORTERS) <= set(vars(tflite.BuiltinOperator))


def test_options_become_attributes() -> None:
    """Each option of each operator arrives, and what is left out has the schema's default."""
    ops = [node.op for node in (*parse_tflite(classifier(), "a").nodes, *parse_tflite(residual(), "b").nodes)]
    expected = [
        Conv2D(stride=(2, 2), padding=Padding.SAME, dilation=(1, 1), activation=Activation.NONE),
        DepthwiseConv2D(stride=(1, 1), padding=Padding.SAME, dilation=(1, 1), activation=Activation.NONE),
        AveragePool2D(kernel=(2, 2), stride=(2, 2), padding=Padding.SAME, activation=Activation.NONE),
        FullyConnected(activation=Activation.NONE, keep_dims=False),
        Softmax(beta=1.0),
        MaxPool2D(kernel=(2, 2), stride=(1, 1), padding=Padding.VALID, activation=Activation.NONE),
        Add(activation=Activation.NONE),
        Mul(activation=Activation.RELU),
        Mean(keep_dims=False),
        Relu(),
        Relu6(),
    ]
    assert [op for op in expected if op not in ops] == []
    assert {op.name for op in ops} <= set(operators())


def test_height_and_width_are_not_mixed_up() -> None:
    """Pairs are height first, whatever the order of the options."""
    builder = ModelBuilder()
    x = builder.input([1, 9, 9, 1], _S8, 0.5, 0)
    weights = builder.constant(np.ones((1, 2, 3, 1), np.int8), 0.5, 0)
    y = builder.tensor([1, 4, 1, 1], _S8, 0.5, 0)
    sizes = {"stride_h": 2, "stride_w": 5, "dilation_h_factor": 1, "dilation_w_factor": 3}
    builder.operator("CONV_2D", [x, weights, -1], [y], {**sizes, "padding": "VALID"})
    (node,) = parse_tflite(builder.finish([y]), "model").nodes
    assert node.op == Conv2D(stride=(2, 5), padding=Padding.VALID, dilation=(1, 3))
    assert node.inputs == (x, weights, None)


@pytest.mark.parametrize(("bias_type", "is_narrow"), [("INT32", True), ("INT64", False), ("FLOAT32", False)])
def test_sums_of_16_bit_layers_without_bias_are_as_wide_as_the_file_says(bias_type: str, is_narrow: bool) -> None:
    """INT32 means 32 bits, and everything else, the schema's default included, 64."""
    builder = ModelBuilder()
    x = builder.input([1, 2], DType.S16, 0.5, 0)
    weights = builder.constant(np.ones((2, 2), np.int8), 0.5, 0)
    y = builder.tensor([1, 2], DType.S16, 0.5, 0)
    builder.operator("FULLY_CONNECTED", [x, weights], [y], quantized_bias_type=bias_type)
    (node,) = parse_tflite(builder.finish([y]), "model").nodes
    assert node.op == FullyConnected(narrow_sums=is_narrow)


def _fully_connected(options: dict[str, int], options_type: str | None = None) -> tuple[Problem, ...]:
    builder = ModelBuilder()
    x = builder.input([1, 2], _S8, 0.5, 0)
    weights = builder.constant(np.ones((2, 2), np.int8), 0.5, 0)
    y = builder.tensor([1, 2], _S8, 0.5, 0)
    builder.operator("FULLY_CONNECTED", [x, weights, -1], [y], options, options_type=options_type)
    return problems_of(builder.finish([y]))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"fused_activation_function": 4}, "fused activation TANH is not supported"),
        ({"fused_activation_function": 5}, "fused activation SIGN_BIT is not supported"),
        ({"fused_activation_function": 99}, "fused activation 99 is not supported"),
        ({"weights_format": 1}, "weights format SHUFFLED4x16INT8 is not supported"),
        ({"weights_format": 50}, "weights format 50 is not supported"),
    ],
)
def test_option_that_kibi_lacks_is_refused(options: dict[str, int], expected: str) -> None:
    """The error names the option as the schema does, and the operator."""
    (problem,) = _fully_connected(options)
    assert problem.what == f"FULLY_CONNECTED: {expected}"
    assert problem.operator == 0
    assert problem.remedy


def test_options_of_another_operator_are_refused() -> None:
    """A table read as another would give numbers that nobody wrote."""
    (problem,) = _fully_connected({}, options_type="Conv2DOptions")
    assert "FULLY_CONNECTED has Conv2DOptions where FullyConnectedOptions belong" in problem.what


def _window_model(operator: str, options: dict[str, int]) -> bytes:
    builder = ModelBuilder()
    x = builder.input([1, 4, 4, 2], _S8, 0.5, 0)
    y = builder.tensor([1, 4, 4, 2], _S8, 0.5, 0)
    inputs = [x]
    if "CONV" in operator:
        inputs.append(builder.constant(np.ones((1, 1, 1, 2), np.int8), 0.5, 0))
    builder.operator(operator, inputs, [y], options)
    return builder.finish([y])


def _window(operator: str, options: dict[str, int]) -> tuple[Problem, ...]:
    return problems_of(_window_model(operator, options))


@pytest.mark.parametrize(
    ("operator", "options", "expected"),
    [
        ("CONV_2D", {}, "stride [0, 0]"),
        ("CONV_2D", {"stride_h": 1, "stride_w": -1}, "stride [1, -1]"),
        ("CONV_2D", {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 0}, "dilation [0, 1]"),
        ("DEPTHWISE_CONV_2D", {"stride_h": 1, "stride_w": 1, "padding": 2}, "padding scheme 2"),
        ("DEPTHWISE_CONV_2D", {"stride_h": 1, "stride_w": 1, "depth_multiplier": 2}, "depth multiplier 2"),
        ("AVERAGE_POOL_2D", {"stride_h": 1, "stride_w": 1}, "kernel [0, 0]"),
        ("MAX_POOL_2D", {"filter_height": 1, "filter_width": 1, "stride_w": 1}, "stride [0, 1]"),
    ],
)
def test_window_that_makes_no_sense_is_refused(operator: str, options: dict[str, int], expected: str) -> None:
    """Strides, dilations and kernels below 1, and schemes that do not exist, end in an error at the operator."""
    (problem,) = _window(operator, options)
    assert problem.what.startswith(f"{operator}: {expected}")
    assert problem.operator == 0


def test_depth_multiplier_that_is_left_out_is_held_against_nothing() -> None:
    """The schema's default is 0: the shapes say it then."""
    (node,) = parse_tflite(_window_model("DEPTHWISE_CONV_2D", {"stride_h": 1, "stride_w": 1}), "model").nodes
    assert node.op == DepthwiseConv2D(padding=Padding.SAME)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [("CONV_2D", "stride [0, 0] is less than 1"), ("MAX_POOL_2D", "kernel [0, 0] is less than 1")],
)
def test_options_that_are_left_out_have_the_schemas_defaults(
    monkeypatch: pytest.MonkeyPatch, operator: str, expected: str
) -> None:
    """The defaults are those of the schema, which are no sound values for some operators; nothing better is guessed."""
    monkeypatch.setattr("kibi.frontends.tflite.builder._options_table", lambda _: None)
    (problem,) = _window(operator, {})
    assert expected in problem.what


def test_add_without_options_has_no_activation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the schema's defaults are sound, the operator is."""
    monkeypatch.setattr("kibi.frontends.tflite.builder._options_table", lambda _: None)
    builder = ModelBuilder()
    x = builder.input([1, 2], _S8, 0.5, 0)
    y = builder.tensor([1, 2], _S8, 0.5, 0)
    builder.operator("ADD", [x, x], [y])
    (node,) = parse_tflite(builder.finish([y]), "model").nodes
    assert node.op == Add(activation=Activation.NONE)


@pytest.mark.parametrize("beta", [float("nan"), float("inf")])
def test_softmax_with_a_beta_that_is_no_number_is_refused(beta: float) -> None:
    """Beta is a finite number."""
    builder = ModelBuilder()
    x = builder.input([1, 4], _S8, 0.5, 0)
    y = builder.tensor([1, 4], _S8, 1 / 256, -128)
    builder.operator("SOFTMAX", [x], [y], beta=beta)
    (problem,) = problems_of(builder.finish([y]))
    assert problem.what == f"SOFTMAX: beta is {beta}"
