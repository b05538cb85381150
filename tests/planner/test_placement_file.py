"""Placement problems as text, and the check of their solutions."""

import pytest

from kibi.errors import InternalError, PlanError
from kibi.planner.placement.check import check_offsets
from kibi.planner.placement.items import Gap, Item
from kibi.planner.placement.placing import place_items
from kibi.planner.placement_file import read_instance, write_instance

EXAMPLE = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"


def test_read_instance_all_columns() -> None:
    """Alignment, gaps with and without windows, and offsets are read; an empty offset is open."""
    text = "size,id,lower,upper,offset,gaps,alignment\n8,a,0,9,,2-4 5-6@2:4,4\n4,b,1,3,16,,1\n"
    instance = read_instance(text, "x.csv")
    assert instance.names == ("a", "b")
    assert instance.items == (
        Item(0, 9, 8, 4, None, (Gap(2, 4), Gap(5, 6, (2, 4)))),
        Item(1, 3, 4, 1, 16),
    )


def test_read_instance_end_column_is_the_last_moment() -> None:
    """With `end` instead of `upper`, lives and gaps include it."""
    instance = read_instance("buffer_id,start,end,size,gaps\na,0,2,4,1-1\n", "x.csv")
    assert instance.items == (Item(0, 3, 4, gaps=(Gap(1, 2),)),)


def test_write_instance_reads_back_with_fixed_offsets() -> None:
    """A written solution is a problem whose only solution it is."""
    text = "id,lower,upper,size,alignment,gaps\na,0,9,8,4,2-4 5-6@2:4\nb,1,3,4,1,\n"
    instance = read_instance(text, "x.csv")
    found = place_items(instance.items)
    assert found.offsets is not None
    again = read_instance(write_instance(instance, found.offsets), "y.csv")
    assert [item.offset for item in again.items] == list(found.offsets)
    assert place_items(again.items).offsets == found.offsets


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column id, lower, upper, size"),
        ("id,lower,upper\n", "no column size"),
        ("id,lower,upper,size,size\n", "names a column twice"),
        ("id,lower,upper,size\na,0,1\n", "line 2: 3 fields"),
        ("id,lower,upper,size\na,0,x,1\n", "line 2: 'x' is no whole number"),
        ("id,lower,upper,size\na,0,1,99999999999999999999\n", "line 2: '9+' is no whole number"),
        ("id,lower,upper,size,gaps\na,0,9,1,3\n", "'3' is no gap"),
        ("id,lower,upper,size,gaps\na,0,9,1,3-4@1\n", "'3-4@1' is no gap"),
        ("id,lower,upper,size\na,3,3,1\n", "x.csv: buffer 0"),
        ("id,lower,upper,size\na,0,1," + "9" * 5000 + "\n", "line 2: '9+' is no whole number"),
        (f"id,lower,upper,size\na,0,1,{2**60 + 1}\n", "line 2: '1152921504606846977' is no whole number"),
        (f"id,lower,upper,size\na,0,1,{2**59 + 1}\nb,0,1,{2**59}\n", "at most 1152921504606846976 can be placed"),
        (f"id,lower,upper,size,alignment\na,0,1,1,{2**60}\nb,0,1,1,2\n", "at most 1152921504606846976 can be placed"),
        ("id,lower,upper,size\na,0,1,1\nb,0,1,1\na,0,1,1\n", "x.csv, line 4: the id 'a' is that of line 2, too"),
        ("id,lower,upper,size\n" + "a" * 200_000 + ",0,1,1\n", "line 2: field larger than field limit"),
        ('id,lower,upper,size\n"a\nb",0,1\n', "x.csv, line 3: 3 fields"),
    ],
)
def test_read_instance_that_is_none_is_an_error(text: str, message: str) -> None:
    """Each mistake is refused with its line."""
    with pytest.raises(PlanError, match=message):
        read_instance(text, "x.csv")


def test_check_offsets_finds_each_kind_of_mistake() -> None:
    """A right placement passes; one that overlaps, is misaligned, moved, or claims another peak does not."""
    items = read_instance(EXAMPLE, "x.csv").items
    right = (8, 8, 4, 4, 0)
    check_offsets(items, right, 12)
    for wrong in ((8, 8, 8, 4, 0), (8, 8, 4, 2, 0), (8, 8, 4, 4, 1), (-4, 8, 4, 4, 0)):
        with pytest.raises(InternalError):
            check_offsets(items, wrong, 12)
    with pytest.raises(InternalError, match="ends at 12, not at 11"):
        check_offsets(items, right, 11)
    with pytest.raises(InternalError, match="must not be"):
        check_offsets([Item(0, 1, 4, 4)], [2], 6)
    with pytest.raises(InternalError, match="must not be"):
        check_offsets([Item(0, 1, 4, offset=8)], [0], 4)


def test_check_offsets_knows_gaps_and_windows() -> None:
    """A guest in a gap is fine, one on the window's bytes is not."""
    host = Item(0, 6, 8, gaps=(Gap(2, 4, (0, 2)),))
    check_offsets([host, Item(2, 4, 6)], (0, 2), 8)
    with pytest.raises(InternalError, match="same bytes"):
        check_offsets([host, Item(2, 4, 6)], (0, 1), 8)
    with pytest.raises(InternalError, match="same bytes"):
        check_offsets([host, Item(2, 5, 6)], (0, 2), 8)


def test_read_instance_mark_of_utf8_is_passed_over() -> None:
    """Spreadsheets begin a table with a mark of its encoding, which is no part of the first column's name."""
    assert read_instance("\ufeff" + EXAMPLE, "x.csv") == read_instance(EXAMPLE, "x.csv")
