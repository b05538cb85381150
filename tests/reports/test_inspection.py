"""Attributes are said briefly."""

import pytest

from kibi.ir import Operator
from kibi.ops import Activation, AveragePool2D, Conv2D, Padding, Softmax
from kibi.reports.inspection import describe_attributes


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (Conv2D(padding=Padding.SAME, activation=Activation.RELU6), "SAME, RELU6"),
        (Conv2D(stride=(2, 2), dilation=(1, 3)), "stride 2, VALID, dilation 1x3"),
        (AveragePool2D(kernel=(25, 5), stride=(1, 1), padding=Padding.VALID), "kernel 25x5, VALID"),
        (Softmax(), ""),
        (Softmax(beta=0.5), "beta 0.5"),
    ],
)
def test_describe_attributes_leaves_out_what_does_nothing(operator: Operator, expected: str) -> None:
    """Strides and dilations of one, no activation."""
    assert describe_attributes(operator) == expected
