"""A model's C code in a child process of this machine.

Kibi accepts only models whose code stays in its memory, and `HostEngine` runs it in this process. Whoever runs thousands of
inputs, or keeps a session for hours, gets a process apart all the same. What would end the session is an error of one call;
several processes use all cores; and an interruption ends them at once, in the middle of an inference.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.codegen import CompiledModel, generate, write
from kibi.dtypes import Array
from kibi.engines import host_worker
from kibi.engines.engine import LIMIT_REACHED, STATUS, entry_points, written_sources
from kibi.engines.storage import storage_sources
from kibi.errors import InternalError, LimitError, ToolchainError
from kibi.files import temporary_folder
from kibi.ops import While
from kibi.planner import PlannedModel
from kibi.targets import target
from kibi.toolchain.build import build_shared
from kibi.toolchain.cache import checked_copy
from kibi.toolchain.compilers import host_compiler

_POINTER_BYTES = 8 if sys.maxsize > 1 << 32 else 4
_KEPT = (
    "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONHOME",
    "SYSTEMROOT", "TEMP", "TMP", "USERPROFILE", "APPDATA",  # of Windows
)  # fmt: skip
"""The environment variables that Python needs to start."""


@dataclass(frozen=True, slots=True)
class HostCode:
    """A model's C code, built for this machine.

    Attributes:
        model: what it was made of.
        library: the shared library, in the cache.
    """

    model: CompiledModel
    library: Path

    @staticmethod
    def of(planned: PlannedModel, *, compiler: str | None = None, level: str = "2") -> "HostCode":
        """Writes and builds the C code of a planned model; the cache keeps what was built.

        Args:
            planned: the model and its plan, for any target.
            compiler: `zig`, `gcc` or `clang`; None: zig where it is installed, else the system's.
            level: `0`, `1`, `2`, `3` or `s`.

        Raises:
            ToolchainError: the compiler is missing or fails.
        """
        with temporary_folder() as folder:
            library = write(generate([planned], target("host")), folder)
            sources, includes = written_sources(library)
            with storage_sources(library) as further:
                built = build_shared(
                    [*sources, *further], compiler=compiler or host_compiler(), level=level, includes=[includes]
                )
        return HostCode(library.model, built)

    def layout(self) -> dict[str, Any]:
        """The first message to a child, without the path of the library: see `host_worker.serve`."""
        model = self.model
        inputs = []
        for index in model.graph.inputs:
            kind = model.graph.tensors[index].type
            row = kind.size_bytes // kind.rows if index in model.graph.streamed_inputs else 0
            place = model.external.index(index) if index in model.external else -1
            inputs.append({"bytes": kind.size_bytes, "row": row, "external": place})
        return {
            "prefix": f"{model.graph.name}_",
            "functions": [name.removeprefix(f"{model.graph.name}_") for name in entry_points(model)],
            "state": model.state_bytes(_POINTER_BYTES),
            "regions": list(model.region_bytes),
            "is_divided": bool(model.regions),
            "external": [model.graph.tensors[index].type.size_bytes for index in model.external],
            "inputs": inputs,
            "outputs": [model.graph.tensors[index].type.size_bytes for index in model.graph.outputs],
        }


@dataclass(frozen=True, slots=True)
class Results:
    """The outputs of several inferences.

    Attributes:
        outputs: an array for each output, `[N, *shape]`, read-only; zeros for an inference that an operator ended early.
        ended: `[N]`, true for each inference that came to its end.
        seconds: the processor time of all inferences.
    """

    outputs: tuple[Array, ...]
    ended: NDArray[np.bool_]
    seconds: float


class HostProcess:
    """A child process with one model, its variables and its memory; it does one thing at a time.

    Args:
        code: the model's C code.

    Raises:
        ToolchainError: the process does not start, or the library cannot be loaded.
        InternalError: the C code refuses its memory.
    """

    def __init__(self, code: HostCode) -> None:
        self._model = code.model
        self._graph = code.model.graph
        self._lock = Lock()
        try:
            self._process = subprocess.Popen(
                # -P: the package's folder must not come before the installed packages on the child's path; -S: it needs none.
                [sys.executable, "-P", "-S", str(host_worker.__file__)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
                start_new_session=True,  # Ctrl-C is for the parent, which ends its children
            )
        except OSError as error:
            raise ToolchainError(f"Python does not start: {error.strerror}.", [sys.executable]) from None
        try:
            with checked_copy(code.library) as copy:
                self._ask({"library": str(copy), **code.layout()})
        except BaseException:
            self.close()
            raise

    def run(self, inputs: Sequence[Array], *, count: int, keep_state: bool = False, first: int = 0) -> Results:
        """Runs inferences one after another.

        Args:
            inputs: for each input an array `[N, *shape]` of its type, in C order.
            count: N.
            keep_state: True if each inference goes on with the variables that the one before has left; False if each begins with
                their first values.
            first: the number of the first input, for errors.

        Raises:
            LimitError: a loop of the model took too many iterations.
            InternalError: the C code returned an error, wrote outside its memory, or crashed.
        """
        reply, data = self._ask(
            {"do": "run", "count": count, "reset": 0 if keep_state else 1}, _interleaved(inputs, count), first
        )
        return self._results(reply, data, count)

    def push(self, number: int, row: Array) -> int:
        """Hands over the next row of a stream input; returns the number of the input whose row must come next, or -1.

        Raises:
            LimitError, InternalError: as `run`.
        """
        reply, _ = self._ask({"do": "push", "input": number}, np.ascontiguousarray(row).tobytes())
        return int(reply["expected"])

    def finish(self) -> Results:
        """Ends an inference whose rows were pushed.

        Raises:
            LimitError, InternalError: as `run`.
        """
        reply, data = self._ask({"do": "finish"})
        return self._results(reply, data, 1)

    def reset(self) -> None:
        """Gives variables their first values, and forgets rows that were pushed."""
        self._ask({"do": "reset"})

    def rewind(self) -> None:
        """Forgets rows that were pushed."""
        self._ask({"do": "rewind"})

    def close(self) -> None:
        """Ends the process at once, whatever it does; a second call does nothing."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _ask(self, request: Mapping[str, Any], data: bytes = b"", first: int = 0) -> tuple[Mapping[str, Any], bytes]:
        """Sends a request, and returns the reply and its data."""
        pipes = self._process.stdin, self._process.stdout
        if pipes[0] is None or pipes[1] is None:
            raise InternalError("the child process has no pipes")
        with self._lock:
            try:
                host_worker.send(pipes[0], dict(request), data)
                reply, made = host_worker.receive(pipes[1])
            except (EOFError, OSError, ValueError):  # ValueError: the pipe was closed meanwhile
                raise InternalError(self._ending(request, first)) from None
        if "failure" in reply:
            raise ToolchainError(f"cannot load the C code of {self._graph.source}: {reply['failure']}.")
        self._check(reply, first)
        return MappingProxyType(reply), made

    def _check(self, reply: Mapping[str, Any], first: int) -> None:
        """Raises the error that a reply tells of."""
        status, name = int(reply.get("status", 0)), self._graph.name
        where = f", for input {first + int(reply.get('at', 0))}"
        if status == LIMIT_REACHED:
            raise LimitError(f"a loop of {self._graph.source}, in C{where},", While.most_turns)
        if status:
            meaning = STATUS.get(status, "unknown")
            raise InternalError(f"{name}_{reply.get('function')} returned {status}{where}: {meaning}")
        if reply.get("damaged"):
            raise InternalError(f"{name} wrote outside its memory")

    def _ending(self, request: Mapping[str, Any], first: int) -> str:
        """Says how the process ended."""
        code = self._process.wait()
        how = f"with {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        last = first + int(request.get("count", 1)) - 1
        which = f"input {first}" if first == last else f"one of the inputs {first} to {last}"
        return f"the C code of {self._graph.source} ended its process {how}, for {which}"

    def _results(self, reply: Mapping[str, Any], data: bytes, count: int) -> Results:
        """The arrays of a reply."""
        kinds = [self._graph.tensors[index].type for index in self._graph.outputs]
        ended = np.array([digit == "1" for digit in reply["ended"]], np.bool_)
        table = np.frombuffer(data, np.uint8).reshape(count, len(data) // count)
        outputs, start = [], 0
        for kind in kinds:
            piece = np.ascontiguousarray(table[:, start : start + kind.size_bytes])
            made: Array = piece.view(kind.dtype.numpy).reshape(count, *kind.shape)
            made.flags.writeable = False
            outputs.append(made)
            start += kind.size_bytes
        return Results(tuple(outputs), ended, float(reply["seconds"]))


def _interleaved(inputs: Sequence[Array], count: int) -> bytes:
    """The bytes of the first inference's arrays, then those of the second, and so on."""
    rows = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in inputs]
    tables = [row.reshape(count, row.size // count) for row in rows]
    return (tables[0] if len(tables) == 1 else np.concatenate(tables, axis=1)).tobytes() if tables else b""
