"""Activations inside the operators in front of them."""

import numpy as np
import pytest

from kibi.ops import Activation
from kibi.passes import Simplified
from tests.passes.comparison import alone
from tests.passes.networks import Chain, Scale
from tests.support.operator_models import Case

NAME = "activation-into-producer"
HERE: Scale = (0.05, 4)


def _activation(simplified: Simplified) -> Activation:
    (node,) = simplified.graph.nodes
    found = getattr(node.op, "activation", None)
    assert isinstance(found, Activation)
    return found


def _conv(activation: str = "NONE", scale: Scale = HERE) -> Chain:
    return Chain((1, 4, 5, 3)).conv(4, (1, 1), activation=activation, scale=scale)


@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        (_conv().same("RELU").case(), Activation.RELU),
        (_conv().same("RELU6").case(), Activation.RELU6),
        (_conv("RELU").same("RELU6").case(), Activation.RELU6),
        (_conv("RELU6").same("RELU").case(), Activation.RELU6),
        (_conv().same("RELU").same("RELU6").same("RELU").case(), Activation.RELU6),
        (_conv(scale=(0.05, -128)).same("RELU").case(), Activation.NONE),
        (_conv(scale=(0.01, -128)).same("RELU6").case(), Activation.NONE),
        (_conv(scale=(0.05, 127)).same("RELU").same("RELU6").case(), Activation.RELU),
    ],
    ids=[
        "relu",
        "relu6",
        "relu then relu6",
        "relu6 then relu",
        "three",
        "nothing to clamp",
        "six outside",
        "at the end",
    ],
)
def test_activation_behind_a_convolution_is_fused(case: Case, wanted: Activation) -> None:
    """One activation stands for all that follow, the plainest that gives the same."""
    assert _activation(alone(case, NAME)) is wanted


@pytest.mark.parametrize(
    "name", ["ADD", "MUL", "MAX_POOL_2D", "AVERAGE_POOL_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"]
)
def test_activation_behind_any_operator_that_clamps_is_fused(name: str) -> None:
    """Whatever clamps in the end may clamp to less."""
    net = Chain((1, 4, 4, 3), HERE)
    if name in ("ADD", "MUL"):
        net.then(name, net.last.shape, HERE, net.last.index)
    elif name == "DEPTHWISE_CONV_2D":
        net.depthwise((2, 2))
    elif name == "FULLY_CONNECTED":
        net.connected(5, 48)
    else:
        net.pool(name, (2, 2))
    assert _activation(alone(net.same("RELU").case(), NAME)) is Activation.RELU


def test_addition_that_merely_clamps_is_fused() -> None:
    """An ADD of zeros with RELU is a RELU."""
    net = _conv()
    zeros = net.builder.constant(np.full((4,), 9, np.int8), 0.05, 9)
    net.then("ADD", net.last.shape, None, zeros, fused_activation_function="RELU")
    assert _activation(alone(net.case(), NAME)) is Activation.RELU


def _read_twice() -> Case:
    net = _conv()
    before = net.last.index
    return net.same("RELU").then("ADD", net.last.shape, None, before).case()


def _seen() -> Case:
    net = _conv()
    before = net.last.index
    return net.same("RELU").case(before, net.last.index)


@pytest.mark.parametrize(
    "case",
    [
        _conv().same("RELU", (0.04, 4)).case(),
        _conv().same("RELU", (0.05, 5)).case(),
        _conv("RELU_N1_TO_1").same("RELU").case(),
        _conv().same("LOGISTIC", (1 / 256, -128)).case(),
        Chain((1, 4, 4, 3)).pad((0, 0), (1, 1), (0, 0), (0, 0)).same("RELU").case(),
        Chain((1, 4, 4, 3)).same("RELU").case(),
        _read_twice(),
        _seen(),
    ],
    ids=["scale", "zero point", "no such clamp", "no clamp", "no producer", "input", "read twice", "seen"],
)
def test_activation_that_cannot_be_fused_stays(case: Case) -> None:
    """Another scale rounds; no activation clamps to 0 and 1; somebody may want what is not clamped."""
    assert alone(case, NAME).changes == ()
