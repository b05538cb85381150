"""PAD as the border of windows."""

from pathlib import Path

import pytest

import kibi
from kibi.cli.options.models import simplified_model
from kibi.engines import DeviceEngine
from kibi.ops import Conv2D, ExplicitPadding
from kibi.passes import simplify
from tests.ops.comparison import assert_same, graph_of
from tests.passes.comparison import assert_rewrites, assert_stays, outputs_of
from tests.passes.networks import Chain
from tests.support.operator_models import Case

NAME = "pad-into-window"


@pytest.mark.parametrize(
    ("stride", "padding", "size", "height", "width"),
    [
        (1, "VALID", 3, "[1, 1]", "[0, 1]"),
        (2, "VALID", 2, "[1, 1]", "[0, 1]"),
        (3, "VALID", 1, "[1, 0]", "[0, 0]"),
        (1, "SAME", 5, "[2, 2]", "[1, 2]"),
        (2, "SAME", 3, "[2, 2]", "[1, 2]"),
        (3, "SAME", 2, "[1, 2]", "[0, 2]"),
    ],
)
def test_pad_before_a_convolution_becomes_its_border(
    stride: int, padding: str, size: int, height: str, width: str
) -> None:
    """What the scheme pads by itself comes on top, and the window may end before the border does."""
    before = f"""
    graph "net" from "text" (%0) -> (%4) {{
      %0 "x": s8[1, 3, 4, 1] (scale 0.5, zero 3)
      %1 "border": s32[4, 2] = [0, 0, 1, 1, 0, 1, 0, 0]
      %2 "filter": s8[1, 3, 3, 1] (scale 0.0625, zero 0) = [1, 2, -3, 4, -5, 6, 7, 8, -9]
      %3 "padded": s8[1, 5, 5, 1] (scale 0.5, zero 3) = PAD #0 (input %0, paddings %1)
      %4 "y": s8[1, {size}, {size}, 1] (scale 1.0, zero -7) = CONV_2D #1 (input %3, filter %2)
        {{padding {padding}, stride [{stride}, {stride}]}}
    }}
    """
    after = f"""
    graph "net" from "text" (%0) -> (%4) {{
      %0 "x": s8[1, 3, 4, 1] (scale 0.5, zero 3)
      %2 "filter": s8[1, 3, 3, 1] (scale 0.0625, zero 0) = [1, 2, -3, 4, -5, 6, 7, 8, -9]
      %4 "y": s8[1, {size}, {size}, 1] (scale 1.0, zero -7) = CONV_2D #1 (input %0, filter %2)
        {{padding ExplicitPadding {{height {height}, width {width}}}, stride [{stride}, {stride}]}}
    }}
    """
    (change,) = assert_rewrites(before, after, NAME).changes
    assert change.where == "operator 0 (PAD)"
    assert change.weights_bytes == 32


def test_pad_before_a_dilated_convolution_becomes_its_border() -> None:
    """The window's reach counts, not its elements."""
    before = """
    graph "net" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 3, 4, 1] (scale 0.5, zero 3)
      %1 "border": s32[4, 2] = [0, 0, 2, 1, 0, 2, 0, 0]
      %2 "filter": s8[1, 3, 3, 1] (scale 0.0625, zero 0) = [1, 2, -3, 4, -5, 6, 7, 8, -9]
      %3 "padded": s8[1, 6, 6, 1] (scale 0.5, zero 3) = PAD #0 (input %0, paddings %1)
      %4 "y": s8[1, 6, 6, 1] (scale 1.0, zero -7) = CONV_2D #1 (input %3, filter %2) {padding SAME, dilation [2, 2]}
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 3, 4, 1] (scale 0.5, zero 3)
      %2 "filter": s8[1, 3, 3, 1] (scale 0.0625, zero 0) = [1, 2, -3, 4, -5, 6, 7, 8, -9]
      %4 "y": s8[1, 6, 6, 1] (scale 1.0, zero -7) = CONV_2D #1 (input %0, filter %2)
        {padding ExplicitPadding {height [4, 3], width [2, 4]}, dilation [2, 2]}
    }
    """
    assert_rewrites(before, after, NAME)


