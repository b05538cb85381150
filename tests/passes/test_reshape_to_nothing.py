"""RESHAPE between operators that take elements in whatever shape."""

import pytest

from tests.passes.comparison import assert_rewrites, assert_stays

NAME = "reshape-to-nothing"


def test_reshape_before_a_fully_connected_layer_lets_it_add_up_row_by_row() -> None:
    """Without it the layer reads the convolution's rows one by one."""
    before = f"""
    graph "net" from "text" (%0) -> (%6) {{
      %0 "x": s8[1, 2, 3, 1] (scale 0.5, zero 3)
      %1 "filter": s8[32, 1, 1, 1] (scale 0.125, zero 0) = {[7, -8, 9, 5] * 8}
      %2 "matrix": s8[1, 192] (scale 0.125, zero 0) = {[1, -2, 3] * 64}
      %3 "shape": s32[2] = [1, 192]
      %4 "image": s8[1, 2, 3, 32] (scale 1.0, zero -7) = CONV_2D #0 (input %0, filter %1)
      %5 "flat": s8[1, 192] (scale 1.0, zero -7) = RESHAPE #1 (input %4, shape %3)
      %6 "y": s8[1, 1] (scale 8.0, zero 2) = FULLY_CONNECTED #2 (input %5, filter %2)
    }}
    """
    after = f"""
    graph "net" from "text" (%0) -> (%6) {{
      %0 "x": s8[1, 2, 3, 1] (scale 0.5, zero 3)
      %1 "filter": s8[32, 1, 1, 1] (scale 0.125, zero 0) = {[7, -8, 9, 5] * 8}
      %2 "matrix": s8[1, 192] (scale 0.125, zero 0) = {[1, -2, 3] * 64}
      %4 "image": s8[1, 2, 3, 32] (scale 1.0, zero -7) = CONV_2D #0 (input %0, filter %1)
      %6 "y": s8[1, 1] (scale 8.0, zero 2) = FULLY_CONNECTED #2 (input %4, filter %2)
    }}
    """
    last = assert_rewrites(before, after, NAME).graph.views[-1]
    assert last.op.accumulates(last)
    assert last.steps == 2


def test_reshape_before_a_fully_connected_layer_stays_where_rows_are_short() -> None:
    """Rows of 93 elements would cost more calls than they save."""
    net = f"""
    graph "net" from "text" (%0) -> (%6) {{
      %0 "x": s8[1, 2, 3, 1] (scale 0.5, zero 3)
      %1 "filter": s8[31, 1, 1, 1] (scale 0.125, zero 0) = {[7, *([-8, 9, 5] * 10)]}
      %2 "matrix": s8[1, 186] (scale 0.125, zero 0) = {[1, -2, 3] * 62}
      %3 "shape": s32[2] = [1, 186]
      %4 "image": s8[1, 2, 3, 31] (scale 1.0, zero -7) = CONV_2D #0 (input %0, filter %1)
      %5 "flat": s8[1, 186] (scale 1.0, zero -7) = RESHAPE #1 (input %4, shape %3)
      %6 "y": s8[1, 1] (scale 8.0, zero 2) = FULLY_CONNECTED #2 (input %5, filter %2)
    }}
    """
    assert_stays(net, NAME)


def test_reshapes_in_a_row_before_a_fully_connected_layer_vanish() -> None:
    """The layer takes the image's two rows of two vectors for the four vectors that it had."""
    before = """
    graph "net" from "text" (%0) -> (%5) {
      %0 "x": s8[1, 2, 2, 3] (scale 0.5, zero 3)
      %1 "matrix": s8[2, 3] (scale 0.125, zero 0) = [1, -2, 3, 4, 5, -6]
      %2 "image": s8[1, 2, 2, 3] (scale 0.5, zero 3) = RELU #0 (input %0)
      %3 "flat": s8[1, 12] (scale 0.5, zero 3) = RESHAPE #1 (input %2)
      %4 "vectors": s8[4, 3] (scale 0.5, zero 3) = RESHAPE #2 (input %3)
      %5 "y": s8[4, 2] (scale 1.0, zero 2) = FULLY_CONNECTED #3 (input %4, filter %1)
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%5) {
      %0 "x": s8[1, 2, 2, 3] (scale 0.5, zero 3)
      %1 "matrix": s8[2, 3] (scale 0.125, zero 0) = [1, -2, 3, 4, 5, -6]
      %2 "image": s8[1, 2, 2, 3] (scale 0.5, zero 3) = RELU #0 (input %0)
      %5 "y": s8[4, 2] (scale 1.0, zero 2) = FULLY_CONNECTED #3 (input %2, filter %1)
    }
    """
    assert_rewrites(before, after, NAME)


