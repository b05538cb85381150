"""Activations inside the operators that make what they clamp."""

import pytest

from tests.passes.comparison import assert_rewrites, assert_stays

NAME = "activation-into-producer"


@pytest.mark.parametrize(
    ("quantization", "own", "activation", "fused"),
    [
        ("scale 0.0625, zero 4", "", "RELU", "{activation RELU}"),
        ("scale 0.0625, zero 4", "", "RELU6", "{activation RELU6}"),
        ("scale 0.0625, zero 4", "{activation RELU}", "RELU6", "{activation RELU6}"),
        ("scale 0.0625, zero 4", "{activation RELU6}", "RELU", "{activation RELU6}"),
        ("scale 0.0625, zero -128", "", "RELU", ""),
        ("scale 0.015625, zero -128", "", "RELU6", ""),
    ],
    ids=["relu", "relu6", "relu then relu6", "relu6 then relu", "nothing to clamp", "six outside"],
)
def test_activation_of_a_convolution_is_fused(quantization: str, own: str, activation: str, fused: str) -> None:
    """The convolution gets the plainest activation that gives the same, and makes the activation's output."""
    before = f"""
    graph "net" from "text" (%0) -> (%3) {{
      %0 "x": s8[1, 2, 2, 1] (scale 0.5, zero 3)
      %1 "filter": s8[2, 1, 1, 1] (scale 0.125, zero 0) = [127, -70]
      %2 "sums": s8[1, 2, 2, 2] ({quantization}) = CONV_2D #0 (input %0, filter %1) {own}
      %3 "clamped": s8[1, 2, 2, 2] ({quantization}) = {activation} #1 (input %2)
    }}
    """
    after = f"""
    graph "net" from "text" (%0) -> (%3) {{
      %0 "x": s8[1, 2, 2, 1] (scale 0.5, zero 3)
      %1 "filter": s8[2, 1, 1, 1] (scale 0.125, zero 0) = [127, -70]
      %3 "clamped": s8[1, 2, 2, 2] ({quantization}) = CONV_2D #0 (input %0, filter %1) {fused}
    }}
    """
    assert_rewrites(before, after, NAME)


@pytest.mark.parametrize(
    ("quantization", "activation"),
    [("scale 0.0625, zero 4", "RELU6"), ("scale 0.0625, zero 127", "RELU")],
    ids=["in the middle", "at the end"],
)
def test_activations_in_a_row_become_one(quantization: str, activation: str) -> None:
    """The convolution gets what all of them do together: where 0 is the largest number, 6 clamps nothing."""
    before = f"""
    graph "net" from "text" (%0) -> (%5) {{
      %0 "x": s8[1, 2, 2, 1] (scale 0.5, zero 3)
      %1 "filter": s8[2, 1, 1, 1] (scale 0.125, zero 0) = [127, -70]
      %2 "sums": s8[1, 2, 2, 2] ({quantization}) = CONV_2D #0 (input %0, filter %1)
      %3 "once": s8[1, 2, 2, 2] ({quantization}) = RELU #1 (input %2)
      %4 "twice": s8[1, 2, 2, 2] ({quantization}) = RELU6 #2 (input %3)
      %5 "thrice": s8[1, 2, 2, 2] ({quantization}) = RELU #3 (input %4)
    }}
    """
    after = f"""
    graph "net" from "text" (%0) -> (%5) {{
      %0 "x": s8[1, 2, 2, 1] (scale 0.5, zero 3)
      %1 "filter": s8[2, 1, 1, 1] (scale 0.125, zero 0) = [127, -70]
      %5 "thrice": s8[1, 2, 2, 2] ({quantization}) = CONV_2D #0 (input %0, filter %1) {{activation {activation}}}
    }}
    """
    assert_rewrites(before, after, NAME)


@pytest.mark.parametrize(
    ("shape", "alone", "fused"),
    [
        ("[1, 2, 2, 2]", "ADD #0 (input1 %0, input2 %0)", "ADD #0 (input1 %0, input2 %0) {activation RELU}"),
        ("[1, 2, 2, 2]", "MUL #0 (input1 %0, input2 %0)", "MUL #0 (input1 %0, input2 %0) {activation RELU}"),
        (
            "[1, 1, 1, 2]",
            "MAX_POOL_2D #0 (input %0) {kernel [2, 2]}",
            "MAX_POOL_2D #0 (input %0) {kernel [2, 2], activation RELU}",
        ),
        (
            "[1, 1, 1, 2]",
            "AVERAGE_POOL_2D #0 (input %0) {kernel [2, 2]}",
            "AVERAGE_POOL_2D #0 (input %0) {kernel [2, 2], activation RELU}",
        ),
        (
            "[1, 1, 1, 2]",
            "DEPTHWISE_CONV_2D #0 (input %0, filter %1)",
            "DEPTHWISE_CONV_2D #0 (input %0, filter %1) {activation RELU}",
        ),
        (
            "[1, 1]",
            "FULLY_CONNECTED #0 (input %0, filter %2)",
            "FULLY_CONNECTED #0 (input %0, filter %2) {activation RELU}",
        ),
    ],
    ids=["ADD", "MUL", "MAX_POOL_2D", "AVERAGE_POOL_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"],
)
def test_activation_of_any_operator_that_clamps_is_fused(shape: str, alone: str, fused: str) -> None:
    """Whatever clamps in the end may clamp to less."""
    net = """
    graph "net" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 2, 2, 2] (scale 0.0625, zero 4)
      %1 "window": s8[1, 2, 2, 2] (scale 0.125, zero 0) = [1, 2, -3, 4, 5, -6, -7, 8]
      %2 "matrix": s8[1, 8] (scale 0.125, zero 0) = [1, 2, -3, 4, 5, -6, -7, 8]
    """
    before = f"""{net}
      %3 "made": s8{shape} (scale 0.0625, zero 4) = {alone}
      %4 "clamped": s8{shape} (scale 0.0625, zero 4) = RELU #1 (input %3)
    }}
    """
    after = f"""{net}
      %4 "clamped": s8{shape} (scale 0.0625, zero 4) = {fused}
    }}
    """
    assert_rewrites(before, after, NAME)


