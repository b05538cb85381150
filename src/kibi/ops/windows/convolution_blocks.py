"""Convolutions in blocks of neighbouring pixels, whose windows are widened to 16 bits before they are multiplied.

Which layers they are for, and in which scratch, follows from shapes alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from kibi.ops.windows.window import Window

_FEW_BYTES = 1152
"""Scratch for which blocks get as many pixels as are fast."""
_MOST_BYTES = 2560
"""Scratch above which no block is made where other buffers are small: one pixel of 3 x 3 x 128 elements has the half of it."""
_ROOMY_BYTES = 6144
"""The most scratch that is of use where speed is worth more than RAM."""
_CACHED_BYTES = 224
"""The most bytes of two channels' weights for which blocks are computed side by side: with constants, they fit a cache of 256."""
_SUM_BYTES = 4
_LEAST_AT_ONCE = 32
"""Input channels for which it is worth to load and store sums."""
_LEAST_PAIRS = 8
"""Pairs of output channels for which it is worth to widen columns."""
_THREE, _FOUR = 3, 4
_APART = 2
"""The largest stride across of windows that share columns."""
_TILE = 2
"""Pixels that are computed as one from four columns, where a convolution three wide takes two thirds of the products."""


@dataclass(frozen=True, slots=True)
class SharedColumns:
    """The blocks in which a kernel three columns wide is computed: their pixels share the columns that they read.

    Attributes:
        pixels: of a block, as of `block_pixels`.
        rows_at_once: kernel rows that are multiplied before others are widened: all, or one; then sums are kept.
        channels_at_once: input channels, likewise: all, or, of one row, some.
        outputs_at_once: output channels for which columns are widened once: all, or as many as have room for their sums.
        scratch_bytes: columns, sums that are kept, and outputs of all but the last ones.
        blocks: of four pixels that are computed at once: 1 or 2.
    """

    pixels: int
    rows_at_once: int
    channels_at_once: int
    outputs_at_once: int
    scratch_bytes: int
    blocks: int = 1


def block_pixels(output_width: int, elements: int, *, is_whole: bool, most_bytes: int = _MOST_BYTES) -> int:
    """Pixels of the largest block: 4, 3 or 2; 0 for layers that are not computed in blocks, or not in so little scratch.

    Rows fall into blocks of four, three and two; where these would take too much scratch, into smaller ones.

    Args:
        output_width: pixels of an output row.
        elements: of a window.
        is_whole: true if the input's channels are a multiple of four.
        most_bytes: of scratch.
    """
    sizes = _sizes_up_to_four(output_width)
    fitting = (each for each in sizes if block_bytes(each, elements, is_whole=is_whole) <= most_bytes)
    return next(fitting, 0)


def _sizes_up_to_four(output_width: int) -> tuple[int, ...]:
    """The same where blocks of four are the fastest."""
    others = _sizes(output_width)
    return (_FOUR, *others) if _FOUR in block_sizes(output_width, _FOUR) else others


def _sizes(output_width: int) -> tuple[int, ...]:
    """The sizes of blocks into which rows of that width can fall, the fastest one first."""
    if output_width in (2, 4):
        return (2,)
    if output_width % 2:
        return (3,) if output_width > 1 else ()
    return (3, 2)


def block_bytes(pixels: int, elements: int, *, is_whole: bool, blocks: int = 1) -> int:
    """Bytes of scratch: 16 bits for each element of all windows, and 8 of one block's where they are gathered first.

    Arguments as in `block_pixels`, and how many blocks are widened at once; windows are filled up to whole fours.
    """
    return pixels * (elements + -elements % 4) * (2 * blocks if is_whole else 2 * blocks + 1)


def blocks_at_once(sizes: Sequence[int], elements: int, *, is_whole: bool, most_bytes: int) -> int:
    """How many neighbouring blocks of one size are computed channel by channel, so that weights are read once for all of them.

    Args:
        sizes: `block_sizes` of a row.
        elements: of a window.
        is_whole: true if the input's channels are a multiple of four.
        most_bytes: of scratch.
    """
    if 2 * elements > _CACHED_BYTES:
        return 1
    most = max(len(list(group)) for _, group in groupby(sizes))
    fitting = (
        each
        for each in range(most, 1, -1)
        if block_bytes(max(sizes), elements, is_whole=is_whole, blocks=each) <= most_bytes
    )
    return next(fitting, 1)


