"""When CONV_2D copies windows into scratch, and how far below a row its output stays."""

import pytest

from kibi.ir import KernelCall
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.ops.windows.conv2d import Conv2D
from kibi.ops.windows.convolution_blocks import blocks_scratch_bytes
from kibi.selection import Goal
from kibi.selection.convolution_call import blocks_scratch
from tests.ops.comparison import graph_of
from tests.ops.convolutions import GEOMETRIES, Geometry, convolution

_GATHERED = {
    Geometry(1, 20): 2 * 9,
    Geometry(2, 17, kernel=(2, 4), stride=2): 2 * 16,
    Geometry(1, 18, padding="VALID", size=(3, 3)): 9,
    Geometry(6, 9, groups=3): 2 * 18,
}
"""Of the geometries that gather: bytes under two pixels, or under the only one."""


def _call(geometry: Geometry) -> KernelCall:
    (view,) = graph_of(convolution(geometry)).views
    return view.op.kernel_call(view)


@pytest.mark.parametrize("geometry", [geometry for geometry in GEOMETRIES if geometry.groups], ids=str)
def test_conv2d_scratch_holds_two_windows_where_it_gathers(geometry: Geometry) -> None:
    """Two pixels of one group have their windows copied into scratch where they are not read in place; others take none."""
    call = _call(geometry)
    uses_im2col = call.params_as(Conv2DS8Params).uses_im2col
    assert (uses_im2col, call.scratch_bytes) == (int(geometry in _GATHERED), _GATHERED.get(geometry, 0))


@pytest.mark.parametrize("geometry", [geometry for geometry in GEOMETRIES if geometry.groups], ids=str)
def test_scratch_of_blocks_follows_from_the_call(geometry: Geometry) -> None:
    """What a variant may take is what blocks over the layer's windows take."""
    (view,) = graph_of(convolution(geometry)).views
    assert isinstance(view.op, Conv2D)
    window = view.op.window(view)
    few, most = blocks_scratch_bytes(window, window.channels // geometry.groups, geometry.outputs)
    call = view.op.kernel_call(view)
    assert [blocks_scratch(call, goal) for goal in (Goal.FLASH, Goal.BALANCED, Goal.SPEED)] == [few, few, most]


@pytest.mark.parametrize(
    ("geometry", "elements"),
    [
        (Geometry(1, 20), 1),
        (Geometry(4, 4, kernel=(3, 4), size=(4, 12), stride=2), 4),
        (Geometry(4, 4, kernel=(3, 7), size=(4, 12)), 12),
        (Geometry(4, 4, kernel=(3, 7), size=(4, 12), padding="VALID"), 1),  # C knows no empty array
        (Geometry(2, 17, dilation=3), 2),
    ],
)
def test_conv2d_padding_is_as_long_as_what_one_window_leaves_outside(geometry: Geometry, elements: int) -> None:
    """The constant in flash has the columns outside that one window reads as one, and no more."""
    padding = _call(geometry).params_as(Conv2DS8Params).padding
    assert padding.tolist() == [-5] * elements


def test_conv2d_reading_rows_where_they_lie_needs_more_distance_than_gathering() -> None:
    """Equal channels, 3 by 3: gathering needs one column; without, two pixels' outputs come on top, but for the last two."""
    gathered, direct = _call(Geometry(5, 20)), _call(Geometry(20, 20))
    assert gathered.inplace_distance_bytes == (max(2 * k * 20 - max(0, 2 * k - 1) * 5 for k in range(5)),)
    assert direct.inplace_distance_bytes == (20 * 3 - 2,)
