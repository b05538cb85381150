"""The child processes that run TFLM: their limits, their environment, and their ends.

TFLM's build does not check a model as Kibi does, and a hostile file may make it do anything that its process may. So the child
gets a working folder and a process group of its own, a small environment, and limits; it is a fence against accidents
and exhaustion, not a sandbox.
"""

import contextlib
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO

from kibi.errors import OracleError
from kibi.files import temporary_folder

resource: ModuleType | None
try:
    resource = import_module("resource")
except ImportError:  # Windows has no such limits
    resource = None

MEMORY_BYTES = 4 << 30
"""The limit of address space. Far less is used: TFLM's libraries map a gigabyte, its arena reserves 256 MiB."""
FILE_BYTES = 64 << 20
NAME = "TensorFlow Lite Micro's build"

_KEPT = (
    "PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR",
    "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONNOUSERSITE", "VIRTUAL_ENV",
    "SYSTEMROOT", "TEMP", "TMP", "USERPROFILE", "APPDATA",  # of Windows
)  # fmt: skip
"""The environment variables that Python needs to start and to find its packages."""


class Child:
    """A Python script that runs in a fenced child process.

    Args:
        script: the module whose file is run; it imports nothing of Kibi's.
        printed: takes what it prints on standard error; None: nobody.

    Raises:
        OracleError: it does not start.
    """

    def __init__(self, script: ModuleType, printed: IO[bytes] | None = None) -> None:
        self._held = contextlib.ExitStack()
        try:
            folder = self._held.enter_context(temporary_folder())
            self.process = subprocess.Popen(
                # -P: the package's folder must not come before the installed packages on the child's path.
                [sys.executable, "-P", str(script.__file__)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if printed is None else printed,
                cwd=folder,
                env=_environment(),
                start_new_session=True,  # Ctrl-C is ours to pass on; and all that it starts ends with it
            )
        except OSError as error:
            self._held.close()
            raise OracleError(f"{NAME} does not start: {error.strerror}.") from None
        except BaseException:
            self._held.close()
            raise
        self._held.callback(self._end)
        _limit(self.process.pid)

    def allow_seconds(self, seconds: float) -> None:
        """Allows so much processor time from now on; then the system stops the child, even if this process has ended."""
        if resource is not None:
            used = _used_seconds(self.process.pid)
            _set(self.process.pid, resource.RLIMIT_CPU, int(used + seconds) + 2, is_final=False)

    def kill(self) -> None:
        """Stops it and all that it has started; `close` must follow."""
        if self.process.returncode is None:  # else the number may be another process's by now
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if hasattr(os, "killpg"):
                    os.killpg(self.process.pid, signal.SIGKILL)
                else:
                    self.process.kill()

    def close(self) -> None:
        """Ends it, and removes its folder."""
        self._held.close()

    def _end(self) -> None:
        self.kill()
        self.process.communicate()  # reaps it and closes both pipes

    def ending(self) -> str:
        """Returns how it ended, once it has: what follows "TensorFlow Lite Micro's build"."""
        code = self.process.wait()
        if hasattr(signal, "SIGXCPU") and code == -signal.SIGXCPU:
            return "used up its processor time on this model, and was stopped"
        if code < 0:
            return f"crashed with {signal.Signals(-code).name} on this model"
        return f"ended with exit code {code} on this model"


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    if path := os.environ.get("PYTHONPATH"):
        kept["PYTHONPATH"] = os.pathsep.join(str(Path(each).absolute()) for each in path.split(os.pathsep) if each)
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}


def _limit(process: int) -> None:
    """Sets the limits that never change. The child still waits for its first model, so no model runs without them."""
    if resource is None:
        return
    _set(process, resource.RLIMIT_CORE, 0)
    _set(process, resource.RLIMIT_FSIZE, FILE_BYTES)
    _set(process, resource.RLIMIT_AS, MEMORY_BYTES)


def _set(process: int, kind: int, limit: int, *, is_final: bool = True) -> None:
    """Sets a limit of a child; keeps a lower limit, and does nothing on systems that cannot set limits of other processes."""
    if resource is None or not hasattr(resource, "prlimit"):
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        _, most = resource.prlimit(process, kind)
        lowest = limit if most == resource.RLIM_INFINITY else min(limit, most)
        resource.prlimit(process, kind, (lowest, lowest if is_final else most))


def _used_seconds(process: int) -> float:
    """Returns the processor time that a process has used; 0 where the system does not tell."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:  # noqa: PTH123 - no path of anybody's
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
