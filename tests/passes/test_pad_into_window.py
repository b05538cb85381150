"""PAD as the border of windows."""

from dataclasses import replace
from pathlib import Path

import pytest

import kibi
from kibi.engines import DeviceEngine
from kibi.ops import Conv2D, ExplicitPadding
from kibi.passes import simplify
from tests.ops.comparison import assert_same, graph_of
from tests.passes.comparison import alone, names_of, outputs_of
from tests.passes.networks import Chain
from tests.support.operator_models import Case

NAME = "pad-into-window"


@pytest.mark.parametrize("padding", ["VALID", "SAME"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_pad_in_front_of_a_convolution_becomes_its_border(stride: int, padding: str) -> None:
    """What the scheme pads by itself comes on top, and the window may end before the border does."""
    net = Chain((1, 6, 7, 3)).pad((0, 0), (1, 1), (0, 1), (0, 0)).conv(4, (3, 3), padding, stride)
    simplified = alone(net.case(), NAME)
    assert names_of(simplified) == ["CONV_2D"]
    assert simplified.changes[0].where == "operator 0 (PAD)"
    assert simplified.changes[0].weights_bytes == 32


def test_pad_in_front_of_a_dilated_convolution_becomes_its_border() -> None:
    """The window's reach counts, not its elements."""
    net = Chain((1, 5, 6, 2)).pad((0, 0), (2, 1), (0, 2), (0, 0)).conv(3, (3, 3), "SAME", dilation=2)
    assert names_of(alone(net.case(), NAME)) == ["CONV_2D"]


def test_pad_of_several_readers_goes_into_all_of_them_or_none() -> None:
    """Two convolutions take it over; beside an average pooling, which counts what is padded, it stays."""
    net = Chain((1, 5, 5, 2)).pad((0, 0), (1, 1), (1, 1), (0, 0))
    padded = net.last
    first = net.conv(2, (3, 3)).last.index
    net.made.append(padded)
    second = net.depthwise((2, 2)).last.index
    assert names_of(alone(net.case(first, second), NAME)) == ["CONV_2D", "DEPTHWISE_CONV_2D"]
    net = Chain((1, 5, 5, 2)).pad((0, 0), (1, 1), (1, 1), (0, 0))
    padded = net.last
    first = net.conv(2, (3, 3)).last.index
    net.made.append(padded)
    second = net.pool("AVERAGE_POOL_2D", (2, 2)).last.index
    assert alone(net.case(first, second), NAME).changes == ()


@pytest.mark.parametrize(
    ("zero_point", "activation", "is_folded"),
    [(-128, "NONE", True), (-127, "NONE", False), (5, "RELU", True), (5, "RELU_N1_TO_1", False)],
)
def test_pad_in_front_of_a_maximum_pooling_goes_where_its_value_cannot_win(
    zero_point: int, activation: str, is_folded: bool
) -> None:
    """The least value there is never wins, nor does one that the pooling clamps to in the end."""
    net = Chain((1, 5, 4, 3), (0.02, zero_point)).pad((0, 0), (1, 0), (1, 1), (0, 0))
    net.pool("MAX_POOL_2D", (2, 3), "VALID", 1, activation)
    assert names_of(alone(net.case(), NAME)) == (["MAX_POOL_2D"] if is_folded else ["PAD", "MAX_POOL_2D"])


def test_pad_behind_a_rectifier_goes_into_a_maximum_pooling() -> None:
    """Nothing behind a convolution with RELU is below the zero point, nor behind poolings and reshapes of it."""
    net = Chain((1, 5, 4, 3)).conv(3, (1, 1), activation="RELU", scale=(0.2, 9)).pool("AVERAGE_POOL_2D", (2, 2))
    net.reshape(1, 3, 4, 3).pad((0, 0), (1, 1), (1, 1), (0, 0)).pool("MAX_POOL_2D", (3, 3))
    assert names_of(alone(net.case(), NAME)) == ["CONV_2D", "AVERAGE_POOL_2D", "RESHAPE", "MAX_POOL_2D"]


def _seen() -> Case:
    net = Chain((1, 4, 4, 2)).pad((0, 0), (1, 1), (1, 1), (0, 0))
    padded = net.last.index
    return net.conv(2, (3, 3)).case(padded, net.last.index)


@pytest.mark.parametrize(
    "case",
    [
        Chain((1, 4, 4, 2)).pad((0, 0), (1, 1), (1, 1), (0, 1)).conv(2, (3, 3)).case(),
        Chain((1, 4, 4, 2)).pad((0, 0), (3, 0), (1, 1), (0, 0)).conv(2, (3, 3)).case(),
        Chain((1, 1, 4, 2)).pad((0, 0), (1, 1), (1, 1), (0, 0)).conv(2, (2, 3)).case(),
        _seen(),
    ],
    ids=["channels", "whole windows outside", "rows of one row", "seen from outside"],
)
def test_pad_that_is_more_than_a_border_stays(case: Case) -> None:
    """Padded channels are data; a window with nothing under it, and rows across those of the input, are not supported."""
    assert alone(case, NAME).changes == ()


def test_pad_into_another_zero_point_stays() -> None:
    """A PAD whose output has another zero point changes what the elements mean."""
    net = Chain((1, 4, 4, 2), (0.05, 3))
    net.made[0] = replace(net.last, scale=(0.05, 4))
    assert alone(net.pad((0, 0), (1, 1), (1, 1), (0, 0)).conv(2, (3, 3)).case(), NAME).changes == ()


@pytest.mark.parametrize(
    ("core", "goal"), [("cortex-m4", "balanced"), ("cortex-m4", "speed"), ("cortex-m0plus", "balanced")]
)
def test_wide_borders_on_the_device_give_the_same_bits(core: str, goal: str, tmp_path: Path) -> None:
    """Kernels of either instruction set take borders that no scheme has: on one side alone, and almost as wide as the window."""
    for number, case in enumerate((_stem(), _small())):
        before, after = graph_of(case), simplify(graph_of(case), ["constant-channels"]).graph
        assert "PAD" not in [node.op.name for node in after.nodes]
        library = kibi.compile(after, kibi.plan(after, core, goal=goal), tmp_path / f"{number}")
        assert_same(after, DeviceEngine(library).run(case.inputs), outputs_of(before, case.inputs))


def _stem() -> Case:
    """The beginning of a residual network, with borders in front alone."""
    net = Chain((1, 9, 10, 3)).pad((0, 0), (2, 0), (0, 2), (0, 0)).conv(16, (3, 3), stride=2, activation="RELU")
    net.pad((0, 0), (1, 0), (2, 2), (0, 0)).pool("MAX_POOL_2D", (2, 3), "VALID", 1)
    return net.pad((0, 0), (2, 2), (2, 1), (0, 0)).conv(16, (3, 3)).depthwise((3, 3)).case()


def _small() -> Case:
    """Few and odd channels, a border wider than what is inside."""
    net = Chain((1, 2, 2, 5)).pad((0, 0), (2, 2), (2, 2), (0, 0)).conv(17, (3, 3), activation="RELU")
    return (
        net.pad((0, 0), (1, 2), (2, 0), (0, 0))
        .depthwise((3, 3))
        .pad((0, 0), (1, 1), (0, 0), (0, 0))
        .conv(3, (2, 1))
        .case()
    )


def test_explicit_padding_says_how_far_it_reaches() -> None:
    """As text, and along each axis."""
    padding = ExplicitPadding((0, 1), (2, 3))
    assert str(padding) == "padding 0+1 x 2+3"
    assert padding.along(1).output_size(10, 3, 2, 1) == 7
    assert padding.along(1).before(10, 3, 2, 1, 7) == 2
    assert hash(Conv2D(padding=padding)) != hash(Conv2D())
