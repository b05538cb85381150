"""Every error that Kibi raises, in one tree.

    KibiError                    1   anything below
    ├── ModelError               3   the model file is broken, or asks for what Kibi does not support
    ├── InputError               4   an input array, file or argument does not fit the model
    ├── PlanError                5   a plan is wrong or cannot exist
    │   └── ArenaError           5   the arena is too small or misaligned
    ├── TargetError              6   no such target
    ├── ToolchainError           7   a compiler, or the library of an extra, is missing or failed
    ├── EmulationError           8   the emulated core stopped: a fault, a forbidden access, no end
    ├── OutputError              9   a file or folder cannot be written
    ├── MismatchError           10   two engines gave different bits
    ├── OracleError             11   TensorFlow Lite Micro's Python build failed or is missing
    ├── EventError              12   the runtime reported an error: an allocator is full, a handle is stale
    ├── ResourceError           13   memory ran out, or something is nested too deep
    ├── LimitError              14   a loop inside the model took more iterations than its limit
    ├── PackageError            15   an update package is damaged, or for something else
    │   └── SignatureError      15   its signature is missing, or was not made with this key
    ├── GateError               16   `kibi check`: a model is over its budget, or worse than recorded
    ├── BoardError              17   a board: no server or program, a broken link, a fault, another core, too little memory
    └── InternalError           70   a bug of Kibi's own

The number is the exit code of the command line. Each error holds its facts as fields; its text says what, where, why
and what to do. Every text is bounded, and can be printed anywhere with any names in it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import ClassVar, Final, ParamSpec, TypeVar

from kibi.printable import paragraph

SHOWN_PROBLEMS: Final = 100
"""The most problems that a text lists; it counts the others."""
_SHOWN_PLACES = 4
_LONGEST_NAME = 64
_LONGEST_WORD = 256
_LONGEST_WHAT = 512
_LONGEST_LINE = 4096
_LONGEST_TEXT = 1 << 16
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


def shortened(name: str) -> str:
    """Returns a name of at most 64 characters: converters join names until they fill a screen; both ends tell most."""
    return _cut(name, _LONGEST_NAME)


def plain_text(text: str) -> str:
    """Returns a text that can be printed anywhere: bounded, and without characters that steer a terminal or cannot be encoded."""
    bounded = _cut(text, _LONGEST_TEXT)
    words = _LONG_WORD.sub(lambda match: _cut(match[0], _LONGEST_WORD), paragraph(bounded))
    return "\n".join(_cut(line, _LONGEST_LINE) for line in words.split("\n"))


def listed(problems: Sequence[object], most: int = SHOWN_PROBLEMS) -> Iterable[str]:
    """Yields one line for each of the first problems, and one that counts the others."""
    yield from (f"  - {problem}" for problem in problems[:most])
    if len(problems) > most:
        yield f"  - and {len(problems) - most:,} more"


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Returns a sentence with the known names that resemble a given one, after a blank; empty where none does."""
    from difflib import get_close_matches  # noqa: PLC0415 - errors alone need it

    near = [repr(name) for name in get_close_matches(given[:_LONGEST_NAME], list(known), n=3)]
    return f" Did you mean {' or '.join(near)}?" if near else ""


def grouped(problems: "Sequence[Problem]") -> list[str]:
    """The problems as texts; those that say the same of several places are one text, which names the first places."""
    groups: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in problems:
        groups.setdefault((problem.what, problem.remedy, problem.line), []).append(problem)
    texts = []
    for first, *others in groups.values():
        places = list(dict.fromkeys(each.where for each in (first, *others) if each.where))
        more = f"; and {len(places) - _SHOWN_PLACES:,} more" if len(places) > _SHOWN_PLACES else ""
        texts.append(first.at("; ".join(places[:_SHOWN_PLACES]) + more))
    return texts


def _cut(text: str, most: int) -> str:
    """A text, without its middle if it is too long; three fifths of the rest are its end."""
    head = most * 2 // 5 - 1
    return text if len(text) <= most else f"{text[:head]}…{text[head + 1 - most :]}"


