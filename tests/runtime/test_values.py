"""What lies at one place is read as the reader says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibi.dtypes import DType
from kibi.eager.values import ByteOrder, IntegralValue, encode, ordered
from kibi.errors import InputError


class _Bytes:
    """The smallest place there is."""

    def __init__(self, data: bytes) -> None:
        self.data = bytearray(data)

    def read_bytes(self, offset: int, size_bytes: int) -> bytes:
        if offset + size_bytes > len(self.data):
            raise InputError("outside")
        return bytes(self.data[offset : offset + size_bytes])

    def write_bytes(self, offset: int, data: bytes) -> None:
        self.read_bytes(offset, len(data))
        self.data[offset : offset + len(data)] = data


def _value(
    data: bytes, dtype: DType = DType.U8, offset: int = 0, byteorder: ByteOrder = "little"
) -> tuple[_Bytes, IntegralValue]:
    place = _Bytes(data)
    return place, IntegralValue(place, offset, dtype, byteorder)


@pytest.mark.parametrize(
    ("byteorder", "wanted"), [("little", (0xDE, 0xADDE, 0xEFBEADDE)), ("big", (0xDE, 0xDEAD, 0xDEADBEEF))]
)
def test_value_reads_the_bytes_that_lie_there(byteorder: ByteOrder, wanted: tuple[int, int, int]) -> None:
    """One, two and four bytes from the same place, in the device's order."""
    _, value = _value(b"\xde\xad\xbe\xef", byteorder=byteorder)
    assert (value.u8, value.u16, value.u32) == wanted
    assert tuple(value.read(kind).item() for kind in (np.uint8, "u2", np.uint32)) == wanted
    assert value.s8 == 0xDE - 256
    assert int(value) == value == 0xDE


def test_value_past_the_end_raises() -> None:
    """A width that reaches out of the tensor is refused by the place."""
    _, value = _value(b"\xde\xad\xbe\xef", offset=2)
    assert value.u16 == 0xEFBE
    with pytest.raises(InputError, match="outside"):
        _ = value.u32


@pytest.mark.parametrize(("byteorder", "bytes_"), [("little", b"\x02\x01\xff\xff"), ("big", b"\x01\x02\xff\xff")])
def test_value_writes_as_wide_as_it_is_told(byteorder: ByteOrder, bytes_: bytes) -> None:
    """A property of a width writes that width, and nothing behind it."""
    place, value = _value(b"\xff" * 4, byteorder=byteorder)
    value.u16 = 0x0102
    assert place.data == bytes_


def test_encode_explicit_casts_keep_their_width() -> None:
    """NumPy's scalars write their own bytes whatever the tensor's type; Python's numbers are elements."""
    assert encode(np.uint16(0xADDE), DType.U8) == b"\xde\xad"
    assert encode(np.uint16(0xADDE), DType.U8, "big") == b"\xad\xde"
    assert encode(-1, DType.S16) == b"\xff\xff"
    assert encode(1, DType.S32, "big") == b"\x00\x00\x00\x01"
    assert encode(1.5, DType.F32) == encode(np.float64(1.5), DType.F32) == np.float32(1.5).tobytes()
    assert encode(2, DType.F32) == np.float32(2).tobytes()
    assert encode(True, DType.BOOL) == b"\x01"
    assert encode(_value(b"\x07")[1], DType.U8) == b"\x07"


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (256, DType.U8),
        (-1, DType.U8),
        (-129, DType.S8),
        (1 << 31, DType.S32),
        (1.0, DType.S8),
        (1, DType.BOOL),
        ("1", DType.S8),
        (None, DType.F32),
        (1e39, DType.F32),
        (np.array([1]), DType.S8),
        (_value(b"\x07")[1], DType.S8),
    ],
)
def test_encode_of_what_does_not_fit_raises(value: object, dtype: DType) -> None:
    """Nothing is wrapped, rounded or guessed."""
    with pytest.raises(InputError):
        encode(value, dtype)


@given(st.sampled_from(["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]), st.integers(-(1 << 64), 1 << 64))
def test_write_of_a_kind_holds_what_is_in_range(kind: str, number: int) -> None:
    """A number in the kind's range comes back; another is refused and nothing is written."""
    place, value = _value(bytes(8), byteorder="big")
    limits = np.iinfo(kind)
    if limits.min <= number <= limits.max:
        value.write(number, kind)
        assert value.read(kind) == number
    else:
        with pytest.raises(InputError):
            value.write(number, kind)
        assert place.data == bytes(8)


def test_write_of_a_kind_refuses_what_would_change() -> None:
    """Floats are not rounded, and none becomes infinite."""
    _, value = _value(bytes(8))
    for number, kind in ((1.5, "u1"), (1e39, "f4"), ("1", "u1")):
        with pytest.raises(InputError):
            value.write(number, kind)
    value.f32 = 0.5
    assert value.f32 == 0.5


def test_value_is_a_reference() -> None:
    """It sees what is written later, has no hash, and is a number where one is wanted."""
    place, value = _value(b"\x02\x00", DType.S16)
    place.data[:] = b"\x03\x00"
    assert (int(value), float(value), bool(value), [10, 11, 12, 13][value]) == (3, 3.0, True, 13)
    assert value == np.int16(3)
    assert value != "3"
    assert value == _value(b"\x03", DType.U8)[1]
    assert repr(value) == "<s16 at byte 0: 3>"
    with pytest.raises(TypeError):
        hash(value)
    with pytest.raises(TypeError, match="no index"):
        _ = [1][_value(bytes(4), DType.F32)[1]]


def test_ordered_refuses_what_is_no_number() -> None:
    """Texts, records and complex numbers are no elements."""
    for kind in ("U4", "c8", "V4"):
        with pytest.raises(InputError):
            ordered(kind, "little")
