"""Constant and unused channels go, and no output changes a bit."""

import tracemalloc
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kibi
from kibi.dtypes import DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from kibi.ir import Graph
from kibi.passes.constant_channels.interval_check import checked_ends
from kibi.passes.constant_channels.intervals import intervals
from kibi.passes.constant_channels.pass_ import Folding, fold_constant_channels
from tests.passes.sparse_networks import SparseNetwork, answers, inputs_of, sparse_graph, sparse_graphs
from tests.support import zoo
from tests.support.choices import Seeded


def _assert_same_bits(before: Graph, after: Graph, seed: int = 0) -> None:
    """Both graphs give the same outputs for noise and for extremes."""
    for inputs in inputs_of(before, seed):
        old, new = answers(before, inputs), answers(after, inputs)
        for index in before.outputs:
            np.testing.assert_array_equal(old[index], new[index])


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(sparse_graphs(), st.integers(0, 1 << 16))
def test_fold_of_drawn_network_keeps_every_output(graph: Graph, seed: int) -> None:
    """Whatever goes, the outputs have the same bits for noise and for extremes; and a second time nothing goes."""
    folded = fold_constant_channels(graph)
    _assert_same_bits(graph, folded.graph, seed)
    assert fold_constant_channels(folded.graph).graph is folded.graph


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(sparse_graphs(), st.integers(0, 1 << 16))
def test_intervals_hold_every_tensor_and_equal_the_checkers(graph: Graph, seed: int) -> None:
    """No element ever leaves its interval, and the checker finds the same ones in its own way."""
    found, checked = intervals(graph), checked_ends(graph)
    for index, (low, high) in checked.items():
        np.testing.assert_array_equal(found[index].low, low)
        np.testing.assert_array_equal(found[index].high, high)
    for inputs in inputs_of(graph, seed):
        for index, values in answers(graph, inputs).items():
            if index in found:
                assert (found[index].low <= values).all()
                assert (values <= found[index].high).all()


@pytest.mark.parametrize("seed", range(6))
def test_fold_in_the_interpreter_keeps_every_output(seed: int) -> None:
    """So it is in the Python runtime, inside planned bytes."""
    graph = next(each for each in _drawn(seed) if fold_constant_channels(each).graph is not each)
    folded = fold_constant_channels(graph)
    before, after = kibi.Interpreter(graph), kibi.Interpreter(folded.graph)
    for inputs in inputs_of(graph, seed):
        for old, new in zip(before.run(inputs), after.run(inputs), strict=True):
            np.testing.assert_array_equal(old, new)


def _drawn(seed: int) -> Iterator[Graph]:
    """Networks without end."""
    for number in range(1000 * seed, 1000 * seed + 1000):
        yield sparse_graph(Seeded(number))


@cache
def _wake_words() -> tuple[Graph, Folding]:
    graph = kibi.load(zoo.model_path("mlperf_vww_int8"))
    return graph, fold_constant_channels(graph)


@zoo.requires_zoo
def test_visual_wake_words_loses_half_its_work_and_five_sixths_of_its_weights() -> None:
    """7,489,664 multiply-accumulates become fewer than 3.76 million, 219 kB of weights fewer than 36 kB."""
    graph, folded = _wake_words()
    assert (graph.macs, graph.weights_bytes) == (7_489_664, 219_072)
    assert folded.graph.macs <= 3_760_000
    assert folded.graph.weights_bytes <= 36_000
    assert sum(change.macs for change in folded.changes) == graph.macs - folded.graph.macs
    assert sum(change.weights_bytes for change in folded.changes) == graph.weights_bytes - folded.graph.weights_bytes


@zoo.requires_zoo
def test_visual_wake_words_keeps_its_bits() -> None:
    """The runs of the zoo give TFLM's outputs, and noise and extremes those of the whole model."""
    graph, folded = _wake_words()
    interpreter = kibi.Interpreter(folded.graph)
    for number, inputs in enumerate(zoo.seeded_runs("mlperf_vww_int8")):
        expected = zoo.catalog()["mlperf_vww_int8"].output_digests[number]
        assert tuple(map(zoo.digest, interpreter.run(list(inputs)))) == expected
    _assert_same_bits(graph, folded.graph)


def test_drawn_networks_have_what_is_to_be_tested() -> None:
    """Of fifty networks many lose channels, constant ones and unused ones, and some with values that differ by place."""
    removals = [fold_constant_channels(sparse_graph(Seeded(seed))).certificate.removals for seed in range(50)]
    assert sum(map(bool, removals)) >= 20
    every = [removal for each in removals for removal in each]
    assert any(not removal.is_constant for removal in every)
    assert any(len(removal.values) > 1 for removal in every)


def test_network_of_one_operator_is_left() -> None:
    """Inputs and outputs alone leave nothing to remove."""
    net = SparseNetwork(Seeded(1))
    net.convolution()
    graph = parse_tflite(net.builder.finish(outputs=[net.made[-1][0]]), "one.tflite")
    assert fold_constant_channels(graph).graph is graph


@pytest.mark.parametrize("name", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_bounds_under_a_window_of_huge_dilation_take_no_room_for_its_border(name: str) -> None:
    """Of a window whose taps are two billion rows apart, one tap meets the input, and nothing is padded to find that."""
    b = ModelBuilder()
    x = b.input([1, 7, 2, 3], DType.S8, 1.0, 0)
    shape = [1, 3, 3, 3] if name == "DEPTHWISE_CONV_2D" else [3, 3, 3, 3]
    axis = 3 if name == "DEPTHWISE_CONV_2D" else 0
    weights = b.constant(np.ones(shape, np.int8), 1.0, 0)
    y = b.tensor([1, 7, 2, 3], DType.S8, 1.0, 0)
    attributes: dict[str, Attribute] = {
        "stride_h": 1,
        "stride_w": 1,
        "dilation_h_factor": (1 << 31) - 1,
        "dilation_w_factor": 1,
    }
    b.operator(name, [x, weights, -1], [y], attributes | ({"depth_multiplier": 1} if axis else {}))
    graph = parse_tflite(b.finish([y]), "dilated.tflite")
    tracemalloc.start()
    try:
        found = intervals(graph)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 << 20
    low, high = found[graph.outputs[0]].low, found[graph.outputs[0]].high
    # Of three rows of taps the middle one meets the input; of three columns two do, each with 1 or 3 channels.
    taps = 2 * (1 if axis else 3)
    assert (low.min(), high.max()) == (max(-128, -128 * taps), min(127, 127 * taps))
