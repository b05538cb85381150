"""Drawn models of the operators that move elements to places that are known ahead of time."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ops import BroadcastTo
from tests.support.case import Case, drawn_shape, one
from tests.support.choices import Choices, elements, flip, scale, zero_point


def data_of(c: Choices, shape: Sequence[int], dtype: DType) -> Array:
    """Elements of any type: small ones, and of integers the ends of the range."""
    small = elements(c, shape)
    if dtype is DType.F32:
        return (small.astype(np.float32) / np.float32(8)).astype(np.float32)
    if dtype is DType.BOOL:
        return small > 0
    low, high = dtype.limits
    data = np.asarray(np.maximum(small, max(low, -128)), dtype.numpy)
    kind = dtype.numpy.type
    return np.where(small == -128, kind(low), np.where(small == 127, kind(high), data))


def _moved(
    c: Choices, name: str, shape: Sequence[int], output_shape: Sequence[int], constants: Sequence[Array],
    dtypes: Sequence[DType], **attributes: int | str,
) -> Case:  # fmt: skip
    """The model of an operator with one input, and constants behind it."""
    b, dtype = ModelBuilder(), c.one_of(dtypes)
    quantization = (scale(c), 0 if dtype is DType.S16 else zero_point(c)) if dtype in (DType.S8, DType.S16) else ()
    source = b.input(shape, dtype, *quantization)
    operands = [source, *(b.constant(constant) for constant in constants)]
    output = b.tensor(output_shape, dtype, *quantization)
    return one(name, b, operands, output, [data_of(c, shape, dtype)], **attributes)


_S8_F32 = (DType.S8, DType.S8, DType.F32)


def resize_nearest_neighbor(c: Choices) -> Case:
    """RESIZE_NEAREST_NEIGHBOR to any size, often a multiple."""
    shape = drawn_shape(c, 4, 6)
    factors = (c.integer(1, 3), c.integer(1, 3))
    size = (shape[1] * factors[0], shape[2] * factors[1]) if flip(c) else drawn_shape(c, 2, 12)
    half = flip(c)
    return _moved(
        c, "RESIZE_NEAREST_NEIGHBOR", shape, (shape[0], *size, shape[3]), [np.array(size, np.int32)],
        (*_S8_F32, DType.S16), align_corners=flip(c), half_pixel_centers=half,
    )  # fmt: skip


def resize_bilinear(c: Choices) -> Case:
    """RESIZE_BILINEAR to any size, often a multiple; half-pixel centers and aligned corners exclude each other."""
    shape = drawn_shape(c, 4, 6)
    factors = (c.one_of((1, 2, 2, 3, 4)), c.integer(1, 3))
    size = (shape[1] * factors[0], shape[2] * factors[1]) if flip(c) else drawn_shape(c, 2, 12)
    how = c.one_of(({}, {"half_pixel_centers": True}, {"align_corners": True}))
    output = (shape[0], *size, shape[3])
    return _moved(c, "RESIZE_BILINEAR", shape, output, [np.array(size, np.int32)], _S8_F32, **how)


def depth_to_space(c: Choices) -> Case:
    """DEPTH_TO_SPACE of any block."""
    block, (n, h, w, depth) = c.integer(1, 3), drawn_shape(c, 4, 4)
    shape, output = (n, h, w, depth * block**2), (n, h * block, w * block, depth)
    return _moved(c, "DEPTH_TO_SPACE", shape, output, [], _S8_F32, block_size=block)


def space_to_depth(c: Choices) -> Case:
    """SPACE_TO_DEPTH of any block."""
    block, (n, h, w, depth) = c.integer(1, 3), drawn_shape(c, 4, 4)
    shape, output = (n, h * block, w * block, depth), (n, h, w, depth * block**2)
    return _moved(c, "SPACE_TO_DEPTH", shape, output, [], _S8_F32, block_size=block)


def _indices(c: Choices, shape: Sequence[int], below: int) -> Array:
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    return rng.integers(0, below, tuple(shape)).astype(np.int32)


def gather(c: Choices) -> Case:
    """GATHER along any axis, now and then with batch axes; negative numbers for both."""
    shape = drawn_shape(c, c.integer(1, 4))
    axis = c.integer(0, len(shape) - 1)
    batch = c.one_of((0, c.integer(0, axis)))
    # TFLM counts a negative number of batch axes from the end, which needs indices with an axis more than those.
    positions = (*shape[:batch], *drawn_shape(c, c.integer(0, 2)))
    output = (*shape[:axis], *positions[batch:], *shape[axis + 1 :])
    attributes = {
        "axis": axis - len(shape) if flip(c) else axis,
        "batch_dims": batch - len(positions) if batch < len(positions) and flip(c) else batch,
    }
    indices = _indices(c, positions, shape[axis])
    if c.one_of((False, False, True)):
        return _gathered(c, "GATHER", shape, output, indices, **attributes)
    return _moved(c, "GATHER", shape, output, [indices], _S8_F32, **attributes)


def _gathered(
    c: Choices, name: str, shape: Sequence[int], output: Sequence[int], indices: Array, **attributes: int
) -> Case:
    """GATHER or GATHER_ND with indices that are an input; the other input may be a constant."""
    b, dtype = ModelBuilder(), c.one_of(_S8_F32)
    quantization = (scale(c), zero_point(c)) if dtype is DType.S8 else ()
    data, is_constant = data_of(c, shape, dtype), flip(c)
    source = b.constant(data, *quantization) if is_constant else b.input(shape, dtype, *quantization)
    operands = [source, b.input(indices.shape, DType.S32)]
    inputs = [indices] if is_constant else [data, indices]
    return one(name, b, operands, b.tensor(output, dtype, *quantization), inputs, **attributes)


def gather_nd(c: Choices) -> Case:
    """GATHER_ND of elements or slices."""
    shape = drawn_shape(c, c.integer(1, 4))
    depth = c.integer(1, len(shape))
    front = drawn_shape(c, c.integer(0, 2))
    indices = np.stack([_indices(c, front, size) for size in shape[:depth]], axis=-1)
    if c.one_of((False, False, True)):
        return _gathered(c, "GATHER_ND", shape, (*front, *shape[depth:]), indices)
    return _moved(c, "GATHER_ND", shape, (*front, *shape[depth:]), [indices], _S8_F32)


def mirror_pad(c: Choices) -> Case:
    """MIRROR_PAD in both modes, by all that there is to mirror, and behind the input by more."""
    shape, is_reflecting = drawn_shape(c, c.integer(1, 4)), flip(c)
    pairs = []
    for size in shape:
        most = size - is_reflecting
        pairs.append((c.integer(0, most), c.one_of((0, most, most + 1)) if most else 0))
    output = [size + sum(pair) for size, pair in zip(shape, pairs, strict=True)]
    paddings = np.array(pairs, c.one_of((np.int32, np.int64)))
    mode = "REFLECT" if is_reflecting else "SYMMETRIC"
    return _moved(c, "MIRROR_PAD", shape, output, [paddings], _S8_F32, mode=mode)


def padv2(c: Choices) -> Case:
    """PADV2 of any axes."""
    rank, dtype = c.integer(1, 5), c.one_of((*_S8_F32, DType.S16, DType.S32))
    b, shape = ModelBuilder(), drawn_shape(c, rank, 5 if rank < 5 else 3)
    pads = [(c.one_of((0, 0, 1, 2, 3)), c.one_of((0, 0, 1, 2, 3))) for _ in shape]
    quantization = (scale(c), zero_point(c)) if dtype is DType.S8 else ()
    source = b.input(shape, dtype, *quantization)
    given = data_of(c, c.one_of(((), (1,))), dtype)
    if dtype is DType.F32 and flip(c):
        given = np.full_like(given, -np.inf)  # as converters pad in front of a maximum
    value = b.constant(given, *quantization)
    output = b.tensor([size + sum(pair) for size, pair in zip(shape, pads, strict=True)], dtype, *quantization)
    operands = [source, b.constant(np.array(pads, np.int32)), value]
    return one("PADV2", b, operands, output, [data_of(c, shape, dtype)])


def broadcast_to(c: Choices) -> Case:
    """BROADCAST_TO of any axes; axes of 1 at the front may be left out."""
    output = drawn_shape(c, c.integer(1, 5), 4)
    shape = [size if flip(c) else 1 for size in output]
    while shape and shape[0] == 1 and flip(c):
        shape.pop(0)
    wanted = np.array(output, c.one_of((np.int32, np.int64)))
    return _moved(c, "BROADCAST_TO", shape, output, [wanted], BroadcastTo.types)


def space_to_batch_nd(c: Choices) -> Case:
    """SPACE_TO_BATCH_ND with one or two spatial axes, padded."""
    blocks = drawn_shape(c, c.integer(1, 2), 3)
    sizes = drawn_shape(c, len(blocks))
    fronts = [c.integer(0, 2) for _ in blocks]
    pads = [
        (front, -(size + front) % block + block * c.integer(0, 1))
        for front, size, block in zip(fronts, sizes, blocks, strict=True)
    ]
    batches, channels = c.integer(1, 2), c.integer(1, 4)
    spatial = [(size + sum(pair)) // block for size, pair, block in zip(sizes, pads, blocks, strict=True)]
    constants = [np.array(blocks, np.int32), np.array(pads, np.int32)]
    shape, output = (batches, *sizes, channels), (batches * int(np.prod(blocks)), *spatial, channels)
    return _moved(c, "SPACE_TO_BATCH_ND", shape, output, constants, _S8_F32)


def batch_to_space_nd(c: Choices) -> Case:
    """BATCH_TO_SPACE_ND with one or two spatial axes, cropped."""
    blocks = drawn_shape(c, c.integer(1, 2), 3)
    sizes = drawn_shape(c, len(blocks), 4)
    crops = []
    for size, block in zip(sizes, blocks, strict=True):
        front = c.integer(0, size * block - 1)
        crops.append((front, c.integer(0, size * block - 1 - front)) if flip(c) else (0, 0))
    batches, channels = c.integer(1, 2), c.integer(1, 4)
    spatial = [size * block - sum(pair) for size, pair, block in zip(sizes, crops, blocks, strict=True)]
    constants = [np.array(blocks, np.int32), np.array(crops, np.int32)]
    shape, output = (batches * int(np.prod(blocks)), *sizes, channels), (batches, *spatial, channels)
    return _moved(c, "BATCH_TO_SPACE_ND", shape, output, constants, _S8_F32)


def zeros_like(c: Choices) -> Case:
    """ZEROS_LIKE of any shape."""
    shape = drawn_shape(c, c.integer(0, 4))
    return _moved(c, "ZEROS_LIKE", shape, shape, [], (*_S8_F32, DType.S32, DType.S64))


def fill(c: Choices) -> Case:
    """FILL with a value that is an input or a constant."""
    b, shape, dtype = ModelBuilder(), drawn_shape(c, c.integer(1, 4)), c.one_of((*_S8_F32, DType.S32))
    quantization = (scale(c), zero_point(c)) if dtype is DType.S8 else ()
    value = data_of(c, (), dtype)
    dims = b.constant(np.array(shape, c.one_of((np.int32, np.int64))))
    source = b.input((), dtype, *quantization)
    return one("FILL", b, [dims, source], b.tensor(shape, dtype, *quantization), [value])


def shape_of(c: Choices) -> Case:
    """SHAPE of a tensor of any type that it knows."""
    b, shape, dtype = ModelBuilder(), drawn_shape(c, c.integer(1, 5)), c.one_of(tuple(DType))
    source = b.input(shape, dtype, *((scale(c), 0) if dtype in (DType.S8, DType.S16) else ()))
    return one("SHAPE", b, [source], b.tensor((len(shape),), DType.S32), [data_of(c, shape, dtype)])


_CAST_TO = (DType.S8, DType.S16, DType.S32, DType.U32, DType.F32, DType.BOOL)
_CAST_FROM = _CAST_TO


def cast(c: Choices) -> Case:
    """CAST between any two types; floats with a fraction, and far outside."""
    # One draw for the pair, so that few seeds have them all.
    pair = c.integer(0, len(_CAST_TO) * len(_CAST_FROM) - 1)
    b, shape, dtype, target = (
        ModelBuilder(),
        drawn_shape(c, c.integer(0, 4)),
        _CAST_FROM[pair // len(_CAST_TO)],
        _CAST_TO[pair % len(_CAST_TO)],
    )
    data = data_of(c, shape, dtype)
    if dtype is DType.F32:
        data = data.astype(np.float32) * np.float32(c.one_of((1, 100, 2.0**25, 2.0**28)))
    return one("CAST", b, [b.input(shape, dtype)], b.tensor(shape, target), [data])


def _reduced(c: Choices, name: str, dtypes: Sequence[DType]) -> Case:
    """A reduction over any axes."""
    rank, keeps = c.integer(1, 4), flip(c)
    shape = drawn_shape(c, rank, 6)
    axes = [axis for axis in range(rank) if flip(c)] or [c.integer(0, rank - 1)]
    output = [1 if axis in axes else size for axis, size in enumerate(shape) if keeps or axis not in axes]
    named = np.array([axis - rank if flip(c) else axis for axis in axes], np.int32)
    return _moved(c, name, shape, output, [named], dtypes, keep_dims=keeps)


def reduce_max(c: Choices) -> Case:
    """REDUCE_MAX over any axes."""
    return _reduced(c, "REDUCE_MAX", _S8_F32)


def reduce_min(c: Choices) -> Case:
    """REDUCE_MIN over any axes."""
    return _reduced(c, "REDUCE_MIN", _S8_F32)


def _arg(c: Choices, name: str) -> Case:
    """The place of an extreme along any axis, often the last; with equals."""
    shape, dtype = drawn_shape(c, c.integer(1, 4), 5), c.one_of(_S8_F32)
    axis = c.one_of((len(shape) - 1, c.integer(0, len(shape) - 1)))
    b = ModelBuilder()
    source = b.input(shape, dtype, *((scale(c), zero_point(c)) if dtype is DType.S8 else ()))
    named = np.array(axis - len(shape) if flip(c) else axis, np.int32).reshape(c.one_of(((), (1,))))
    output = b.tensor((*shape[:axis], *shape[axis + 1 :]), DType.S32)
    return one(name, b, [source, b.constant(named)], output, [data_of(c, shape, dtype)])


def arg_max(c: Choices) -> Case:
    """ARG_MAX along any axis."""
    return _arg(c, "ARG_MAX")


def arg_min(c: Choices) -> Case:
    """ARG_MIN along any axis."""
    return _arg(c, "ARG_MIN")


MOVING_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "ARG_MAX": arg_max,
    "ARG_MIN": arg_min,
    "BATCH_TO_SPACE_ND": batch_to_space_nd,
    "BROADCAST_TO": broadcast_to,
    "CAST": cast,
    "DEPTH_TO_SPACE": depth_to_space,
    "FILL": fill,
    "GATHER": gather,
    "GATHER_ND": gather_nd,
    "MIRROR_PAD": mirror_pad,
    "PADV2": padv2,
    "REDUCE_MAX": reduce_max,
    "REDUCE_MIN": reduce_min,
    "RESIZE_BILINEAR": resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": resize_nearest_neighbor,
    "SHAPE": shape_of,
    "SPACE_TO_BATCH_ND": space_to_batch_nd,
    "SPACE_TO_DEPTH": space_to_depth,
    "ZEROS_LIKE": zeros_like,
}
"""How models of each operator are drawn."""
