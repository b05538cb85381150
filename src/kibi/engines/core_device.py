"""Plan files on an emulated core: counted and guarded."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kibi.dtypes import Array
from kibi.emulator import Call, Stored
from kibi.engines.core import PAUSED, written_core
from kibi.engines.engine import LIMIT_REACHED, MORE_INPUT, STATUS
from kibi.errors import EmulationError, LimitError
from kibi.ops import While
from kibi.planfile.reader import PlanFile
from kibi.qemu import emulated
from kibi.targets import Memory, Target
from kibi.toolchain import Image, build_image

MODEL_BYTES = 52
"""`sizeof(kibi_model)` where pointers have 4 bytes."""
_PORT_BYTES = 32
_CALLER = "call_"
"""The function of a core that calls a kernel has the kernel's name after these letters."""
_FUNCTIONS = (
    "open_trusted",
    "set_state",
    "set_external",
    "input",
    "output",
    "invoke",
    "run_for",
    "expected_input",
    "push_row",
)


class CoreDeviceEngine:
    """A plan file, run by the core in C on an emulated processor.

    The file is in flash, after the core's code; only the arena, the state, external buffers, the model's struct and the stack can
    be written.

    Args:
        file: the plan file.
        target: a target that is emulated.
        kernels: names of the core's kernels; None: those that the file needs.
        compiler: `zig`, `gcc` or `clang`.
        level: `0`, `1`, `2`, `3` or `s`.
        memory: how the processor reads its flash, at the clock of the target; None for a flash without wait states.
        code_in_ram: True if the core's code runs from a RAM without wait states; the file stays in flash.

    Raises:
        ToolchainError: the compiler is missing or fails.
        EmulationError: the target is not emulated.
    """

    def __init__(
        self,
        file: PlanFile,
        target: Target,
        *,
        kernels: Sequence[str] | None = None,
        compiler: str = "zig",
        level: str = "s",
        memory: Memory | None = None,
        code_in_ram: bool = False,
    ) -> None:
        self.file = file
        parts = file.parts if kernels is None else None
        self.image = core_image(
            file.kernels if kernels is None else kernels, target, compiler=compiler, level=level, parts=parts
        )
        stored = [Stored("plan file", file.data, file.header["alignment"])]
        self._core = emulated(self.image, target, memory=memory, code_in_ram=code_in_ram, stored=stored)
        callers = (name for name in self.image.symbols if name.startswith(_CALLER))
        self._kernels = {name: name.removeprefix(_CALLER) for name in callers}
        self._model = self._core.allocate("model", MODEL_BYTES, alignment=4)
        self._port = self._core.allocate("port", _PORT_BYTES, alignment=4)
        data = self._core.stored_addresses[0]
        arena = self._core.allocate("arena", file.arena_bytes, alignment=file.header["arena_alignment"], is_exact=True)
        kernels_address = self.image.symbols["kibi_core_kernels"].address
        self._call("open_trusted", data, len(file.data), kernels_address, arena, file.arena_bytes)
        if file.state_bytes:
            state = self._core.allocate("state", file.state_bytes, alignment=8)
            self._call("set_state", state, file.state_bytes)
        if file.externals:
            self._set_external(file.externals)
        longest = max((port.size_bytes // max(port.rows, 1) for port in file.inputs), default=1)
        self._row = self._core.allocate("row", longest, alignment=8, writable=False) if file.streams else 0
        self.last: Call | None = None

    def run(
        self, inputs: Sequence[Array], *, slice_steps: int = 0, instruction_limit: int = 10_000_000_000
    ) -> list[Array]:
        """Runs one inference; without outputs if an operator ended it early. `last` then holds its costs.

        Args:
            inputs: an array for each input, of its shape and type.
            slice_steps: runs it in slices of so many row steps; 0: in one go.
            instruction_limit: the most instructions that each call may take.

        Raises:
            EmulationError: the core stopped.
        """
        calls: list[Call] = []
        if self.file.streams:
            calls += self._push(inputs, instruction_limit)
        else:
            for number, array in enumerate(inputs):
                self._core.write(self._place("input", number), np.ascontiguousarray(array).tobytes())
        calls.append(self._run(slice_steps, instruction_limit))
        while calls[-1].signed_value == PAUSED:
            calls.append(self._run(slice_steps, instruction_limit))
        status = calls[-1].signed_value
        self.last = calls[-1]
        for call in reversed(calls[:-1]):
            self.last = call.then(self.last)
        if status == MORE_INPUT:
            return []
        outputs = []
        for number, port in enumerate(self.file.outputs):
            data = self._core.read(self._place("output", number), port.size_bytes)
            outputs.append(np.frombuffer(data, port.dtype.numpy).reshape(port.shape))
        return outputs

    def _run(self, slice_steps: int, instruction_limit: int) -> Call:
        if slice_steps and not self.file.streams:
            return self._call("run_for", slice_steps, instruction_limit=instruction_limit)
        return self._call("invoke", instruction_limit=instruction_limit)

    def _push(self, inputs: Sequence[Array], instruction_limit: int) -> list[Call]:
        calls, rows = [], [0] * len(inputs)
        while (expected := self._call("expected_input", instruction_limit=instruction_limit)).signed_value >= 0:
            number = expected.signed_value
            row = inputs[number].reshape(self.file.inputs[number].rows, -1)[rows[number]]
            self._core.write(self._row, np.ascontiguousarray(row).tobytes())
            calls += [expected, self._call("push_row", number, self._row, instruction_limit=instruction_limit)]
            rows[number] += 1
        return [*calls, expected]

    def _place(self, role: str, number: int) -> int:
        self._call(role, number, self._port)
        return int.from_bytes(self._core.read(self._port, 4), "little")

    def _set_external(self, sizes: Sequence[int]) -> None:
        blocks = [self._core.allocate(f"external {number}", size, alignment=8) for number, size in enumerate(sizes)]
        tables = []
        for name, numbers in (("externals", blocks), ("external bytes", sizes)):
            tables.append(self._core.allocate(name, 4 * len(sizes), alignment=4))
            self._core.write(tables[-1], np.array(numbers, np.uint32).tobytes())
        self._call("set_external", *tables, len(sizes))

    def _call(self, function: str, *arguments: int, instruction_limit: int = 1_000_000) -> Call:
        name = f"kibi_model_{function}"
        call = self._core.call(
            name, self._model, *arguments, operators=self._kernels, instruction_limit=instruction_limit
        )
        status = call.signed_value
        if status == LIMIT_REACHED and function in ("invoke", "run_for"):
            raise LimitError(f"a loop of {self.file.name}, in C on the emulated core,", While.most_turns)
        if function != "expected_input" and status not in (0, MORE_INPUT, PAUSED):
            raise EmulationError(f"{name} returned {status} ({STATUS.get(status, 'unknown')})", function=name)
        return call


def core_image(
    kernels: Sequence[str],
    target: Target,
    *,
    compiler: str = "zig",
    level: str = "s",
    parts: frozenset[str] | None = None,
    functions: Sequence[str] = _FUNCTIONS,
) -> Image:
    """Returns a core with these kernels, linked for a device, with these parts of theirs, or all, and these functions of the API.

    Raises:
        ToolchainError: the compiler is missing or fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        sources = written_core(kernels, target, Path(folder), parts)
        entries = [*(f"kibi_model_{name}" for name in functions), "kibi_core_kernels"]
        return build_image(sources, target, entries=entries, compiler=compiler, level=level, includes=[Path(folder)])
