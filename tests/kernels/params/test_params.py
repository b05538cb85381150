"""Descriptions of kernels' parameters: what they keep, what they refuse, and their bytes."""

import numpy as np
import pytest

from kibi.dtypes import Array, DType
from kibi.errors import InternalError
from kibi.kernels.params import Params, array, number, subgraph
from kibi.kernels.params.c_text import layout_checks, struct_text
from kibi.kernels.params.layout import Layout, packed


class _Base(Params):
    elements: int = number(DType.S32, "of a row")


class _Example(_Base, kernels=("kibi_example_s8",)):
    table: Array | None = array(DType.S8, "[256]", default=None)
    low: int = number(DType.S8)
    scale: float = number(DType.F32, default=0.5)
    body: None = subgraph("what runs", default=None)


def test_fields_are_those_of_the_base_then_its_own() -> None:
    """The order is that of the struct in C."""
    assert [each.name for each in _Example.fields] == ["elements", "table", "low", "scale", "body"]
    assert [each.is_pointer for each in _Example.fields] == [False, True, False, False, False]
    assert [each.name for each in _Example.members()] == ["elements", "table", "low", "scale"]


def test_fields_of_several_bases_follow_one_another_and_one_that_is_declared_again_keeps_its_place() -> None:
    """Contracts and defaults of the bases are inherited, too."""

    class Counted(Params):
        count: int = number(DType.S32, "of both", default=2)
        contract = "require: 1 <= count"

    class Both(_Example, Counted, kernels=("kibi_both_s8",)):
        low: int = number(DType.S16, "wider")
        contract = "require: count <= elements"

    assert [each.name for each in Both.fields] == ["elements", "table", "low", "scale", "body", "count"]
    assert [each.dtype for each in Both.fields if each.name in ("low", "count")] == [DType.S16, DType.S32]
    assert Both.contract.split("\n")[-2:] == ["require: 1 <= count", "require: count <= elements"]
    assert Both(elements=3, low=-300).by_name == {
        "elements": 3, "table": None, "low": -300, "scale": 0.5, "body": None, "count": 2,
    }  # fmt: skip


def test_pointers_come_first_where_a_struct_asks_for_it() -> None:
    """The numbers of a base then follow the pointers of the class, and its own numbers follow these."""

    class _Narrow(Params):
        width: int = number(DType.S16)
        contract = "require: 1 <= width"

    class _Packed(_Narrow, kernels=("kibi_packed_s8",), pointers_first=True):
        filter: Array = array(DType.S8)
        at_once: int = number(DType.S16)
        bias: Array = array(DType.S32)

    assert [each.name for each in _Packed.fields] == ["filter", "bias", "width", "at_once"]


def test_values_are_kept_by_name_and_defaults_fill_in() -> None:
    """Attributes, mappings and iteration agree."""
    table = np.arange(4, dtype=np.int8)
    given = _Example(elements=3, table=table, low=-128)
    assert (given.elements, given.low, given.scale) == (3, -128, 0.5)
    assert given.scalars == {"elements": 3, "low": -128, "scale": 0.5}
    assert list(given.constants) == ["table"]
    assert [each.name for each, _ in given] == list(given.by_name)
    assert given.scalars_for(_Base) == {"elements": 3}


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"elements": 1}, "other fields than those given: low"),
        ({"elements": 1, "low": 0, "more": 2}, "other fields than those given: more"),
        ({"elements": 1 << 31, "low": 0}, r"elements: 2147483648 is not an integer in -2147483648 … 2147483647"),
        ({"elements": 1.0, "low": 0}, "elements: 1.0 is not an integer"),
        ({"elements": 1, "low": 128}, "low: 128 is not an integer in -128 … 127"),
        ({"elements": 1, "low": 0, "scale": "1"}, "scale: '1' is no number"),
        ({"elements": 1, "low": 0, "table": np.zeros(4, np.int16)}, "table: it is no array of s8"),
    ],
    ids=str,
)
def test_wrong_values_are_refused(values: dict[str, object], text: str) -> None:
    """Each field checks what it is given, and all must be given."""
    with pytest.raises(InternalError, match=text):
        _Example(**values)  # type: ignore[arg-type]  # that is tested


def test_numbers_of_numpy_become_plain_ones() -> None:
    """Attributes of operators that somebody made by hand may be such."""
    given = _Example(elements=np.int64(3), low=np.int8(-1), scale=np.float32(0.25))  # type: ignore[arg-type]  # NumPy's own
    assert [type(each) for each in given.scalars.values()] == [int, int, float]
    assert given == _Example(elements=3, low=-1, scale=0.25)


def test_parameters_cannot_be_changed() -> None:
    """They are frozen; `replaced` makes others."""
    given = _Base(elements=3)
    with pytest.raises(AttributeError, match="elements cannot be changed"):
        given.elements = 4  # type: ignore[misc]  # that is tested
    assert given.replaced(elements=4).elements == 4
    assert given.elements == 3


def test_equality_sees_the_elements_of_arrays() -> None:
    """Equal are two of a class with equal numbers, and equal arrays of the same type."""
    one, same, other = (_Example(elements=1, low=0, table=np.full(4, value, np.int8)) for value in (1, 1, 2))
    assert (one == same, one == other, hash(one) == hash(same)) == (True, False, True)
    assert one != _Base(elements=1)


def test_field_may_not_hide_what_all_parameters_have() -> None:
    """A field called as an attribute of `Params` would hide it."""
    with pytest.raises(InternalError, match="no field can be called scalars"):
        type("Wrong", (Params,), {"scalars": number(DType.S32)})


def test_layout_aligns_each_field_to_its_size() -> None:
    """Offsets, size and alignment, with pointers of four bytes and of eight."""
    assert Layout.of(_Example) == Layout((0, 4, 8, 12, 16), 20, 4)
    assert Layout.of(_Example, 8) == Layout((0, 8, 16, 20, 24), 32, 8)


def test_bytes_follow_the_layout() -> None:
    """Numbers are little-endian, pointers are what is given for them, null where nothing is, and gaps are 0."""
    given = _Example(elements=0x01020304, low=-2, scale=1.0, table=np.zeros(4, np.int8))
    expected = bytes.fromhex("04030201 78563412 fe000000 0000803f 00000000")
    assert packed(given, {"table": 0x12345678}) == expected
    assert packed(given, {}, 8)[8:16] == bytes(8)


def test_text_in_c_has_a_line_for_each_field() -> None:
    """What a field means is a comment after it; graphs are no fields, and a plan file has offsets for pointers."""
    assert struct_text(_Example).text == (
        "typedef struct {\n"
        "    int32_t elements;    /* of a row */\n"
        "    const int8_t *table; /* [256] */\n"
        "    int8_t low;\n"
        "    float scale;\n"
        "} kibi_example_s8_params;\n"
    )
    assert "    int32_t table;    /* [256] */\n" in struct_text(_Example, in_file=True).text
    assert "offsetof(kibi_example_s8_params, scale) == 12 ? 1 : -1" in layout_checks(_Example).text