def shared_columns(
    output_width: int,
    kernel_rows: int,
    channels: tuple[int, int],
    *,
    most_bytes: int,
    most_whole: int = _FOUR,
    stride: int = 1,
) -> SharedColumns | None:
    """Returns the fastest way that needs at most `most_bytes` of scratch; None if no way does.

    Where nothing is kept, columns are widened once; else sums are, for as many output channels at a time as have room.

    Args:
        output_width: pixels of an output row.
        kernel_rows: of a kernel three wide, without dilation across.
        channels: of the input, a multiple of four; of the output.
        most_bytes: of scratch.
        most_whole: pixels of a block whose windows are widened whole.
        stride: across, 1, or 2 for rows of blocks of four pixels.
    """
    sizes = _sizes_up_to_four(output_width) if stride == 1 else (_FOUR,)
    layer = _Columns(output_width, kernel_rows, *channels, stride)
    # Two pixels of whole windows read weights more often than more pixels whose sums are kept.
    for some in ([each for each in sizes if each > 2], [each for each in sizes if each == 2]):
        whole = (way for pixels in some if pixels <= most_whole for way in layer.whole_ways(pixels))
        kept = (way for pixels in some for way in layer.kept_ways(pixels))
        found = next((way for way in (*whole, *kept) if way.scratch_bytes <= most_bytes), None)
        if found is not None:
            return found
    return None


