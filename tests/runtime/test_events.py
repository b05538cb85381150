"""Events have ids that are the same everywhere, and sources tell whose they are."""

import struct
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kibi
from kibi.eager.event_log import decode_log, is_text
from kibi.eager.event_scan import EventMap, scan, scan_c, scan_python
from kibi.eager.events import ID_BYTES, Severity, declare_error, declare_event, encode_ids, event_id, fnv1a
from kibi.eager.own_events import own_events
from kibi.errors import InputError


def _names(text: str) -> list[tuple[str, int]]:
    return [(found.type.name, found.line) for found in scan_c(text, "x.cpp")]


@pytest.mark.parametrize(("text", "value"), [("", 0x811C9DC5), ("a", 0xE40C292C), ("foobar", 0xBF9CF968)])
def test_fnv1a_is_the_published_one(text: str, value: int) -> None:
    """The hashes are those of the authors' own test vectors."""
    assert fnv1a(text) == value


@pytest.mark.parametrize(("id_bytes", "number"), [(1, 0x68), (2, 0xF968), (4, 0xBF9CF968)])
def test_event_id_is_the_low_bytes_of_the_hash(id_bytes: int, number: int) -> None:
    """Narrower ids are the same hash, cut as C cuts an integer."""
    assert event_id("foobar", id_bytes) == declare_event("foobar").id(id_bytes) == number


@pytest.mark.parametrize("id_bytes", [0, 3, 8])
def test_event_id_of_other_widths_is_refused(id_bytes: int) -> None:
    """Ids have 1, 2 or 4 bytes."""
    with pytest.raises(ValueError, match="1, 2 or 4"):
        event_id("foobar", id_bytes)


def test_event_carries_its_facts_and_says_them() -> None:
    """Facts are for people; the kind is equal whoever declared it."""
    kind = declare_error("OutOfMemory", "the arena is full")
    event = kind(asked=40, free=3)
    assert str(event) == "OutOfMemory (asked 40, free 3)"
    assert event.is_error
    assert event.facts["asked"] == 40
    assert event.type == declare_error("OutOfMemory")
    assert event.type != declare_event("OutOfMemory")
    assert not declare_event("Rebalancing")().is_error
    with pytest.raises(TypeError):
        event.facts["asked"] = 41  # type: ignore[index]


def test_event_can_be_counted_in_sets() -> None:
    """Events are hashable though their facts need not be."""
    kind = declare_event("Rebalancing")
    assert len({kind(), kind(), kind(moved=[1])}) == 2


def test_scan_c_finds_both_forms_over_lines_and_comments() -> None:
    """The forms of uTensor and of Kibi, wherever blanks and comments may stand."""
    text = "DECLARE_EVENT(A);\n  DECLARE_ERROR (\n  /* b */ B ) ; KIBI_EVENT(C, 0x12u)\nvoid f(void) { KIBI_ERROR(D); }"
    found = scan_c(text, "x.c")
    assert [(each.type.name, each.type.severity, each.place) for each in found] == [
        ("A", Severity.EVENT, "x.c:1"),
        ("B", Severity.ERROR, "x.c:2"),
        ("C", Severity.EVENT, "x.c:3"),
        ("D", Severity.ERROR, "x.c:4"),
    ]
    assert [each.stated_id for each in found] == [None, None, 0x12, None]


@pytest.mark.parametrize(
    "text",
    [
        "// DECLARE_EVENT(No)",
        "// goes on \\\nDECLARE_EVENT(No)",
        "/* DECLARE_EVENT(No)\n DECLARE_EVENT(No) */",
        '"DECLARE_EVENT(No)"',
        '"a \\" DECLARE_EVENT(No)"',
        '"a \\\nDECLARE_EVENT(No)"',
        'R"(" DECLARE_EVENT(No) ")"',
        'u8R"x(\n)" DECLARE_EVENT(No) )x"',
        "#define DECLARE_EVENT(No) struct No",
        "#  define BOTH(X) \\\n  DECLARE_EVENT(X); \\\n  DECLARE_ERROR(X)",
        "#if 0\nDECLARE_EVENT(No)\n#if 1\nDECLARE_EVENT(No)\n#else\nDECLARE_EVENT(No)\n#endif\n#endif",
        "MY_DECLARE_EVENT(No)",
        "DECLARE_EVENTS(No)",
        "DECLARE_EVENT()",
        'DECLARE_EVENT("no " "identifier")',
    ],
)
def test_scan_c_passes_over_what_is_no_declaration(text: str) -> None:
    """Comments, strings, macros' own definitions, code that is switched off; what follows is found, on its line."""
    assert _names(text) == []
    is_open = "never closed" in text
    assert _names(text + "\nDECLARE_EVENT(Yes)") == ([] if is_open else [("Yes", text.count("\n") + 2)])


