"""The oracle's child process: it answers requests to run a model with TFLM, until its standard input ends.

The parent runs this file by its path, not as a module of the package, so that the child starts without the rest of
Kibi; hence it imports nothing of Kibi's. The parent imports the messages from here.

A message on the pipe is `<u32 header bytes> <u64 array bytes> <header> <arrays>`. The header is JSON: a text, a list of
numbers, and the type and shape of each array; the arrays' bytes follow one another in C order, little-endian, unpadded.
"""

import json
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]

_LENGTHS = struct.Struct("<IQ")
_MOST_HEADER_BYTES, _MOST_BODY_BYTES = 64 << 20, 4 << 30


@dataclass(frozen=True, slots=True)
class Message:
    """A message through the pipe, in either direction.

    A request's text is empty, its numbers are the arena's bytes, 1 for intermediates or 0, and the count of inputs of
    each run; its arrays are the model's bytes (u8), then every run's inputs. A reply's text is why TFLM refused, or
    empty; its numbers are the count of outputs of each run, then the indices of the tensors; its arrays are, for each
    run, the outputs, then the tensors.
    """

    text: str = ""
    numbers: tuple[int, ...] = ()
    arrays: tuple[Array, ...] = ()


def encode(message: Message) -> bytes:
    """Encodes a message for the pipe."""
    arrays = [np.asarray(array) for array in message.arrays]
    arrays = [array.astype(array.dtype.newbyteorder("<"), order="C", copy=False) for array in arrays]
    layout = [(array.dtype.str, array.shape) for array in arrays]
    header = json.dumps([message.text, message.numbers, layout]).encode()
    body = b"".join(array.tobytes() for array in arrays)
    return _LENGTHS.pack(len(header), len(body)) + header + body


def receive(pipe: IO[bytes]) -> Message:
    """Reads one message from a pipe.

    Raises:
        EOFError: the pipe ended before the message did.
        ValueError: it is no message. A model that breaks the sender may make it send anything.
    """
    header_bytes, body_bytes = _LENGTHS.unpack(_exactly(pipe, _LENGTHS.size))
    if header_bytes > _MOST_HEADER_BYTES or body_bytes > _MOST_BODY_BYTES:
        raise ValueError(f"{header_bytes} and {body_bytes} bytes are announced")
    try:
        text, numbers, layout = json.loads(_exactly(pipe, header_bytes))
        arrays = tuple(_split(_exactly(pipe, body_bytes), layout))
        return Message(str(text), tuple(map(int, numbers)), arrays)
    except (TypeError, RecursionError, OverflowError) as error:
        raise ValueError(str(error)) from error


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) != size:
        raise EOFError
    return data


def _split(body: bytes, layout: Sequence[tuple[str, Sequence[int]]]) -> Iterator[Array]:
    start = 0
    for kind, shape in layout:
        dtype = np.dtype(kind)
        if dtype.hasobject:
            raise ValueError("an array of objects is announced")
        array: Array = np.ndarray(shape, dtype, body, start)  # a view of the message, read-only
        yield array
        start += array.nbytes


def _answer(request: Message) -> Message:
    """Runs the model as the request says; state carries over from run to run."""
    # Here, and not above, because the parent imports this module and must not load TFLM.
    from tflite_micro.python.tflite_micro import runtime  # noqa: PLC0415 (see the line above)

    arena_bytes, intermediates, *counts = request.numbers
    data = request.arrays[0].tobytes()
    if intermediates:
        # A plan in the file lays tensors over one another, so TFLM's linear planner, which keeps them all, refuses it.
        data = data.replace(b"OfflineMemoryAllocation", b"OfflineMemory_Forgotten")
    model = runtime.schema_fb.Model.GetRootAs(data, 0)
    graph = model.Subgraphs(0)
    configs = runtime.InterpreterConfig
    interpreter = runtime.Interpreter.from_bytes(
        data,
        arena_size=arena_bytes,
        # The misspelt name is TFLM's.
        intrepreter_config=configs.kPreserveAllTensors if intermediates else configs.kAllocationRecording,
    )
    indices = _computed_tensors(model, runtime.schema_fb.TensorType.RESOURCE) if intermediates else ()
    results: list[Array] = []
    inputs = iter(request.arrays[1:])
    for count in counts:
        if count != graph.InputsLength():
            return Message(f"the model has {graph.InputsLength()} inputs, the run gives {count}")
        for position in range(count):
            interpreter.set_input(next(inputs), position)
        interpreter.invoke()
        results.extend(np.array(interpreter.get_output(position)) for position in range(graph.OutputsLength()))
        # Copies, because TFLM's own arrays may be views of the arena, which the next run overwrites.
        results.extend(np.array(interpreter.GetTensor(index, 0)["tensor_data"]) for index in indices)
    return Message("", (graph.OutputsLength(), *indices), tuple(results))


def _computed_tensors(model: Any, resource_type: int) -> tuple[int, ...]:
    """Indices of the tensors of subgraph 0 whose values TFLM computes, in a file whose structure TFLM has accepted."""
    graph = model.Subgraphs(0)
    tensors = [graph.Tensors(index) for index in range(graph.TensorsLength())]
    return tuple(
        index
        for index, tensor in enumerate(tensors)
        # A handle of a resource has no elements: asking TFLM for them is a segmentation fault.
        if model.Buffers(tensor.Buffer()).DataLength() == 0 and tensor.Type() != resource_type
    )


def serve() -> None:
    """Answers requests on standard input by replies on standard output; TFLM's own prints go to standard error."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    while True:
        try:
            request = receive(requests)
        except EOFError:
            return
        try:
            reply = _answer(request)
        except Exception as error:  # noqa: BLE001 (whatever TFLM raises is the parent's to report)
            reply = Message(f"{type(error).__name__}: {error}")
        replies.write(encode(reply))
        replies.flush()


if __name__ == "__main__":
    serve()
