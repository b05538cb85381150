"""The glossary: each word once, used elsewhere, and each name of the API in it exists."""

import re
from importlib import import_module

import pytest

from tests.docs.documents import DOCS, DOCUMENTS, ROOT, label, prose

_PAGE = DOCS / "glossary.md"
_TEXT = _PAGE.read_text(encoding="utf-8")
_ENTRY = re.compile(r"^- \*\*.+?(?=^- |^#|\Z)", re.MULTILINE | re.DOTALL)
_ENTRIES = _ENTRY.findall(_TEXT)
_TERMS = re.findall(r"\*\*([^*]+)\*\*", _TEXT)
_NAMES = sorted(set(re.findall(r"`(kibi\.[\w.]+)`", _TEXT)))
_NEED_THE_WORDS = ("README.md", "docs/index.md", "docs/how-it-works.md", "docs/memory-by-the-row.md", "docs/kernels.md")


def _found(name: str) -> object:
    """What a dotted name means: the longest module that it begins with, then attributes."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            thing: object = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            thing = getattr(thing, part)
        return thing
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize("name", _NAMES)
def test_name_of_the_api_exists(name: str) -> None:
    """Each class, function and table that the glossary names can be imported by that name."""
    assert _found(name) is not None


def test_each_term_is_explained_once_and_shortly() -> None:
    """No word has two entries, and none needs more than three sentences."""
    assert len(_ENTRIES) > 40
    assert len(_TERMS) == len({term.lower() for term in _TERMS})
    for entry in _ENTRIES:
        said = re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)", "", entry)
        assert len(re.findall(r"[a-z)]\.(?:\s|$)", said)) <= 3, entry


@pytest.mark.parametrize("term", _TERMS)
def test_term_is_used_in_another_document(term: str) -> None:
    """The glossary explains words that readers meet."""
    stem = re.escape(term.lower()).replace(r"\ ", r"[\s-]+").replace(r"\-", "[- ]")
    used = re.compile(rf"\b{stem.removesuffix('y').removesuffix('e')}", re.IGNORECASE)
    others = (path for path in DOCUMENTS if path != _PAGE)
    assert any(used.search(prose(path)) for path in others), f"nobody says {term!r}"


@pytest.mark.parametrize("name", _NEED_THE_WORDS)
def test_page_that_uses_the_words_links_the_glossary(name: str) -> None:
    """Readers of these pages are told where the words are explained."""
    path = ROOT / name
    assert "glossary.md)" in prose(path), label(path)
