"""The project's documents, as the tests see them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DOCUMENTS = (
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted(DOCS.rglob("*.md")),
    *sorted((ROOT / "examples").glob("*.md")),
)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]*`")


def label(path: Path) -> str:
    """A document's name for test reports."""
    return path.relative_to(ROOT).as_posix()


def prose(path: Path) -> str:
    """A document without its code blocks."""
    return _FENCED.sub("", path.read_text(encoding="utf-8"))


def plain(path: Path) -> str:
    """A document without its code blocks and code words."""
    return _INLINE_CODE.sub("", prose(path))
