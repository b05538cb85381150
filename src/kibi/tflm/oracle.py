"""The parent's side of the oracle: a persistent child process that runs TFLM, and can crash without harm."""

import importlib.util
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import IO, Self

import numpy as np

from kibi.dtypes import Array
from kibi.errors import InputError, ModelError, OracleError
from kibi.frontends.model_file import read_model
from kibi.tflm import worker
from kibi.tflm.child import NAME, Child
from kibi.tflm.worker import Message

# Only reserved: TFLM touches no more than the two ends that it uses, and fresh pages come zeroed, so that every run is
# deterministic. Room for all tensors of any microcontroller's model, even where no two share bytes.
_ARENA_BYTES = 256 << 20
_PRINTED_BYTES = 16 << 10


@dataclass(frozen=True, slots=True)
class OracleRun:
    """The results of one run of TFLM.

    Attributes:
        outputs: the model's outputs, in the model's order.
        tensors: every non-constant tensor of subgraph 0 by its index in the file, handles of resources excepted; empty
            unless intermediates were asked for.
    """

    outputs: tuple[Array, ...]
    tensors: Mapping[int, Array] = field(default_factory=lambda: MappingProxyType({}))


def available() -> bool:
    """True if TFLM's Python build is installed; the function does not import it."""
    return importlib.util.find_spec("tflite_micro") is not None


class Oracle:
    """TFLM in a child process, which starts at the first run and serves all later ones.

    A context manager: leaving it ends the child. After any failure the child is replaced, as TFLM may have written
    outside its arena. Not for several threads at once.
    """

    def __init__(self, *, timeout_seconds: float = 60.0) -> None:
        """Prepares an oracle.

        Args:
            timeout_seconds: the longest that one call of `run` may take, the start of the child included.
        """
        self._timeout_seconds = timeout_seconds
        self._child: Child | None = None
        self._printed: IO[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the child, if there is one. A later run starts another."""
        child, self._child = self._child, None
        if child is not None:
            child.close()
        printed, self._printed = self._printed, None
        if printed is not None:
            printed.close()

    def run(
        self,
        model: bytes | Path,
        runs: Sequence[Sequence[Array]],
        *,
        intermediates: bool = False,
        arena_bytes: int | None = None,
    ) -> list[OracleRun]:
        """Runs a model one or several times in one interpreter, so that its state carries over from run to run.

        Args:
            model: the `.tflite` file, or its bytes.
            runs: for each run the model's inputs, of exactly the shapes and types of the model's input tensors.
            intermediates: also give every tensor that is not a constant. TFLM then keeps each in bytes of its own.
            arena_bytes: the size of TFLM's arena; by default more than a microcontroller's model can need.

        Returns:
            One result for each run.

        Raises:
            InputError: the model's file cannot be read.
            OracleError: TFLM is not installed, or refused the model or an input, crashed, or took too long; with what
                it printed.
        """
        if not available():
            raise OracleError(
                "TensorFlow Lite Micro's Python build is not installed. Install it with: pip install 'kibi[tflm]'."
            )
        data = model if isinstance(model, bytes) else _read(model)
        numbers = (_ARENA_BYTES if arena_bytes is None else arena_bytes, int(intermediates), *map(len, runs))
        arrays = (np.frombuffer(data, np.uint8), *(array for inputs in runs for array in inputs))
        try:
            reply = self._ask(worker.encode(Message("", numbers, arrays)))
        except BaseException:  # after an interrupt the pipe may still hold a reply, which is not the next call's
            self.close()
            raise
        if reply.text:
            error = self._failure(f"TensorFlow Lite Micro refused: {reply.text.rstrip('.')}")
            self.close()
            raise error
        return list(_runs(reply, len(runs)))

    def _ask(self, request: bytes) -> Message:
        """Sends a request and waits for its reply; after the time limit it kills the child, which ends any wait for it."""
        child, printed = self._started()
        process = child.process
        if printed.tell():
            printed.seek(0)
            printed.truncate()
        assert process.stdin is not None  # noqa: S101 (both are pipes, as `_started` asks for; said for the type checker)
        assert process.stdout is not None  # noqa: S101 (as above)
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            child.kill()

        timer = threading.Timer(self._timeout_seconds, expire)
        timer.start()
        try:
            child.allow_seconds(self._timeout_seconds)
            process.stdin.write(request)
            process.stdin.flush()
            return worker.receive(process.stdout)
        except (BrokenPipeError, EOFError):
            ending = child.ending()
            late = f"gave no answer within {self._timeout_seconds:g} s on this model, and was stopped"
            raise self._failure(f"{NAME} {late if expired.is_set() else ending}") from None
        except (ValueError, MemoryError) as error:
            raise self._failure(f"{NAME} gave an answer that cannot be read: {error}") from None
        finally:
            timer.cancel()
            timer.join()

    def _started(self) -> tuple[Child, IO[bytes]]:
        """Returns the child and the file of its output; starts a new pair if none exists or the child has ended."""
        if self._child is not None and self._child.process.poll() is not None:
            self.close()
        if self._child is None or self._printed is None:
            # A file and not a pipe: nobody has to drain it while the reply is awaited. The child shares its offset.
            self._printed = tempfile.TemporaryFile("w+b", buffering=0)  # noqa: SIM115 (closed by `close`)
            self._child = Child(worker, self._printed)
        return self._child, self._printed

    def _failure(self, what: str) -> OracleError:
        """The error for a failure of the child, with the end of what was printed since the request."""
        printed = b""
        if self._printed is not None:
            size = self._printed.seek(0, 2)
            self._printed.seek(max(0, size - _PRINTED_BYTES))
            printed = self._printed.read()
        text = printed.decode(errors="replace").strip()
        return OracleError(f"{what}. It printed:\n{text}" if text else f"{what}. It printed nothing.")


def _read(path: Path) -> bytes:
    try:
        return read_model(path)
    except ModelError as error:
        raise InputError(f"The model {path} cannot be read: {error.problems[0]}") from error


def _runs(reply: Message, count: int) -> Iterator[OracleRun]:
    """The results of `count` runs; see `Message` for the order in the reply."""
    outputs, *indices = reply.numbers
    arrays = iter(reply.arrays)
    for _ in range(count):
        results = tuple(next(arrays) for _ in range(outputs))
        yield OracleRun(results, MappingProxyType({index: next(arrays) for index in indices}))
