"""Constant and unused channels go, and no output changes a bit."""

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kibi
from kibi.dtypes import Array, DType
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph, Tensor
from kibi.passes.constant_channels.interval_check import checked_ends
from kibi.passes.constant_channels.intervals import intervals
from kibi.passes.constant_channels.pass_ import Folding, fold_constant_channels
from tests.passes.sparse_networks import SparseNetwork, answers, inputs_of, sparse_graph, sparse_graphs
from tests.support import zoo
from tests.support.choices import Seeded
from tests.support.tflite_builder import Attribute, ModelBuilder

_SAME: dict[str, Attribute] = {"padding": "SAME", "stride_h": 1, "stride_w": 1}


class Chain:
    """Layers one behind the other, with filters and biases given by hand; scale 0.05, and 0.01 of filters."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.builder = ModelBuilder()
        self.shape = shape
        self.tensor = self.builder.input(shape, DType.S8, 0.05, 0)

    def layer(self, name: str, filters: Array, bias: list[int] | None = None, zero_point: int = 0) -> "Chain":
        """A padded layer with stride 1, or a fully connected one."""
        is_flat = name == "FULLY_CONNECTED"
        outputs = filters.shape[3] if name == "DEPTHWISE_CONV_2D" else filters.shape[0]
        operands = [self.tensor, self.builder.constant(filters.astype(np.int8), 0.01, 0)]
        operands += [] if bias is None else [self.builder.constant(np.array(bias, np.int32))]
        self.shape = (self.shape[0], outputs) if is_flat else (*self.shape[:3], outputs)
        return self._then(name, operands, zero_point, {} if is_flat else _SAME)

    def _then(self, name: str, operands: list[int], zero_point: int, attributes: dict[str, Attribute]) -> "Chain":
        self.tensor = self.builder.tensor(self.shape, DType.S8, 0.05, zero_point)
        self.builder.operator(name, operands, [self.tensor], attributes)
        return self

    def end(self, *more: int) -> Graph:
        """The graph; its output is the last tensor."""
        return parse_tflite(self.builder.finish([self.tensor, *more]), "chain.tflite")


def _random(*shape: int) -> Array:
    """Filters without zeros."""
    return np.random.default_rng(3).choice([-90, -50, 40, 60, 110], shape).astype(np.int8)


def _with_zeros(filters: Array, *channels: int) -> Array:
    """Filters of which some output channels are zero."""
    changed = filters.copy()
    changed[list(channels)] = 0
    return changed


def _shape(graph: Graph, place: int) -> tuple[int, ...]:
    """The shape of what a node makes."""
    return graph.views[place].output.type.shape


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


def test_zero_filters_go_with_what_reads_them() -> None:
    """A channel with only zero weights goes: from its layer, the depthwise one behind, and the next one's inputs."""
    chain = Chain((1, 5, 5, 3)).layer("CONV_2D", _with_zeros(_random(6, 1, 1, 3), 1, 4))
    graph = chain.layer("DEPTHWISE_CONV_2D", _random(1, 3, 3, 6), [9] * 6).layer("CONV_2D", _random(2, 1, 1, 6)).end()
    folded = fold_constant_channels(graph)
    assert [_shape(folded.graph, place)[3] for place in range(3)] == [4, 4, 2]
    assert folded.graph.macs == graph.macs - 25 * 2 * (3 + 9 + 2)
    assert sum(change.macs for change in folded.changes) == graph.macs - folded.graph.macs
    assert sum(change.weights_bytes for change in folded.changes) == graph.weights_bytes - folded.graph.weights_bytes
    _assert_same_bits(graph, folded.graph)


