"""Operators that move elements, where none has to go anywhere."""

import pytest

from tests.passes.comparison import alone, assert_rewrites, assert_stays
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS

NAME = "moves-nothing"


@pytest.mark.parametrize(
    ("x", "y", "constants", "operator"),
    [
        ("[1, 2, 3, 4]", "[1, 2, 3, 4]", "", "CONCATENATION #0 (input0 %0) {axis 3}"),
        ("[2, 3]", "[2, 1, 3]", "", "PACK #0 (input0 %0) {axis 1}"),
        (
            "[1, 2, 3]",
            "[1, 2, 3]",
            """
            %2 "begin": s32[3] = [0, 0, 0]
            %3 "size": s32[3] = [1, -1, 3]
            """,
            "SLICE #0 (input %0, begin %2, size %3)",
        ),
        (
            "[1, 2, 3]",
            "[2, 3]",
            """
            %2 "begin": s32[3] = [0, 0, 0]
            %3 "end": s32[3] = [1, 2, 3]
            %4 "strides": s32[3] = [1, 1, 1]
            """,
            "STRIDED_SLICE #0 (input %0, begin %2, end %3, strides %4) {shrink_axis_mask 1}",
        ),
        (
            "[1, 2, 3]",
            "[1, 2, 3]",
            """
            %2 "begin": s32[3] = [0, 0, 0]
            %3 "end": s32[3] = [1, 2, 3]
            %4 "strides": s32[3] = [-1, 1, 1]
            """,
            "STRIDED_SLICE #0 (input %0, begin %2, end %3, strides %4) {begin_mask 1, end_mask 1}",
        ),
        (
            "[1, 4, 1, 3]",
            "[4, 1, 3, 1]",
            '%2 "perm": s32[4] = [1, 0, 3, 2]',
            "TRANSPOSE #0 (input %0, perm %2)",
        ),
        ("[1, 4, 1]", "[4]", "", "SQUEEZE #0 (input %0)"),
        ("[4, 3]", "[4, 1, 3]", '%2 "axis": s32[1] = [1]', "EXPAND_DIMS #0 (input %0, axis %2)"),
        ("[1, 4]", "[4]", "", "UNPACK #0 (input %0)"),
    ],
    ids=[
        "CONCATENATION",
        "PACK",
        "SLICE",
        "STRIDED_SLICE, shorter",
        "STRIDED_SLICE, backwards over one",
        "TRANSPOSE",
        "SQUEEZE",
        "EXPAND_DIMS",
        "UNPACK",
    ],
)
def test_operator_that_moves_nothing_becomes_a_reshape(x: str, y: str, constants: str, operator: str) -> None:
    """The RESHAPE reads the input alone."""
    before = f"""
    graph "net" from "text" (%0) -> (%1) {{
      %0 "x": s8{x} (scale 0.5, zero 0)
      {constants}
      %1 "y": s8{y} (scale 0.5, zero 0) = {operator}
    }}
    """
    after = f"""
    graph "net" from "text" (%0) -> (%1) {{
      %0 "x": s8{x} (scale 0.5, zero 0)
      %1 "y": s8{y} (scale 0.5, zero 0) = RESHAPE #0 (input %0)
    }}
    """
    assert_rewrites(before, after, NAME)


@pytest.mark.parametrize(
    ("x", "y", "constants", "operator"),
    [
        (
            "[1, 2, 3]",
            "[1, 1, 3]",
            """
            %2 "begin": s32[3] = [0, 0, 0]
            %3 "size": s32[3] = [1, 1, 3]
            """,
            "SLICE #0 (input %0, begin %2, size %3)",
        ),
        (
            "[1, 2, 3]",
            "[1, 2, 3]",
            """
            %2 "begin": s32[3] = [0, 1, 0]
            %3 "end": s32[3] = [1, -3, 3]
            %4 "strides": s32[3] = [1, -1, 1]
            """,
            "STRIDED_SLICE #0 (input %0, begin %2, end %3, strides %4)",
        ),
        ("[1, 4, 1, 3]", "[1, 3, 1, 4]", '%2 "perm": s32[4] = [0, 3, 2, 1]', "TRANSPOSE #0 (input %0, perm %2)"),
        ("[1, 2]", "[1, 4]", "", "CONCATENATION #0 (input0 %0, input1 %0) {axis 1}"),
    ],
    ids=["SLICE", "STRIDED_SLICE", "TRANSPOSE", "CONCATENATION"],
)
def test_operator_that_moves_something_stays(x: str, y: str, constants: str, operator: str) -> None:
    """Parts, other directions, other orders, copies."""
    net = f"""
    graph "net" from "text" (%0) -> (%1) {{
      %0 "x": s8{x} (scale 0.5, zero 0)
      {constants}
      %1 "y": s8{y} (scale 0.5, zero 0) = {operator}
    }}
    """
    assert_stays(net, NAME)


@pytest.mark.parametrize("name", ["CONCATENATION", "SLICE", "STRIDED_SLICE", "TRANSPOSE", "UNPACK"])
def test_bits_stay_whatever_moves(name: str) -> None:
    """Drawn models before and after the pass give the same."""
    for seed in range(20):
        alone(OPERATOR_MODELS[name](Seeded(seed)), NAME)
