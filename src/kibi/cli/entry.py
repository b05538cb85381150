"""The entry point of the `kibi` script: imports take a while, and Ctrl-C ends them as it ends a run."""

import gc
import signal
import sys
from types import FrameType

_MANY_OBJECTS = 100_000
"""The number of new objects after which Python searches for cycles. Its default of 700 makes it visit all modules many times,
although this program makes hardly any garbage."""


def run() -> None:
    """Runs the command line; an interruption, even of the imports, ends with one line and exit code 130."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _interrupt)  # whatever is half done is cleaned up, as for Ctrl-C
    gc.set_threshold(_MANY_OBJECTS, 50, 100)
    try:
        from kibi.cli.main import run as start  # noqa: PLC0415 - see the module's docstring

        start()
    except KeyboardInterrupt:
        sys.stderr.write("kibi: interrupted\n")
        sys.exit(130)


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt
