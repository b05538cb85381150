"""QEMU as a child process: found, started with the plugin, and ended in every case."""

import os
import socket
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

from kibi.debugger.packets import Link
from kibi.debugger.session import Session
from kibi.errors import BoardError, ToolchainError
from kibi.programs.qemu_command import plugin_interface, qemu_output, qemu_path, version_text
from kibi.qemu.plugin import plugin_library
from kibi.targets import Target
from kibi.targets.machine import Qemu
from kibi.used_tools import note_tool

_START_SECONDS = 60
_MOST_SHOWN = 400


def qemu_of(target: Target) -> Qemu:
    """Returns how QEMU runs a target.

    Raises:
        ToolchainError: it does not, or QEMU is not installed or too old; the text says what to do.
    """
    found = target.qemu
    if found is None:
        raise ToolchainError(f"QEMU does not run code for {target.name}.")
    path = _path(found)
    machines, cores = _listed(path, "-machine"), _listed(path, "-cpu", found.machine.name)
    for kind, wanted, names in (("machine", found.machine.name, machines), ("core", found.core, cores)):
        if wanted not in names:
            raise ToolchainError(
                f"{version_text(path)} has no {kind} {wanted}, which code for {target.name} runs on. "
                "Install a newer one: version 7.2 has it."
            )
    return found


def why_missing(target: Target) -> str:
    """Says why QEMU does not run a target here, without a full stop; empty where it does."""
    try:
        qemu_of(target)
    except ToolchainError as error:
        return str(error).rstrip(".")
    return ""


def _path(found: Qemu) -> str:
    if not sys.platform.startswith("linux"):
        raise ToolchainError("QEMU is used on Linux alone: what counts in it was built nowhere else.")
    return qemu_path(found.machine.program, found.machine.package)


@lru_cache
def _listed(path: str, option: str, machine: str = "none") -> frozenset[str]:
    """The names that QEMU lists for an option: the first word of each line."""
    text = qemu_output(path, *(("-machine", machine) if option == "-cpu" else ()), option, "help")
    return frozenset(line.split()[0] for line in text.splitlines() if line.strip())


class Process:
    """A machine of QEMU, halted, with the plugin and a debugger's session. It ends with `close`, and when this process ends.

    Args:
        target: that QEMU runs.
        state: the file that plugin and core share.

    Attributes:
        session: with the machine's GDB server.
        number: of the process.

    Raises:
        ToolchainError: QEMU is missing, too old, or does not start.
    """

    def __init__(self, target: Target, state: int) -> None:
        found = qemu_of(target)
        path = _path(found)
        note_tool(version_text(path))
        library = plugin_library(plugin_interface(path))
        ours, theirs = socket.socketpair()
        ended, self._life = os.pipe()
        self._told = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        command = [
            path, "-machine", found.machine.name, "-cpu", found.cpu, *found.machine.options, "-S", "-display", "none",
            "-monitor", "none", "-serial", "none", "-chardev", f"socket,id=gdb,fd={theirs.fileno()}", "-gdb", "chardev:gdb",
            "-plugin", f"{_escaped(library)},state={state},life={ended}",
        ]  # fmt: skip
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=self._told, stderr=self._told,
                pass_fds=(theirs.fileno(), ended, state),
            )  # fmt: skip
        except OSError as error:
            ours.close()
            os.close(self._life)
            raise ToolchainError(f"{path} does not start: {error.strerror}.") from error
        finally:
            theirs.close()
            os.close(ended)
        self.number, self._owner = self._process.pid, os.getpid()
        try:
            self.session = Session(Link(ours, "QEMU"), "QEMU", _START_SECONDS)
        except BoardError as error:
            why = self.close()
            ours.close()
            raise ToolchainError(f"QEMU does not start: {why or error}", command) from None

    def close(self) -> str:
        """Ends QEMU, and returns what it said."""
        if self._told.closed or os.getpid() != self._owner:  # a fork of this process leaves QEMU alone
            return ""
        self._process.kill()
        self._process.wait()
        os.close(self._life)
        if hasattr(self, "session"):
            self.session.abandon()
        self._told.seek(0)
        text = self._told.read().decode("utf-8", "replace").strip()
        self._told.close()
        return text[-_MOST_SHOWN:]


def _escaped(path: Path) -> str:
    """A path in an option of QEMU, where a comma begins the next part."""
    return str(path).replace(",", ",,")
