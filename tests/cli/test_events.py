"""`kibi events` finds the names behind ids."""

from pathlib import Path

import pytest

from kibi.eager.events import declare_error, declare_event, encode_ids, event_id
from tests.cli.conftest import Kibi


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A header in uTensor's form and a Python file in Kibi's."""
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "errors.hpp").write_text(
        "// DECLARE_EVENT(NotThis)\nDECLARE_ERROR(OutOfMemError);\nDECLARE_EVENT(MyEvent);\n", encoding="utf-8"
    )
    (folder / "events.py").write_text('Rebalancing = declare_event("Rebalancing")\n', encoding="utf-8")
    return folder


def test_events_prints_the_map(kibi: Kibi, sources: Path) -> None:
    """Name, kind, ids at each width and place, for people and for programs."""
    text, record = kibi("events", sources), kibi("events", sources, "--json").record
    assert (text.code, text.err) == (0, "")
    lines = [line.split() for line in text.out.splitlines()]
    assert lines[1][:2] == ["MyEvent", "event"]
    assert lines[1][4] == f"{event_id('MyEvent'):#010x}"
    assert lines[2][:3] == ["OutOfMemError", "error", f"{event_id('OutOfMemError', 1):#04x}"]
    assert lines[2][5] == f"{sources / 'errors.hpp'}:2"
    assert [each["name"] for each in record["events"]] == ["MyEvent", "OutOfMemError", "Rebalancing"]
    assert record["events"][2] == {
        "name": "Rebalancing",
        "kind": "event",
        "ids": {str(width): event_id("Rebalancing", width) for width in (1, 2, 4)},
        "places": [f"{sources / 'events.py'}:1"],
    }
    assert record["collisions"] == []


def _colliding(id_bytes: int) -> tuple[str, str]:
    """Two names whose ids of that width are the same, but not those of the next."""
    seen: dict[int, str] = {}
    for number in range(100_000):
        name = f"Event{number}"
        other = seen.setdefault(event_id(name, id_bytes), name)
        if other != name and event_id(other, 2 * id_bytes) != event_id(name, 2 * id_bytes):
            return other, name
    raise AssertionError("no collision found")


@pytest.mark.parametrize("id_bytes", [1, 2])
def test_events_collision_at_the_chosen_width_is_an_error(kibi: Kibi, tmp_path: Path, id_bytes: int) -> None:
    """Collisions are reported at each width, and end with an error where they matter."""
    first, second = _colliding(id_bytes)
    path = tmp_path / "x.h"
    path.write_text(f"DECLARE_EVENT({first});\nDECLARE_ERROR({second});\n", encoding="utf-8")
    fine, narrow = kibi("events", path), kibi("events", path, "--width", str(id_bytes))
    assert fine.code == 0
    assert f"collision at width {id_bytes}: {event_id(first, id_bytes):#0{2 * id_bytes + 2}x}" in fine.out
    assert narrow.code == 12
    assert first in narrow.err
    record = kibi("events", path, "--json", "-w", str(id_bytes)).record
    assert {"width_bytes": id_bytes, "id": event_id(first, id_bytes), "names": sorted([first, second])} in record[
        "collisions"
    ]


def test_events_decodes_single_ids(kibi: Kibi, sources: Path) -> None:
    """An id gives its name; one that nobody declares is an error, after what is known."""
    number = event_id("MyEvent", 2)
    known = kibi("events", sources, "--decode", f"{number:#x}", "-w", "2")
    assert known.code == 0
    assert known.out.splitlines()[1].split() == [f"{number:#x}", f"{number:#06x}", "MyEvent", "event"]
    unknown = kibi("events", sources, "-d", f"{number:x}", "-d", "0x1234", "-w", "2")
    assert unknown.code == 12
    assert "0x1234" in unknown.err
    assert "MyEvent" in unknown.out


def test_events_decodes_text_and_binary_logs(kibi: Kibi, sources: Path, tmp_path: Path) -> None:
    """A log's ids are named in order; unknown ones are shown as such and are no error."""
    sent = [declare_event("MyEvent")(), declare_error("OutOfMemError")()]
    binary, text = tmp_path / "log.bin", tmp_path / "log.txt"
    binary.write_bytes(encode_ids(sent, 2) + b"\x00\x00")
    text.write_text(f"boot\ngot {event_id('MyEvent', 2):#06x}\n{event_id('OutOfMemError', 2):04x}\n", encoding="utf-8")
    outcome = kibi("events", sources, "--decode", binary, "--width", "2", "--json")
    assert outcome.code == 0
    (log,) = outcome.record["decoded"]
    assert [(each["at"], each["names"]) for each in log["events"]] == [
        (0, ["MyEvent"]),
        (2, ["OutOfMemError"]),
        (4, []),
    ]
    (log,) = kibi("events", sources, "--decode", text, "--width", "2", "--json").record["decoded"]
    assert [(each["at"], each["names"]) for each in log["events"]] == [(2, ["MyEvent"]), (3, ["OutOfMemError"])]
    assert "unknown" in kibi("events", sources, "--decode", binary, "--width", "2").out


@pytest.mark.parametrize("given", ["nothing", "0x123456789", "-1", "x" * 5000])
def test_events_decode_of_what_is_no_id_is_an_error(kibi: Kibi, sources: Path, given: str) -> None:
    """Neither a file nor an id of the width ends with an input's exit code."""
    assert kibi("events", sources, f"--decode={given}").code == 4


def test_events_of_wrong_arguments_are_refused(kibi: Kibi, sources: Path) -> None:
    """Widths that ids do not have, paths that do not exist."""
    assert kibi("events", sources, "--width", "3").code == 2
    assert kibi("events", sources / "missing").code == 4
    assert kibi("events").code == 2


def test_events_wrong_stated_id_is_an_error(kibi: Kibi, tmp_path: Path) -> None:
    """An id that stands beside a name must be its hash, at some width."""
    path = tmp_path / "x.c"
    path.write_text(f"KIBI_EVENT(Good, {event_id('Good', 2):#x}u)\nKIBI_EVENT(Bad, 1)\n", encoding="utf-8")
    outcome = kibi("events", path, "--json")
    assert outcome.code == 12
    assert outcome.record["wrong_ids"] == [f"{path}:2"]
    assert "Bad" in outcome.err


def test_events_leaves_out_python_that_does_not_parse(kibi: Kibi, sources: Path) -> None:
    """A file for another Python is named on standard error, and the others are read."""
    (sources / "old.py").write_text("print 'old'\n", encoding="utf-8")
    outcome = kibi("events", sources, "--json")
    assert outcome.code == 0
    assert "old.py" in outcome.err
    assert outcome.record["unread"] == [str(sources / "old.py")]
