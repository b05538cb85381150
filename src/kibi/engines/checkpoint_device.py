"""Checkpoints of the C library on an emulated core: saved, lost and restored, with what that takes."""

import struct
from collections.abc import Sequence
from pathlib import Path

from kibi.codegen import Library
from kibi.dtypes import Array
from kibi.emulator import Call
from kibi.engines.device import DeviceEngine
from kibi.engines.engine import MORE_INPUT, PAUSED

_SOURCE = Path(__file__).with_name("slots_in_ram.c")
_FUNCTIONS = ("kibi_ram_write", "kibi_ram_read")
_STORAGE = "storage"
_SPOILED = 0x3C
_LIMIT = 10_000_000_000


class CheckpointEngine(DeviceEngine):
    """A model with checkpoints, and two slots in a memory of its own that a loss of power does not change.

    Args:
        library: with checkpoints, written to disk, for a target that is emulated.
        slot_bytes: of each slot.
        compiler: `zig`, `gcc` or `clang`.
        level: `0`, `1`, `2`, `3` or `s`.

    Raises:
        ToolchainError: the compiler is missing or fails.
        EmulationError: the target is not emulated.
    """

    def __init__(self, library: Library, slot_bytes: int, *, compiler: str = "zig", level: str = "s") -> None:
        super().__init__(library, compiler=compiler, level=level, sources=[_SOURCE], entries=_FUNCTIONS)
        self._slot_bytes = slot_bytes
        self._slots = self._core.allocate("slots", 2 * slot_bytes, alignment=4)
        context = self._core.allocate("context", 8, alignment=4, writable=False)
        self._core.write(context, struct.pack("<II", slot_bytes, self._slots))
        write, read = (self.image.symbols[name].address | 1 for name in _FUNCTIONS)
        self._functions = self._core.allocate("kibi_slots", 12, alignment=4, writable=False)
        self._core.write(self._functions, struct.pack("<III", context, write, read))

    def pause_after(self, inputs: Sequence[Array], steps: int) -> None:
        """Begins an inference anew, with empty slots, and runs some of its row steps; rows that are pushed are steps, too.

        Args:
            inputs: one array for each model input.
            steps: how many; fewer than all of an inference.
        """
        self._core.write(self._slots, bytes([0xFF]) * (2 * self._slot_bytes))
        self.lose_power()
        self.write_inputs(inputs)
        run, pushed = 0, iter(self._model.arrivals)
        for node, _ in self._model.plan.steps[:steps]:
            if not self._model.graph.nodes[node].op.receives:
                run += 1
                continue
            self._run_steps(run)
            number, row = next(pushed)
            self._push(inputs[number], number, row, _LIMIT)
            run = 0
        self._run_steps(run)

    def lose_power(self) -> None:
        """Overwrites all memory of the model, and gives it to the model again."""
        for place, size in self.blocks:
            self._core.write(place, bytes([_SPOILED]) * size)
        self.initialize()

    def save(self) -> Call:
        """Saves a checkpoint, and returns what that took; the functions of the storage are counted apart."""
        return self._counted("checkpoint")

    def restore(self) -> Call:
        """Restores the newest checkpoint, likewise."""
        return self._counted("resume")

    def finish(self, inputs: Sequence[Array]) -> list[Array]:
        """Runs the rest of a restored inference, whose sources give the rows that it asks for, and returns the outputs, if any.

        Args:
            inputs: one array for each model input.
        """
        if not self._model.arrivals:
            return self._outputs_after(self._run_steps(len(self._model.plan.steps)))
        while (number := self.call("expected_input")) >= 0:
            self._push(inputs[number], number, self.call("expected_row"), _LIMIT)
        return self._outputs_after(self._call("invoke", self._state, instruction_limit=_LIMIT).value)

    def _outputs_after(self, status: int) -> list[Array]:
        return [] if status == MORE_INPUT else self.outputs()

    def _run_steps(self, steps: int) -> int:
        """Runs some steps, none for 0, and returns the status."""
        return self._call("run_for", self._state, steps, instruction_limit=_LIMIT).value if steps else PAUSED

    def _counted(self, function: str) -> Call:
        name = f"{self._model.graph.name}_{function}"
        storage = dict.fromkeys(_FUNCTIONS, _STORAGE)
        call = self._core.call(name, self._state, self._functions, operators=storage)
        self._checked(name, call)
        return call


def instructions_without_storage(call: Call) -> int:
    """Returns what a call of `CheckpointEngine` took, without the functions of the storage."""
    return call.instructions - call.by_operator.get(_STORAGE, 0)
