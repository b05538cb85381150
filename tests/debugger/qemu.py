"""QEMU's boards, where it is installed."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from kibi.qemu import missing_qemu
from kibi.targets import EMULATORS, Target, target

ARM, RISCV = "qemu-system-arm", "qemu-system-riscv32"
needs_qemu = pytest.mark.skipif(shutil.which(ARM) is None, reason=f"{ARM} is not installed")
needs_riscv = pytest.mark.skipif(shutil.which(RISCV) is None, reason=f"{RISCV} is not installed")


def emulated_by_qemu(name: str) -> Target:
    """The target, run by QEMU; the test is skipped where QEMU is missing."""
    processor = target(name).emulated_by("qemu")
    if missing := missing_qemu(processor):
        pytest.skip(missing)
    return processor


def emulated_everywhere(name: str) -> list[Target]:
    """The target as each emulator on this machine runs it; the test is skipped where none does."""
    known = target(name)
    has = {"unicorn": known.emulated_cpu, "qemu": known.qemu}
    processors = [known.emulated_by(emulator) for emulator in EMULATORS if has[emulator]]
    runnable = [each for each in processors if not missing_qemu(each)]
    if not runnable:
        pytest.skip(missing_qemu(known))
    return runnable


@dataclass(frozen=True, slots=True)
class Machine:
    """A board in QEMU.

    Attributes:
        name: of its GDB server, `HOST:PORT`.
        monitor: the socket of its monitor.
    """

    name: str
    monitor: Path

    def status(self) -> str:
        """What QEMU says of the board, such as `running`."""
        with socket.socket(socket.AF_UNIX) as stream:
            stream.settimeout(10)
            stream.connect(str(self.monitor))
            answers = stream.makefile("rw", encoding="utf-8")
            for command in ("qmp_capabilities", "query-status"):
                answers.write(json.dumps({"execute": command}) + "\n")
                answers.flush()
            for line in answers:
                returned = json.loads(line).get("return", {})
                if "status" in returned:
                    return str(returned["status"])
        return "unknown"


@contextmanager
def machine(board: str, folder: Path, program: str = ARM, flags: Sequence[str] = ()) -> Iterator[Machine]:
    """A board of QEMU's, which is halted and waits for a debugger.

    Args:
        board: QEMU's name of it.
        folder: where its monitor's socket is.
        program: the emulator.
        flags: further ones, such as the core's.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monitor = folder / "qmp"
    command = [
        program, "-M", board, *flags, "-S", "-display", "none", "-monitor", "none", "-serial", "none",
        "-gdb", f"tcp:127.0.0.1:{port}", "-qmp", f"unix:{monitor},server=on,wait=off",
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        try:
            _wait_for(process, port)
            yield Machine(f"127.0.0.1:{port}", monitor)
        finally:
            process.kill()


def _wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
        except OSError:
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        else:
            return