@pytest.mark.parametrize(("bias", "value"), [(10**6, 127), (-(10**6), -128)])
def test_clamped_channel_is_folded_into_the_bias(bias: int, value: int) -> None:
    """A channel that a large bias keeps at the end of the range goes, and what it added lies in the next bias."""
    chain = Chain((1, 4, 4, 2)).layer("CONV_2D", _random(3, 1, 1, 2), [bias, 0, 5])
    filters = _random(2, 1, 1, 3)
    graph = chain.layer("CONV_2D", filters).end()
    folded = fold_constant_channels(graph)
    np.testing.assert_array_equal(folded.graph.views[1].constant("bias"), value * filters[:, 0, 0, 0].astype(np.int32))
    assert f"1 always clamped at {value}; channel 0" in folded.changes[0].what
    assert "1 constant, and folded into the bias" in folded.changes[1].what
    _assert_same_bits(graph, folded.graph)


def test_constant_off_the_zero_point_stays_under_a_padded_window() -> None:
    """What a constant adds at the border differs from what it adds inside, so it stays; at the zero point it goes."""
    first = Chain((1, 4, 4, 2)).layer("CONV_2D", _random(3, 1, 1, 2), [10**6, 0, 5])
    off = first.layer("CONV_2D", _random(2, 3, 3, 3)).end()
    assert fold_constant_channels(off).graph is off
    first = Chain((1, 4, 4, 2)).layer("CONV_2D", _random(3, 1, 1, 2), [10**6, 0, 5], zero_point=127)
    at = first.layer("CONV_2D", _random(2, 3, 3, 3)).end()
    folded = fold_constant_channels(at)
    assert _shape(folded.graph, 0) == (1, 4, 4, 2)
    _assert_same_bits(at, folded.graph)


def test_constant_off_the_zero_point_goes_where_the_border_does_not_show() -> None:
    """Where a later clamp hides what happens at the border, the channel goes after all."""
    chain = Chain((1, 4, 4, 2)).layer("CONV_2D", _random(3, 1, 1, 2), [10**6, 0, 5])
    chain.layer("DEPTHWISE_CONV_2D", _random(1, 3, 3, 3), [-(10**6), 0, 0])
    graph = chain.layer("CONV_2D", _random(2, 1, 1, 3)).end()
    folded = fold_constant_channels(graph)
    assert [_shape(folded.graph, place)[3] for place in range(2)] == [2, 2]
    _assert_same_bits(graph, folded.graph)


def test_values_that_differ_by_place_go_into_a_fully_connected_layer() -> None:
    """A channel with the same picture at each inference adds one number to a layer that reads all places."""
    chain = Chain((1, 4, 4, 2)).layer("CONV_2D", _random(3, 1, 1, 2), [10**6, 0, 5])
    filters = np.full((1, 3, 3, 3), 1, np.int8)
    graph = chain.layer("DEPTHWISE_CONV_2D", filters, [0] * 3).layer("FULLY_CONNECTED", _random(4, 48)).end()
    folded = fold_constant_channels(graph)
    assert {len(removal.values) for removal in folded.certificate.removals} == {1, 16}
    assert folded.graph.views[2].constant("filter").shape == (4, 32)
    assert "with the same values at each inference" in folded.changes[1].what
    _assert_same_bits(graph, folded.graph)


def test_unused_channels_go_backwards_to_a_fixpoint() -> None:
    """What is multiplied by zero alone is not computed, nor what only it reads, nor what only that reads."""
    zeros = _random(4, 1, 1, 5)
    zeros[..., 2:] = 0
    second = _random(5, 1, 1, 6)
    second[:2, ..., 3:] = 0
    chain = Chain((1, 3, 3, 2)).layer("CONV_2D", _random(6, 1, 1, 2)).layer("CONV_2D", second)
    graph = chain.layer("CONV_2D", zeros).end()
    folded = fold_constant_channels(graph)
    assert [_shape(folded.graph, place)[3] for place in range(3)] == [3, 2, 4]
    assert all(not removal.is_constant for removal in folded.certificate.removals)
    assert "3 used by nobody" in folded.changes[0].what
    _assert_same_bits(graph, folded.graph)


def _residual(second: tuple[int, ...]) -> Graph:
    """Two branches added; channels 1 and 3 of the first branch are constant, and those of the second that are given."""
    chain = Chain((1, 3, 3, 4))
    image = chain.tensor
    left = chain.layer("CONV_2D", _with_zeros(_random(5, 1, 1, 4), 1, 3)).tensor
    chain.tensor = image
    chain.shape = (1, 3, 3, 4)
    right = chain.layer("CONV_2D", _with_zeros(_random(5, 1, 1, 4), *second)).tensor
    return chain._then("ADD", [left, right], 0, {}).layer("CONV_2D", _random(2, 1, 1, 5)).end()


