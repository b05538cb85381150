"""Bugs in boards over GDB: figures of another place, bytes that are not checked, a core that is left running."""

from tests.mutations.mutation import Mutation

_BOARD = ("tests/debugger/test_board_core.py",)
_SESSION = ("tests/debugger/test_session.py",)
_PACKETS = ("tests/debugger/test_packets.py",)

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
        "if not is_arm or part not in _RUNS.get(target.name, ()):",
        "if not is_arm:",
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
)
