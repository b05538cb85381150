"""The C library where a target's code runs on this machine: the same calls, counted and guarded."""

from collections.abc import Sequence
from pathlib import Path

from kibi.codegen import Library
from kibi.engines.linked import LinkedEngine
from kibi.engines.ways import Ways, ways_of
from kibi.programs.wasm import WasmProgram
from kibi.targets import Memory


class DeviceEngine(LinkedEngine):
    """A model's C code, linked for a target and run on its emulated core, as a program for Linux, or as a WebAssembly module.

    Only the arena, the state, external buffers and the stack can be written; anything else stops the run with the function
    named.

    Args:
        library: written to disk, for a target whose code runs here.
        index: which of its models.
        compiler: `zig`, `gcc` or `clang`.
        level: `0`, `1`, `2`, `3` or `s`.
        sources: further C files, which include headers of the library.
        entries: functions of these to keep.
        storage: C files with the function that reads weights from slow memory; None: it copies them from a constant.
        memory: how an emulated core reads its flash; None for no wait states.
        code_in_ram: True if code of an emulated core is in RAM, and only constants are in flash.
        ways: how code is built and run; None: the target's, for which alone `memory` and `code_in_ram` are.

    Raises:
        ToolchainError: the compiler, or what runs the code, is missing or fails.
        EmulationError: nothing runs the target's code.
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
        ways: Ways | None = None,
    ) -> None:
        super().__init__(
            library,
            ways or ways_of(library.target, memory, code_in_ram=code_in_ram),
            index,
            compiler=compiler,
            level=level,
            sources=sources,
            entries=entries,
            storage=storage,
        )

    @property
    def counter(self) -> str:
        """What `instructions` of a call are: `instructions`, or of WebAssembly `fuel`; empty where nothing counts them."""
        return self._core.counted

    @property
    def linear_memory_bytes(self) -> int | None:
        """The memory of a WebAssembly module, in whole pages; None elsewhere."""
        return self._core.memory_bytes if isinstance(self._core, WasmProgram) else None
