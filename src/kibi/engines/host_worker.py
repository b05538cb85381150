"""The child process of `HostProcess`: it runs a model's C code, until its standard input ends.

The parent runs this file by its path, not as a module of the package, so that the child starts in the time that Python takes
without NumPy; hence it imports nothing of Kibi's. The parent imports the messages from here.

A message is `<u32 header bytes> <u64 data bytes> <header> <data>`, and the header is JSON. The first message from the parent is the
layout of the model: see `serve`. Then each request is one of:

    {"do": "run", "count": N, "reset": 0 or 1}   N inferences on the data: the arrays of all inputs, N times over
    {"do": "push", "input": number}              a row of a stream input
    {"do": "finish"}                             ends an inference whose rows were pushed
    {"do": "reset"}                              gives variables their first values, and forgets rows
    {"do": "rewind"}                             forgets rows

A reply to `run` and `finish` has the outputs of all inferences as its data, and in `ended` a digit for each: 1 if it came to its
end, 0 if an operator ended it early, so that its outputs are zeros; `seconds` is the processor time of all. A reply with a
`status` other than 0 is an error of the C code, in inference `at`. `expected` is the number of the stream input whose row must
come next, or -1; `damaged` is true if C wrote outside its memory.
"""

import ctypes
import json
import os
import struct
import sys
import time
from typing import IO, Any

_LENGTHS = struct.Struct("<IQ")
GUARD_BYTES = 64
"""Bytes before and after each block of memory, which the C code must not change."""
_GUARD = b"\xc5" * GUARD_BYTES
_NEED_MORE_INPUT = 1
_POINTER = ctypes.c_void_p


def send(pipe: IO[bytes], header: dict[str, Any], data: bytes | bytearray | memoryview = b"") -> None:
    """Writes one message to a pipe."""
    text = json.dumps(header).encode()
    pipe.write(_LENGTHS.pack(len(text), len(data)) + text)
    pipe.write(data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> tuple[dict[str, Any], bytes]:
    """Reads one message from a pipe.

    Raises:
        EOFError: the pipe ended before the message did.
    """
    header_bytes, data_bytes = _LENGTHS.unpack(_exactly(pipe, _LENGTHS.size))
    header = json.loads(_exactly(pipe, header_bytes))
    return header, _exactly(pipe, data_bytes)


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size) if size else b""
    if len(data) != size:
        raise EOFError
    return data


class CodeError(Exception):
    """A status of the C code that is an error.

    Attributes:
        function: the function that returned it, without the model's prefix.
        status: what it returned.
    """

    def __init__(self, function: str, status: int) -> None:
        super().__init__(function, status)
        self.function = function
        self.status = status


