"""The name of a file in a folder: one component, the same on every system."""

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

    Raises:
        InputError: it is no such name.
    """

    text: str

    def __post_init__(self) -> None:
        if len(self.text) > _LONGEST:
            raise InputError(
                f"a file would be called {self.text[:40]!r}… with {len(self.text)} characters; {_LONGEST} are allowed. "
                "Give the library a shorter name."
            )
        if not _NAME.fullmatch(self.text) or is_device(self.text.partition(".")[0]):
            raise InputError(
                f"{self.text!r} can be no file of a library. Give it a name of letters, digits and underscores."
            )

    @property
    def suffix(self) -> str:
        """What follows the last dot, with it; empty without one."""
        dot = self.text.rfind(".")
        return self.text[dot:] if dot > 0 else ""

    @property
    def folded(self) -> str:
        """The name as file systems see it that take upper and lower case for one."""
        return self.text.lower()
