"""The C library on this machine, in a shared object."""

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from kibi.codegen import Library
from kibi.dtypes import Array
from kibi.engines.engine import LIMIT_REACHED, MORE_INPUT, PAUSED, STATUS, entry_points, written_sources
from kibi.engines.storage import storage_sources
from kibi.errors import InternalError, LimitError
from kibi.ir import TensorType
from kibi.ops import While
from kibi.runtime import check_inputs
from kibi.toolchain import host_compiler, load_shared

_GUARD_BYTES = 64
_CANARY = 0xC5
_POINTER = ctypes.c_void_p


class HostEngine:
    """A model's C code, built for this machine and called in this process.

    Where inputs stream, their rows are pushed one by one.

    Args:
        library: written to disk.
        index: which of its models.
        compiler: `zig`, `gcc` or `clang`; None: zig where it is installed, else the system's.
        level: `0`, `1`, `2`, `3` or `s`.
        storage: C files with the function that reads weights from slow memory; None: it copies them from a constant.

    Raises:
        ToolchainError: the compiler is missing or fails.
    """

    def __init__(
        self,
        library: Library,
        index: int = 0,
        *,
        compiler: str | None = None,
        level: str = "2",
        storage: Sequence[Path] | None = None,
    ) -> None:
        self._model = library.models[index]
        sources, folder = written_sources(library)
        with storage_sources(library, storage) as further:
            shared = load_shared(
                [*sources, *further], compiler=compiler or host_compiler(), level=level, includes=[folder]
            )
        prefix = f"{self._model.graph.name}_"
        self._functions = {name.removeprefix(prefix): shared[name] for name in entry_points(self._model)}
        for name in {"input", "output", "variable"} & set(self._functions):
            self._functions[name].restype = _POINTER
        self._blocks: list[Array] = []
        self.slices = 0
        self._state = ctypes.create_string_buffer(self._model.state_bytes(ctypes.sizeof(_POINTER)))
        self._initialize()
        kinds = [self._model.graph.tensors[index].type for index in self._model.external]
        self._external = [np.zeros(kind.size_bytes, np.uint8) for kind in kinds]
        for number, block in enumerate(self._external):
            self._check(
                "set_external_buffer", ctypes.c_uint(number), _POINTER(block.ctypes.data), ctypes.c_size_t(block.nbytes)
            )

    def run(self, inputs: Sequence[Array], *, slice_steps: int | None = None) -> list[Array]:
        """Runs one inference; without outputs if an operator ended it early.

        Args:
            inputs: one array for each model input, of its shape and type.
            slice_steps: the row steps of a slice, for a library with slices; `slices` then says how many ran. None: all at once.

        Raises:
            InputError: an input does not fit.
            InternalError: the library returned an error, or wrote outside its arena.
        """
        graph = self._model.graph
        arrays = [np.ascontiguousarray(array) for array in check_inputs(graph, inputs)]
        for number, (index, array) in enumerate(zip(graph.inputs, arrays, strict=True)):
            if index in self._model.external:
                self._external[self._model.external.index(index)][:] = array.reshape(-1).view(np.uint8)
            elif index not in graph.streamed_inputs:
                ctypes.memmove(self.address("input", number), array.ctypes.data, array.nbytes)
        self.slices, is_complete = 0, False
        for number, row in self._model.arrivals:
            self._in_slices(slice_steps)
            if self._model.early_exits and self.call("expected_input") < 0:
                break
            self._push(arrays[number], number, row)
        if slice_steps is not None:
            is_complete = self._in_slices(slice_steps)
        if slice_steps is None or self._model.arrivals:
            is_complete = self._check("invoke")
        for block in self._blocks:
            if (block[:_GUARD_BYTES] != _CANARY).any() or (block[-_GUARD_BYTES:] != _CANARY).any():
                raise InternalError(f"{graph.name}_invoke wrote outside its arena")
        return self.outputs() if is_complete else []

    def _in_slices(self, steps: int | None) -> bool:
        """Runs what can be run, in slices; nothing without a number of steps. True if the inference came to its end."""
        status = PAUSED if steps is not None else 0
        while status == PAUSED:
            status = self._checked("run_for", ctypes.c_uint32(steps or 0))
            self.slices += 1
        return status == 0

    def outputs(self) -> list[Array]:
        """The bytes of the outputs."""
        kinds = [self._model.graph.tensors[index].type for index in self._model.graph.outputs]
        return [self._read(number, kind) for number, kind in enumerate(kinds)]

    def call(self, function: str, *arguments: object) -> int:
        """Calls one of the model's functions by its name without the prefix, on its state, and returns its status or value."""
        return int(self._functions[function](self._state, *arguments))

    def bound(self, function: str) -> Callable[[], int]:
        """One of the model's functions on its state, without further arguments: calling it takes less time than `call`."""
        return partial(self._functions[function], self._state)

    def address(self, accessor: str, number: int) -> int:
        """The address of a tensor, from one of the model's accessors."""
        return int(self._functions[accessor](self._state, ctypes.c_uint(number)))

    def _initialize(self) -> None:
        """Guarded blocks for the regions, which begin at multiples of the guard's size."""
        sizes = self._model.region_bytes
        places = [self._guarded(size) for size in sizes]
        if not self._model.regions:
            self._check("init", _POINTER(places[0]), ctypes.c_size_t(sizes[0]))
            return
        count = len(sizes)
        self._check("init", (_POINTER * count)(*places), (ctypes.c_size_t * count)(*sizes))

    def _guarded(self, size_bytes: int) -> int:
        """The address of that many bytes with canaries on both sides."""
        room = np.full(size_bytes + 3 * _GUARD_BYTES, _CANARY, np.uint8)
        skip = -room.ctypes.data % _GUARD_BYTES
        block = room[skip : skip + size_bytes + 2 * _GUARD_BYTES]
        self._blocks.append(block)
        return int(block.ctypes.data) + _GUARD_BYTES

    def _push(self, array: Array, number: int, row: int) -> None:
        kind = self._model.graph.tensors[self._model.graph.inputs[number]].type
        data = np.ascontiguousarray(array.reshape(kind.rows, -1)[row])
        which = (ctypes.c_uint(number),) if len(self._model.graph.inputs) > 1 else ()
        self._check("push_row", *which, _POINTER(data.ctypes.data))

    def _read(self, number: int, kind: TensorType) -> Array:
        data = ctypes.string_at(self.address("output", number), kind.size_bytes)
        return np.frombuffer(data, kind.dtype.numpy).reshape(kind.shape)

    def _check(self, function: str, *arguments: object) -> bool:
        """Calls a function. True if the inference came to its end, False if an operator ended it early."""
        return self._checked(function, *arguments) == 0

    def _checked(self, function: str, *arguments: object) -> int:
        """Calls a function, and returns its status if that is no error."""
        status = self.call(function, *arguments)
        if status == LIMIT_REACHED:
            raise LimitError(f"a loop of {self._model.graph.source}, in C,", While.most_turns)
        if status not in (0, MORE_INPUT, PAUSED):
            raise InternalError(
                f"{self._model.graph.name}_{function} returned {status}: {STATUS.get(status, 'unknown')}"
            )
        return status
