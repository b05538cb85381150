"""Every error that Kibi raises, in one tree.

    KibiError                    1   anything below
    ├── ModelError               3   the model file is broken, or asks for what Kibi does not support
    ├── InputError               4   an input array, file or argument does not fit the model
    ├── PlanError                5   a plan is wrong or cannot exist
    │   └── ArenaError           5   the arena is too small or misaligned
    ├── TargetError              6   no such target
    ├── ToolchainError           7   a compiler is missing or failed
    ├── EmulationError           8   the emulated core stopped: a fault, a forbidden access, no end
    ├── OutputError              9   a file or folder cannot be written
    ├── MismatchError           10   two engines gave different bits
    ├── OracleError             11   TensorFlow Lite Micro's Python build failed or is missing
    ├── EventError              12   the runtime reported an error: an allocator is full, a handle is stale
    ├── LimitError              13   a loop inside the model took more turns than its limit
    └── InternalError           70   a bug of Kibi's own

The number is the exit code of the command line. Each error holds its facts as fields first; its text says what, where, why
and what to do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


class KibiError(Exception):
    """The root: catch this to catch everything that Kibi raises on purpose."""

    exit_code: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a model.

    Attributes:
        what: the fact, one sentence without a full stop.
        remedy: what the user can do, one sentence, or empty.
        operator: index of the operator in the model file, or None.
        tensor: name of the tensor, or None.
    """

    what: str
    remedy: str = ""
    operator: int | None = None
    tensor: str | None = None

    def __str__(self) -> str:
        where = [] if self.operator is None else [f"operator {self.operator}"]
        where += [] if self.tensor is None else [f"tensor {_shortened(self.tensor)!r}"]
        text = f"{', '.join(where)}: {self.what}" if where else self.what
        return f"{text}. {self.remedy}." if self.remedy else f"{text}."


def _shortened(name: str) -> str:
    """Converters join names until they fill a screen; both ends tell most."""
    return name if len(name) <= 64 else f"{name[:24]}…{name[-39:]}"


class ModelError(KibiError):
    """A model cannot be used; all problems that were found, not only the first.

    Attributes:
        source: the model file's name.
        problems: each with what is wrong, where, and what to do.
    """

    exit_code = 3

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        head = f"{source}: {len(self.problems)} problem{'s' if len(self.problems) != 1 else ''}"
        super().__init__("\n".join([head, *(f"  - {problem}" for problem in self.problems)]))


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
        given_bytes: bytes that there are.
        largest: names and bytes of the largest buffers in the plan.
    """

    def __init__(self, what: str, needed_bytes: int, given_bytes: int, largest: Sequence[tuple[str, int]] = ()) -> None:
        self.needed_bytes = needed_bytes
        self.given_bytes = given_bytes
        self.largest = tuple(largest)
        text = f"{what}: the plan needs {needed_bytes} bytes, the arena has {given_bytes}"
        if self.largest:
            text += "; largest: " + ", ".join(f"{name!r} {size}" for name, size in self.largest)
        super().__init__(text + ". Give a larger arena, or a plan that was made for this size.")


class TargetError(KibiError):
    """There is no such target."""

    exit_code = 6


class ToolchainError(KibiError):
    """A compiler is missing or failed.

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


class EmulationError(KibiError):
    """The emulated core stopped.

    Attributes:
        function: name of the function that the program counter was in, or empty.
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
        name: of the declared error, for example `OutOfMemoryError`.
    """

    exit_code = 12

    def __init__(self, name: str, what: str, meaning: str = "") -> None:
        self.name = name
        super().__init__(f"{what}: {meaning}" if meaning else what)


class LimitError(KibiError):
    """A loop inside the model took more turns than its limit.

    Attributes:
        turns: the limit.
    """

    exit_code = 13

    def __init__(self, what: str, turns: int) -> None:
        self.turns = turns
        super().__init__(
            f"{what} has not ended after {turns:,} turns. Check the model's condition, or allow more turns."
        )


class InternalError(KibiError):
    """A bug of Kibi's own: please report it with the text."""

    exit_code = 70