def test_pad_of_several_readers_goes_into_all_of_them() -> None:
    """Each reaches over the border as far as its own window does."""
    before = """
    graph "net" from "text" (%0) -> (%5, %6) {
      %0 "x": s8[1, 2, 3, 1] (scale 0.5, zero 3)
      %1 "border": s32[4, 2] = [0, 0, 1, 1, 1, 1, 0, 0]
      %2 "3 x 3": s8[1, 3, 3, 1] (scale 0.0625, zero 0) = [1, 2, -3, 4, -5, 6, 7, 8, -9]
      %3 "2 x 2": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = [1, 2, -3, 4]
      %4 "padded": s8[1, 4, 5, 1] (scale 0.5, zero 3) = PAD #0 (input %0, paddings %1)
      %5 "y": s8[1, 2, 3, 1] (scale 1.0, zero 0) = CONV_2D #1 (input %4, filter %2)
      %6 "z": s8[1, 2, 2, 1] (scale 1.0, zero 0) = DEPTHWISE_CONV_2D #2 (input %4, filter %3) {stride [2, 2]}
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%5, %6) {
      %0 "x": s8[1, 2, 3, 1] (scale 0.5, zero 3)
      %2 "3 x 3": s8[1, 3, 3, 1] (scale 0.0625, zero 0) = [1, 2, -3, 4, -5, 6, 7, 8, -9]
      %3 "2 x 2": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = [1, 2, -3, 4]
      %5 "y": s8[1, 2, 3, 1] (scale 1.0, zero 0) = CONV_2D #1 (input %0, filter %2)
        {padding ExplicitPadding {height [1, 1], width [1, 1]}}
      %6 "z": s8[1, 2, 2, 1] (scale 1.0, zero 0) = DEPTHWISE_CONV_2D #2 (input %0, filter %3)
        {padding ExplicitPadding {height [1, 1], width [1, 0]}, stride [2, 2]}
    }
    """
    assert_rewrites(before, after, NAME)


def test_pad_of_several_readers_stays_where_one_needs_it() -> None:
    """An average pooling counts what is padded."""
    net = """
    graph "net" from "text" (%0) -> (%4, %5) {
      %0 "x": s8[1, 2, 3, 1] (scale 0.5, zero 3)
      %1 "border": s32[4, 2] = [0, 0, 1, 1, 1, 1, 0, 0]
      %2 "3 x 3": s8[1, 3, 3, 1] (scale 0.0625, zero 0) = [1, 2, -3, 4, -5, 6, 7, 8, -9]
      %3 "padded": s8[1, 4, 5, 1] (scale 0.5, zero 3) = PAD #0 (input %0, paddings %1)
      %4 "y": s8[1, 2, 3, 1] (scale 1.0, zero 0) = CONV_2D #1 (input %3, filter %2)
      %5 "z": s8[1, 3, 4, 1] (scale 0.5, zero 3) = AVERAGE_POOL_2D #2 (input %3) {kernel [2, 2]}
    }
    """
    assert_stays(net, NAME)


_POOLED = """
graph "net" from "text" (%0) -> (%3) {
  %0 "x": s8[1, 3, 2, 1] (scale 0.0625, zero ZERO)
  %1 "border": s32[4, 2] = [0, 0, 1, 0, 1, 1, 0, 0]
  %2 "padded": s8[1, 4, 4, 1] (scale 0.0625, zero ZERO) = PAD #0 (input %0, paddings %1)
  %3 "y": s8[1, 3, 2, 1] (scale 0.0625, zero ZERO) = MAX_POOL_2D #1 (input %2) {kernel [2, 3], activation CLAMP}
}
"""


@pytest.mark.parametrize(("zero", "clamp"), [("-128", "NONE"), ("5", "RELU")])
def test_pad_before_a_maximum_pooling_goes_where_its_value_cannot_win(zero: str, clamp: str) -> None:
    """The least value there is never wins, nor does one that the pooling clamps to in the end."""
    after = """
    graph "net" from "text" (%0) -> (%3) {
      %0 "x": s8[1, 3, 2, 1] (scale 0.0625, zero ZERO)
      %3 "y": s8[1, 3, 2, 1] (scale 0.0625, zero ZERO) = MAX_POOL_2D #1 (input %0)
        {kernel [2, 3], padding ExplicitPadding {height [1, 0], width [1, 1]}, activation CLAMP}
    }
    """
    before, after = (text.replace("ZERO", zero).replace("CLAMP", clamp) for text in (_POOLED, after))
    assert_rewrites(before, after, NAME)


