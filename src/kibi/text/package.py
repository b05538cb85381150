"""Text of packages: manifests, build files and scripts in the languages that a package manager or a build tool reads.

Places in these files take few kinds of text, and each is harmless in all of the languages: words, names of files, and sentences
without any character that one of the languages reads as more than a letter.
"""

import re
from collections.abc import Iterable
from math import isfinite
from pathlib import Path

from kibi.errors import InternalError
from kibi.text.c import CCode
from kibi.text.file_name import FileName
from kibi.text.template import Code

_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_LONGEST = 80


class PackageText(Code):
    """Text of a manifest, of a build file or of a script."""

    __slots__ = ()

    def times(self, count: int) -> "PackageText":
        """The same text so many times."""
        return PackageText(self.text * count)


def package_text(template: str, /, **parts: PackageText | int) -> PackageText:
    """Text from a template, a literal or a file of the program's own, whose places `$name` are filled."""
    return PackageText.filled(template, dict(parts))


def package_file(path: Path, /, **parts: PackageText | int) -> PackageText:
    """The same for a template in a file of the program's own."""
    return PackageText.filled_file(path, dict(parts))


def bare_word(text: "str | CCode | FileName") -> PackageText:
    """A name of C, a version or the path of a file: letters, digits, `_`, `-`, dots, and the slashes of a path.

    Raises:
        InternalError: it is none of these.
    """
    if isinstance(text, FileName):
        return PackageText(text.path)
    word = text.text if isinstance(text, CCode) else text
    if not _WORD.fullmatch(word):
        raise InternalError(f"{word!r} is no word that every language of packages takes")
    return PackageText(word)


def number_text(value: float) -> PackageText:
    """A finite number, with the digits that give back the same one.

    Raises:
        InternalError: it is infinite or no number.
    """
    if not isfinite(value):
        raise InternalError(f"{value} is no number of a package")
    return PackageText(repr(float(value)))


def sentence(text: str) -> PackageText:
    """Foreign text as words: every character that any language may read otherwise becomes `_`; 80 characters at most."""
    kept = "".join(each if each.isascii() and (each.isalnum() or each in " ._-") else "_" for each in text)
    return PackageText(kept[:_LONGEST].strip(" -.") or "_")


def lines_of(parts: Iterable[PackageText]) -> PackageText:
    """Lines one after another, each with a line end."""
    return PackageText("").join(part + PackageText("\n") for part in parts)
