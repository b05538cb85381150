"""The firmware of users: the measuring program of a model with a start and a serial port of their own, run by QEMU."""

import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kibi.targets import target
from kibi.toolchain import MemoryLayout, MemoryRange, build_image
from tests.debugger.qemu import ARM, RISCV

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Device:
    """A board of QEMU's.

    Attributes:
        command: what starts it.
        start: the C file of its user.
        layout: where its program is.
        port: the options by which its port is the chardev `line`.
    """

    command: tuple[str, ...]
    start: Path
    layout: MemoryLayout
    port: tuple[str, ...] = ("-serial", "chardev:line")


MPS2 = Device(
    (ARM, "-M", "mps2-an385"),
    FOLDER / "mps2.c",
    MemoryLayout(MemoryRange(0, 1 << 22), MemoryRange(0x2000_0000, 1 << 21)),
)
VIRT = Device(
    (RISCV, "-M", "virt", "-bios", "none", "-cpu", "rv32,f=false,d=false", "-icount", "shift=0"),
    FOLDER / "virt.c",
    MemoryLayout(MemoryRange(0x8000_0000, 1 << 21), MemoryRange(0x8020_0000, 1 << 21)),
)


def built(folder: Path, core: str, device: Device, *, is_semihosted: bool = False) -> Path:
    """Builds the program as a user does: all C files of its folder, with functions for the port, or those of semihosting."""
    left_out = set() if is_semihosted else {"kibi_semihosting.c"}
    sources = [each for each in sorted(folder.rglob("*.c")) if each.name not in left_out]
    start = device.start
    if is_semihosted:
        start = folder.parent / "start.c"
        start.write_text("#define SEMIHOSTING\n" + device.start.read_text(encoding="utf-8"), encoding="utf-8")
    image = build_image(
        [*sources, start],
        target(core),
        entries=["firmware"],
        level="s",
        includes=[each.parent for each in folder.rglob("kibi_serial.h")],
        layout=device.layout,
    )
    return image.path


@contextmanager
def running(device: Device, program: Path, port: Sequence[str] | None = None) -> Iterator[str]:
    """Runs a program on a board, and gives the URL of its port.

    Args:
        device: the board.
        program: an ELF file.
        port: other options of the port than the device's.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        number = free.getsockname()[1]
    command = [
        *device.command, "-display", "none", "-monitor", "none", "-kernel", str(program),
        "-chardev", f"socket,id=line,host=127.0.0.1,port={number},server=on,wait=on", *(device.port if port is None else port),
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        try:
            _wait_for(process)
            yield f"socket://127.0.0.1:{number}"
        finally:
            process.kill()


def _wait_for(process: subprocess.Popen[bytes]) -> None:
    """Waits until QEMU says that it waits for a connection, which it then takes once."""
    assert process.stderr is not None
    until = time.monotonic() + 30
    while b"waiting for connection" not in process.stderr.readline():
        assert process.poll() is None
        assert time.monotonic() < until
