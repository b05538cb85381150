"""Convolutions in blocks of neighbouring pixels, whose windows are widened to 16 bits before they are multiplied.

Which layers they are for follows from shapes alone, so that plans, which hold the scratch, do not depend on the core.
"""

from kibi.ops.window import Window

MOST_SCRATCH_BYTES = 2560
"""Of larger windows no block is made: one pixel of 3 x 3 x 128 elements would have the half of it."""
_THREE_PIXELS_BYTES = 2048
"""Up to here blocks have three pixels, though two take less."""


def block_pixels(output_width: int, elements: int, *, is_whole: bool) -> int:
    """Pixels of a block: 3 or 2; 0 for layers that are not computed in blocks.

    Rows fall into blocks of three and two; where blocks of three would take much scratch, even widths fall into twos.

    Args:
        output_width: pixels of an output row.
        elements: of a window.
        is_whole: whether the input's channels are a multiple of four.
    """
    if output_width < 2:
        return 0
    if output_width == 2:
        wanted = 2
    else:
        is_small = block_bytes(3, elements, is_whole=is_whole) <= _THREE_PIXELS_BYTES
        wanted = 3 if is_small or output_width % 2 else 2
    return wanted if block_bytes(wanted, elements, is_whole=is_whole) <= MOST_SCRATCH_BYTES else 0


def block_bytes(pixels: int, elements: int, *, is_whole: bool) -> int:
    """Bytes of scratch: 16 bits for each element of the windows, and 8 more where they are gathered before they are widened.

    Arguments as in `block_pixels`; windows are filled up to whole fours.
    """
    return pixels * (elements + -elements % 4) * (2 if is_whole else 3)


def blocks_scratch_bytes(window: Window, depth: int) -> int:
    """Scratch that blocks take; 0 where there are none.

    Args:
        window: the geometry.
        depth: input channels of each group; only ungrouped convolutions are computed in blocks.
    """
    if depth != window.channels:
        return 0
    elements = window.kernel_rows * window.kernel_width * depth
    is_whole = depth % 4 == 0
    pixels = block_pixels(window.output_width, elements, is_whole=is_whole)
    return block_bytes(pixels, elements, is_whole=is_whole)


def block_sizes(output_width: int, pixels: int) -> tuple[int, ...]:
    """The pixels of each block of a row, in order.

    Args:
        output_width: pixels of an output row.
        pixels: of a block: `block_pixels`.
    """
    sizes = []
    left = output_width
    while left:
        sizes.append(2 if left in (2, 4) else pixels)
        left -= sizes[-1]
    return tuple(sizes)