@pytest.mark.parametrize(
    "text", ["int n = 1'000;", "char c = '\"';", "char c = '\\'';", "u8'\"'", "case'\"':", "a = '/*';"]
)
def test_scan_c_is_not_led_astray_by_marks(text: str) -> None:
    """A mark inside a number or a character opens no string, so that what follows counts."""
    assert _names(f"{text} DECLARE_EVENT(A)") == [("A", 1)]


def test_scan_c_else_of_if_0_is_code() -> None:
    """Only the part that is switched off is left out."""
    assert _names("#if 0 // old\nDECLARE_EVENT(Old)\n#else\nDECLARE_EVENT(New)\n#endif") == [("New", 4)]


def test_scan_python_finds_calls_by_any_of_their_names() -> None:
    """Plain, as an attribute, renamed at import; constant names alone."""
    text = """
from kibi.eager.events import declare_error as error
from kibi.eager import events
A = events.declare_event("A", "what it means")
B = error("B")
C = declare_event(name="C")
D = declare_event(computed())
# declare_event("E")
F = 'declare_event("F")'
def declare_event(name): return other("G")
"""
    found = [(each.type.name, each.type.severity.value, each.line) for each in scan_python(text, "x.py")]
    assert found == [("A", "event", 4), ("B", "error", 5), ("C", "event", 6)]


