"""The libraries of the extra `kibi[sweep]`, which a machine may lack."""

import os
from importlib.util import find_spec

import pytest

_LIBRARIES = ("dask", "distributed", "pyarrow", "cryptography")


def check_sweep() -> None:
    """Skip the running test where one is missing, or fail it in CI."""
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing and os.environ.get("CI") == "true":
        pytest.fail(f"{', '.join(missing)} must be installed in CI")
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: pip install 'kibi[sweep]'")