def test_reshape_before_a_fully_connected_layer_that_keeps_axes_vanishes() -> None:
    """Its output has the shape that it had, though its input no longer says so."""
    before = """
    graph "net" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 2, 2, 3] (scale 0.5, zero 3)
      %1 "matrix": s8[2, 3] (scale 0.125, zero 0) = [1, -2, 3, 4, 5, -6]
      %2 "image": s8[1, 2, 2, 3] (scale 0.5, zero 3) = RELU #0 (input %0)
      %3 "vectors": s8[1, 4, 3] (scale 0.5, zero 3) = RESHAPE #1 (input %2)
      %4 "y": s8[1, 4, 2] (scale 1.0, zero 2) = FULLY_CONNECTED #2 (input %3, filter %1) {keep_dims true}
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 2, 2, 3] (scale 0.5, zero 3)
      %1 "matrix": s8[2, 3] (scale 0.125, zero 0) = [1, -2, 3, 4, 5, -6]
      %2 "image": s8[1, 2, 2, 3] (scale 0.5, zero 3) = RELU #0 (input %0)
      %4 "y": s8[1, 4, 2] (scale 1.0, zero 2) = FULLY_CONNECTED #2 (input %2, filter %1)
    }
    """
    assert_rewrites(before, after, NAME)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            """
            %3 "image": s8[1, 1, 4, 6] (scale 0.5, zero 3) = RESHAPE #0 (input %0)
            %1 "y": s8[1, 2] (scale 1.0, zero 2) = FULLY_CONNECTED #2 (input %3, filter %2)
            """,
            """
            %1 "y": s8[1, 2] (scale 1.0, zero 2) = FULLY_CONNECTED #2 (input %0, filter %2)
            """,
        ),
        (
            """
            %3 "same": s8[1, 24] (scale 0.5, zero 3) = RESHAPE #0 (input %0)
            %1 "y": s8[1, 24] (scale 0.5, zero 3) = RELU #2 (input %3)
            """,
            """
            %1 "y": s8[1, 24] (scale 0.5, zero 3) = RELU #2 (input %0)
            """,
        ),
        (
            """
            %3 "there": s8[4, 6] (scale 0.5, zero 3) = RESHAPE #0 (input %0)
            %4 "and back": s8[1, 24] (scale 0.5, zero 3) = RESHAPE #1 (input %3)
            %1 "y": s8[1, 24] (scale 0.5, zero 3) = RELU #2 (input %4)
            """,
            """
            %1 "y": s8[1, 24] (scale 0.5, zero 3) = RELU #2 (input %0)
            """,
        ),
        (
            """
            %3 "there": s8[4, 6] (scale 0.5, zero 3) = RESHAPE #0 (input %0)
            %1 "y": s8[2, 12] (scale 0.5, zero 3) = RESHAPE #2 (input %3)
            """,
            """
            %1 "y": s8[2, 12] (scale 0.5, zero 3) = RESHAPE #2 (input %0)
            """,
        ),
        (
            """
            %3 "positive": s8[1, 24] (scale 0.5, zero 3) = RELU #0 (input %0)
            %1 "y": s8[2, 12] (scale 0.5, zero 3) = RESHAPE #2 (input %3)
            """,
            """
            %1 "y": s8[2, 12] (scale 0.5, zero 3) = RELU #0 (input %0)
            """,
        ),
        (
            """
            %3 "sums": s8[1, 2] (scale 1.0, zero 2) = FULLY_CONNECTED #0 (input %0, filter %2)
            %4 "wide sums": s8[1, 1, 1, 2] (scale 1.0, zero 2) = RESHAPE #1 (input %3)
            %5 "wide": s8[1, 1, 1, 2] (scale 0.00390625, zero -128) = SOFTMAX #2 (input %4)
            %1 "y": s8[1, 2] (scale 0.00390625, zero -128) = RESHAPE #3 (input %5)
            """,
            """
            %3 "sums": s8[1, 2] (scale 1.0, zero 2) = FULLY_CONNECTED #0 (input %0, filter %2)
            %1 "y": s8[1, 2] (scale 0.00390625, zero -128) = SOFTMAX #2 (input %3)
            """,
        ),
    ],
    ids=["input", "same shape", "there and back", "output", "table", "softmax"],
)
def test_reshape_vanishes_where_nobody_looks_at_shapes(before: str, after: str) -> None:
    """Readers take other rows, or the producer writes the new shape; what only an output asks for stays."""
    net = f"""
    graph "net" from "text" (%0) -> (%1) {{
      %0 "x": s8[1, 24] (scale 0.5, zero 3)
      %2 "matrix": s8[2, 24] (scale 0.125, zero 0) = {[1, -2, 3, 4] * 12}
    """
    assert_rewrites(f"{net}{before}}}", f"{net}{after}}}", NAME)


