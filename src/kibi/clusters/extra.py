"""The libraries of the extra `kibi[sweep]`, imported when they are used."""

from importlib import import_module
from typing import Any

from kibi.errors import ToolchainError


def imported(module: str) -> Any:
    """Returns a module of dask, distributed or pyarrow.

    Raises:
        ToolchainError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise ToolchainError(
            f"sweeps and clusters need the library {library}, which is not installed or broken: {error}. "
            "Run: pip install 'kibi[sweep]'."
        ) from error
