"""RESHAPE between operators that take elements as they lie."""

import numpy as np
import pytest

from tests.passes.comparison import alone, names_of
from tests.passes.networks import Chain
from tests.support.operator_models import Case

NAME = "reshape-to-nothing"


def _image() -> Chain:
    return Chain((1, 6, 5, 4)).conv(32, (3, 3))


def test_reshape_in_front_of_a_fully_connected_layer_lets_it_add_up_row_by_row() -> None:
    """Without it the layer reads the convolution's rows one by one."""
    simplified = alone(_image().reshape(1, 384).connected(3, 384).case(), NAME)
    assert names_of(simplified) == ["CONV_2D", "FULLY_CONNECTED"]
    last = simplified.graph.views[-1]
    assert last.op.accumulates(last)
    assert last.steps == 4


@pytest.mark.parametrize(
    ("case", "left"),
    [
        (_image().reshape(1, 384).reshape(32, 12).connected(3, 12).case(), ["CONV_2D", "FULLY_CONNECTED"]),
        (_image().reshape(1, 32, 12).connected(3, 12, keep=True).case(), ["CONV_2D", "FULLY_CONNECTED"]),
        (Chain((1, 96)).reshape(1, 4, 24).connected(3, 96).case(), ["FULLY_CONNECTED"]),
        (_image().reshape(1, 4, 3, 32).same("RELU").case(), ["CONV_2D", "RELU"]),
        (_image().reshape(4, 4, 24).reshape(1, 4, 3, 32).same("RELU").case(), ["CONV_2D", "RELU"]),
        (_image().reshape(1, 4, 96).reshape(1, 96, 4).case(), ["CONV_2D", "RESHAPE"]),
        (
            Chain((1, 12)).connected(6, 12).reshape(1, 1, 1, 6).softmax().reshape(1, 6).case(),
            ["FULLY_CONNECTED", "SOFTMAX"],
        ),
        (Chain((1, 12)).connected(6, 12).reshape(1, 2, 1, 3).case(), ["FULLY_CONNECTED", "RESHAPE"]),
        (
            Chain((1, 12)).connected(6, 12).reshape(1, 2, 3).connected(3, 6).case(),
            ["FULLY_CONNECTED", "FULLY_CONNECTED"],
        ),
        (Chain((1, 1, 1, 6)).same("RELU").reshape(1, 6).case(), ["RELU"]),
    ],
    ids=[
        "chain",
        "kept axes",
        "input",
        "same shape",
        "there and back",
        "output",
        "softmax",
        "other rows",
        "between",
        "table",
    ],
)
def test_reshape_goes_where_nobody_looks_at_shapes(case: Case, left: list[str]) -> None:
    """Readers take other rows, or the producer writes the new shape; what only an output asks for stays."""
    assert names_of(alone(case, NAME)) == left


def test_reshape_of_a_mean_is_its_own_matter() -> None:
    """MEAN can keep the axes that it reduces, and can drop them."""
    net = Chain((1, 4, 5, 6))
    axes = net.builder.constant(np.array([1, 2], np.int32))
    net.then("MEAN", (1, 6), (0.04, 1), axes, keep_dims=False)
    simplified = alone(net.reshape(1, 1, 1, 6).case(), NAME)
    assert names_of(simplified) == ["MEAN"]
    assert simplified.graph.views[0].output.type.shape == (1, 1, 1, 6)


def _seen() -> Case:
    net = _image().reshape(1, 384)
    flat = net.last.index
    return net.connected(3, 384).case(flat, net.last.index)


def _softmax() -> Case:
    return Chain((1, 2, 6)).reshape(1, 4, 3).softmax().case()


@pytest.mark.parametrize(
    "case",
    [
        Chain((1, 96)).reshape(1, 4, 6, 4).conv(2, (3, 3)).case(),
        Chain((1, 4, 6, 4)).reshape(1, 6, 4, 4).conv(2, (3, 3)).case(),
        Chain((1, 4, 6)).reshape(1, 6, 4).case(),
        _softmax(),
        _seen(),
        Chain((1, 6, 5, 4)).conv(8, (3, 3)).reshape(1, 96).connected(3, 96).case(),
    ],
    ids=["rank", "image", "ends", "other vectors", "seen", "short rows"],
)
def test_reshape_that_means_something_stays(case: Case) -> None:
    """Windows and vectors look at shapes, and so does whoever uses the model; short rows would cost more than they save."""
    assert alone(case, NAME).changes == ()
