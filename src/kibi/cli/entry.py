"""Where the `kibi` script begins: imports take a while, and Ctrl-C ends them as it ends a run."""

import gc
import signal
import sys
from types import FrameType

_MANY_OBJECTS = 100_000
"""New objects behind which Python looks for cycles. Its own 700 would have it walk through all modules again and again, while next
to nothing that this program makes is garbage."""


def run() -> None:
    """Runs the command line; an interruption, even of the imports, ends with one line and exit code 130."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
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
