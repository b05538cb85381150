"""Bugs in boards over GDB or a serial line: figures of another place, unchecked bytes, a core that is left running."""

from tests.mutations.mutation import Mutation

_BOARD = ("tests/debugger/test_board_core.py",)
_SESSION = ("tests/debugger/test_session.py",)
_PACKETS = ("tests/debugger/test_packets.py",)
_SERIAL = ("tests/serial_line/test_hostile.py",)
_PROGRAM = ("tests/serial_line/test_program.py",)

DEBUGGER: tuple[Mutation, ...] = (
    Mutation(
        "debugger.operator-counts-its-caller",
        "debugger/board_core.py",
        "self._run_with_breakpoints({self._session.register(self._registers.link) & ~1}, function, until)",
        "self._run_with_breakpoints(watched, function, until)",
        "An operator's cycles go on to its next call.",
        _BOARD,
    ),
    Mutation(
        "debugger.flash-is-not-read-back",
        "debugger/board_core.py",
        "if found != program:",
        "if found == b'':",
        "A flash that was not written is taken for one that was.",
        _BOARD,
    ),
    Mutation(
        "debugger.stack-may-reach-its-end",
        "debugger/board_core.py",
        "if not left:",
        "if left < 0:",
        "A stack that is too small gives figures.",
        _BOARD,
    ),
    Mutation(
        "debugger.core-is-not-asked",
        "debugger/cortex_m.py",
        "if not is_right:",
        "if is_right is None:",
        "Code of a Cortex-M3 is loaded into a Cortex-M0+.",
        _BOARD,
    ),
    Mutation(
        "debugger.core-runs-on",
        "debugger/session.py",
        "self._link.interrupt(until)",
        "until += 0",
        "A loop without end is not halted before its place is read.",
        _BOARD,
    ),
    Mutation(
        "debugger.breakpoints-stay",
        "debugger/session.py",
        "for place in sorted(self._breakpoints):",
        "for place in ():",
        "The board's next program stops where Kibi's ended.",
        _SESSION,
    ),
    Mutation(
        "debugger.checksum-is-not-compared",
        "debugger/packets.py",
        "if is_right:",
        "if body is not None:",
        "Bytes that changed on the way are believed.",
        _PACKETS,
    ),
    Mutation(
        "debugger.repetitions-have-no-bound",
        "debugger/packets.py",
        "if len(plain) > most:",
        "if len(plain) > most * 1000:",
        "A packet of some kilobytes becomes megabytes.",
        _PACKETS,
    ),
    Mutation(
        "debugger.serial-sum-is-not-compared",
        "serial_line/frames.py",
        "if _SUM.unpack(self._read(_SUM.size, until))[0] != zlib.crc32(head + content):",
        "if _SUM.unpack(self._read(_SUM.size, until))[0] < 0:",
        "Bytes that changed on the way are believed.",
        _SERIAL,
    ),
    Mutation(
        "debugger.serial-reset-is-not-noticed",
        "serial_line/session.py",
        "if is_greeted and frame.kind == _STARTED:",
        "if is_greeted and frame.kind == 0:",
        "A board that was reset in the middle is waited for.",
        _SERIAL,
    ),
    Mutation(
        "debugger.serial-other-library-is-measured",
        "engines/serial.py",
        "if found.digest != digest or",
        "if not found.digest or",
        "Figures of an old program are printed for a new model.",
        _SERIAL,
    ),
    Mutation(
        "debugger.serial-stack-may-reach-its-end",
        "serial_line/core.py",
        "if called.stack_bytes >= room:",
        "if called.stack_bytes > room:",
        "A stack that is too small gives figures.",
        _SERIAL,
    ),
    Mutation(
        "debugger.serial-memory-has-no-end",
        "packages/serial/kibi_serial.c.in",
        "address - first > all - bytes",
        "address - first > all",
        "The line writes after the model's memory.",
        _PROGRAM,
    ),
    Mutation(
        "debugger.serial-operators-are-told-twice",
        "packages/serial/kibi_serial.c.in",
        "kibi_serial_model.ticks[first + i] = 0;",
        "(void)first;",
        "An inference's cycles are added to those of the one before it.",
        _PROGRAM,
    ),
    Mutation(
        "debugger.serial-functions-report-nothing",
        "packages/serial/kibi_serial.c.in",
        "return functions->by_operator[number];",
        "return functions->plain[number];",
        "Each operator takes no cycles.",
        _PROGRAM,
    ),
    Mutation(
        "debugger.helium-for-integers-is-enough",
        "debugger/cortex_m.py",
        "_VECTORS_SHIFT, _VECTORS_OF_FLOATS = 8, 2",
        "_VECTORS_SHIFT, _VECTORS_OF_FLOATS = 8, 1",
        "Vectors of floats fault on a core that lacks them.",
        ("tests/debugger/test_cortex_m.py",),
    ),
)