class Model:
    """A model's C code with its memory.

    Args:
        layout: the first message of the parent: see `serve`.
    """

    def __init__(self, layout: dict[str, Any]) -> None:
        shared = ctypes.CDLL(layout["library"])
        self._functions = {name: shared[layout["prefix"] + name] for name in layout["functions"]}
        for name in {"input", "output"} & set(self._functions):
            self._functions[name].restype = _POINTER
        self._blocks: list[tuple[Any, int, int]] = []
        self._state = self._block(layout["state"])
        regions = [self._block(size) for size in layout["regions"]]
        if layout["is_divided"]:
            count = len(regions)
            self._call("init", (_POINTER * count)(*regions), (ctypes.c_size_t * count)(*layout["regions"]))
        else:
            self._call("init", _POINTER(regions[0]), ctypes.c_size_t(layout["regions"][0]))
        external = [self._block(size) for size in layout["external"]]
        for number, (place, size) in enumerate(zip(external, layout["external"], strict=True)):
            self._call("set_external_buffer", ctypes.c_uint(number), _POINTER(place), ctypes.c_size_t(size))
        self._inputs, self._outputs = layout["inputs"], layout["outputs"]
        self._places = [
            None
            if each["row"]
            else external[each["external"]]
            if each["external"] >= 0
            else self._address("input", number)
            for number, each in enumerate(self._inputs)
        ]
        self._row = self._block(max((each["row"] for each in self._inputs), default=0))
        self.input_bytes = sum(each["bytes"] for each in self._inputs)
        self.output_bytes = sum(self._outputs)

    @property
    def is_damaged(self) -> bool:
        """True if the C code wrote before or after a block of its memory."""
        return any(
            ctypes.string_at(place - GUARD_BYTES, GUARD_BYTES) != _GUARD
            or ctypes.string_at(place + size, GUARD_BYTES) != _GUARD
            for _, place, size in self._blocks
        )

    @property
    def expected(self) -> int:
        """The number of the stream input whose row must come next; -1 if no row is missing."""
        return int(self._functions["expected_input"](_POINTER(self._state))) if self._streams else -1

    @property
    def _streams(self) -> bool:
        return "expected_input" in self._functions

    def run(self, inputs: int) -> bool:
        """Runs one inference on the arrays at an address. False if an operator ended it early."""
        starts, at = [], inputs
        for each, place in zip(self._inputs, self._places, strict=True):
            if place is not None:
                ctypes.memmove(place, at, each["bytes"])
            starts.append(at)
            at += each["bytes"]
        while (number := self.expected) >= 0:
            self.push(number, starts[number])
            starts[number] += self._inputs[number]["row"]
        return self.finish()

    def push(self, number: int, row: int) -> None:
        """Hands over the row at an address."""
        ctypes.memmove(self._row, row, self._inputs[number]["row"])
        which = (ctypes.c_uint(number),) if len(self._inputs) > 1 else ()
        self._call("push_row", *which, _POINTER(self._row))

    def finish(self) -> bool:
        """Computes what is left of an inference. False if an operator ended it early."""
        return self._call("invoke") == 0

    def copy_outputs(self, place: int) -> None:
        """Copies the outputs to an address, one after another."""
        for number, size in enumerate(self._outputs):
            ctypes.memmove(place, self._address("output", number), size)
            place += size

    def reset(self) -> None:
        """Gives variables their first values, and forgets rows that were pushed."""
        if "reset" in self._functions:
            self._functions["reset"](_POINTER(self._state))
        self.rewind()

    def rewind(self) -> None:
        """Forgets rows that were pushed."""
        if "rewind" in self._functions:
            self._functions["rewind"](_POINTER(self._state))

    def _call(self, function: str, *arguments: object) -> int:
        status = int(self._functions[function](_POINTER(self._state), *arguments))
        if status not in (0, _NEED_MORE_INPUT):
            raise CodeError(function, status)
        return status

    def _address(self, accessor: str, number: int) -> int:
        return int(self._functions[accessor](_POINTER(self._state), ctypes.c_uint(number)))

    def _block(self, size: int) -> int:
        """The address of that many bytes of zeros between guards; it is a multiple of the guards' size."""
        room = ctypes.create_string_buffer(size + 3 * GUARD_BYTES)
        place = -(-ctypes.addressof(room) // GUARD_BYTES) * GUARD_BYTES + GUARD_BYTES
        for end in (place - GUARD_BYTES, place + size):
            ctypes.memmove(end, _GUARD, GUARD_BYTES)
        self._blocks.append((room, place, size))
        return place


def _answer(model: Model, request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytearray]:
    """Does what a request says; returns the reply without `damaged`."""
    what = request["do"]
    given = (ctypes.c_char * len(data)).from_buffer_copy(data)
    if what == "push":
        model.push(request["input"], ctypes.addressof(given))
        return {"expected": model.expected}, bytearray()
    if what in ("reset", "rewind"):
        getattr(model, what)()
        return {"expected": model.expected}, bytearray()
    count = request.get("count", 1)
    made = bytearray(count * model.output_bytes)
    outputs = (ctypes.c_char * len(made)).from_buffer(made)
    ended, since = "", time.process_time()
    for number in range(count):
        try:
            if what == "run" and request["reset"]:
                model.reset()
            is_complete = (
                model.finish() if what == "finish" else model.run(ctypes.addressof(given) + number * model.input_bytes)
            )
            if is_complete:
                model.copy_outputs(ctypes.addressof(outputs) + number * model.output_bytes)
        except CodeError as error:
            model.rewind()
            return {"status": error.status, "function": error.function, "at": number}, bytearray()
        ended += "1" if is_complete else "0"
    return {"ended": ended, "expected": model.expected, "seconds": time.process_time() - since}, made


def serve() -> None:
    """Answers requests on standard input by replies on standard output.

    The first message is the layout of the model: the path of the `library`, the `prefix` and the names of its `functions`, the
    bytes of its `state`, of its `regions`, of each buffer in `external`, of each of its `outputs`, and of each of its `inputs`:
    all `bytes`, those of a `row` if it streams, else 0, and the number of its `external` buffer, or -1. `is_divided` is true if
    `init` takes several regions.
    """
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    try:
        model = Model(receive(requests)[0])
    except CodeError as error:
        send(replies, {"status": error.status, "function": error.function, "at": 0})
        return
    except (OSError, AttributeError) as error:  # what ctypes raises
        send(replies, {"failure": str(error)})
        return
    send(replies, {"expected": model.expected})
    while True:
        try:
            request, data = receive(requests)
        except EOFError:
            return
        try:
            reply, made = _answer(model, request, data)
        except CodeError as error:
            reply, made = {"status": error.status, "function": error.function, "at": 0}, bytearray()
        send(replies, {"status": 0, **reply, "damaged": model.is_damaged}, made)


if __name__ == "__main__":
    serve()
