"""How often kernels read their constants in a row: what the price of less scratch is counted in."""

import pytest

from kibi.selection import Goal, select, times_read
from kibi.targets import target
from tests.ops.comparison import graph_of
from tests.ops.convolutions import Geometry, convolution


@pytest.mark.parametrize(
    ("processor", "kernel", "times"),
    [
        ("cortex-m4", "kibi_conv2d_s8_columns", 4),
        ("cortex-m55", "kibi_conv2d_s8_vectors", 4),
        ("rv32imc", "kibi_conv2d_s8_halves", 2),
    ],
)
def test_constants_are_read_once_for_each_block(processor: str, kernel: str, times: int) -> None:
    """A row of ten pixels is computed in blocks of up to three or six pixels, each of which reads all constants."""
    model = graph_of(convolution(Geometry(8, 8, size=(4, 10))))
    call = select(model, target(processor), Goal.BALANCED).calls[0]
    assert call.kernel == kernel
    assert times_read(call) == times
