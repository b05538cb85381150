"""The C library on this machine, in a shared object."""

import ctypes
from collections.abc import Sequence

import numpy as np

from kibi.codegen import Library
from kibi.dtypes import Array
from kibi.engines.engine import STATUS, written_sources
from kibi.errors import InternalError
from kibi.ir import TensorType
from kibi.runtime import check_inputs
from kibi.toolchain import build_shared

_GUARD_BYTES = 64
_CANARY = 0xC5


class HostEngine:
    """A model's C code, built for this machine and called in this process.

    Args:
        library: written to disk.
        index: which of its models.
        compiler: `zig` or `gcc`.
        optimize: `0`, `1`, `2`, `3` or `s`.

    Raises:
        ToolchainError: the compiler is missing or fails.
    """

    def __init__(self, library: Library, index: int = 0, *, compiler: str = "zig", optimize: str = "2") -> None:
        self._model = library.models[index]
        sources, folder = written_sources(library)
        shared = ctypes.CDLL(str(build_shared(sources, compiler=compiler, optimize=optimize, includes=[folder])))
        name = self._model.graph.name
        self._init, self._invoke = shared[f"{name}_init"], shared[f"{name}_invoke"]
        self._input, self._output = shared[f"{name}_input"], shared[f"{name}_output"]
        self._init.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        self._invoke.argtypes = [ctypes.c_void_p]
        for accessor in (self._input, self._output):
            accessor.argtypes, accessor.restype = [ctypes.c_void_p, ctypes.c_uint], ctypes.c_void_p
        size = self._model.plan.arena_bytes
        self._memory = np.full(size + 3 * _GUARD_BYTES, _CANARY, np.uint8)
        skip = _GUARD_BYTES + -self._memory.ctypes.data % _GUARD_BYTES
        self._guards = (self._memory[:skip], self._memory[skip + size :])
        self._state = ctypes.create_string_buffer(ctypes.sizeof(ctypes.c_void_p))
        self._check(self._init(self._state, self._memory.ctypes.data + skip, size), "init")

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """One inference.

        Raises:
            InputError: an input does not fit.
            InternalError: the library returned an error, or wrote outside its arena.
        """
        graph = self._model.graph
        for number, array in enumerate(check_inputs(graph, inputs)):
            data = np.ascontiguousarray(array)
            ctypes.memmove(self._input(self._state, number), data.ctypes.data, data.nbytes)
        self._check(self._invoke(self._state), "invoke")
        if any((guard != _CANARY).any() for guard in self._guards):
            raise InternalError(f"{graph.name}_invoke wrote outside its arena")
        return [self._read(number, graph.tensors[index].type) for number, index in enumerate(graph.outputs)]

    def _read(self, number: int, kind: TensorType) -> Array:
        data = ctypes.string_at(self._output(self._state, number), kind.size_bytes)
        return np.frombuffer(data, kind.dtype.numpy).reshape(kind.shape)

    def _check(self, status: int, function: str) -> None:
        if status:
            raise InternalError(
                f"{self._model.graph.name}_{function} returned {status}: {STATUS.get(status, 'unknown')}"
            )
