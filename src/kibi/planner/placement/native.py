"""The native code of placement: its C structures as Python sees them, and its compilation on first use."""

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from kibi.errors import InternalError
from kibi.planner.placement.problem import Bytes, PlacementProblem
from kibi.planner.placement.strategy import Ending, Strategy, Sweep
from kibi.used_tools import noting_tools

SOURCES = tuple(
    Path(__file__).parent / "search_c" / name
    for name in (
        "bounds.c",
        "choice.c",
        "first_fit.c",
        "first_fit_sparse.c",
        "pairs.c",
        "search.c",
        "state.c",
        "sweep.c",
        "sweep_state.c",
    )
)
_NO_MEMORY, _CANNOT_LIE = -1, -2
_INDICES, _BYTES = ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_int64)
_GO_ON = ctypes.CFUNCTYPE(ctypes.c_int)


class _Problem(ctypes.Structure):
    """`kibi_problem` of `placement.h`."""

    _fields_ = (
        ("items", ctypes.c_int32),
        ("sections", ctypes.c_int32),
        ("piece_start", _INDICES),
        ("first", _INDICES),
        ("last", _INDICES),
        ("weight", _BYTES),
        ("size", _BYTES),
        ("alignment", _BYTES),
        ("lowest", _BYTES),
        ("highest", _BYTES),
        ("rule_start", _INDICES),
        ("rule_above", _INDICES),
        ("rule_distance", _BYTES),
    )


class _Strategy(ctypes.Structure):
    """`kibi_strategy` of `placement.h`."""

    _fields_ = (
        ("section_rule", ctypes.c_int32),
        ("item_rule", ctypes.c_int32),
        ("noise", ctypes.c_double),
        ("seed", ctypes.c_uint64),
    )


class _Sweep(ctypes.Structure):
    """`kibi_sweep_plan` of `placement.h`."""

    _fields_ = (  # with addresses, as sweeps are many, and pointers of ctypes take long to make
        ("order", ctypes.c_void_p),
        ("bottom_end", ctypes.c_void_p),
        ("top_end", ctypes.c_void_p),
        ("cost", ctypes.c_void_p),
        ("width", ctypes.c_int32),
        ("noise", ctypes.c_int32),
        ("seed", ctypes.c_uint64),
    )


def declared(loaded: ctypes.CDLL) -> ctypes.CDLL:
    """The library of `SOURCES`, with the types of its functions."""
    loaded.kibi_first_fit.argtypes = (ctypes.POINTER(_Problem), _INDICES, _BYTES)
    loaded.kibi_first_fit.restype = ctypes.c_int64
    loaded.kibi_search.argtypes = (
        ctypes.POINTER(_Problem), ctypes.POINTER(_Strategy), ctypes.c_int64, ctypes.c_uint64, _GO_ON, ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_uint64),
    )  # fmt: skip
    loaded.kibi_search.restype = ctypes.c_int
    loaded.kibi_sweep.argtypes = (
        ctypes.POINTER(_Problem), ctypes.POINTER(_Sweep), ctypes.c_int64, ctypes.c_uint64, _GO_ON, ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_uint64),
    )  # fmt: skip
    loaded.kibi_sweep.restype = ctypes.c_int
    return loaded


@lru_cache
def _library() -> ctypes.CDLL:
    from kibi.toolchain import host_compiler, load_shared  # noqa: PLC0415 - planning alone should not load the toolchain

    with noting_tools():  # what compiles Kibi's own helpers is no part of a report
        return declared(load_shared(SOURCES, compiler=host_compiler()))


class Native:
    """A problem in the native code's hands. Several threads may use one, or one each."""

    def __init__(self, problem: PlacementProblem, library: ctypes.CDLL | None = None) -> None:
        """Take over a problem.

        Args:
            problem: the problem.
            library: what `load` gave; None: compiled now, if it is not cached.

        Raises:
            ToolchainError: the native code cannot be compiled.
        """
        self._library = library or _library()
        self._problem = problem
        self._record = _Problem(
            problem.items,
            problem.sections,
            _indices(problem.piece_start),
            _indices(problem.first),
            _indices(problem.last),
            _bytes(problem.weights),
            _bytes(problem.sizes),
            _bytes(problem.alignments),
            _bytes(problem.lowest),
            _bytes(problem.highest),
            _indices(problem.rule_start),
            _indices(problem.rule_above),
            _bytes(problem.rule_distances),
        )

    def first_fit(self, order: Sequence[int]) -> Bytes | None:
        """Place the items in that order, each as low as it goes; None if one does not fit within its bounds.

        Raises:
            MemoryError: this machine has none left.
        """
        offsets = np.zeros(self._problem.items, np.int64)
        ranks = np.ascontiguousarray(order, np.int32)
        peak = self._library.kibi_first_fit(ctypes.byref(self._record), _indices(ranks), _bytes(offsets))
        if peak == _NO_MEMORY:
            raise MemoryError
        return None if peak == _CANNOT_LIE else offsets

    def search(
        self, how: Strategy | Sweep, capacity: int, limit: int, go_on: Callable[[], bool]
    ) -> tuple[Ending, Bytes, int]:
        """Search for a placement within a capacity.

        Args:
            how: by exact search, or by a sweep, which proves nothing.
            capacity: the highest peak, in bytes.
            limit: the most work, in visits of an item in a section; the same problem, way, capacity and limit give
                the same answer.
            go_on: asked several times a second; False ends the search.

        Returns:
            How it ended, the offsets if it found some, and the work it did.

        Raises:
            MemoryError: this machine has none left.
        """
        offsets, work = np.zeros(self._problem.items, np.int64), ctypes.c_uint64()
        raised: list[BaseException] = []

        def ask() -> int:
            try:
                return int(go_on())
            except BaseException as error:  # noqa: BLE001 - Ctrl-C ends up here; it must cross the native code
                raised.append(error)
                return 0

        search = self._library.kibi_search if isinstance(how, Strategy) else self._library.kibi_sweep
        ending = Ending(
            search(
                ctypes.byref(self._record), ctypes.byref(_record(how)), capacity, limit, _GO_ON(ask),
                offsets.ctypes.data, ctypes.byref(work),
            )
        )  # fmt: skip
        if raised:
            raise raised[0]
        if ending == Ending.NO_MEMORY:
            raise MemoryError
        if ending == Ending.FOUND and self._problem.peak_bytes(offsets) > capacity:
            raise InternalError(f"a placement within {capacity} bytes was promised, and is not")
        return ending, offsets, int(work.value)


def _record(how: Strategy | Sweep) -> _Strategy | _Sweep:
    if isinstance(how, Strategy):
        return _Strategy(how.section_rule, how.item_rule, how.noise, how.seed)
    addresses = (each.ctypes.data for each in (how.order, how.bottom_end, how.top_end, how.cost))
    return _Sweep(*addresses, how.width, how.noise, how.seed)


def _indices(array: np.ndarray[tuple[int, ...], np.dtype[np.int32]]) -> "ctypes._Pointer[ctypes.c_int32]":
    return array.ctypes.data_as(_INDICES)


def _bytes(array: Bytes) -> "ctypes._Pointer[ctypes.c_int64]":
    return array.ctypes.data_as(_BYTES)
