"""The processor of this machine: code that is compiled for it runs only on processors like it."""

import platform
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

_INFORMATION = Path("/proc/cpuinfo")
_MAC_NAMES = ("machdep.cpu.brand_string", "machdep.cpu.features", "machdep.cpu.leaf7_features")
_TELLING = frozenset(
    {"vendor_id", "cpu family", "model", "stepping", "flags", "CPU implementer", "CPU part", "CPU variant", "Features"}
)
"""The processor's properties, as the kernel lists them, that affect a compiler, on x86 and on Arm."""


@lru_cache
def host_cpu() -> str:
    """The text that tells this machine's processor from others: model and features where Linux lists them."""
    try:
        with _INFORMATION.open(encoding="utf-8") as stream:
            return _told(stream.read())
    except OSError:
        return " ".join((platform.machine(), platform.processor(), *_mac_cpu()))


def _mac_cpu() -> Sequence[str]:
    """Returns macOS's description of the processor; empty if the command does not exist."""
    try:
        done = subprocess.run(("/usr/sbin/sysctl", "-n", *_MAC_NAMES), capture_output=True, text=True, check=False)
    except OSError:
        return ()
    return done.stdout.splitlines()


def _told(information: str) -> str:
    """The telling lines of the first processor; the others of a machine run the same code."""
    first, _, _ = information.partition("\n\n")
    lines = [line for line in first.splitlines() if line.partition(":")[0].strip() in _TELLING]
    return "\n".join((platform.machine(), *lines))
