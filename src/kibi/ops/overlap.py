"""Distances in place, as `KernelCall.inplace_distance_bytes` says: between an output and an input row that it overwrites.

Kernels write their output from its first byte to its last. Where a row is read from byte `place` on while `written` bytes of the
output have been written, the output must begin at least `written - place` bytes below the row; the largest of these distances
is the least one that is safe, and so is every larger one.
"""

from collections.abc import Iterable, Iterator

from kibi.ir import RowAccess
from kibi.ops.windows.convolution_blocks import partitions
from kibi.ops.windows.window import Window


def least_distance(reads: Iterable[tuple[int, int]]) -> int:
    """The least safe distance; 0 where reading stays ahead of writing.

    Args:
        reads: for each read, where it begins in its row, and how much has been written up to then; in the same unit as the
            result, for instance bytes.
    """
    return max(0, max((written - place for place, written in reads), default=0))


def window_distance(window: Window) -> int:
    """Returns the distance of kernels that write pixels in order, and read each channel right before: poolings, depthwise.

    One byte for each element.
    """
    return window.channels * least_distance((window.first_inside(x), x) for x in range(window.output_width))


def grouped_distance(window: Window, output_channels: int, depth: int) -> int:
    """Returns the distance of convolutions that read a window again for each output channel of its group; in elements.

    Args:
        window: its geometry.
        output_channels: of all groups.
        depth: input channels of each group.
    """
    groups = window.channels // depth
    size = output_channels // groups
    return least_distance(
        (window.first_inside(x) * window.channels + group * depth, x * output_channels + (group + 1) * size - 1)
        for x in range(window.output_width)
        for group in range(groups)
    )


def multiplied_distance(window: Window, output_channels: int) -> int:
    """Returns that of depthwise convolutions that read an input channel right before each of its output channels; in elements.

    The last channels have the most written before them.
    """
    return least_distance(
        ((window.first_inside(x) + 1) * window.channels - 1, (x + 1) * output_channels - 1)
        for x in range(window.output_width)
    )


def convolution_distance(window: Window, output_channels: int, depth: int, *, uses_im2col: bool) -> int:
    """Returns the distance of `kibi_conv2d_s8` and what may replace it, one byte for each element.

    Args:
        window: its geometry.
        output_channels: of all groups.
        depth: input channels of each group.
        uses_im2col: true if windows are copied into scratch before their outputs are written.
    """
    alone = _convolution_reads(window, output_channels, depth, uses_im2col=uses_im2col)
    return least_distance((*alone, *_block_reads(window, output_channels, depth)))


def blockwise_distance(window: Window, output_channels: int, block: int, *, is_read_before: bool) -> int:
    """Returns the distance of convolutions that write some channels of a pixel together, then the next ones; in elements.

    Args:
        window: its geometry.
        output_channels: of the convolution.
        block: the most channels that are written together.
        is_read_before: True if a window is read before its first outputs are written; else it is read again for each block.
    """
    last = 0 if is_read_before else (output_channels - 1) // block * block
    return least_distance(
        (window.first_inside(x) * window.channels, x * output_channels + last) for x in range(window.output_width)
    )


def _block_reads(window: Window, output_channels: int, depth: int) -> Iterator[tuple[int, int]]:
    """The reads where pixels are computed in blocks: their windows are read before any of their channels is written."""
    if depth != window.channels:
        return
    for sizes in partitions(window):
        x = 0
        for size in sizes:
            yield from ((window.first_inside(x + k) * depth, x * output_channels) for k in range(size))
            x += size


def _convolution_reads(
    window: Window, output_channels: int, depth: int, *, uses_im2col: bool
) -> Iterator[tuple[int, int]]:
    """The reads in the kernel's order: of each pixel or pair of pixels, and each group, the last ones."""
    groups = window.channels // depth
    size = output_channels // groups
    x = written = 0
    while x < window.output_width:
        pixels = 2 if x + 1 < window.output_width and (uses_im2col or _pairs(window, x, groups)) else 1
        for group in range(groups):
            places = [window.first_inside(x + k) * window.channels + group * depth for k in range(pixels)]
            # Where it does not gather, windows are read again for each block of channels: by pairs, or by four, then one.
            blocks = _blocks(size, 2 if pixels == 2 else 4)
            end = (x + pixels - 1) * output_channels + group * size
            if not uses_im2col and len(blocks) > 1:
                written = max(written, end + blocks[-1])
            yield from ((place, written) for place in places)
            written = max(written, end + size)
        x += pixels


def _pairs(window: Window, x: int, groups: int) -> bool:
    """True if the kernel computes pixels x and x + 1 together where it does not gather: both windows are inside."""
    start = x * window.stride_width - window.pad_width
    last = window.input_width - window.kernel_width
    return groups == window.dilation_width == 1 and start >= 0 and start + window.stride_width <= last


def _blocks(channels: int, block: int) -> tuple[int, ...]:
    """The first channel of each block, where single channels follow the last whole block."""
    whole = channels - channels % block
    return (*range(0, whole, block), *range(whole, channels))


def pieces_distance(access: RowAccess, steps: int, piece_bytes: int) -> int:
    """Returns the distance of kernels that copy piece after piece, each as if it were read before it is written.

    Args:
        access: the pieces that a step reads, one after another; no step reads one again.
        steps: of the node.
        piece_bytes: of a piece.
    """
    reads = []
    for step in range(steps):
        positions = [position for position in access.positions(step) if position is not None]
        ended = {position // access.parts for position in positions if (position + 1) % access.parts == 0}
        reads += [
            (position % access.parts * piece_bytes, k * piece_bytes)
            for k, position in enumerate(positions)
            if position // access.parts in ended
        ]
    return least_distance(reads)
