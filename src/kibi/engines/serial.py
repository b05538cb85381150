"""The C library in a board's own firmware: the same calls as on the emulated core, over a serial line."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kibi.codegen import CompiledModel, Library
from kibi.debugger import placed
from kibi.dtypes import Array
from kibi.emulator import Call
from kibi.engines.linked import CalledEngine
from kibi.errors import BoardError
from kibi.packages.serial import serial_functions, with_serial_program
from kibi.serial_line import SerialCore, SerialSession

_WORD = 1 << 32
_BASE_ALIGNMENT = 8
_NO_OPERATORS: Mapping[str, str] = MappingProxyType({})
_SHOWN_DIGITS = 12


class SerialEngine(CalledEngine):
    """A model's C code in a measuring program, which its user has built and started.

    Args:
        library: that of which the program was written.
        session: with the program.
        board: the board's name.
        seconds: how long a call may take.
        index: of the model, in the library.

    Attributes:
        core: the board's.

    Raises:
        BoardError: the program has another library, or the board another core.
    """

    def __init__(self, library: Library, session: SerialSession, board: str, *, seconds: float, index: int = 0) -> None:
        found, digest = session.greeting, library.code_digest
        named = [[f"{each.graph.name}_{name}" for name in serial_functions(library, each)] for each in library.models]
        if found.digest != digest or found.functions != sum(map(len, named)):
            raise BoardError(
                f"the measuring program at {session.name} has another library than this model, with these options, gives: its "
                f"digest is {found.digest[:_SHOWN_DIGITS]}…, not {digest[:_SHOWN_DIGITS]}…. Write the program again by "
                "--serial-program with the same options, build it, and load it onto the board."
            )
        first = 2 * sum(map(len, named[:index]))
        self.core = SerialCore(session, named[index], library.target, board, seconds=seconds, first=first)
        self._session = session
        super().__init__(library.models[index], self.core, found.pointer_bytes)

    @property
    def core_name(self) -> str:
        """The name of the core that answered."""
        return self.core.core_name

    @property
    def uncounted(self) -> str:
        """Why there are no cycles; empty if there are."""
        return self.core.uncounted

    def operator_cycles(self, inputs: Sequence[Array]) -> list[int | None]:
        """Runs an inference that reports operators, and returns the cycles of each node with all that it calls.

        None where nodes come from one operator of the model file, or from none: the program has no count of its own for them.
        A function that several nodes share counts for the first of them.

        Args:
            inputs: one array for each model input.

        Raises:
            BoardError: the program does not answer.
        """
        self._session.operators()  # clears them
        self.core.reports = True
        try:
            self.run(inputs)
        finally:
            self.core.reports = False
        counted = self._session.operators()
        sources = [node.source for node in self._model.graph.nodes]
        all_cycles = None if self.last is None else self.last.cycles_estimate
        if all_cycles is None or all_cycles >= _WORD:
            return [None] * len(sources)
        return [
            0 if self.is_shared(node) else counted[source] if source >= 0 and sources.count(source) == 1 else None
            for node, source in enumerate(sources)
        ]


def serial_program(library: Library, stack_bytes: int) -> Library:
    """Returns a library with the files of a program that measures its models.

    Args:
        library: as it was generated.
        stack_bytes: that the emulated core took. The program's stack has half as much again, and 256 bytes: compilers differ.

    Raises:
        BoardError: no measuring program runs on the library's target.
    """
    memory = max(memory_bytes(each, library.target.pointer_bytes) for each in library.models)
    return with_serial_program(library, memory, stack_bytes + stack_bytes // 2 + 256)


def memory_bytes(model: CompiledModel, pointer_bytes: int) -> int:
    """Returns how much memory an engine gives a model, from any address that is a multiple of 8."""
    recorder = _Recorder()
    CalledEngine(model, recorder, pointer_bytes)
    largest = 2 * max(alignment for _, alignment, _ in recorder.blocks)
    return max(_end(base, recorder.blocks) - base for base in range(0, largest + _BASE_ALIGNMENT, _BASE_ALIGNMENT))


def _end(base: int, blocks: Sequence[tuple[int, int, bool]]) -> int:
    """The end of the last block, where the first one begins at the base or soon after it."""
    end = base
    for size, alignment, is_exact in blocks:
        end = placed(end, alignment, is_exact=is_exact) + size
    return end


class _Recorder:
    """A processor that notes which blocks are reserved.

    Attributes:
        blocks: size, alignment, and whether the address is no multiple of twice that.
        counted: as of other cores: empty, because no call is made.
    """

    counted = ""

    def __init__(self) -> None:
        self.blocks: list[tuple[int, int, bool]] = []

    def allocate(
        self, name: str, size_bytes: int, *, alignment: int = 16, is_exact: bool = False, writable: bool = True,
        fill: int | None = None,
    ) -> int:  # fmt: skip
        """Notes the block."""
        del name, writable, fill
        self.blocks.append((size_bytes, alignment, is_exact))
        return 0

    def write(self, address: int, data: bytes) -> None:
        """Nothing."""

    def read(self, address: int, size_bytes: int) -> bytes:
        """Zeros."""
        del address
        return bytes(size_bytes)

    def call(
        self, function: str, *arguments: int, operators: Mapping[str, str] = _NO_OPERATORS, instruction_limit: int = 0
    ) -> Call:
        """Calls nothing, and succeeds."""
        del function, arguments, operators, instruction_limit
        return Call(0, 0, MappingProxyType({}), 0, None, None)
