"""The records of decisions: numbered, short, and of one form."""

import re
from pathlib import Path

import pytest

from tests.docs.documents import DOCS, label

_RECORDS = sorted((DOCS / "decisions").glob("[0-9]*.md"))
_MOST_LINES = 20


def test_records_are_numbered_without_gaps() -> None:
    """A number is never used twice, and none is missing."""
    assert [path.name[:3] for path in _RECORDS] == [f"{number:03d}" for number in range(1, len(_RECORDS) + 1)]
    assert len(_RECORDS) >= 10


@pytest.mark.parametrize("path", _RECORDS, ids=label)
def test_record_has_context_choice_and_consequence(path: Path) -> None:
    """A record has its number in the title, the three parts in order, about ten lines, and nothing that would have to run."""
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"# {path.name[:3]} ")
    assert re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE) == ["Context", "Choice", "Consequence"]
    assert len(text.splitlines()) <= _MOST_LINES
    assert "```" not in text


@pytest.mark.parametrize("path", _RECORDS, ids=label)
def test_index_has_the_title_of_the_record(path: Path) -> None:
    """The index shows each record by its own title."""
    title = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    index = (DOCS / "decisions" / "index.md").read_text(encoding="utf-8")
    assert f"- [{title}]({path.name})\n" in index