class KibiError(Exception):
    """The root of the tree: catch it to catch every error that Kibi raises on purpose."""

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str = "") -> None:
        super().__init__(plain_text(what))


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a model.

    Attributes:
        what: the fact, one sentence without a full stop.
        remedy: what the user can do, one sentence, or empty.
        operator: index of the operator in the model file, or None.
        tensor: name of the tensor, or None.
        line: the line of the graph's text that has the operator, or empty.
    """

    what: str
    remedy: str = ""
    operator: int | None = None
    tensor: str | None = None
    line: str = ""

    @property
    def where(self) -> str:
        """The operator and the tensor, in words; empty if the problem is that of the whole model."""
        where = [] if self.operator is None else [f"operator {self.operator}"]
        where += [] if self.tensor is None else [f"tensor {shortened(self.tensor)!r}"]
        return ", ".join(where)

    def __str__(self) -> str:
        return self.at(self.where)

    def at(self, where: str) -> str:
        """The problem as text, with that place or these places."""
        what, remedy = _cut(self.what, _LONGEST_WHAT), _cut(self.remedy, _LONGEST_WHAT)
        text = f"{where}: {what}" if where else what
        told = f"{text}. {remedy}." if remedy else f"{text}."
        return f"{told}\n    In: {_cut(self.line, _LONGEST_WHAT)}" if self.line else told


class ModelError(KibiError):
    """A model cannot be used. The error lists all problems, not only the first; equal ones of several places are one line.

    Attributes:
        source: the model file's name.
        problems: each with what is wrong, where, and what to do.
    """

    exit_code = 3

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        head = f"{source}: {len(self.problems)} problem{'s' if len(self.problems) != 1 else ''}"
        super().__init__("\n".join([head, *listed(grouped(self.problems))]))


class InputError(KibiError):
    """An input array, file or argument does not fit."""

    exit_code = 4


class PlanError(KibiError):
    """A plan is wrong or cannot exist."""

    exit_code = 5


class ArenaError(PlanError):
    """The arena is too small or misaligned.

    Attributes:
        needed_bytes: bytes that the plan needs.
        given_bytes: bytes that the arena has.
        largest: names and bytes of the largest buffers in the plan.
    """

    def __init__(self, what: str, needed_bytes: int, given_bytes: int, largest: Sequence[tuple[str, int]] = ()) -> None:
        self.needed_bytes = needed_bytes
        self.given_bytes = given_bytes
        self.largest = tuple(largest)
        text = f"{what}: the plan needs {needed_bytes} bytes, the arena has {given_bytes}"
        if self.largest:
            text += "; largest: " + ", ".join(f"{shortened(name)!r} {size}" for name, size in self.largest)
        super().__init__(text + ". Give a larger arena, or a plan that was made for this size.")


class TargetError(KibiError):
    """There is no such target."""

    exit_code = 6


class ToolchainError(KibiError):
    """A compiler, or the library of an extra, is missing or failed.

    Attributes:
        command: the command line that was run, or that would have been.
        output: what the tool printed.
    """

    exit_code = 7

    def __init__(self, what: str, command: Sequence[str] = (), output: str = "") -> None:
        self.command = tuple(command)
        self.output = output
        parts = [what, *([f"command: {' '.join(command)}"] if command else []), *([output.rstrip()] if output else [])]
        super().__init__("\n".join(parts))


class CacheWarning(UserWarning):
    """The cache of compiled files is not used, because others can write it or Kibi cannot. Results stay the same."""


class CompilerWarning(UserWarning):
    """No compiler of this machine can build what makes results better; they are right without it."""


class DataWarning(UserWarning):
    """Data look as if they were not what the model was trained on. Results are those of the data as they are."""


class EmulationError(KibiError):
    """The emulated core stopped.

    Attributes:
        function: name of the function that was running, or empty.
        operator: the operator being computed, as the generated code names it, or empty.
        address: the address of the access or of the instruction.
    """

    exit_code = 8

    def __init__(self, what: str, *, function: str = "", operator: str = "", address: int = 0) -> None:
        self.function = function
        self.operator = operator
        self.address = address
        where = f" in {function}()" if function else ""
        where += f" while computing {operator}" if operator else ""
        super().__init__(f"{what} at {address:#010x}{where}.")


class OutputError(KibiError):
    """A file or folder cannot be written."""

    exit_code = 9


class MismatchError(KibiError):
    """Two engines gave different bits for the same input."""

    exit_code = 10


class OracleError(KibiError):
    """TensorFlow Lite Micro's Python build failed or is missing."""

    exit_code = 11


class EventError(KibiError):
    """The runtime reported an error, and no handler took it.

    Attributes:
        name: the name of the declared error, for example `OutOfMemory`.
    """

    exit_code = 12

    def __init__(self, name: str, what: str, meaning: str = "") -> None:
        self.name = name
        super().__init__(f"{what}: {meaning}" if meaning else what)


class ResourceError(KibiError):
    """Memory ran out, or something is nested deeper than Python's stack."""

    exit_code = 13


def exhaustion(error: MemoryError | RecursionError) -> ResourceError:
    """Returns the error to raise when memory or Python's stack runs out, with advice."""
    if isinstance(error, RecursionError):
        what = "this is nested deeper than Python's stack allows"
        return ResourceError(f"{what}. Use a model, plan or file with less nesting, or call Kibi from fewer functions.")
    what = "there is not enough memory for this"
    return ResourceError(f"{what}. Close other programs, or use a smaller model, plan or file.")


def bounded(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """Returns the function with a `ResourceError` in place of the errors for memory and Python's stack; other errors stay."""

    @wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
        try:
            return function(*args, **kwargs)
        except (MemoryError, RecursionError) as error:
            raise exhaustion(error) from error

    return call


@contextmanager
def on_failure(clean_up: Callable[[], None]) -> Iterator[None]:
    """Calls a function if the with-block does not come to its end; the error goes on."""
    try:
        yield
    except BaseException:
        clean_up()
        raise


class LimitError(KibiError):
    """A loop inside the model took more iterations, or more row steps, than its limit.

    Attributes:
        turns: number of iterations taken.
        steps: number of row steps taken, outer and inner loops included; None if they are not counted.
    """

    exit_code = 14

    def __init__(self, what: str, turns: int, steps: int | None = None) -> None:
        self.turns = turns
        self.steps = steps
        work = "" if steps is None else f" and {steps:,} row steps"
        super().__init__(
            f"{what} has not ended after {turns:,} iterations{work}. Check the model's condition, or allow more."
        )


class PackageError(KibiError):
    """An update package is damaged, or for something else."""

    exit_code = 15


class SignatureError(PackageError):
    """The signature of an update package is missing, or was not made with this key."""


class GateError(KibiError):
    """A model is over its budget, or worse than its baseline allows. `kibi check` ends with it after it has written all reports."""

    exit_code = 16


class BoardError(KibiError):
    """A board cannot be measured: no GDB server or measuring program, a broken link, a fault, another core, or too little memory.

    Where a GDB server still reaches the core, it is left halted.
    """

    exit_code = 17


class InternalError(KibiError):
    """A bug of Kibi's own: please report it with the text."""

    exit_code = 70
