"""Tasks for tests of clusters; workers can import it."""

import os
import signal
import time
from pathlib import Path


def double(number: int) -> int:
    """A task."""
    return 2 * number


def add(first: int, second: int) -> int:
    """A task on two results."""
    return first + second


def nothing(number: int) -> int:
    """A task that takes no time."""
    return number


def double_or_die(number: int, fatal: int, marker: str) -> int:
    """A task that kills its worker at one number, the first time that it runs; with an empty marker each time."""
    if number == fatal and not (marker and Path(marker).exists()):
        if marker:
            Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.01)
    return 2 * number


def fail() -> None:
    """A task that is wrong."""
    raise RuntimeError("this task is wrong")
