"""The C library on an emulated core: the same calls, counted and guarded."""

from collections.abc import Sequence
from pathlib import Path

from kibi.codegen import Library
from kibi.engines.linked import LinkedEngine
from kibi.qemu import emulated
from kibi.targets import Memory


class DeviceEngine(LinkedEngine):
    """A model's C code, linked for a target and run on its emulated core.

    Only the arena, the state, external buffers and the stack can be written; anything else stops the run with the function
    named.

    Args:
        library: written to disk, for a target that is emulated.
        index: which of its models.
        compiler: `zig`, `gcc` or `clang`.
        level: `0`, `1`, `2`, `3` or `s`.
        sources: further C files, which include headers of the library.
        entries: functions of these to keep.
        storage: C files with the function that reads weights from slow memory; None: it copies them from a constant.
        memory: how the core reads its flash; None for no wait states.
        code_in_ram: True if code is in RAM, and only constants are in flash.

    Raises:
        ToolchainError: the compiler is missing or fails.
        EmulationError: the target is not emulated.
    """

    def __init__(
        self,
        library: Library,
        index: int = 0,
        *,
        compiler: str = "zig",
        level: str = "s",
        sources: Sequence[Path] = (),
        entries: Sequence[str] = (),
        storage: Sequence[Path] | None = None,
        memory: Memory | None = None,
        code_in_ram: bool = False,
    ) -> None:
        super().__init__(
            library,
            lambda image, target: emulated(image, target, memory=memory, code_in_ram=code_in_ram),
            index,
            compiler=compiler,
            level=level,
            sources=sources,
            entries=entries,
            storage=storage,
        )