def test_addition_that_merely_clamps_is_fused() -> None:
    """An ADD of zeros with RELU is a RELU."""
    before = """
    graph "net" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.5, zero 3)
      %1 "filter": s8[2, 1, 1, 1] (scale 0.125, zero 0) = [127, -70]
      %2 "zeros": s8[2] (scale 0.0625, zero 9) = [9, 9]
      %3 "sums": s8[1, 2, 2, 2] (scale 0.0625, zero 4) = CONV_2D #0 (input %0, filter %1)
      %4 "clamped": s8[1, 2, 2, 2] (scale 0.0625, zero 4) = ADD #1 (input1 %3, input2 %2) {activation RELU}
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.5, zero 3)
      %1 "filter": s8[2, 1, 1, 1] (scale 0.125, zero 0) = [127, -70]
      %4 "clamped": s8[1, 2, 2, 2] (scale 0.0625, zero 4) = CONV_2D #0 (input %0, filter %1) {activation RELU}
    }
    """
    assert_rewrites(before, after, NAME)


@pytest.mark.parametrize(
    ("own", "quantization", "activation"),
    [
        ("", "scale 0.03125, zero 4", "RELU"),
        ("", "scale 0.06251, zero 4", "RELU"),
        ("", "scale 0.0625, zero 5", "RELU"),
        ("{activation RELU_N1_TO_1}", "scale 0.0625, zero 4", "RELU"),
        ("", "scale 0.00390625, zero -128", "LOGISTIC"),
    ],
    ids=["scale", "hardly another scale", "zero point", "no such clamp", "no clamp"],
)
def test_activation_that_no_clamp_of_the_producer_equals_stays(own: str, quantization: str, activation: str) -> None:
    """Another scale rounds, in the convolution if not in the activation, and no activation clamps to 0 and 1."""
    net = f"""
    graph "net" from "text" (%0) -> (%3) {{
      %0 "x": s8[1, 2, 2, 1] (scale 0.5, zero 3)
      %1 "filter": s8[2, 1, 1, 1] (scale 0.125, zero 0) = [127, -70]
      %2 "sums": s8[1, 2, 2, 2] (scale 0.0625, zero 4) = CONV_2D #0 (input %0, filter %1) {own}
      %3 "clamped": s8[1, 2, 2, 2] ({quantization}) = {activation} #1 (input %2)
    }}
    """
    assert_stays(net, NAME)


@pytest.mark.parametrize(
    ("outputs", "lines"),
    [
        ("(%2)", '%2 "clamped": s8[1, 2, 2, 2] (scale 0.0625, zero 4) = RELU #0 (input %0)'),
        (
            "(%3)",
            """
            %2 "padded": s8[1, 3, 2, 2] (scale 0.0625, zero 4) = PAD #0 (input %0, paddings %1)
            %3 "clamped": s8[1, 3, 2, 2] (scale 0.0625, zero 4) = RELU #1 (input %2)
            """,
        ),
        (
            "(%4)",
            """
            %2 "double": s8[1, 2, 2, 2] (scale 0.0625, zero 4) = ADD #0 (input1 %0, input2 %0)
            %3 "clamped": s8[1, 2, 2, 2] (scale 0.0625, zero 4) = RELU #1 (input %2)
            %4 "y": s8[1, 2, 2, 2] (scale 0.0625, zero 4) = ADD #2 (input1 %3, input2 %2)
            """,
        ),
        (
            "(%2, %3)",
            """
            %2 "double": s8[1, 2, 2, 2] (scale 0.0625, zero 4) = ADD #0 (input1 %0, input2 %0)
            %3 "clamped": s8[1, 2, 2, 2] (scale 0.0625, zero 4) = RELU #1 (input %2)
            """,
        ),
    ],
    ids=["input", "no clamp", "read twice", "seen"],
)
def test_activation_without_a_producer_of_its_own_stays(outputs: str, lines: str) -> None:
    """Nothing makes an input, a PAD does not clamp, and somebody may want what is not clamped."""
    net = f"""
    graph "net" from "text" (%0) -> {outputs} {{
      %0 "x": s8[1, 2, 2, 2] (scale 0.0625, zero 4)
      %1 "border": s32[4, 2] = [0, 0, 1, 0, 0, 0, 0, 0]
      {lines}
    }}
    """
    assert_stays(net, NAME)
