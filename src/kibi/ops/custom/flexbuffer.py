"""FlexBuffers, the schema-less format in which converters write the options of custom operators: a bounded reader.

Everything is checked before it is read, and what is read is counted: a hostile file ends in `ValueError`.

Source of the format: https://flatbuffers.dev/internals/, "FlexBuffers".
"""

import struct
from collections.abc import Callable, Mapping

FlexValue = bool | int | float | str | bytes | None | tuple["FlexValue", ...] | Mapping[str, "FlexValue"]
"""What a flexbuffer holds; vectors of all kinds are tuples."""

_DEEPEST = 16
# A sound buffer is read about once; equal keys and strings are shared.
_READS_PER_BYTE = 8
_FREE_BYTES = 1024
_INT, _UINT, _FLOAT, _KEY, _STRING = 1, 2, 3, 4, 5
_INDIRECT_INT, _INDIRECT_FLOAT, _MAP, _VECTOR = 6, 8, 9, 10
_FIRST_TYPED, _LAST_TYPED, _FIRST_FIXED, _LAST_FIXED = 11, 15, 16, 24
_BLOB, _BOOL, _BOOLS = 25, 26, 36
_FLOATS = {2: "e", 4: "f", 8: "d"}


def read_flexbuffer(data: bytes) -> FlexValue:
    """The value that a flexbuffer holds.

    Raises:
        ValueError: the bytes are no sound flexbuffer.
    """
    if len(data) < 3:
        raise ValueError(f"{len(data)} bytes are no flexbuffer")
    width, packed = data[-1], data[-2]
    return _Reader(data).value(len(data) - 2 - width, width, packed, 0)


class _Reader:
    """One buffer, and how much of it may still be read."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._left_bytes = _READS_PER_BYTE * len(data) + _FREE_BYTES

    def value(self, place: int, parent_width: int, packed: int, depth: int) -> FlexValue:
        """The value in a field.

        Args:
            place: where the field is.
            parent_width: its bytes.
            packed: the type, and the width of what it refers to.
            depth: how many vectors it is in.
        """
        kind, width = packed >> 2, 1 << (packed & 3)
        if kind == 0:
            return None
        if kind in (_INT, _UINT, _FLOAT, _BOOL):
            return self._scalar(kind, place, parent_width)
        target = place - self._unsigned(place, parent_width)
        if _INDIRECT_INT <= kind <= _INDIRECT_FLOAT:
            return self._scalar(kind - _INDIRECT_INT + _INT, target, width)
        if kind == _KEY:
            return self._key(target)
        if kind in (_STRING, _BLOB):
            raw = self._bytes(target, self._unsigned(target - width, width))
            return raw if kind == _BLOB else raw.decode("utf-8")
        if depth == _DEEPEST:
            raise ValueError(f"vectors are nested more than {_DEEPEST} deep")
        return self._composite(kind, target, width, depth + 1)

    def _composite(self, kind: int, place: int, width: int, depth: int) -> FlexValue:
        """A vector or a map."""
        if _FIRST_FIXED <= kind <= _LAST_FIXED:
            count, element = divmod(kind - _FIRST_FIXED, 3)
            return self._same(element + _INT, place, width, count + 2, depth)
        count = self._unsigned(place - width, width)
        if _FIRST_TYPED <= kind <= _LAST_TYPED:
            return self._same(kind - _FIRST_TYPED + _INT, place, width, count, depth)
        if kind == _BOOLS:
            return self._same(_BOOL, place, width, count, depth)
        if kind not in (_VECTOR, _MAP):
            raise ValueError(f"there is no type {kind}")
        types = self._bytes(place + count * width, count)
        values = self._each(count, lambda k: self.value(place + k * width, width, types[k], depth))
        if kind == _VECTOR:
            return values
        return self._map(place, width, values)

    def _map(self, place: int, width: int, values: tuple[FlexValue, ...]) -> Mapping[str, FlexValue]:
        """Reads a map: a vector whose size comes after the place of a vector of keys and the width of its numbers."""
        keys = place - 3 * width - self._unsigned(place - 3 * width, width)
        key_width = self._unsigned(place - 2 * width, width)
        count = self._unsigned(keys - key_width, key_width)
        if count != len(values):
            raise ValueError(f"a map has {count} keys and {len(values)} values")
        names = [
            self._key(at - self._unsigned(at, key_width)) for at in range(keys, keys + count * key_width, key_width)
        ]
        if len(set(names)) != count:
            raise ValueError("a map has the same key twice")
        return dict(zip(names, values, strict=True))

    def _same(self, kind: int, place: int, width: int, count: int, depth: int) -> tuple[FlexValue, ...]:
        """Elements of one type. What an offset of them leads to, a string apart, has no type and is one byte wide."""
        packed = (_KEY if kind == _STRING else kind) << 2
        return self._each(count, lambda k: self.value(place + k * width, width, packed, depth))

    def _each(self, count: int, element: Callable[[int], FlexValue]) -> tuple[FlexValue, ...]:
        if count > self._left_bytes:
            raise ValueError(f"{count} elements are more than there is room for")
        return tuple(element(k) for k in range(count))

    def _scalar(self, kind: int, place: int, width: int) -> FlexValue:
        raw = self._bytes(place, width)
        if kind == _FLOAT:
            if width not in _FLOATS:
                raise ValueError(f"a float has {width} bytes")
            return float(struct.unpack(f"<{_FLOATS[width]}", raw)[0])
        number = int.from_bytes(raw, "little", signed=kind == _INT)
        return bool(number) if kind == _BOOL else number

    def _unsigned(self, place: int, width: int) -> int:
        return int.from_bytes(self._bytes(place, width), "little")

    def _key(self, place: int) -> str:
        end = self._data.find(0, max(place, 0))
        if place < 0 or end < 0:
            raise ValueError(f"a key at byte {place} has no end")
        return self._bytes(place, end - place).decode("utf-8")

    def _bytes(self, place: int, count: int) -> bytes:
        if not 0 <= place <= len(self._data) - count:
            raise ValueError(f"{count} bytes at byte {place} are outside the buffer of {len(self._data)}")
        self._left_bytes -= count + 1
        if self._left_bytes < 0:
            raise ValueError("its parts overlap many times over")
        return self._data[place : place + count]
