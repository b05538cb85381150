"""Layers of all types whose weights are stored as the model has them: sums of products."""

import numpy as np

from kibi.dtypes import DType
from kibi.planfile.in_numpy.call import Call, Numbers, types_of
from kibi.planfile.in_numpy.products import convolve, cut, finish, products, vectors_of
from kibi.planfile.in_numpy.registry import kernel
from kibi.quant import requantize, requantize_wide, wrap_s32

_KINDS = ("s8", "s16", "f32")
_SUMS = {DType.S8: "<i4", DType.S16: "<i8", DType.F32: "<f4"}
"""What sums are kept in from step to step."""
_LANES = {"kibi_conv2d_f32_lanes": 16, "kibi_conv2d_f32_vectors": 4, "kibi_depthwise_conv2d_f32_lanes": 16}
"""Channels that are packed together for vectors."""


@kernel(*(f"kibi_conv2d_{kind}" for kind in _KINDS))
def conv2d(call: Call) -> None:
    """CONV_2D, any geometry."""
    p = call.numbers
    shape = (p.output_channels, p.kernel_rows, p.kernel_width, p.input_channels // p.groups)
    fill = int(call.array("padding", 1)[0]) if "padding" in call.pointers else 0
    finish(call, convolve(call, call.array("filter", *shape), p.groups, fill))


@kernel(*(f"kibi_depthwise_conv2d_{kind}" for kind in _KINDS))
def depthwise(call: Call) -> None:
    """DEPTHWISE_CONV_2D: each input channel is a group."""
    p = call.numbers
    channels = p.channels if hasattr(p, "channels") else p.input_channels
    outputs = channels * getattr(p, "depth_multiplier", 1)
    weights = call.array("filter", p.kernel_rows, p.kernel_width, outputs)
    fill = getattr(p, "input_zero_point", 0)
    finish(call, convolve(call, weights.transpose(2, 0, 1)[..., None], channels, fill))


@kernel("kibi_depthwise_conv2d_f32_multiplied")
def depthwise_multiplied(call: Call) -> None:
    """DEPTHWISE_CONV_2D of f32 whose constants are those of all first output channels, then those of the second ones, and so on."""
    p = call.numbers
    outputs = p.input_channels * p.depth_multiplier
    order = np.arange(outputs).reshape(p.depth_multiplier, -1).T.reshape(-1)
    packed = call.array("filter", p.depth_multiplier, p.kernel_rows, p.kernel_width, p.input_channels)
    weights = packed.transpose(0, 3, 1, 2).reshape(outputs, p.kernel_rows, p.kernel_width, 1)
    sums = convolve(call, weights[order], p.input_channels, 0)
    call.write(cut(sums + call.array("bias", outputs)[order], p.activation_min, p.activation_max))


@kernel("kibi_conv2d_f32_lanes", "kibi_conv2d_f32_vectors")
def conv2d_lanes(call: Call) -> None:
    """CONV_2D of f32, whose weights are packed for several channels at once."""
    p, lanes = call.numbers, _LANES[call.kernel]
    packed = call.array(
        "filter", -(-p.output_channels // lanes), p.kernel_rows, p.kernel_width, p.input_channels, lanes
    )
    weights = packed.transpose(0, 4, 1, 2, 3).reshape(-1, *packed.shape[1:4])[: p.output_channels]
    sums = convolve(call, weights, 1, 0)
    if getattr(p, "loud_channels", 0) == 0:
        finish(call, sums)
        return
    # Quiet channels have the same bits where they are computed.
    made = cut(sums + call.array("bias", p.output_channels), p.activation_min, p.activation_max)
    placed = np.zeros_like(made)
    placed[..., np.minimum(call.array("order", p.output_channels), p.output_channels - 1)] = made
    call.write(placed)


@kernel("kibi_depthwise_conv2d_f32_lanes")
def depthwise_lanes(call: Call) -> None:
    """DEPTHWISE_CONV_2D of f32, packed in the same way."""
    p, lanes = call.numbers, _LANES[call.kernel]
    packed = call.array("filter", -(-p.channels // lanes), p.kernel_rows, p.kernel_width, lanes)
    weights = packed.transpose(0, 3, 1, 2).reshape(-1, p.kernel_rows, p.kernel_width, 1)[: p.channels]
    finish(call, convolve(call, weights, p.channels, 0))


@kernel(*(f"kibi_fully_connected_{kind}" for kind in _KINDS))
def fully_connected(call: Call) -> None:
    """FULLY_CONNECTED of whole vectors."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    weights = call.array("filter", p.output_channels, p.depth)
    finish(call, products(vectors_of(call, kind), weights.T[None])[0])


@kernel(*(f"kibi_fully_connected_{kind}_accumulate" for kind in _KINDS))
def fully_connected_by_rows(call: Call) -> None:
    """FULLY_CONNECTED of vectors whose rows come step by step; the scratch holds the sums."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    vector, piece = divmod(call.step, p.pieces)
    weights = call.array("filter", p.output_channels, p.pieces, p.piece)[:, piece]
    kept = call.work(p.vectors * p.output_channels, _SUMS[kind]).reshape(p.vectors, p.output_channels)
    start = np.zeros(p.output_channels, kept.dtype) if piece == 0 else kept[vector].astype(kept.dtype)
    values = call.row(0, p.piece, kind.numpy.str)[None, None]
    kept[vector] = products(values, weights.T[None], start=start[None, None])[0, 0].astype(kept.dtype)
    if call.step == p.vectors * p.pieces - 1:
        finish(call, kept)


@kernel(*(f"kibi_transpose_conv_{kind}" for kind in _KINDS))
def transpose_conv(call: Call) -> None:
    """TRANSPOSE_CONV: for each column, what of the input meets it, in the order in which it is added up."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    weights = call.array("filter", p.output_channels, p.kernel_rows, p.kernel_width, p.input_channels)
    rows, is_there = _spread_rows(call, kind)
    places = np.arange(p.output_width) + p.pad
    first = np.maximum((places - p.kernel_width + p.stride) // p.stride, 0)
    columns = first[:, None] + np.arange(-(-p.kernel_width // p.stride))
    kx = places[:, None] - columns * p.stride
    inside = (kx >= 0) & (kx < p.kernel_width) & (columns < p.input_width)
    columns, kx = np.where(inside, columns, 0), np.where(inside, kx, 0)
    made = []
    for j in range(p.rows_made):
        ky = j + p.row_offset - np.arange(p.row_count) * p.stride_rows
        used = np.flatnonzero((ky >= 0) & (ky < p.kernel_rows))
        # [columns of the output, rows, columns, channels]
        values = rows[used][:, columns].transpose(1, 0, 2, 3)
        counts = is_there[used][:, columns].transpose(1, 0, 2) & inside[:, None, :]
        values = np.where(counts[..., None], values, values.dtype.type(0)).reshape(p.output_width, 1, -1)
        each = weights[:, ky[used]][:, :, kx].transpose(2, 1, 3, 4, 0).reshape(p.output_width, -1, p.output_channels)
        counted = np.repeat(counts.reshape(p.output_width, -1), p.input_channels, axis=1).T[..., None]
        sums = products(values, each, counted) if len(used) else np.zeros((p.output_width, 1, len(weights)))
        made.append(sums[:, 0].astype(np.float32 if kind is DType.F32 else np.int64))
    finish(call, np.concatenate(made))


def _spread_rows(call: Call, kind: DType) -> tuple[Numbers, Numbers]:
    """The input's pixels, [row_count, input_width, input_channels], without zero point, and which of them are there."""
    p = call.numbers
    wide = np.float32 if kind is DType.F32 else np.int64
    rows = np.zeros((p.row_count, p.input_width, p.input_channels), wide)
    is_there = np.zeros((p.row_count, p.input_width), np.bool_)
    for r in range(p.row_count):
        for ix in range(p.input_width):
            start = ix * p.column_step
            row = call.optional(r + ix * p.pointer_step, start + p.input_channels, kind.numpy.str)
            if row is not None:
                rows[r, ix] = row[start:]
                is_there[r, ix] = True
    return rows - wide(getattr(p, "input_zero_point", 0)), is_there


@kernel(*(f"kibi_batch_matmul_{kind}" for kind in _KINDS))
def batch_matmul(call: Call) -> None:
    """BATCH_MATMUL: matrices whose elements are at steps of pointers and of elements."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    made = []
    for pointer1, element1, pointer2, element2 in call.array("matrices", p.matrix_count, 4).tolist():
        a = _matrix(
            call, kind, (pointer1, element1), (p.rows, p.row_pointers, p.row_step),
            (p.depth, p.depth1_pointers, p.depth1_step),
        )  # fmt: skip
        b = _matrix(
            call, kind, (p.pointers1 + pointer2, element2), (p.depth, p.depth2_pointers, p.depth2_step),
            (p.columns, p.column_pointers, p.column_step),
        )  # fmt: skip
        a, b = a - a.dtype.type(getattr(p, "zero_point1", 0)), b - b.dtype.type(getattr(p, "zero_point2", 0))
        made.append(products(a[None], b[None])[0])
    sums = np.stack(made)
    if kind is DType.F32:
        call.write(sums)
        return
    scaled = (
        requantize_wide(sums, p.output_multiplier, p.output_shift)
        if kind is DType.S16
        else requantize(wrap_s32(sums), p.output_multiplier, p.output_shift)
    )
    moved = wrap_s32(scaled + getattr(p, "output_zero_point", 0))
    call.write(np.clip(moved, *kind.limits).astype(kind.numpy))


def _matrix(
    call: Call, kind: DType, at: tuple[int, int], outer: tuple[int, int, int], inner: tuple[int, int, int]
) -> Numbers:
    """A matrix, of s64 or f32: of each axis how many there are, and pointers and elements from one to the next."""
    (rows, row_pointers, row_step), (columns, column_pointers, column_step) = outer, inner
    found = np.empty((rows, columns), np.float32 if kind is DType.F32 else np.int64)
    for row in range(rows):
        pointer, element = at[0] + row * row_pointers, at[1] + row * row_step
        if column_pointers == 0:
            # One pointer leads to all elements of this row of the matrix.
            end = element + (columns - 1) * column_step + 1
            found[row] = call.row(pointer, end, kind.numpy.str)[element + np.arange(columns) * column_step]
            continue
        for column in range(columns):
            place = element + column * column_step
            found[row, column] = call.row(pointer + column * column_pointers, place + 1, kind.numpy.str)[place]
    return found