def test_reshape_between_two_fully_connected_layers_vanishes() -> None:
    """Both take one row of six elements."""
    before = """
    graph "net" from "text" (%0) -> (%5) {
      %0 "x": s8[1, 2] (scale 0.5, zero 3)
      %1 "matrix": s8[6, 2] (scale 0.125, zero 0) = [1, -2, 3, 4, -5, 6, -7, 8, 9, 10, -11, 12]
      %2 "other": s8[2, 6] (scale 0.125, zero 0) = [1, -2, 3, 4, -5, 6, -7, 8, 9, 10, -11, 12]
      %3 "sums": s8[1, 6] (scale 1.0, zero 2) = FULLY_CONNECTED #0 (input %0, filter %1)
      %4 "split": s8[1, 2, 3] (scale 1.0, zero 2) = RESHAPE #1 (input %3)
      %5 "y": s8[1, 2] (scale 2.0, zero 2) = FULLY_CONNECTED #2 (input %4, filter %2)
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%5) {
      %0 "x": s8[1, 2] (scale 0.5, zero 3)
      %1 "matrix": s8[6, 2] (scale 0.125, zero 0) = [1, -2, 3, 4, -5, 6, -7, 8, 9, 10, -11, 12]
      %2 "other": s8[2, 6] (scale 0.125, zero 0) = [1, -2, 3, 4, -5, 6, -7, 8, 9, 10, -11, 12]
      %3 "sums": s8[1, 6] (scale 1.0, zero 2) = FULLY_CONNECTED #0 (input %0, filter %1)
      %5 "y": s8[1, 2] (scale 2.0, zero 2) = FULLY_CONNECTED #2 (input %3, filter %2)
    }
    """
    assert_rewrites(before, after, NAME)


def test_reshape_of_a_mean_is_its_own_matter() -> None:
    """MEAN can keep the axes that it reduces, and can drop them."""
    before = """
    graph "net" from "text" (%0) -> (%3) {
      %0 "x": s8[1, 2, 3, 2] (scale 0.5, zero 3)
      %1 "axes": s32[2] = [1, 2]
      %2 "means": s8[1, 2] (scale 0.25, zero 1) = MEAN #0 (input %0, axes %1)
      %3 "y": s8[1, 1, 1, 2] (scale 0.25, zero 1) = RESHAPE #1 (input %2)
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%3) {
      %0 "x": s8[1, 2, 3, 2] (scale 0.5, zero 3)
      %1 "axes": s32[2] = [1, 2]
      %3 "y": s8[1, 1, 1, 2] (scale 0.25, zero 1) = MEAN #0 (input %0, axes %1) {keep_dims true}
    }
    """
    assert_rewrites(before, after, NAME)


@pytest.mark.parametrize(
    ("ends", "lines"),
    [
        (
            "(%0) -> (%4)",
            """
            %0 "x": s8[1, 12] (scale 0.5, zero 3)
            %3 "image": s8[1, 2, 3, 2] (scale 0.5, zero 3) = RESHAPE #0 (input %0)
            %4 "y": s8[1, 2, 3, 1] (scale 1.0, zero -7) = CONV_2D #1 (input %3, filter %1)
            """,
        ),
        (
            "(%0) -> (%4)",
            """
            %0 "x": s8[1, 3, 2, 2] (scale 0.5, zero 3)
            %3 "turned": s8[1, 2, 3, 2] (scale 0.5, zero 3) = RESHAPE #0 (input %0)
            %4 "y": s8[1, 2, 3, 1] (scale 1.0, zero -7) = CONV_2D #1 (input %3, filter %1)
            """,
        ),
        (
            "(%0) -> (%3)",
            """
            %0 "x": s8[1, 2, 6] (scale 0.5, zero 3)
            %3 "y": s8[1, 6, 2] (scale 0.5, zero 3) = RESHAPE #0 (input %0)
            """,
        ),
        (
            "(%0) -> (%4)",
            """
            %0 "x": s8[1, 2, 6] (scale 0.5, zero 3)
            %3 "short": s8[1, 4, 3] (scale 0.5, zero 3) = RESHAPE #0 (input %0)
            %4 "y": s8[1, 4, 3] (scale 0.00390625, zero -128) = SOFTMAX #1 (input %3)
            """,
        ),
        (
            "(%0) -> (%3, %4)",
            """
            %0 "x": s8[1, 1, 1, 4] (scale 0.5, zero 3)
            %3 "flat": s8[1, 4] (scale 0.5, zero 3) = RESHAPE #0 (input %0)
            %4 "y": s8[1, 6] (scale 1.0, zero 2) = FULLY_CONNECTED #1 (input %3, filter %2)
            """,
        ),
        (
            "(%0) -> (%4)",
            """
            %0 "x": s8[1, 4] (scale 0.5, zero 3)
            %3 "sums": s8[1, 6] (scale 1.0, zero 2) = FULLY_CONNECTED #0 (input %0, filter %2)
            %4 "y": s8[1, 2, 1, 3] (scale 1.0, zero 2) = RESHAPE #1 (input %3)
            """,
        ),
    ],
    ids=["rank", "image", "ends", "other vectors", "seen", "other rows"],
)
def test_reshape_that_means_something_stays(ends: str, lines: str) -> None:
    """Windows and vectors look at shapes, and so does whoever uses the model."""
    net = f"""
    graph "net" from "text" {ends} {{
      %1 "filter": s8[1, 1, 1, 2] (scale 0.25, zero 0) = [5, -6]
      %2 "matrix": s8[6, 4] (scale 0.125, zero 0) = {[1, -2, 3, 4, -5, 6] * 4}
      {lines}
    }}
    """
    assert_stays(net, NAME)
