"""Text in pieces: names, numbers, strings, signs."""

import json
import re
from dataclasses import dataclass
from typing import NoReturn

from kibi.errors import InputError

_SHOWN = 40
_TOKEN = re.compile(
    r"""[ \t\r]+|(?P<line>\n)
    |(?P<string>"(?:[^"\\\n]|\\[^\n])*")
    |(?P<number>-?(?:inf\b|nan\b|\d+(?:\.\d*)?(?:e[+-]?\d+)?))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>->|[%@#(){}\[\],:=])
    |(?P<end>\Z)
    |(?P<unknown>.)""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text.

    Attributes:
        kind: `name`, `number`, `string`, `sign` or `end`.
        text: as it is written.
        line: its line, from 1 on.
    """

    kind: str
    text: str
    line: int


class Tokens:
    """The pieces of a text, one after another."""

    def __init__(self, text: str, source: str) -> None:
        self._source = source
        self._tokens = _tokens(text)
        self._place = 0

    @property
    def next(self) -> Token:
        """The next piece, which stays."""
        return self._tokens[self._place]

    def take(self) -> Token:
        """Returns the next piece, and advances."""
        token = self.next
        self._place += token.kind != "end"
        return token

    def skip(self, text: str) -> bool:
        """Goes on if the next piece is that sign or name; returns whether it is."""
        is_there = self.next.kind in ("sign", "name") and self.next.text == text
        self._place += is_there
        return is_there

    def expect(self, text: str) -> None:
        """Continues after a sign or name that must be there.

        Raises:
            InputError: another is.
        """
        if not self.skip(text):
            self.fail(f"{text!r} is expected")

    def name(self, what: str) -> str:
        """Returns a name; `what` says what it is of, for errors."""
        return self._of("name", what).text

    def string(self, what: str) -> str:
        """Returns a string."""
        token = self._of("string", what)
        try:
            return str(json.loads(token.text))
        except ValueError:
            self.fail(f"{what}: {token.text[:_SHOWN]} is no string of JSON", token)

    def integer(self, what: str, low: int = -(1 << 63), high: int = (1 << 64) - 1) -> int:
        """Returns an integer in a closed range."""
        token = self._of("number", what)
        try:
            value = int(token.text)
        except ValueError:
            self.fail(f"{what}: {token.text[:_SHOWN]} is no integer", token)
        if not low <= value <= high:
            self.fail(f"{what}: {token.text[:_SHOWN]} is not in {low} … {high}", token)
        return value

    def real(self, what: str) -> float:
        """Returns a number."""
        return float(self._of("number", what).text)

    def _of(self, kind: str, what: str) -> Token:
        if self.next.kind != kind:
            self.fail(f"{what}: a {kind} is expected")
        return self.take()

    def fail(self, what: str, token: Token | None = None) -> NoReturn:
        """Raises an error that says what is wrong, and where.

        Raises:
            InputError: always.
        """
        at = token or self.next
        found = "" if token else f", and {at.text[:_SHOWN]!r} is there" if at.text else ", and the text ends"
        raise InputError(f"{self._source}, line {at.line}: {what}{found}. Kibi's page on graphs as text has the form.")


def _tokens(text: str) -> list[Token]:
    found, line = [], 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "line":
            line += 1
        elif kind is not None:
            found.append(Token(kind, match[0], line))
    return found
