"""The name of a file in a folder, or in folders inside of that: the same on every system."""

import re
from dataclasses import dataclass

from kibi.errors import InputError
from kibi.text.reserved import is_device

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_LONGEST = 255


@dataclass(frozen=True, slots=True)
class FileName:
    """A file's name that every file system takes: ASCII letters, digits, `_`, `-` and single dots inside.

    Attributes:
        text: the name.
        folder: the one that the file is in; empty for the folder that everything is in. Slashes separate folders inside of
            folders, each named by the same rule.

    Raises:
        InputError: one of both is no such name.
    """

    text: str
    folder: str = ""

    def __post_init__(self) -> None:
        for part in (self.text, *(self.folder.split("/") if self.folder else ())):
            if len(part) > _LONGEST:
                raise InputError(
                    f"a file would be called {part[:40]!r}… with {len(part)} characters; {_LONGEST} are allowed. "
                    "Give the library a shorter name."
                )
            if not _NAME.fullmatch(part) or is_device(part.partition(".")[0]):
                raise InputError(
                    f"{part!r} can be no file of a library. Give it a name of letters, digits and underscores."
                )

    @property
    def path(self) -> str:
        """Folder and name with a slash between them, as includes and build files have it; the name alone without a folder."""
        return f"{self.folder}/{self.text}" if self.folder else self.text

    def inside(self, folder: str) -> "FileName":
        """The same file in a folder around its own; in none where `folder` is empty."""
        return FileName(self.text, "/".join(each for each in (folder, self.folder) if each))

    @property
    def suffix(self) -> str:
        """The part from the last dot on; empty without a dot."""
        dot = self.text.rfind(".")
        return self.text[dot:] if dot > 0 else ""

    @property
    def folded(self) -> str:
        """The path as file systems see it that take upper and lower case for one."""
        return self.path.lower()
