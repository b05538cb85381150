"""Links lead somewhere, and every document can be reached."""

import re
from pathlib import Path

import pytest

from tests.docs.documents import DOCS, DOCUMENTS, ROOT, label, plain, prose

_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)


def _anchor(heading: str) -> str:
    """The anchor that a heading gets on the web: lower case, punctuation dropped, spaces as hyphens."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _targets(path: Path) -> list[str]:
    return [match["target"] for match in _LINK.finditer(prose(path))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=label)
def test_document_links_resolve(path: Path) -> None:
    """Each link to a file of the project finds it, and each link to a section finds its heading."""
    for target in _targets(path):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        linked = (path.parent / name).resolve() if name else path
        assert linked.exists(), f"{target}: no such file"
        assert ROOT in (linked, *linked.parents), f"{target}: outside the project"
        if anchor:
            anchors = {_anchor(match["text"]) for match in _HEADING.finditer(prose(linked))}
            assert anchor in anchors, f"{target}: no such section"


def test_every_document_is_reached_from_the_index() -> None:
    """The indices link every page, the README links the index, and every picture is shown somewhere."""
    for index in (DOCS / "index.md", DOCS / "decisions" / "index.md"):
        linked = {(index.parent / target.partition("#")[0]).resolve() for target in _targets(index)}
        assert {path for path in index.parent.glob("*.md") if path != index} <= linked
    assert "decisions/index.md" in _targets(DOCS / "index.md")
    assert "docs/index.md" in _targets(ROOT / "README.md")
    shown = {(path.parent / target).resolve() for path in DOCUMENTS for target in _targets(path)}
    assert set((DOCS / "images").iterdir()) <= shown


@pytest.mark.parametrize("path", DOCUMENTS, ids=label)
def test_document_has_one_title_and_whole_brackets(path: Path) -> None:
    """A document starts with its title, and no link is torn."""
    assert path.read_text(encoding="utf-8").startswith("# ")
    assert plain(path).count("[") == plain(path).count("]")
