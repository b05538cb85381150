"""Graphs as text: printed and parsed back, whatever the model; broken text ends in an error with the line."""

import numpy as np
import pytest

import kibi
from kibi.dtypes import DType
from kibi.errors import InputError, KibiError, ModelError
from kibi.frontends.text import parse_text
from kibi.ir import Graph, Quantization, Tensor, TensorType
from kibi.ir.text import graph_text, node_text, parse_graph
from kibi.ops.registry import operators_by_name
from kibi.passes import simplify
from kibi.passes.stream_inputs import stream_inputs
from tests.ops.comparison import graph_of
from tests.support.amount import amount, sample, share
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS
from tests.support.wider_models import WIDER_MODELS
from tests.support.zoo import catalog, operator_files, requires_zoo

_DRAWN = amount(2, 12)
_TEXT = """\
graph "two" from "two.tflite" (%0) -> (%3) {
  %0 "x": s8[1, 2, 2, 3] (scale 0.5, zero -1)
  %1 "filter": s8[2, 1, 1, 3] (scales [0.25, 0.125], zeros [0, 0]) = [1, 2, 3, -4, 5, -6]
  %2 "made": s8[1, 2, 2, 2] (scale 1.0, zero 0) = CONV_2D #0 (input %0, filter %1) {padding SAME, activation RELU}
  %3 "y": s8[1, 2, 2, 2] (scale 1.0, zero 0) = PAD #1 (input %2, paddings %4)
  %4 "pads": s32[4, 2] = [0, 0, 0, 0, 0, 0, 0, 0]
}
"""


def _round_trip(graph: Graph) -> None:
    text = graph_text(graph)
    again = parse_graph(text, operators_by_name())
    assert again == graph
    assert graph_text(again) == text


@pytest.mark.parametrize("name", share(sorted({*OPERATOR_MODELS, *WIDER_MODELS}), 1))
def test_drawn_models_come_back_from_their_text(name: str) -> None:
    """Each operator with all its attributes, and what the passes make of it."""
    for models in (OPERATOR_MODELS, WIDER_MODELS):
        for seed in range(_DRAWN if name in models else 0):
            graph = graph_of(models[name](Seeded(seed)))
            _round_trip(graph)
            _round_trip(simplify(graph).graph)


_ZOO = [(name,) for name in sorted(catalog())]


@requires_zoo
@pytest.mark.parametrize("name", sample(_ZOO, _ZOO[1::9]))
def test_models_of_the_zoo_come_back_from_their_text(name: str) -> None:
    """Of those that TFLM runs: as loaded, simplified, and with inputs that arrive by the row."""
    entry = catalog()[name]
    if entry.refusal:
        pytest.skip("TFLM refuses the model")
    graph = kibi.load(entry.path)
    for each in (graph, simplify(graph).graph, stream_inputs(graph)):
        _round_trip(each)


@pytest.mark.slow
@requires_zoo
def test_operator_files_of_the_zoo_come_back_from_their_text() -> None:
    """All that load."""
    found = 0
    for file in operator_files().values():
        try:
            graph = kibi.load(file.path)
        except ModelError:
            continue
        _round_trip(graph)
        found += 1
    assert found > 300


def test_text_says_what_the_graph_is() -> None:
    """Names, types, quantization, elements, operands and attributes are where the form says."""
    graph = parse_graph(_TEXT, operators_by_name())
    assert (graph.name, graph.source, graph.inputs, graph.outputs) == ("two", "two.tflite", (0,), (3,))
    assert graph.tensors[1].type == TensorType((2, 1, 1, 3), DType.S8, Quantization((0.25, 0.125), (0, 0)))
    assert graph.tensors[1].data is not None
    assert graph.tensors[1].data.tolist() == [[[[1, 2, 3]]], [[[-4, 5, -6]]]]
    assert [(node.op.name, node.inputs, node.outputs, node.source) for node in graph.nodes] == [
        ("CONV_2D", (0, 1), (2,), 0),
        ("PAD", (2, 4), (3,), 1),
    ]
    _round_trip(graph)


def test_line_of_a_node_is_the_one_in_the_text() -> None:
    """Errors and reports can quote it."""
    graph = parse_graph(_TEXT, operators_by_name())
    assert f"  {node_text(graph, graph.nodes[0])}\n" in _TEXT


def test_text_without_elements_is_short_and_says_so() -> None:
    """Long constants are a digest, and parsing asks for the elements."""
    graph = _with_weights(np.arange(64, dtype=np.int8))
    text = graph_text(graph, elements=False)
    assert 'digest "' in text
    with pytest.raises(InputError, match=r"line 3: the elements were left out when this text was printed"):
        parse_graph(text, operators_by_name())


def _with_weights(weights: np.ndarray) -> Graph:
    tensors = (
        Tensor(0, "x", TensorType((1, 4), DType.S8, Quantization((0.5,), (0,)))),
        Tensor(1, "w", TensorType(weights.shape, DType.of(weights)), weights),
    )
    return Graph("g", "g", tensors, (), (0,), (0,))


