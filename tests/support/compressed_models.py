"""Constants that are compressed as TFLM's tools do it, for drawn and for broken models."""

import heapq
import struct
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import count

import flatbuffers
import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.support.case import drawn_shape
from tests.support.choices import Choices, flip

CODEBOOK, HUFFMAN, PRUNING = 0, 1, 2
_DTYPES = (DType.S8, DType.S16, DType.S32, DType.S64, DType.F32, DType.BOOL)
_ONE_TABLE = 15


def packed(indices: Array, bits: int) -> NDArray[np.uint8]:
    """Numbers of so many bits, from the highest bit of each byte to the lowest."""
    places = np.arange(bits - 1, -1, -1)
    return np.packbits((np.asarray(indices, np.int64).reshape(-1, 1) >> places & 1).astype(np.uint8))


def int4_network(depth: int, channels: int = 10, groups: int = 1) -> bytes:
    """A convolution over rows, and a classifier that adds its rows up; both filters of int4."""
    b, rng = ModelBuilder(), np.random.default_rng(depth)
    x = b.input([1, 9, 6, depth], DType.S8, 0.5, 3, name="x")
    shapes = ((channels, 3, 3, depth // groups), (12, 9 * 6 * channels))
    filters = [b.constant(rng.integers(-8, 8, shape).astype(np.int8), [0.02], [0], is_int4=True) for shape in shapes]
    y = b.tensor([1, 9, 6, channels], DType.S8, 2.0, -5)
    b.operator("CONV_2D", [x, filters[0]], [y], padding="SAME", stride_h=1, stride_w=1)
    z = b.tensor([1, 12], DType.S8, 12.0, 0)
    b.operator("FULLY_CONNECTED", [y, filters[1]], [z])
    return b.finish([z])


def header(kind: int, parameters: int = 0, values: int = 0, *, version: int = 1, own_version: int = 1) -> bytes:
    """The 16 bytes in front of what describes an encoded tensor."""
    return bytes([kind, version, 0, 0, own_version, parameters, values, *[0] * 9])


def decode(b: ModelBuilder, data: Array, description: bytes, output: int) -> None:
    """Add a TFLM_DECODE."""
    inputs = [b.constant(data), b.constant(np.frombuffer(description, np.uint8))]
    b.operator("CUSTOM", inputs, [output], custom_code="TFLM_DECODE")


def tables_of(array: Array, axis: int | None) -> tuple[Array, NDArray[np.int64]]:
    """The distinct values of each channel `[C, V]`, filled up with zeros, and the indices in the array's shape."""
    channels = [array.reshape(-1)] if axis is None else [each.reshape(-1) for each in np.moveaxis(array, axis, 0)]
    found = [np.unique(each, return_inverse=True) for each in channels]
    tables = np.zeros((len(found), max(len(values) for values, _ in found)), array.dtype)
    for row, (values, _) in zip(tables, found, strict=True):
        row[: len(values)] = values
    indices = np.stack([each.reshape(-1) for _, each in found])
    if axis is None:
        return tables, indices.reshape(array.shape)
    rest = np.moveaxis(array, axis, 0).shape
    return tables, np.moveaxis(indices.reshape(rest), 0, axis)


def codebook_in_use(
    b: ModelBuilder,
    array: Array,
    scales: Sequence[float] | None = None,
    *,
    axis: int = 0,
    names_axis: bool = True,
    legacy: list[tuple[int, int, int]] | None = None,
) -> int:
    """A constant that is compressed by tables: one for each scale along the axis, or one for all.

    Args:
        b: the builder.
        array: its elements, of few values.
        scales: as of `ModelBuilder.tensor`; the zero points are 0.
        axis: of the scales.
        names_axis: whether the header names the axis, as newer tools do, or is 0 there.
        legacy: where the file's metadata are to name it, what they say is put here; None: a TFLM_DECODE makes it.
    """
    is_split = scales is not None and len(scales) > 1
    axis = axis if is_split else 0  # TFLM refuses another one, even of a single scale
    tables, indices = tables_of(array, axis if is_split else None)
    bits = max(1, (tables.shape[1] - 1).bit_length())
    kind = DType.of(array)
    zeros = None if scales is None else [0] * len(scales)
    data = packed(indices, bits)
    if legacy is not None:
        tensor = b.tensor(array.shape, kind, scales, zeros, axis=axis, data=data.tobytes())
        legacy.append((tensor, b.buffer(tables.tobytes()), bits))
        return tensor
    output = b.tensor(array.shape, kind, scales, zeros, axis=axis)
    nibble = 0 if not names_axis else axis if is_split else _ONE_TABLE
    decode(b, data, header(CODEBOOK, nibble << 4 | bits, tables.shape[1]) + tables.tobytes(), output)
    return output


def metadata(entries: Sequence[tuple[int, int, int]], *, version: int = 1, subgraphs: int = 1) -> bytes:
    """`COMPRESSION_METADATA` that name tensors, buffers of values and bits in the first subgraph."""
    wire = flatbuffers.Builder(64)
    tables = []
    for tensor, buffer, bits in entries:
        wire.StartObject(3)
        wire.PrependInt32Slot(0, tensor, 0)
        wire.PrependUint32Slot(1, buffer, 0)
        wire.PrependUint8Slot(2, bits, 0)
        tables.append(wire.EndObject())
    graphs = []
    for number in range(subgraphs):
        vector = _references(wire, tables if number == 0 else [])
        wire.StartObject(1)
        wire.PrependUOffsetTRelativeSlot(0, vector, 0)
        graphs.append(wire.EndObject())
    vector = _references(wire, graphs)
    wire.StartObject(2)
    wire.PrependUint32Slot(0, version, 1)
    wire.PrependUOffsetTRelativeSlot(1, vector, 0)
    wire.Finish(wire.EndObject())
    return bytes(wire.Output())


def _references(wire: flatbuffers.Builder, places: Sequence[int]) -> int:
    wire.StartVector(4, len(places), 4)
    for place in reversed(places):
        wire.PrependUOffsetTRelative(place)
    vector: int = wire.EndVector()
    return vector


def _codes(symbols: Sequence[int]) -> dict[int, str]:
    """A Huffman code as texts of 0 and 1; a single symbol has one bit."""
    order = count()
    heap = [(number, next(order), {symbol: ""}) for symbol, number in sorted(Counter(symbols).items())]
    heapq.heapify(heap)
    if len(heap) == 1:
        return dict.fromkeys(heap[0][2], "0")
    while len(heap) > 1:
        (a, _, low), (b, _, high) = heapq.heappop(heap), heapq.heappop(heap)
        merged = {s: "0" + text for s, text in low.items()} | {s: "1" + text for s, text in high.items()}
        heapq.heappush(heap, (a + b, next(order), merged))
    return heap[0][2]


def huffman(symbols: Array, first_bits: int, *, wide: bool) -> tuple[NDArray[np.uint8], bytes]:
    """Codes of the symbols, whole words of 32 bits and one more; and what describes them.

    The first table has `first_bits` bits; longer codes lead on to tables of up to 3 bits.
    """
    values = [int(each) for each in symbols.reshape(-1)]
    codes = _codes(values)
    entry_bits = 32 if wide else 16
    shift = entry_bits - 5
    entries: list[int] = []

    def table(prefix: str, bits: int) -> int:
        start = len(entries)
        entries.extend([1 << (entry_bits - 1) | 1 << shift] * (1 << bits))
        for text in range(1 << bits):
            path = prefix + f"{text:0{bits}b}"
            found = [(symbol, code) for symbol, code in codes.items() if path.startswith(code)]
            if found:
                symbol, code = found[0]
                mask = (1 << (16 if wide else 8)) - 1
                entries[start + text] = 1 << (entry_bits - 1) | (len(code) - len(prefix)) << shift | symbol & mask
            longer = [len(code) - len(path) for code in codes.values() if code.startswith(path) and code != path]
            if longer:
                more = min(3, max(longer))
                entries[start + text] = (more - 1) << shift | (table(path, more) - start - text)
        return start

    table("", first_bits)
    stream = "".join(codes[value] for value in values)
    stream += "0" * (-len(stream) % 32 + 32)
    data = np.packbits(np.array([int(bit) for bit in stream], np.uint8))
    text = struct.pack(f"<{len(entries)}{'I' if wide else 'H'}", *entries)
    return data, header(HUFFMAN, (first_bits - 1) << 4 | int(wide)) + text


def pruned(array: Array, zero_points: Array) -> tuple[NDArray[np.uint8], bytes]:
    """A bit for each element that is not its zero point, and those elements."""
    kept = array != zero_points
    return np.packbits(kept.reshape(-1).astype(np.uint8)), header(PRUNING) + array[kept].tobytes()


def _drawn_array(c: Choices, dtype: DType, shape: Sequence[int], values: int) -> Array:
    """Elements of at most so many values, at the ends of the type, too."""
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    if dtype is DType.F32:
        few = rng.standard_normal(values).astype(np.float32)
    elif dtype is DType.BOOL:
        few = rng.integers(0, 2, values).astype(np.bool_)
    else:
        few = rng.integers(*dtype.limits, values, endpoint=True).astype(dtype.numpy)
        few[0] = dtype.limits[0]
    drawn: Array = rng.choice(few, tuple(shape), p=_weights(rng, values))
    return drawn


def _weights(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Frequencies that differ, so that codes are of many lengths."""
    weights = rng.random(count) ** 4 + 1e-3
    return np.asarray(weights / weights.sum(), np.float64)


def _drawn_codebook(c: Choices, b: ModelBuilder) -> tuple[int, Array]:
    """Up to 128 values by 1 to 7 bits."""
    dtype = c.one_of(_DTYPES)
    shape = drawn_shape(c, c.integer(1, 4), 7)
    array = _drawn_array(c, dtype, shape, c.one_of((1, 2, 3, 4, 8, 11, 16, 50, 128)))
    axis, scales = 0, None
    if dtype in (DType.S8, DType.S16):
        axis = c.one_of((0, len(shape) - 1))
        scales = c.one_of((None, [0.5], [0.5] * shape[axis]))
    return codebook_in_use(b, array, scales, axis=axis, names_axis=flip(c)), array


def _drawn_huffman(c: Choices, b: ModelBuilder) -> tuple[int, Array]:
    """Codes of many lengths, in entries of 16 bits or 32."""
    dtype, wide = c.one_of(((DType.S8, False), (DType.S8, True), (DType.S16, True)))
    shape = drawn_shape(c, c.integer(1, 4), 7)
    array = _drawn_array(c, dtype, shape, c.one_of((1, 2, 5, 40)))
    data, description = huffman(array, c.integer(1, 6), wide=wide)
    output = b.tensor(shape, dtype, 0.5, 0)
    decode(b, data, description, output)
    return output, array


def _drawn_pruned(c: Choices, b: ModelBuilder) -> tuple[int, Array]:
    """Zeros, or of s8 zero points, that are left out."""
    dtype = c.one_of(_DTYPES)
    shape = drawn_shape(c, c.integer(1, 4), 7)
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    axis, scales, points = 0, None, np.zeros(1, np.int64)
    if dtype is DType.S8:
        axis = c.one_of((0, len(shape) - 1))
        scales = c.one_of((None, [0.5], [0.5] * shape[axis]))
        axis = axis if scales is not None and len(scales) > 1 else 0  # TFLM refuses another one, even of a single scale
        if scales is not None and flip(c):
            points = rng.integers(-128, 128, len(scales))
    array = _drawn_array(c, dtype, shape, 9)
    zeros = _along(points, shape, axis).astype(array.dtype)
    array = np.where(rng.random(shape) < 0.6, zeros, array)
    data, description = pruned(array, zeros)
    output = b.tensor(
        shape, dtype, scales, None if scales is None else np.broadcast_to(points, len(scales)).tolist(), axis=axis
    )
    decode(b, data, description, output)
    return output, array


def _along(points: Array, shape: Sequence[int], axis: int) -> Array:
    """Numbers of the channels of an axis, in a shape."""
    if len(points) == 1:
        return np.broadcast_to(points, tuple(shape))
    sizes = [1] * len(shape)
    sizes[axis] = len(points)
    return np.broadcast_to(points.reshape(sizes), tuple(shape))


ENCODINGS: Mapping[str, Callable[[Choices, ModelBuilder], tuple[int, Array]]] = {
    "look-up": _drawn_codebook,
    "Huffman": _drawn_huffman,
    "pruning": _drawn_pruned,
}
"""How a TFLM_DECODE of each kind is drawn: the index of its output, and what it holds."""