def test_scan_of_folders_reads_sources_alone(tmp_path: Path) -> None:
    """Sources at any depth, each once; no hidden folders, other files only by name, and then they are refused."""
    for name, text in {
        "a/b.hpp": "DECLARE_EVENT(B);",
        "a/c.py": 'declare_error("C")',
        "a/.venv/d.c": "DECLARE_EVENT(D)",
        "a/notes.md": "DECLARE_EVENT(E)",
        "a/old.py": "print 1",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = scan([tmp_path, tmp_path / "a" / "b.hpp"])
    assert [kind.name for kind in found.types] == ["B", "C"]
    assert found.places(declare_event("B")) == (f"{tmp_path / 'a' / 'b.hpp'}:1",)
    assert found.unread == (str(tmp_path / "a" / "old.py"),)
    with pytest.raises(InputError, match="neither C"):
        scan([tmp_path / "a" / "notes.md"])
    with pytest.raises(InputError, match="no such"):
        scan([tmp_path / "missing"])


def _map(*names: str) -> EventMap:
    return EventMap(scan_c("".join(f"DECLARE_EVENT({name});" for name in names), "x.h"))


def test_collisions_name_both_kinds_of_one_name() -> None:
    """A name that is declared as event and as error collides with itself; twice the same does not."""
    both = EventMap(scan_c("DECLARE_EVENT(A); DECLARE_ERROR(A); DECLARE_EVENT(A);", "x.h"))
    (collision,) = both.collisions(4)
    assert [kind.severity.value for kind in collision.types] == ["error", "event"]


def _counted(events: EventMap) -> dict[int, int]:
    """Collisions counted anew, the slow way."""
    ids = {width: [fnv1a(kind.name) % 256**width for kind in events.types] for width in (1, 2, 4)}
    return {width: sum(each.count(number) > 1 for number in set(each)) for width, each in ids.items()}


@given(st.lists(st.from_regex(r"\A[A-Z][a-z]{0,3}\Z"), unique=True, max_size=60))
def test_collisions_equal_those_counted_anew(names: list[str]) -> None:
    """No collision is missed at any width."""
    events = _map(*names)
    assert {width: len(events.collisions(width)) for width in (1, 2, 4)} == _counted(events)


@pytest.mark.parametrize("id_bytes", [1, 2, 4])
def test_decode_log_reads_back_what_was_encoded(id_bytes: int) -> None:
    """A binary log of ids names the events that were sent, in order."""
    kinds = [declare_event("A"), declare_error("Bee"), declare_event("A")]
    log = encode_ids((kind() for kind in kinds), id_bytes) + bytes(id_bytes)
    found = decode_log(_map("A", "Bee"), log, id_bytes)
    assert [[kind.name for kind in each.types] for each in found] == [["A"], ["Bee"], ["A"], []]
    assert [each.position for each in found] == [0, id_bytes, 2 * id_bytes, 3 * id_bytes]


def test_decode_log_of_text_finds_hexadecimal_words() -> None:
    """Ids stand anywhere in a line, with `0x`; longer words are addresses, not ids; bare digits fill their line."""
    low = event_id("A", 2)
    text = f"12:01 boot\nevent {low:#06x}, at 0x20001000\n{low:04X}\r\n  beef \n12:02 done"
    found = decode_log(_map("A"), text.encode(), 2)
    assert [(each.position, each.id, len(each.types)) for each in found] == [(2, low, 1), (3, low, 1), (4, 0xBEEF, 0)]


def test_decode_log_of_broken_length_is_refused() -> None:
    """A binary log that ends within an id was written at another width."""
    with pytest.raises(InputError, match=r"5 bytes.*ids of 2"):
        decode_log(_map("A"), struct.pack("<HHB", 1, 2, 3), 2)


def test_is_text_tells_ids_from_lines() -> None:
    """Control characters and bytes that are no UTF-8 make a log binary."""
    assert is_text(b"\x1b[1m0x12\x1b[0m\r\n")
    assert not is_text(b"0x12\x00")
    assert not is_text(b"\xff\xfe0")


_own_sources = cache(lambda: scan([Path(kibi.__file__).parent]))


@pytest.mark.parametrize("id_bytes", ID_BYTES)
def test_kibi_sources_declare_no_colliding_events(id_bytes: int) -> None:
    """The events of the runtime itself can be told apart at every width; the page of all of them leaves none out."""
    found = _own_sources()
    assert not found.unread
    assert not [each for each in found.declarations if each.is_wrong]
    assert not found.collisions(id_bytes)
    own = own_events()
    assert [each.name for each in own] == sorted({each.type.name for each in found.declarations})
    assert len({each.id(id_bytes) for each in own}) == len(own)
    assert all(each.meaning for each in own)


_UTENSOR = (
    "MetaHeaderNotFound localCircularArenaAllocatorRebalancing localCircularArenaAllocatorConstructed InvalidBoundRegionState "
    "MetaHeaderNotBound InvalidAlignmentAllocation MemoryAllocatorUnsetError InvalidReshapeError InvalidResizeError "
    "InvalidMemAccessError OutOfMemError OutOfMemBoundsError InvalidTensorError OperatorIOSizeMismatchError NullTensorDeleteError"
)
"""Events and errors of uTensor's core and allocators: src/uTensor/core/*.hpp, src/uTensor/allocators/arenaAllocator.hpp."""


def test_kibi_shares_utensors_names_and_no_other_ids() -> None:
    """Where both report to one log with uTensor's ids of 2 bytes, an id that both have is the same event."""
    theirs = {event_id(name, 2): name for name in _UTENSOR.split()}
    ours = {each.id(2): each.name for each in own_events()}
    shared = {number: name for number, name in ours.items() if number in theirs}
    assert all(theirs[number] == name for number, name in shared.items())
    assert sorted(shared.values()) == ["InvalidBoundRegionState", "MetaHeaderNotBound", "MetaHeaderNotFound"]


def test_scan_c_id_of_any_number_of_digits_is_read() -> None:
    """Digits without end are a wrong id, not more than Python converts; zeros in front count for nothing."""
    right = f"0x{'0' * 9000}{event_id('A'):x}"
    found = scan_c(
        f"KIBI_EVENT(A, {right}u)\nKIBI_EVENT(B, {'9' * 9000})\nKIBI_ERROR(C, 0x{'f' * 9000})\nKIBI_EVENT(D, 0)", "x.c"
    )
    assert [each.is_wrong for each in found] == [False, True, True, True]


def test_scan_python_name_that_has_no_bytes_is_passed_over() -> None:
    """Half of a character cannot be hashed, so it can be no name."""
    found = scan_python('declare_event("\\ud800")\ndeclare_event("B")', "x.py")
    assert [each.type.name for each in found] == ["B"]


@pytest.mark.parametrize(
    "source", ["(" * 100_000, "-" * 100_000 + "1", "x = " + "9" * 5000, "\0", "\ud800".encode("utf-8", "surrogatepass")]
)
def test_scan_python_that_does_not_parse_is_left_out(source: str | bytes, tmp_path: Path) -> None:
    """Nesting and digits that Python's own parser gives up on make a file that is not read, and no crash."""
    path = tmp_path / "x.py"
    path.write_bytes(source if isinstance(source, bytes) else source.encode())
    assert scan([path]).unread == (str(path),)
