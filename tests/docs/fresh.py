"""Runs `docs/generate.py --check`: what code writes into documents is what it would write now."""

import subprocess
import sys

import pytest

from tests.docs.documents import ROOT

PAGES_OF_FRAMEWORKS = ("keras", "pytorch")
"""Pages whose blocks need a framework that the development group leaves out: `make frameworks` runs them."""
_OTHER_TOOLS = 3


def check(*files: str) -> None:
    """Fails if a file is stale; skips if its figures or blocks are those of tools that are not here."""
    command = [sys.executable, "docs/generate.py", "--check", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == _OTHER_TOOLS:
        pytest.skip(done.stdout.splitlines()[-1])
    assert not done.returncode, f"{done.stdout}\n{done.stderr}"
