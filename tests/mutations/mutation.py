"""What a seeded bug is."""

from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path("src") / "kibi"
"""The folder of mutated files, in the project's folder."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One line of Kibi, made wrong.

    Attributes:
        id: the area and a name, `planner.row-dies-early`.
        file: the file, relative to `src/kibi`.
        old: a text that the file holds exactly once; with `after`, the first such text after that one.
        new: the text that replaces it; the file still compiles.
        bug: the consequence, in a sentence.
        tests: the tests of `make check` that catch it, as arguments of pytest: as few and as quick as possible.
        after: a text that the file holds exactly once, where one file holds the like several times, as templates of kernels
            do; empty: `old` is unique.
    """

    id: str
    file: str
    old: str
    new: str
    bug: str
    tests: tuple[str, ...]
    after: str = ""

    @property
    def area(self) -> str:
        """The part of Kibi that has the bug."""
        return self.id.partition(".")[0]

    def problem(self, project: Path) -> str:
        """Returns why it cannot be applied to a copy of the project; empty if it can."""
        path = project / PACKAGE / self.file
        if not path.is_file():
            return f"there is no file {self.file}"
        text = path.read_text(encoding="utf-8")
        count = text.count(self.after or self.old)
        if count != 1:
            return f"{self.file} holds {self.after or self.old!r} {count} times, not once"
        return "" if self._start(text) >= 0 else f"{self.file} does not hold {self.old!r} after {self.after!r}"

    def apply(self, project: Path) -> None:
        """Makes the bug in a copy of the project.

        Raises:
            ValueError: it cannot be applied.
        """
        problem = self.problem(project)
        if problem:
            raise ValueError(f"{self.id}: {problem}")
        path = project / PACKAGE / self.file
        text = path.read_text(encoding="utf-8")
        start = self._start(text)
        path.write_text(text[:start] + self.new + text[start + len(self.old) :], encoding="utf-8")

    def _start(self, text: str) -> int:
        """Returns where in a file's text `old` begins; less than 0 if nowhere."""
        return text.find(self.old, text.index(self.after) if self.after else 0)
