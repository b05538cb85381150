"""What each worker of this machine does first; Dask loads this module into it."""

import signal


def dask_setup(worker: object) -> None:
    """Leaves Ctrl-C, which a terminal sends to workers, too, to the sweep: it ends its workers itself."""
    del worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
