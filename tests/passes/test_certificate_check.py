"""The checker believes what is true of both graphs, and nothing else."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from kibi.dtypes import Array, DType
from kibi.errors import MismatchError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from kibi.ir import Graph, Quantization
from kibi.ops import Activation, Conv2D, Padding
from kibi.passes.constant_channels.certificate import Certificate, Removal
from kibi.passes.constant_channels.certificate_check import check_certificate
from kibi.passes.constant_channels.interval_check import checked_ends
from kibi.passes.constant_channels.pass_ import Folding, drop_constant_channels, fold_constant_channels
from kibi.passes.constant_channels.removal import remove_channels
from tests.passes.sparse_networks import answers, inputs_of, sparse_graph, sparse_graphs
from tests.support.choices import Seeded

_SAME: dict[str, Attribute] = {"padding": "SAME", "stride_h": 1, "stride_w": 1}


def _refuses(before: Graph, after: Graph, certificate: Certificate) -> bool:
    try:
        check_certificate(before, after, certificate)
    except MismatchError:
        return True
    return False


@cache
def _model(kernel: int = 1, first_bias: int = 10**6) -> Graph:
    """Two convolutions between a 4 x 4 image and the output; of the middle, channel 0 is clamped, 1 unused, 2 in use."""
    random = np.random.default_rng(4)
    builder = ModelBuilder()
    image = builder.input([1, 4, 4, 2], DType.S8, 0.05, 0)
    first = builder.constant(random.choice([-90, 60], (4, 1, 1, 2)).astype(np.int8), [0.01, 0.02, 0.03, 0.01], [0] * 4)
    bias = builder.constant(np.array([first_bias, 5, 6, 7], np.int32), 0.0005, 0)
    middle = builder.tensor([1, 4, 4, 4], DType.S8, 0.05, 0)
    builder.operator("CONV_2D", [image, first, bias], [middle], _SAME)
    weights = random.choice([-90, 60], (2, kernel, kernel, 4)).astype(np.int8)
    weights[..., 1] = 0
    output = builder.tensor([1, 4, 4, 2], DType.S8, 0.5, 0)
    builder.operator("CONV_2D", [middle, builder.constant(weights, 0.01, 0)], [output], _SAME)
    return parse_tflite(builder.finish([output]), "model.tflite")


def _middle(graph: Graph) -> int:
    return graph.views[0].output.index


def _forged(graph: Graph, gone: tuple[int, ...], share: int = 0) -> Graph:
    """The graph without some channels of its middle, whether that is right or not."""
    kept = np.ones(4, np.bool_)
    kept[list(gone)] = False
    weights = graph.views[1].constant("filter").astype(np.int64).sum(axis=(1, 2))[:, 0]
    return remove_channels(graph, {_middle(graph): kept}, {1: share * weights})


def _claims(graph: Graph, **values: int | None) -> Certificate:
    """Claims on channels of the middle, by number behind a letter: a value, or None for unused."""
    removals = ((int(name[1:]), () if value is None else (value,)) for name, value in values.items())
    return Certificate(tuple(Removal(_middle(graph), channel, held) for channel, held in removals))


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(sparse_graphs())
def test_check_of_what_the_pass_made_passes(graph: Graph) -> None:
    """Every certificate that the pass gives holds."""
    folded = fold_constant_channels(graph)
    check_certificate(graph, folded.graph, folded.certificate)
    assert drop_constant_channels(graph) == (folded.graph, folded.changes)


def test_check_of_graphs_made_by_hand_passes() -> None:
    """A clamped channel and an unused one may go, each alone or together; so may none."""
    graph = _model()
    check_certificate(graph, graph, Certificate())
    check_certificate(graph, _forged(graph, (1,)), _claims(graph, c1=None))
    check_certificate(graph, _forged(graph, (0, 1), 127), _claims(graph, c0=127, c1=None))
    assert {each.channel for each in fold_constant_channels(graph).certificate.removals} == {0, 1}


@pytest.mark.parametrize(
    ("gone", "share", "claims", "told"),
    [
        ((0,), 126, {"c0": 126}, "channel 0 .* is not always"),
        ((0,), 126, {"c0": 127}, "bias"),
        ((0,), 0, {"c0": None}, "multiplies channel 0, which is said to be unused"),
        ((2,), 0, {"c2": None}, "multiplies channel 2"),
        ((2,), 0, {"c2": 0}, "channel 2 .* is not always"),
        ((1,), 0, {"c1": 0}, "channel 1 .* is not always"),
        ((1,), 0, {"c3": None}, "filter"),
        ((1,), 0, {"c1": None, "c3": None}, "not what is left of it"),
        ((1, 2), 0, {"c1": None}, "not what is left of it"),
        ((1,), 0, {}, "not what is left of it"),
        ((1,), 0, {"c4": None}, "no such channels"),
        ((1,), 0, {"c0": None, "c1": None, "c2": None, "c3": None}, "none is left"),
    ],
)
def test_check_of_wrong_claim_is_refused(
    gone: tuple[int, ...], share: int, claims: dict[str, int | None], told: str
) -> None:
    """A constant that is none, or another; a channel that is used; channels that are not those that went."""
    graph = _model()
    with pytest.raises(MismatchError, match=told):
        check_certificate(graph, _forged(graph, gone, share), _claims(graph, **claims))


def test_check_of_constant_that_shows_at_the_border_is_refused() -> None:
    """Off the zero point, a constant under a padded window adds less at the border."""
    graph = _model(kernel=3)
    with pytest.raises(MismatchError, match="differs from place to place"):
        check_certificate(graph, _forged(graph, (0,), 127), _claims(graph, c0=127))


def test_check_of_claims_on_what_the_caller_sees_is_refused() -> None:
    """Inputs and outputs of the model keep their channels, and so does what is no tensor."""
    graph = _model()
    for index in (*graph.inputs, *graph.outputs, 99, -1):
        with pytest.raises(MismatchError, match="must keep all its channels"):
            check_certificate(graph, graph, Certificate((Removal(index, 0, (127,)),)))
    twice = Certificate((Removal(_middle(graph), 1), Removal(_middle(graph), 1, (3,))))
    with pytest.raises(MismatchError, match="names a channel twice"):
        check_certificate(graph, _forged(graph, (1,)), twice)


def _with_data(graph: Graph, index: int, data: Array) -> Graph:
    tensors = tuple(replace(each, data=data) if each.index == index else each for each in graph.tensors)
    return replace(graph, tensors=tensors)


def test_check_of_any_changed_constant_is_refused() -> None:
    """Each element of each filter and bias counts, and each scale."""
    graph = _model()
    folded = fold_constant_channels(graph)
    for view in folded.graph.views:
        for name in ("filter", "bias"):
            data = view.constant(name).astype(np.int32)
            for place in np.ndindex(data.shape):
                changed = data.copy()
                changed[place] += 1
                wrong = _with_data(folded.graph, view[name].index, changed.astype(view[name].type.dtype.numpy))
                assert _refuses(graph, wrong, folded.certificate), (view.node.label, name, place)
    filters = folded.graph.views[0]["filter"]
    scales = Quantization(filters.quantization.scales[::-1], filters.quantization.zero_points, 0)
    other = replace(filters, type=replace(filters.type, quantization=scales))
    tensors = tuple(other if each.index == other.index else each for each in folded.graph.tensors)
    assert _refuses(graph, replace(folded.graph, tensors=tensors), folded.certificate)


def test_check_of_changed_outline_is_refused() -> None:
    """Other operators, other tensors, other outputs, fewer nodes: none of it is what a removal gives."""
    graph = _model()
    made = fold_constant_channels(graph)
    nodes, tensors = made.graph.nodes, made.graph.tensors
    middle, output = _middle(graph), graph.outputs[0]
    other_op = replace(nodes[1], op=Conv2D(padding=Padding.SAME, activation=Activation.RELU))
    shifted = replace(tensors[middle].type, quantization=Quantization((0.05,), (1,)))
    wrong = (
        replace(made.graph, nodes=(nodes[0], other_op)),
        replace(made.graph, nodes=nodes[:1], outputs=(middle,)),
        replace(made.graph, outputs=(output, middle)),
        replace(made.graph, nodes=(nodes[0], replace(nodes[1], source=7))),
        replace(made.graph, nodes=(nodes[0], replace(nodes[1], inputs=nodes[1].inputs[:2]))),
        replace(made.graph, nodes=nodes[::-1]),
        replace(made.graph, tensors=tuple(replace(t, type=shifted) if t.index == middle else t for t in tensors)),
    )
    for graph_after in wrong:
        assert _refuses(graph, graph_after, made.certificate)


def _mutated(made: Folding, choice: int, rng: np.random.Generator) -> tuple[Graph, Certificate]:
    """A folding with something changed: an element of a constant, a claim, or a claim more or less."""
    graph, removals = made.graph, list(made.certificate.removals)
    number = int(rng.integers(len(removals)))
    removal = removals[number]
    if choice == 0:
        read = {index for node in graph.nodes for index in node.inputs if index is not None}
        index = int(rng.choice([t.index for t in graph.tensors if t.data is not None and t.index in read]))
        data = np.array(graph.tensors[index].data).astype(np.int64)
        data.reshape(-1)[rng.integers(data.size)] += rng.choice([-1, 1])
        return _with_data(graph, index, data.astype(graph.tensors[index].type.dtype.numpy)), made.certificate
    if choice == 1:
        removals[number] = replace(removal, values=tuple(value + 1 for value in removal.values) or (0,))
    elif choice == 2:
        removals[number] = replace(removal, values=())
    elif choice == 3:
        del removals[number]
    else:
        removals[number] = replace(removal, channel=removal.channel + int(rng.choice([-1, 1])))
    return graph, Certificate(tuple(removals))


@pytest.mark.parametrize("choice", range(5))
def test_check_that_passes_a_mutation_is_right(choice: int) -> None:
    """Where something was changed, either the checker refuses it, or the outputs have the same bits all the same."""
    rng = np.random.default_rng(choice)
    refused = 0
    for seed in range(40):
        before = sparse_graph(Seeded(seed))
        made = fold_constant_channels(before)
        if not made.changes:
            continue
        after, certificate = _mutated(made, choice, rng)
        if _refuses(before, after, certificate):
            refused += 1
            continue
        for inputs in inputs_of(before, seed):
            old, new = answers(before, inputs), answers(after, inputs)
            for index in before.outputs:
                np.testing.assert_array_equal(old[index], new[index])
    assert refused >= 3


def test_checked_ends_of_tensors_that_are_not_s8_are_left_out() -> None:
    """A QUANTIZE to u8, whose values reach 255, has no bounds of s8; models with u8 outputs have one."""
    b = ModelBuilder()
    x, y = b.input([1, 4], DType.S8, 0.5, 0), b.tensor([1, 4], DType.S8, 0.5, 0)
    z = b.tensor([1, 4], DType.U8, 0.5, 128)
    b.operator("RELU", [x], [y])
    b.operator("QUANTIZE", [y], [z])
    graph = parse_tflite(b.finish([z]), "m.tflite")
    assert set(checked_ends(graph)) == {x, y}