def test_graphs_that_differ_in_one_weight_are_not_equal() -> None:
    """Equality sees the elements of constants bit for bit, and the sign of a zero."""
    weights = np.arange(64, dtype=np.int8)
    other = weights.copy()
    other[63] += 1
    assert _with_weights(weights) == _with_weights(weights.copy())
    assert _with_weights(weights) != _with_weights(other)
    assert _with_weights(np.zeros(1, np.float32)) != _with_weights(-np.zeros(1, np.float32))
    assert hash(_with_weights(weights)) == hash(_with_weights(weights.copy()))


@pytest.mark.parametrize("values", [[0.1, -0.0, 3e38], [np.nan, np.inf, -np.inf], np.linspace(0, 1, 99)], ids=str)
def test_floats_keep_every_bit(values: "list[float] | np.ndarray") -> None:
    """Few finite ones are decimal numbers, others bytes."""
    _round_trip(_with_weights(np.array(values, np.float32)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("graph", "grape", "line 1: 'graph' is expected, and 'grape' is there"),
        ("(%0)", "(0)", "line 1: '%' is expected, and '0' is there"),
        ("s8[1, 2, 2, 3]", "s9[1]", "line 2: 's9' is no element type: s8, u8"),
        ("s8[1, 2, 2, 3]", "s8[1, -2]", "line 2: a size: -2 is not in 0 …"),
        ("s8[1, 2, 2, 3]", "s8[99999, 99999]", r"line 2: a tensor of the shape \[99999, 99999\] has more than"),
        ("zero -1", "zero -129", "line 2: scales are finite and at least 0, zero points of s8 are -128 … 127"),
        ("scale 0.5", "scale nan", "line 2: scales are finite"),
        ("zeros [0, 0]", "zeros [0]", "line 3: 2 scales have 1 zero points"),
        ("-6]", "-6, 7]", r"line 4: 7 elements are given for the shape \[2, 1, 1, 3\]"),
        ("-6]", "-600]", "line 3: an element: -600 is not in -128 … 127"),
        ("[1, 2, 3, -4, 5, -6]", 'base64 "AQ=="', r"1 elements are given"),
        ("[1, 2, 3, -4, 5, -6]", 'base64 "*"', r"the elements are no base64"),
        ("CONV_2D", "CONV_9D", "line 4: 'CONV_9D' is no operator that Kibi has"),
        ("filter %1", "weights %1", r"line 4: the operands of CONV_2D are input, filter, bias\?, in this order"),
        ("padding SAME", "padding FULL", "line 4: attribute padding: a value of another type is expected"),
        ("activation RELU", "activation SOFT", "line 4: attribute activation: 'SOFT' is none of NONE, RELU"),
        ("padding SAME", "pudding SAME", "line 4: 'pudding' is no attribute of CONV_2D: activation, dilation"),
        ("%4 ", "%5 ", "tensor %4 is missing: 5 tensors have the indices from 0 on"),
        ("%4 ", "%3 ", "tensor %3 is declared twice"),
        ('"pads": s32[4, 2]', '"pads": s32[4, 2] updates %4', "tensor %4 is the next version of no variable"),
        ('"pads": s32[4, 2]', '"pads": s32[4, 2] new', "'new' is no property of a tensor"),
        ("#1", "#1.5", r"the operator's number: 1.5 is no integer"),
        ("#1", f"#{'9' * 5000}", "the operator's number: 9999"),
        ('"two"', '"t\\q"', "is no string of JSON"),
        (" 0]\n}", " 0]\n}}", "line 7: the text goes on after the graph, and '}' is there"),
        ("graph", "@1 = graph", "line 1: subgraph @0 is expected"),
        ("\n}", "", "line 7: '%' is expected, and the text ends"),
    ],
    ids=lambda value: value[:24].strip() if isinstance(value, str) else "",
)
def test_broken_text_ends_in_an_error_with_the_line(old: str, new: str, message: str) -> None:
    """What is wrong, where, and what would be right."""
    assert old in _TEXT
    with pytest.raises(InputError, match=message):
        parse_graph(_TEXT.replace(old, new, 1), operators_by_name())


def test_hostile_text_ends_in_an_error_or_a_verified_graph() -> None:
    """Text with pieces changed, left out, doubled: no other exception, whatever it becomes."""
    texts = [graph_text(graph_of(OPERATOR_MODELS[name](Seeded(1)))) for name in ("WHILE", "SVDF", "CONV_2D", "SPLIT")]
    random = np.random.default_rng(0)
    refused, tries = 0, amount(500, 8000)
    for number in range(tries):
        pieces = texts[number % len(texts)].split(" ")
        for _ in range(int(random.integers(1, 3))):
            place, other = random.integers(0, len(pieces), 2)
            change = int(random.integers(0, 3))
            pieces[place : place + 1] = [[pieces[other]], [], [pieces[place]] * 2][change]
        try:
            parse_text(" ".join(pieces))
        except KibiError:
            refused += 1
    assert refused > tries // 2
