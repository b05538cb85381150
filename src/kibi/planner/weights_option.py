"""The option `--weights`: where a library's weights are, and how kernels get them."""

import re
from dataclasses import dataclass

from kibi.errors import InputError
from kibi.selection import Weights
from kibi.text.reserved import KEYWORDS, SPACE

_AHEAD = "ahead"
"""What follows the name and a comma where windows are read ahead."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class ReadWeights:
    """Weights that a function of the application reads from slow memory, or two that start and wait.

    Attributes:
        function: its C name; of two functions what their names, `…_start` and `…_wait`, begin with.
        ahead: True if windows are read ahead by two functions.
    """

    function: str
    ahead: bool = False


def weights_named(option: str) -> Weights | ReadWeights:
    """Returns what the option's value means.

    Args:
        option: `flash`, `rice`, `read:NAME` or `read:NAME,ahead`.

    Raises:
        InputError: it has no meaning, or the name is none in C.
    """
    if option in set(Weights):
        return Weights(option)
    kind, colon, name = option.partition(":")
    if kind != "read" or not colon:
        ways = (
            "read:NAME, where NAME is a C function of yours; read:NAME,ahead, with functions NAME_start and NAME_wait"
        )
        raise InputError(f"weights cannot be stored as {option[:40]!r}. They can be: {', '.join(Weights)}, {ways}.")
    name, comma, manner = name.partition(",")
    if comma and manner != _AHEAD:
        what = f"{manner[:40]!r} after {kind}:{name[:40]} says nothing about how weights are read"
        raise InputError(f"--weights {option[:40]!r}: {what}. Write {kind}:NAME,{_AHEAD} or {kind}:NAME.")
    check_function(name)
    return ReadWeights(name, ahead=bool(comma))


def check_function(name: str) -> None:
    """Checks that a name can be that of a function of the application.

    Raises:
        InputError: it is no name in C, a word of the language, or one of Kibi's own.
    """
    if not _NAME.fullmatch(name) or name in KEYWORDS or name.lower().startswith(SPACE):
        what = "a letter, then at most 62 letters, digits and underscores; no word of C or C++, and nothing that begins with kibi_"
        raise InputError(f"{name[:40]!r} cannot be the function that reads weights. Give a name in C: {what}.")
