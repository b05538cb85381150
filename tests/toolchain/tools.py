"""Compilers that a machine may lack: a test that needs one skips locally and fails in CI."""

import os
import shutil

import pytest


def check_cross() -> None:
    """Skip the running test without `arm-none-eabi-gcc`."""
    _check("arm-none-eabi-gcc", "arm-none-eabi-g++")


def check_gcc() -> None:
    """Skip the running test without the system's `gcc`."""
    _check("gcc", "g++")


def _check(*tools: str) -> None:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing and os.environ.get("CI") == "true":
        pytest.fail(f"{', '.join(missing)} must be installed in CI")
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
