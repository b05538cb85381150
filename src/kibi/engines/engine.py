"""The shared parts of all engines."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from kibi.codegen import CompiledModel, Library
from kibi.dtypes import Array
from kibi.emulator import Call
from kibi.errors import InternalError


class Engine(Protocol):
    """An engine: runs a planned model. `kibi.Interpreter` is one, too."""

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Runs one inference: takes an array for each input, returns an array for each output."""


class DeviceCore(Protocol):
    """A processor with an image, emulated or on a board; `kibi.emulator.Core` says what each method does."""

    @property
    def counted(self) -> str:
        """What `instructions` of a call are: `instructions`, or of WebAssembly `fuel`; empty where nothing counts them."""

    def allocate(
        self, name: str, size_bytes: int, *, alignment: int = 16, is_exact: bool = False, writable: bool = True,
        fill: int | None = None,
    ) -> int:  # fmt: skip
        """Reserves a block of RAM, and returns its address."""

    def write(self, address: int, data: bytes) -> None:
        """Writes memory."""

    def read(self, address: int, size_bytes: int) -> bytes:
        """Reads memory."""

    def call(
        self, function: str, *arguments: int, operators: Mapping[str, str] = ..., instruction_limit: int = ...
    ) -> Call:
        """Calls a function, and says what that took."""


def written_sources(library: Library) -> tuple[list[Path], Path]:
    """The C files of a library on disk, and their folder.

    Raises:
        InternalError: the library was not written.
    """
    if library.directory is None:
        raise InternalError("the library is text only; write it before it is built")
    return [library.directory / name for name in library.sources], library.directory


def entry_points(model: CompiledModel) -> list[str]:
    """The functions of a model that callers call."""
    names = ["init", "output", "invoke"]
    names += ["set_external_buffer"] if model.external else []
    names += ["reset", "variable"] if model.variable_bytes else []
    names += ["push_row", "expected_input"] if model.arrivals else ["input"]
    names += ["rewind"] if model.arrivals or model.extras.slices else []
    names += ["run_for"] if model.extras.slices else []
    names += ["spare"] if model.extras.spare else []
    names += ["checkpoint", "resume"] if model.extras.checkpoints else []
    names += ["expected_row"] if model.extras.checkpoints and model.arrivals else []
    return [f"{model.graph.name}_{name}" for name in names]


PAUSED = 2
"""The status of `run_for` if steps of the inference are left."""
MORE_INPUT = 1
"""The status of `invoke` if an operator ended the inference early, so that there are no outputs."""
LIMIT_REACHED = -6
"""The status of `invoke` if a loop took more iterations than `KIBI_WHILE_LIMIT`."""
DIRTY = 3
"""The status of an inference that read weights before and after they were written."""
STATUS = {
    DIRTY: "weights were written in the middle of the inference",
    -1: "a pointer is null",
    -2: "the arena is too small",
    -3: "the arena is misaligned",
    -4: "the model has not all its memory yet",
    -5: "a row or a call out of order",
    -6: "a loop took more iterations than its limit",
    -16: "the bytes are no plan file of this version, or they were changed",
    -17: "the plan file needs a kernel that the core has not, or more room than it has",
    -18: "the bytes are no update package of this version, or it is cut, or it was changed",
    -19: "nobody whom the device trusts has signed the package",
    -20: "the package is for another model, another target, or another format of plan files",
    -21: "the package's version is not above the one that the device has",
    -22: "the package changes another file than the one that the device has",
    -23: "the package's model needs a larger slot, arena or memory of variables",
    -24: "no slot has a whole model",
    -7: "a slice of no steps",
    -8: "somebody else has used the arena",
    -9: "no complete checkpoint of the model",
    -10: "a slot, or weights in slow memory, cannot be read or written",
}
"""The meaning of the C library's status codes."""