@dataclass(frozen=True, slots=True)
class _Columns:
    """A layer with a kernel three columns wide.

    Attributes:
        output_width: pixels of an output row.
        kernel_rows: of the kernel.
        depth: input channels.
        outputs: output channels.
        stride: across.
    """

    output_width: int
    kernel_rows: int
    depth: int
    outputs: int
    stride: int

    def whole_ways(self, pixels: int) -> Iterator[SharedColumns]:
        """The ways with blocks of so many pixels and all that their windows have at once, the fastest one first."""
        elements = self.kernel_rows * self.depth
        scratch_bytes = self._columns_bytes(pixels, elements)
        has_two = pixels == _FOUR and block_sizes(self.output_width, pixels)[:2] == (_FOUR, _FOUR)
        # Half of the weights of two channels stay in a cache, and each half is a whole number of the loop's iterations.
        if has_two and _has_halves(elements) and self.outputs % 2 == 0:
            yield SharedColumns(pixels, self.kernel_rows, self.depth, self.outputs, 2 * scratch_bytes, blocks=2)
        yield SharedColumns(pixels, self.kernel_rows, self.depth, self.outputs, scratch_bytes)

    def kept_ways(self, pixels: int) -> Iterator[SharedColumns]:
        """The ways with blocks of so many pixels, and sums that are kept between parts of their windows, the fastest one first."""
        pairs = -(-self.outputs // 2)
        whole_parts = range(1 if self.kernel_rows > 1 else 2, self.depth // _LEAST_AT_ONCE + 1)
        for part in (self.depth // parts for parts in whole_parts if self.depth % (4 * parts) == 0):
            for at_once in _pairs_at_once(self.outputs):
                sums_bytes = 2 * _SUM_BYTES * max(pixels, _THREE) * at_once
                # Outputs wait until windows were read for the last time.
                waiting_bytes = pixels * 2 * (pairs - at_once)
                scratch_bytes = self._columns_bytes(pixels, part) + sums_bytes + waiting_bytes
                yield SharedColumns(pixels, 1, part, min(self.outputs, 2 * at_once), scratch_bytes + -scratch_bytes % 4)

    def _columns_bytes(self, pixels: int, elements: int) -> int:
        """Bytes of so many elements of each column that a block looks at, 16 bits each."""
        return 2 * ((pixels - 1) * self.stride + _THREE) * elements


def _pairs_at_once(outputs: int) -> Iterator[int]:
    """How many pairs of channels may be computed before the windows are read again, the most first: all, or even parts of them."""
    pairs = -(-outputs // 2)
    most = pairs // _LEAST_PAIRS if outputs % 2 == 0 and pairs > _LEAST_PAIRS else 1
    return (-(-pairs // count) for count in range(1, most + 1))


def _has_halves(elements: int) -> bool:
    """True if a column's elements are an even number of fours, at least four, half of whose weights a cache holds."""
    return elements % 8 == 0 and elements >= 16 and _THREE * elements <= _CACHED_BYTES


def tiles_of_block(output_width: int, kernel_rows: int, depth: int, *, most_bytes: int) -> int:
    """Tiles of two pixels in a block, 4, 3 or 2; 0 where there is not so much scratch, or where rows have no two tiles.

    Arguments as in `shared_columns`; the last tile of an odd width is half outside.
    """
    sizes = _sizes_up_to_four(-(-output_width // _TILE))
    return next((each for each in sizes if tiles_bytes(each, kernel_rows, depth) <= most_bytes), 0)


def tiles_bytes(tiles: int, kernel_rows: int, depth: int) -> int:
    """Bytes of scratch: 16 bits for each element of four columns of each tile."""
    return 2 * 4 * tiles * kernel_rows * depth


def is_three_wide(kernel_width: int, dilation: int, depth: int) -> bool:
    """True for windows of three neighbouring columns, of whole fours of channels: with stride 1 across they are for tiles."""
    return (kernel_width, dilation, depth % 4) == (_THREE, 1, 0)


def can_share_columns(stride: int, output_width: int, elements: int) -> bool:
    """True if such windows of so many elements are for `shared_columns`.

    Two columns apart they are only for rows of several blocks of four pixels, and where four whole windows take much scratch:
    else these take fewer instructions.
    """
    is_large = block_bytes(_FOUR, elements, is_whole=True) > _FEW_BYTES
    return stride == 1 or (stride == _APART and output_width % _FOUR == 0 and output_width > _FOUR and is_large)


def _is_three_wide(window: Window, depth: int) -> bool:
    return depth == window.channels and is_three_wide(window.kernel_width, window.dilation_width, depth)


def _has_tiles(window: Window, depth: int) -> bool:
    return _is_three_wide(window, depth) and window.stride_width == 1


def shares_columns(window: Window, depth: int) -> bool:
    """True if the layer is one for `shared_columns`."""
    return _is_three_wide(window, depth) and can_share_columns(
        window.stride_width, window.output_width, window.kernel_rows * _THREE * depth
    )


def blocks_scratch_bytes(window: Window, depth: int, output_channels: int, *, room_bytes: int = 0) -> tuple[int, int]:
    """Scratch that blocks take; and how much is of use where there is plenty. 0 where there are none.

    Args:
        window: the geometry.
        depth: input channels of each group; only ungrouped convolutions are computed in blocks.
        output_channels: of the layer.
        room_bytes: of scratch that cost next to nothing, because other buffers are so much larger.
    """
    if depth != window.channels:
        return 0, 0
    limits = (max(_FEW_BYTES, min(room_bytes, _ROOMY_BYTES)), _MOST_BYTES)
    taken = next(filter(None, (_taken(window, output_channels, most) for most in limits)), 0)
    tiles = 0
    if _has_tiles(window, depth):
        tiles = tiles_of_block(window.output_width, window.kernel_rows, depth, most_bytes=_ROOMY_BYTES)
    roomy = tiles_bytes(tiles, window.kernel_rows, depth) or _taken(window, output_channels, _ROOMY_BYTES)
    return taken, max(taken, roomy, side_by_side_bytes(window))


def side_by_side_bytes(window: Window) -> int:
    """Scratch of as many blocks of an ungrouped convolution as are of use at once; 0 where that is one, or none."""
    elements = window.kernel_rows * window.kernel_width * window.channels
    is_whole = window.channels % 4 == 0
    pixels = block_pixels(window.output_width, elements, is_whole=is_whole, most_bytes=_FEW_BYTES)
    if not pixels:
        return 0
    sizes = block_sizes(window.output_width, pixels)
    blocks = blocks_at_once(sizes, elements, is_whole=is_whole, most_bytes=_ROOMY_BYTES)
    return block_bytes(pixels, elements, is_whole=is_whole, blocks=blocks) if blocks > 1 else 0


def _taken(window: Window, output_channels: int, most_bytes: int) -> int:
    """Scratch of the fastest blocks that take so little of it."""
    depth = window.channels
    if shares_columns(window, depth):
        channels = (depth, output_channels)
        # Four whole windows take more scratch than three: they are for what a plan has free.
        way = shared_columns(
            window.output_width,
            window.kernel_rows,
            channels,
            most_bytes=most_bytes,
            most_whole=_THREE if window.stride_width == 1 else _FOUR,
            stride=window.stride_width,
        )
        if way is not None:
            return way.scratch_bytes
    return _taken_apart(window, most_bytes)


def apart_scratch_bytes(window: Window) -> int:
    """Scratch that blocks of an ungrouped convolution take where their pixels share no columns; 0 where there are none."""
    return next(filter(None, (_taken_apart(window, most) for most in (_FEW_BYTES, _MOST_BYTES))), 0)


def _taken_apart(window: Window, most_bytes: int) -> int:
    """Scratch of the fastest blocks that share no columns, and take so little of it."""
    elements = window.kernel_rows * window.kernel_width * window.channels
    is_whole = window.channels % 4 == 0
    pixels = block_pixels(window.output_width, elements, is_whole=is_whole, most_bytes=most_bytes)
    return block_bytes(pixels, elements, is_whole=is_whole)


def block_sizes(output_width: int, pixels: int) -> tuple[int, ...]:
    """The pixels of each block of a row, in order.

    Args:
        output_width: pixels of an output row.
        pixels: of a block: `block_pixels`.
    """
    sizes = []
    left = output_width
    while left > 0:
        sizes.append(_next_size(left, pixels))
        left -= sizes[-1]
    return tuple(sizes)


def _next_size(left: int, pixels: int) -> int:
    """The pixels of the next block, of those that are left in a row."""
    if pixels < _FOUR:
        return 2 if left in (2, 4) else pixels
    if left >= _FOUR and left % _FOUR in (0, 3):
        return _FOUR
    return 2 if left == 2 else _THREE


def partitions(window: Window) -> Iterator[tuple[int, ...]]:
    """The pixels of each block of a row in order, for every way in which blocks may be made of an ungrouped layer."""
    width = window.output_width
    for pixels in (_FOUR, *_sizes(width)) if width > 1 else ():
        yield block_sizes(width, pixels)
    if _has_tiles(window, window.channels):
        for tiles in _sizes_up_to_four(-(-width // _TILE)):
            *front, last = (_TILE * each for each in block_sizes(-(-width // _TILE), tiles))
            yield (*front, last - width % _TILE)
