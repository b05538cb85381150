"""QEMU's commands on this machine: where they are, which versions they have, and what they list."""

import re
import shutil
import subprocess
from functools import lru_cache

from kibi.errors import ToolchainError

_SECONDS = 20
_VERSION = re.compile(r"version (\d+)\.(\d+)\.?(\d*)")
_FIRST_OF_SECOND_INTERFACE = 9
"""From this version on, QEMU refuses plugins of the first version of its interface."""


def qemu_path(command: str, package: str, need: str = "") -> str:
    """Returns the path of a command of QEMU.

    Args:
        command: its name.
        package: Debian's package with it.
        need: what the text of the error says first, up to the command's name.

    Raises:
        ToolchainError: it is not installed; the text says what to do.
    """
    path = shutil.which(command)
    if path is None:
        raise ToolchainError(f"{need}{command} is not on PATH. Install it, for example by `apt install {package}`.")
    return path


@lru_cache
def qemu_version(path: str) -> tuple[int, int, int]:
    """Returns the version of a command of QEMU; zeros where it does not say.

    Raises:
        ToolchainError: it does not run.
    """
    found = _VERSION.search(qemu_output(path, "--version"))
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else (0, 0, 0)


def version_text(path: str) -> str:
    """Returns QEMU's name and version.

    Raises:
        ToolchainError: it does not run.
    """
    return f"QEMU {'.'.join(map(str, qemu_version(path)))}"


def plugin_interface(path: str) -> int:
    """Returns the version of the interface of plugins that a command takes: 1 or 2.

    Raises:
        ToolchainError: it does not run.
    """
    return 1 if qemu_version(path)[0] < _FIRST_OF_SECOND_INTERFACE else 2


def qemu_output(path: str, *arguments: str) -> str:
    """Returns what a command of QEMU prints.

    Raises:
        ToolchainError: it does not run.
    """
    try:
        done = subprocess.run(
            [path, *arguments], capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"{path} does not run: {error}.") from error
    return done.stdout
