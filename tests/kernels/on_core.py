"""Kernels called one by one on an emulated core, with their operands at the very ends of guarded memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kibi.dtypes import Array
from kibi.kernels import closure
from kibi.kernels.params import PARAMS
from kibi.kernels.params.layout import packed
from kibi.qemu import emulated
from kibi.targets import target
from kibi.toolchain import build_image
from tests.toolchain.tools import check_cross

ARMV7EM = ("armv7em", "thumb2", "portable")
PORTABLE = ("portable",)
_BLOCK_BYTES = 1 << 15
_POOL_BYTES = 1 << 16
_GUARD = 0xA5


@dataclass(frozen=True, slots=True)
class Case:
    """One call, or one for each step.

    Attributes:
        params: the struct's fields; arrays are pointed to.
        rows: for each pointer an index into `inputs`, or None for a null pointer; where there are steps, those of each step.
        inputs: the input rows [elements] s8.
        output_bytes, scratch_bytes: sizes.
        at_end: whether operands end where their memory ends; else they begin where it begins, at odd addresses.
        steps: calls with a step number; 0 for one call without.
    """

    params: Mapping[str, int | Array]
    rows: Sequence[Sequence[int | None]]
    inputs: Sequence[Array]
    output_bytes: int
    scratch_bytes: int = 0
    at_end: bool = False
    steps: int = 0


class KernelOnCore:
    """A kernel from the first of some kernel sets, built for a processor and loaded into its emulated core."""

    def __init__(
        self,
        kernel: str,
        kernel_sets: tuple[str, ...],
        folder: Path,
        *,
        name: str = "cortex-m4",
        compiler: str = "zig",
        level: str = "s",
    ) -> None:
        """Build it; `folder` gets the sources."""
        if compiler == "gcc":
            check_cross()
        self._kernel, self._sets = kernel, kernel_sets
        processor = replace(target(name), kernel_sets=kernel_sets)
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in closure(frozenset({kernel}), kernel_sets).items():
            (folder / file).write_text(text.text, encoding="utf-8")
        sources = sorted(folder.glob("*.c"))
        image = build_image(sources, processor, entries=(kernel,), compiler=compiler, level=level)
        self._core = emulated(image, processor)
        # The sizes are odd, so that what lies at their ends is misaligned, too.
        self._pools = {
            name: self._core.allocate(name, size, alignment=16, writable=name in ("output", "scratch"))
            for name, size in (
                ("params", 256), ("rows", 1024), ("numbers", _POOL_BYTES), ("words", _POOL_BYTES), ("bytes", _POOL_BYTES - 1),
                ("inputs", _POOL_BYTES - 3), ("output", _BLOCK_BYTES - 1), ("scratch", _BLOCK_BYTES),
            )
        }  # fmt: skip
        self.instructions = self.cycles = 0

    def run(self, case: Case) -> bytes:
        """The output; `instructions` and `cycles` then hold what all its calls took, the latter without wait states."""
        core = self._core
        core.write(self._pools["params"], self._params(case))
        first, addresses = self._place(case, "inputs", _POOL_BYTES - 3, [row.tobytes() for row in case.inputs])
        core.write(self._pools["inputs"], first)
        output_at = _BLOCK_BYTES - 1 - case.output_bytes if case.at_end else 1
        core.write(self._pools["output"], bytes([_GUARD]) * (_BLOCK_BYTES - 1))
        output = self._pools["output"] + output_at
        self.instructions = self.cycles = 0
        for step, pointers in enumerate(case.rows):
            table = [0 if pointer is None else addresses[pointer] for pointer in pointers]
            core.write(self._pools["rows"], np.array(table, np.uint32).tobytes())
            numbers = (step,) if case.steps else ()
            scratch = self._pools["scratch"] if case.scratch_bytes else 0
            call = core.call(self._kernel, output, self._pools["rows"], self._pools["params"], scratch, *numbers)
            self.instructions += call.instructions
            self.cycles += call.cycles_estimate or 0
        found = core.read(self._pools["output"], _BLOCK_BYTES - 1)
        end = output_at + case.output_bytes
        assert not found[:output_at].strip(bytes([_GUARD]))
        assert not found[end:].strip(bytes([_GUARD]))
        return found[output_at:end]

    def _params(self, case: Case) -> bytes:
        """The struct, its arrays stored: numbers of 64 bits at multiples of eight, words at multiples of four, bytes anywhere."""
        arrays = {name: value for name, value in case.params.items() if isinstance(value, np.ndarray)}
        pointers: dict[str, int] = {}
        for pool, size, width in (
            ("numbers", _POOL_BYTES, 8),
            ("words", _POOL_BYTES, 4),
            ("bytes", _POOL_BYTES - 1, 1),
        ):
            names = [name for name, array in arrays.items() if array.itemsize == width]
            data, places = self._place(case, pool, size, [arrays[name].tobytes() for name in names], width == 1)
            self._core.write(self._pools[pool], data)
            pointers.update(zip(names, places, strict=True))
        return packed(PARAMS[self._kernel](**case.params), pointers)

    def _place(
        self, case: Case, pool: str, size: int, pieces: Sequence[bytes], may_be_odd: bool = True
    ) -> tuple[bytes, list[int]]:
        """A pool's contents with pieces one after another, and where each is."""
        joined = b"".join(pieces)
        start = size - len(joined) if case.at_end else int(may_be_odd)
        assert start >= 0
        ends = np.cumsum([0, *map(len, pieces)]).tolist()
        base = self._pools[pool] + start
        data = bytes([_GUARD]) * start + joined
        return data.ljust(size, bytes([_GUARD])), [base + end for end in ends[:-1]]
