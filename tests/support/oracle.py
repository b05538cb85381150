"""What to do with the tests that compare with TFLM where its Python build is missing."""

import os

import pytest

from kibi import tflm as oracle

requires_oracle = pytest.mark.oracle
"""Marks a test that needs TFLM's Python build; a test that takes the `oracle` fixture is marked by itself."""


def check_oracle() -> None:
    """Skip the running test where TFLM's Python build is missing, or fail it in CI."""
    if oracle.available():
        return
    reason = "TensorFlow Lite Micro's Python build is not installed: pip install 'kibi[tflm]'"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
