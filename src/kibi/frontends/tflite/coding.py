"""Decodes compressed constants: tables of values with indices, Huffman codes, values without their zeros.

Encoded bits are read from the highest to the lowest of each byte. A tensor with scales along its first or last axis has a table,
or a zero point, for each channel there; all others have one.

Source: TFLM `kernels/decode_state_lut.cc`, `decode_state_huffman.cc`, `decode_state_prune.cc`, `decompress_common.cc`.
"""

from collections.abc import Callable, Mapping
from math import prod

import numpy as np

from kibi.dtypes import Array
from kibi.frontends.tflite.reader import TENSOR_TYPES, TensorRecord
from kibi.ir.codebook import Codebook, unpack

BROKEN = "Compress the model again; the file is damaged"

_ELEMENTS: Mapping[str, np.dtype[np.generic]] = {
    name: np.dtype(kind)
    for name, kind in (
        ("BOOL", "?"), ("FLOAT32", "<f4"), ("INT8", "i1"), ("INT16", "<i2"), ("INT32", "<i4"), ("INT64", "<i8"),
    )
}  # fmt: skip
_LUT, _HUFFMAN, _PRUNING = 0, 1, 2
_HEADER_BYTES = 16
_VERSION = 1
_MOST_BITS = 7
_MOST_VALUES = 128
# The nibble beside the bits of an index: the axis of the tables, or one table for all.
_ONE_TABLE = 15


class CodingError(Exception):
    """A compressed constant cannot be decoded.

    Attributes:
        what: the fact.
        remedy: what the user can do.
    """

    def __init__(self, what: str, remedy: str = BROKEN) -> None:
        self.what = what
        self.remedy = remedy
        super().__init__(what)


def decode(record: TensorRecord, data: Array, description: Array) -> tuple[Array, Codebook | None]:
    """The elements of an output of TFLM_DECODE.

    Args:
        record: the output.
        data: `[N]` u8: what is encoded.
        description: `[M]` u8: a header of 16 bytes, then tables.

    Returns:
        The elements as bytes `[K]` u8; and the look-up that gave them, where it was one.

    Raises:
        CodingError: the header is of a kind or version that is not known, or the bytes make no sense.
    """
    if description.size < _HEADER_BYTES:
        raise CodingError(f"TFLM_DECODE: its description has {description.size} bytes, less than a header's 16")
    kind, version, own_version = (int(description[place]) for place in (0, 1, 4))
    if kind not in (_LUT, _HUFFMAN, _PRUNING):
        remedy = "Use the model before it was compressed, or compress it with look-up tables"
        raise CodingError(f"TFLM_DECODE: kind {kind} of encoding is not supported", remedy)
    if (version, own_version) != (_VERSION, _VERSION):
        wrong = version if version != _VERSION else own_version
        raise CodingError(f"TFLM_DECODE: version {wrong} of the encoding is not supported", BROKEN)
    rest = description[_HEADER_BYTES:]
    parameters = int(description[5])
    if kind == _LUT:
        return codebook(record, data, rest, parameters & 7, values=int(description[6]), axis=parameters >> 4)
    if kind == _HUFFMAN:
        return _huffman(record, data, rest, wide=bool(parameters & 1), first_bits=(parameters >> 4) + 1), None
    return _pruned(record, data, rest), None


def _dtype(record: TensorRecord) -> np.dtype[np.generic]:
    name = TENSOR_TYPES.get(record.type_code, str(record.type_code))
    if name not in _ELEMENTS:
        raise CodingError(f"compressed {name} is not supported; TFLM has {', '.join(_ELEMENTS)}")
    return _ELEMENTS[name]


def _channels(record: TensorRecord) -> tuple[int, bool]:
    """Returns the number of channels that have their own table, and true if they are along the last axis."""
    quantization = record.quantization
    count = 0 if quantization is None else len(quantization.scales)
    if quantization is None or count <= 1:
        return 1, False
    axis, last = quantization.axis, len(record.shape) - 1
    if axis not in (0, last) or axis not in range(len(record.shape)) or record.shape[axis] != count:
        what = f"it is compressed, with {count} scales along axis {axis} of shape {list(record.shape)}"
        raise CodingError(f"{what}; TFLM has tables along the first or the last axis")
    return count, axis == last and last > 0


