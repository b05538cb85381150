"""Code that is filled into templates: the shared parts of the types of all languages."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import Self


@dataclass(frozen=True, slots=True)
class Code:
    """Safe text in a language, which only the functions of its module make.

    Attributes:
        text: for the writers at the end.
    """

    text: str

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            raise TypeError(f"a {type(self).__name__} takes no {type(other).__name__} after it")
        return type(self)(self.text + other.text)

    def __bool__(self) -> bool:
        """True if there is any text."""
        return bool(self.text)

    def __format__(self, spec: str) -> str:
        raise TypeError(f"a {type(self).__name__} is a part of templates, not of other text")

    def join(self, parts: Iterable[Self]) -> Self:
        """The parts with this one between them."""
        pieces = list(parts)
        if any(type(part) is not type(self) for part in pieces):
            raise TypeError(f"a {type(self).__name__} joins its own kind alone")
        return type(self)(self.text.join(part.text for part in pieces))

    @classmethod
    def filled(cls, template: str, parts: "dict[str, Self | int]") -> Self:
        """A template with its places `$name` filled.

        Args:
            template: a literal of the program's own.
            parts: one for each place, and no others.
        """
        texts = {}
        for name, part in parts.items():
            if type(part) is not cls and type(part) is not int:
                raise TypeError(f"{name} is a {type(part).__name__}; a template takes {cls.__name__} and int")
            texts[name] = part.text if isinstance(part, Code) else str(part)
        form, places = _form(template)
        unknown = texts.keys() - places
        if unknown:
            raise TypeError(f"the template has no place for {', '.join(sorted(unknown))}")
        return cls(form.substitute(texts))

    @classmethod
    def filled_file(cls, path: Path, parts: "dict[str, Self | int]") -> Self:
        """The same for a template in a file of the program's own."""
        return cls.filled(_content(path), parts)


@cache
def _content(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def _form(template: str) -> tuple[Template, frozenset[str]]:
    form = Template(template)
    return form, frozenset(form.get_identifiers())
