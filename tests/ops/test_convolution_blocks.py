"""Which blocks a layer is computed in, and the scratch that plans keep for them."""

from dataclasses import replace

import pytest

from kibi.ops.windows.convolution_blocks import (
    block_pixels,
    blocks_scratch_bytes,
    partitions,
    shared_columns,
    shares_columns,
    tiles_of_block,
)
from kibi.ops.windows.window import Window

_LAYER = Window(
    batches=1, input_rows=8, input_width=8, channels=64, output_rows=8, output_width=8, kernel_rows=3, kernel_width=3,
    stride_rows=1, stride_width=1, dilation_rows=1, dilation_width=1, pad_rows=1, pad_width=1, is_swapped=False,
)  # fmt: skip


def _sized(channels: int, width: int) -> Window:
    return replace(_LAYER, channels=channels, input_width=width, output_width=width)


@pytest.mark.parametrize(
    ("channels", "width", "scratch", "roomy"),
    [
        (16, 32, 3 * 5 * 16 * 2, 4 * 4 * 3 * 16 * 2),
        (32, 16, 3 * 5 * 32 * 2, 4 * 4 * 3 * 32 * 2),
        # Half a kernel row at once, sums of half of the channels, and outputs of the other half.
        (64, 8, 6 * 32 * 2 + 32 * 16 + 32 * 4, 4 * 4 * 3 * 64 * 2),
        (64, 7, 6 * 32 * 2 + 32 * 16 + 32 * 4, 4 * 4 * 3 * 64 * 2),
        (8, 2, 3 * 4 * 8 * 2, 3 * 4 * 8 * 2),  # one tile makes no block of tiles
        (8, 1, 0, 0),
        (6, 5, 3 * 54 * 3 + 3 * 6, 3 * 54 * 3 + 3 * 6),  # gathered, and rounded up to whole fours
    ],
)
def test_scratch_is_what_the_fastest_blocks_take_that_are_small(
    channels: int, width: int, scratch: int, roomy: int
) -> None:
    """Columns of a block, or part of them with sums; and the planes of tiles, where there is room."""
    assert blocks_scratch_bytes(_sized(channels, width), channels, channels) == (scratch, roomy)


@pytest.mark.parametrize(
    ("room", "pixels"),
    [(0, 0), (2 * 1200 * 2 - 1, 0), (2 * 1200 * 2, 2), (3 * 1200 * 2, 2), (1 << 20, 2)],
)
def test_windows_of_any_size_are_computed_in_blocks_where_there_is_room(room: int, pixels: int) -> None:
    """More than usual is taken only where it is a small part; never more than is of use."""
    window = replace(_LAYER, channels=48, kernel_rows=5, kernel_width=5)
    assert blocks_scratch_bytes(window, 48, 48, room_bytes=room)[0] == pixels * 1200 * 2


def test_small_windows_get_the_fastest_blocks_where_there_is_room() -> None:
    """Four pixels in place of three."""
    window = replace(_LAYER, channels=336, kernel_rows=1, kernel_width=1)
    found = [blocks_scratch_bytes(window, 336, 64, room_bytes=room)[0] for room in (0, 2687, 2688)]
    assert found == [3 * 336 * 2, 3 * 336 * 2, 4 * 336 * 2]


def test_large_windows_are_computed_in_parts_before_pixels_are_given_up() -> None:
    """Whole windows of three pixels, then parts of four, three and two, of fewer and fewer channels; at the end there is no way."""
    limits = (1920, 1919, 1791, 1023, 831, 655, 543)
    fitting = [shared_columns(8, 3, (64, 64), most_bytes=most) for most in limits]
    found = [
        (way.pixels, way.channels_at_once, way.outputs_at_once, way.scratch_bytes) if way else None for way in fitting
    ]
    assert found == [
        (3, 64, 64, 1920), (4, 64, 64, 1792), (4, 64, 32, 1408), (4, 32, 22, 904), (3, 32, 32, 800), (2, 32, 22, 604), None,
    ]  # fmt: skip


def test_an_odd_number_of_channels_is_computed_at_once() -> None:
    """Its last channel has no neighbour: there are no parts of such channels."""
    found = [shared_columns(8, 3, (64, outputs), most_bytes=1000) for outputs in (40, 41)]
    assert [way.outputs_at_once if way else 0 for way in found] == [20, 41]


def test_blocks_and_tiles_need_their_scratch_to_the_byte() -> None:
    """One byte less gives fewer pixels, or none."""
    assert [block_pixels(6, 16, is_whole=True, most_bytes=most) for most in (96, 95, 64, 63)] == [3, 2, 2, 0]
    assert [tiles_of_block(12, 3, 16, most_bytes=most) for most in (1152, 1151, 768, 767)] == [3, 2, 2, 0]


@pytest.mark.parametrize(
    "change",
    [
        {"stride_width": 3}, {"stride_width": 2, "output_width": 10}, {"stride_width": 2, "output_width": 4},
        {"stride_width": 2, "channels": 16}, {"dilation_width": 2}, {"kernel_width": 4}, {"channels": 30},
    ],
)  # fmt: skip
def test_other_kernels_share_no_columns(change: dict[str, int]) -> None:
    """Only windows three wide, of whole fours of channels, share columns; two apart only large ones, in rows of several fours."""
    assert shares_columns(_LAYER, 64)
    assert shares_columns(replace(_LAYER, stride_width=2), 64)
    assert not shares_columns(replace(_LAYER, **change), change.get("channels", 64))  # type: ignore[arg-type]


def test_a_group_is_not_computed_in_blocks() -> None:
    """Where a group has some of the channels, no scratch is asked for."""
    assert blocks_scratch_bytes(_LAYER, 32, 64) == (0, 0)
    assert not shares_columns(_LAYER, 32)


@pytest.mark.parametrize("width", range(1, 30))
def test_every_partition_is_of_the_whole_row(width: int) -> None:
    """Blocks follow one another without gap, whatever they are made for."""
    for sizes in partitions(_sized(16, width)):
        assert sum(sizes) == width
        assert all(0 < size <= 8 for size in sizes)
