"""Text in no language, of the program's own: a licence."""

from pathlib import Path

from kibi.text.template import Code


class OwnText(Code):
    """Text for people that Kibi itself has written, with no foreign text in it."""

    __slots__ = ()


def own_text(path: Path) -> OwnText:
    """A file of the program's own."""
    return OwnText(path.read_text(encoding="utf-8"))