def codebook(
    record: TensorRecord, data: Array, table: Array, bits: int, *, values: int | None = None, axis: int | None = None
) -> tuple[Array, Codebook | None]:
    """Decodes indices: returns the elements as bytes, and the look-up, which is None for channels of the last axis.

    Args:
        record: the tensor.
        data: `[N]` u8: the indices.
        table: `[M]` u8: the values, channel after channel.
        bits: the bits of an index.
        values: the number of values of a channel; None: the table is divided evenly.
        axis: the axis of the tables as the file names it; 15: one table. Like TFLM, this function follows the scales alone, but
            raises an error if that would read another table than the file means.

    Raises:
        CodingError: there are too few indices or values, or too many.
    """
    dtype, (channels, is_last) = _dtype(record), _channels(record)
    count, each = table.size // dtype.itemsize, values
    if each is None:
        each = count // channels
    if not 1 <= bits <= _MOST_BITS or not 1 <= each <= _MOST_VALUES:
        raise CodingError(f"it looks up {each} values by indices of {bits} bits; TFLM has at most 128, and 1 to 7 bits")
    meant = 1 if axis == _ONE_TABLE else channels
    if count < channels * each or (channels == 1 and axis not in (None, _ONE_TABLE) and count >= 2 * each):
        meant = count // each
    if meant != channels:
        raise CodingError(f"it has {meant} tables of values, but {channels} by its scales, which TFLM goes by")
    elements = prod(record.shape)
    if data.size * 8 < elements * bits:
        raise CodingError(f"it has {data.size} bytes of indices, too few for {elements} of {bits} bits")
    indices = unpack(data, elements, bits)
    if indices.size and int(indices.max()) >= each:
        raise CodingError(f"an index is {int(indices.max())}, but there are {each} values")
    tables = np.frombuffer(table.tobytes(), dtype, channels * each).reshape(channels, each)
    if is_last:
        found = tables[np.arange(channels), indices.reshape(-1, channels)]
    else:
        found = tables[np.arange(channels)[:, np.newaxis], indices.reshape(channels, -1)]
    decoded = _bytes(found)
    return decoded, None if is_last else Codebook(bits, data[: -(-elements * bits // 8)], tables, decoded)


def _bytes(elements: Array) -> Array:
    """Elements as read-only bytes."""
    return np.frombuffer(elements.tobytes(), np.uint8)


def _pruned(record: TensorRecord, data: Array, table: Array) -> Array:
    """Values where a bit is set, in order, and zero points elsewhere; as bytes."""
    dtype, (channels, is_last) = _dtype(record), _channels(record)
    elements = prod(record.shape)
    points: Array = np.zeros(channels, np.int64)
    if record.quantization is not None and len(record.quantization.scales):
        if len(record.quantization.zero_points) != channels:
            raise CodingError(f"it has {channels} scales, but {len(record.quantization.zero_points)} zero points")
        points = record.quantization.zero_points
    if dtype != np.int8 and points.any():
        raise CodingError("TFLM_DECODE: it is pruned, and of its type TFLM has zero points of 0 alone")
    if data.size * 8 < elements:
        raise CodingError(f"TFLM_DECODE: it has {data.size} bytes of bits, too few for {elements} elements")
    kept = np.unpackbits(data.astype(np.uint8)[: -(-elements // 8)], count=elements).astype(bool)
    if table.size // dtype.itemsize < kept.sum():
        what = f"TFLM_DECODE: {int(kept.sum())} values are kept, but there are {table.size // dtype.itemsize}"
        raise CodingError(what)
    shape = (-1, channels) if is_last else (channels, -1)
    zeros = points.astype(np.int8).astype(dtype)
    found = np.broadcast_to(zeros if is_last else zeros[:, np.newaxis], kept.reshape(shape).shape).reshape(-1).copy()
    found[kept] = np.frombuffer(table.tobytes(), dtype, int(kept.sum()))
    return _bytes(found)


def _huffman(record: TensorRecord, data: Array, table: Array, *, wide: bool, first_bits: int) -> Array:
    """Decodes Huffman codes; returns the elements as bytes.

    An entry of a table is a symbol, with the number of bits of the last read that belong to it, or a link to another table: the
    distance in entries, and the number of bits of that table's index.
    """
    dtype = _dtype(record)
    if dtype not in (np.dtype(np.int8), np.dtype("<i2")) or (dtype.itemsize > 1 and not wide):
        name = TENSOR_TYPES[record.type_code]
        raise CodingError(
            f"TFLM_DECODE: Huffman codes of {name} in entries of {32 if wide else 16} bits are not supported"
        )
    entry_bits = 32 if wide else 16
    entries = np.frombuffer(table.tobytes(), f"<u{entry_bits // 8}", table.size // (entry_bits // 8)).tolist()
    elements, stream = prod(record.shape), _Bits(data.tobytes())
    if elements > stream.total:  # no symbol takes less than a bit
        raise CodingError(f"TFLM_DECODE: it has {data.size} bytes of Huffman codes, too few for {elements} elements")
    step = _stepper(entries, entry_bits, first_bits, stream)
    symbols = np.fromiter((step() for _ in range(elements)), np.int64, elements)
    return _bytes(symbols.astype(dtype))


class _Bits:
    """Bits in order. Reads may pass the end, because they may take more bits than a symbol has; those bits are 0."""

    __slots__ = ("_data", "place", "total")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.total = 8 * len(data)
        self.place = 0

    def take(self, count: int) -> int:
        """The next bits, at most 16, as a number."""
        first, self.place = self.place, self.place + count
        window = self._data[first >> 3 : (first >> 3) + 4].ljust(4, b"\0")
        return int.from_bytes(window, "big") >> (32 - (first & 7) - count) & ((1 << count) - 1)


def _stepper(entries: list[int], entry_bits: int, first_bits: int, stream: _Bits) -> Callable[[], int]:
    """A function that gives the next symbol."""
    found_bit, shift = 1 << (entry_bits - 1), entry_bits - 5
    value_mask = (1 << shift) - 1

    def entry(place: int) -> int:
        if place >= len(entries):
            raise CodingError(f"TFLM_DECODE: a Huffman code leads to entry {place} of a table of {len(entries)}")
        return entries[place]

    def step() -> int:
        start, bits = stream.place, first_bits
        place = stream.take(bits)
        value = entry(place)
        while not value & found_bit:
            bits = (value >> shift & 15) + 1
            place += (value & value_mask) + stream.take(bits)
            value = entry(place)
            if stream.place > stream.total + entry_bits:
                break
        stream.place -= max(0, bits - (value >> shift & 15))
        if not start < stream.place <= stream.total:
            raise CodingError("TFLM_DECODE: its Huffman codes end early, or one has no bits")
        return value & value_mask

    return step