def test_residual_addition_loses_channels_on_both_sides_or_on_none() -> None:
    """A channel goes where both operands are constant; where one is, both stay."""
    graph = _residual((3, 4))
    folded = fold_constant_channels(graph)
    assert [_shape(folded.graph, place)[3] for place in range(3)] == [4, 4, 4]
    _assert_same_bits(graph, folded.graph)
    apart = _residual((0,))
    assert fold_constant_channels(apart).graph is apart


def test_output_of_the_model_keeps_its_channels() -> None:
    """What the caller sees stays whole, though it be constant."""
    graph = Chain((1, 3, 3, 2)).layer("CONV_2D", _with_zeros(_random(4, 1, 1, 2), 0, 1)).end()
    assert fold_constant_channels(graph) == Folding(graph, (), fold_constant_channels(graph).certificate)
    chain = Chain((1, 3, 3, 2)).layer("CONV_2D", _with_zeros(_random(4, 1, 1, 2), 0, 1))
    seen = chain.tensor
    both = chain.layer("CONV_2D", _random(2, 1, 1, 4)).end(seen)
    assert fold_constant_channels(both).graph is both


def test_one_channel_stays_where_all_are_constant() -> None:
    """No tensor vanishes."""
    graph = (
        Chain((1, 3, 3, 2))
        .layer("CONV_2D", np.zeros((4, 1, 1, 2)), [5] * 4)
        .layer("CONV_2D", _random(2, 1, 1, 4))
        .end()
    )
    folded = fold_constant_channels(graph)
    assert _shape(folded.graph, 0) == (1, 3, 3, 1)
    _assert_same_bits(graph, folded.graph)


def test_sums_that_may_wrap_are_left() -> None:
    """Where a sum may leave 32 bits nothing is folded into it, and nothing is believed of it."""
    chain = Chain((1, 3, 3, 2)).layer("CONV_2D", _random(3, 1, 1, 2), [10**6, 0, 0])
    graph = chain.layer("CONV_2D", _random(2, 1, 1, 3), [(1 << 31) - 1, 0]).layer("CONV_2D", _random(2, 1, 1, 2)).end()
    assert fold_constant_channels(graph).graph is graph


def test_constant_that_two_layers_read_is_cut_for_one_alone() -> None:
    """A filter that a second layer reads whole stays for that one."""
    chain = Chain((1, 3, 3, 2)).layer("CONV_2D", _with_zeros(_random(2, 1, 1, 2), 1), [0, 0])
    filters = chain.builder.constant(_random(2, 1, 1, 2), 0.01, 0)
    for _ in range(2):
        chain._then("CONV_2D", [chain.tensor, filters], 0, _SAME)
    graph = chain.end()
    folded = fold_constant_channels(graph)
    shapes = [view.constant("filter").shape for view in folded.graph.views]
    assert shapes == [(1, 1, 1, 2), (2, 1, 1, 1), (2, 1, 1, 2)]
    assert folded.graph.tensors[filters].type == graph.tensors[filters].type
    _assert_same_bits(graph, folded.graph)


def test_variables_and_the_callers_buffers_keep_their_channels() -> None:
    """A tensor in an external buffer has the shape that the caller knows."""
    chain = Chain((1, 3, 3, 2)).layer("CONV_2D", _with_zeros(_random(3, 1, 1, 2), 1))
    middle = chain.tensor
    graph = chain.layer("CONV_2D", _random(2, 1, 1, 3)).end()

    def external(tensor: Tensor) -> Tensor:
        return replace(tensor, is_external=True) if tensor.index == middle else tensor

    mine = replace(graph, tensors=tuple(external(tensor) for tensor in graph.tensors))
    assert fold_constant_channels(graph).graph is not graph
    assert fold_constant_channels(mine).graph is mine


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