@pytest.mark.parametrize(("zero", "clamp"), [("-127", "NONE"), ("5", "RELU_N1_TO_1")])
def test_pad_before_a_maximum_pooling_stays_where_its_value_may_win(zero: str, clamp: str) -> None:
    """It is larger than the least number that there may be."""
    assert_stays(_POOLED.replace("ZERO", zero).replace("CLAMP", clamp), NAME)


def test_pad_of_what_a_rectifier_made_goes_into_a_maximum_pooling() -> None:
    """Nothing that comes from a convolution with RELU is below the zero point, nor are poolings and reshapes of it."""
    before = """
    graph "net" from "text" (%0) -> (%8) {
      %0 "x": s8[1, 3, 3, 1] (scale 0.0625, zero 3)
      %1 "filter": s8[1, 1, 1, 1] (scale 0.0625, zero 0) = [-19]
      %2 "border": s32[4, 2] = [0, 0, 1, 1, 1, 1, 0, 0]
      %3 "shape": s32[4] = [1, 1, 4, 1]
      %4 "positive": s8[1, 3, 3, 1] (scale 0.0625, zero 9) = CONV_2D #0 (input %0, filter %1) {activation RELU}
      %5 "means": s8[1, 2, 2, 1] (scale 0.0625, zero 9) = AVERAGE_POOL_2D #1 (input %4) {kernel [2, 2]}
      %6 "row": s8[1, 1, 4, 1] (scale 0.0625, zero 9) = RESHAPE #2 (input %5, shape %3)
      %7 "padded": s8[1, 3, 6, 1] (scale 0.0625, zero 9) = PAD #3 (input %6, paddings %2)
      %8 "y": s8[1, 1, 4, 1] (scale 0.0625, zero 9) = MAX_POOL_2D #4 (input %7) {kernel [3, 3]}
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%8) {
      %0 "x": s8[1, 3, 3, 1] (scale 0.0625, zero 3)
      %1 "filter": s8[1, 1, 1, 1] (scale 0.0625, zero 0) = [-19]
      %3 "shape": s32[4] = [1, 1, 4, 1]
      %4 "positive": s8[1, 3, 3, 1] (scale 0.0625, zero 9) = CONV_2D #0 (input %0, filter %1) {activation RELU}
      %5 "means": s8[1, 2, 2, 1] (scale 0.0625, zero 9) = AVERAGE_POOL_2D #1 (input %4) {kernel [2, 2]}
      %6 "row": s8[1, 1, 4, 1] (scale 0.0625, zero 9) = RESHAPE #2 (input %5, shape %3)
      %8 "y": s8[1, 1, 4, 1] (scale 0.0625, zero 9) = MAX_POOL_2D #4 (input %6)
        {kernel [3, 3], padding ExplicitPadding {height [1, 1], width [1, 1]}}
    }
    """
    assert_rewrites(before, after, NAME)


