"""Operators that give back what they are given."""

import numpy as np
import pytest

from tests.passes.comparison import alone, names_of
from tests.passes.networks import Chain
from tests.support.operator_models import Case

NAME = "identity"


def _net(zero_point: int = 4) -> Chain:
    return Chain((1, 4, 8, 8), (0.05, zero_point)).same("RELU6")


def _with(name: str, constant: tuple[float, int], *elements: int, activation: str = "NONE") -> Chain:
    """An operator on the last tensor and a constant for each channel."""
    net = _net()
    other = net.builder.constant(np.resize(np.array(elements, np.int8), 8), *constant)
    return net.then(name, net.last.shape, None, other, fused_activation_function=activation)


@pytest.mark.parametrize(
    "case",
    [
        _with("ADD", (0.05, 0), 0).case(),
        _with("ADD", (0.02, -7), -7).case(),
        _with("MUL", (1.0, 0), 1).case(),
        _with("MUL", (0.5, 3), 5).case(),
        _net().pad((0, 0), (0, 0), (0, 0), (0, 0)).case(),
        _net().pool("MAX_POOL_2D", (1, 1)).case(),
        _net().pool("AVERAGE_POOL_2D", (1, 1), "SAME").case(),
        _net(-128).same("RELU").case(),
    ],
    ids=["add 0", "add zero points", "times 1", "times 2 halves", "pad", "max", "average", "relu"],
)
def test_operator_that_changes_nothing_vanishes(case: Case) -> None:
    """Its producer makes the model's output."""
    assert names_of(alone(case, NAME)) == ["RELU6"]


@pytest.mark.parametrize(
    "case",
    [
        _with("ADD", (0.05, 0), 0, 0, 1).case(),
        _with("ADD", (0.05, -2), 0).case(),
        _with("MUL", (1.0, 0), 1, 2).case(),
        _with("ADD", (0.05, 0), 0, activation="RELU").case(),
        _net().pool("MAX_POOL_2D", (1, 1), stride=2).case(),
        _net().pool("MAX_POOL_2D", (1, 1), activation="RELU").case(),
        _net().pad((0, 0), (0, 1), (0, 0), (0, 0)).case(),
    ],
    ids=["one channel", "twos", "times 2", "relu", "every second", "clamps", "pads"],
)
def test_operator_that_changes_something_stays(case: Case) -> None:
    """A zero that is no zero point is a number; one channel is enough, and so is a clamp."""
    assert alone(case, NAME).changes == ()
