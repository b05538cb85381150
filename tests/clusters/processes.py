"""A scheduler and workers as processes of their own, as a user starts them."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.clusters.extra import check_sweep

_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Processes:
    """A scheduler and workers, as a user starts them."""

    address: str
    workers: tuple[subprocess.Popen[bytes], ...]


@contextmanager
def three_workers(folder: Path) -> Iterator[Processes]:
    """A scheduler and three workers that are not started again when they die; their files are in the folder."""
    check_sweep()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), *sys.path])}
    with ExitStack() as held:

        def start(*words: str) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-m", "dask", *words]
            made = subprocess.Popen(command, env=environment, cwd=folder, stderr=subprocess.DEVNULL)
            held.callback(made.wait)
            held.callback(made.kill)
            return made

        file = folder / "scheduler.json"
        start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        address = _address(file)
        options = ("--no-nanny", "--nthreads", "1", "--no-dashboard", "--local-directory", str(folder))
        yield Processes(address, tuple(start("worker", address, *options) for _ in range(3)))


def _address(file: Path) -> str:
    """What the scheduler has written into its file, once it has."""
    for _ in range(600):
        try:
            return str(json.loads(file.read_text(encoding="utf-8"))["address"])
        except (OSError, ValueError):
            time.sleep(0.1)
    raise TimeoutError("the scheduler does not start")