@pytest.mark.parametrize(
    ("outputs", "x", "border", "padded", "filters", "y"),
    [
        ("(%4)", "[1, 3, 3, 2]", "[0, 0, 0, 0, 1, 1, 0, 2]", "[1, 3, 5, 4]", "[2, 1, 3, 2]", "[1, 3, 3, 2]"),
        ("(%4)", "[1, 3, 3, 1]", "[0, 0, 3, 0, 1, 1, 0, 0]", "[1, 6, 5, 1]", "[1, 3, 4, 1]", "[1, 4, 2, 1]"),
        ("(%4)", "[1, 1, 4, 2]", "[0, 0, 1, 1, 1, 1, 0, 0]", "[1, 3, 6, 2]", "[1, 2, 3, 2]", "[1, 2, 4, 1]"),
        ("(%3, %4)", "[1, 3, 3, 1]", "[0, 0, 1, 1, 1, 1, 0, 0]", "[1, 5, 5, 1]", "[1, 3, 4, 1]", "[1, 3, 2, 1]"),
    ],
    ids=["channels", "windows outside", "rows of one row", "seen from outside"],
)
def test_pad_that_is_more_than_a_border_stays(
    outputs: str, x: str, border: str, padded: str, filters: str, y: str
) -> None:
    """Padded channels are data, here of a second group.

    A window with nothing under it, and rows across those of the input, are not supported.
    """
    net = f"""
    graph "net" from "text" (%0) -> {outputs} {{
      %0 "x": s8{x} (scale 0.5, zero 3)
      %1 "border": s32[4, 2] = {border}
      %2 "filter": s8{filters} (scale 0.0625, zero 0) = [1, 2, -3, 4, -5, 6, 7, 8, -9, 10, 11, -12]
      %3 "padded": s8{padded} (scale 0.5, zero 3) = PAD #0 (input %0, paddings %1)
      %4 "y": s8{y} (scale 1.0, zero -7) = CONV_2D #1 (input %3, filter %2)
    }}
    """
    assert_stays(net, NAME)


def test_pad_into_another_zero_point_stays() -> None:
    """A PAD whose output has another zero point changes what the elements mean."""
    net = """
    graph "net" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 3, 3, 1] (scale 0.5, zero 3)
      %1 "border": s32[4, 2] = [0, 0, 1, 1, 1, 1, 0, 0]
      %2 "filter": s8[1, 3, 3, 1] (scale 0.0625, zero 0) = [1, 2, -3, 4, -5, 6, 7, 8, -9]
      %3 "padded": s8[1, 5, 5, 1] (scale 0.5, zero 4) = PAD #0 (input %0, paddings %1)
      %4 "y": s8[1, 3, 3, 1] (scale 1.0, zero -7) = CONV_2D #1 (input %3, filter %2)
    }
    """
    assert_stays(net, NAME)


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


def _padded(stride: int, size: int, channels: int) -> Case:
    """A PAD of one, or two, and a convolution over it."""
    border = (size // 2, size // 2)
    return Chain((1, 12, 12, channels)).pad((0, 0), border, border, (0, 0)).conv(8, (size, size), stride=stride).case()


@pytest.mark.parametrize(("stride", "size", "channels", "stays"), [(1, 5, 3, True), (1, 3, 8, True), (2, 3, 8, False)])
def test_pad_stays_for_speed_where_borders_cost_more(stride: int, size: int, channels: int, stays: bool) -> None:
    """Most windows of small images reach over a border; otherwise the pass saves instructions, too, and it always saves flash."""
    case = _padded(stride, size, channels)
    graph = graph_of(case)
    usual, fast = simplify(graph), simplify(graph, goal="speed")
    assert "PAD" not in [node.op.name for node in usual.graph.nodes]
    assert ("PAD" in [node.op.name for node in fast.graph.nodes]) is stays
    # What was left out is recorded, as if somebody had asked for it.
    assert fast.without == ((NAME,) if stays else ())
    assert_same(fast.graph, outputs_of(fast.graph, case.inputs), outputs_of(graph, case.inputs))


def test_pad_that_stays_for_speed_takes_fewer_instructions(tmp_path: Path) -> None:
    """Measured on an emulated core: a fifth fewer at least, over a small image."""
    taken = {}
    for way in ("balanced", "speed"):
        graph = kibi.simplify(graph_of(_padded(1, 5, 3)), goal=way)
        library = kibi.compile(graph, kibi.plan(graph, goal="speed"), tmp_path / way)
        taken[way] = kibi.measure(library, oracle=False).instructions
    assert taken["speed"] < 0.8 * taken["balanced"]


def test_saved_plan_for_speed_says_whether_the_pass_ran(tmp_path: Path) -> None:
    """One made of either graph is followed: verbs that read a plan make the graph that it is for."""
    path = tmp_path / "net.tflite"
    path.write_bytes(_padded(1, 5, 3).model)
    for way in ("balanced", "speed"):
        graph = kibi.simplify(kibi.load(path), goal=way)
        plan = kibi.plan(graph, goal="speed")
        assert len(simplified_model(path, None, plan=plan).graph.nodes) == len(graph.nodes)
