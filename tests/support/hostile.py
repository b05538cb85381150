"""Files that broke the project once, in the folder that `KIBI_HOSTILE` names; tests are skipped where it is absent."""

import os
from pathlib import Path

import pytest


def path(name: str) -> Path:
    """The path of a file; the running test is skipped, with the reason, where it is absent."""
    project = Path(__file__).resolve().parents[2]
    found = Path(os.environ.get("KIBI_HOSTILE", project.parent / "shared" / "hostile")) / name
    if not found.is_file():
        pytest.skip(f"no file {name} at {found.parent}; set KIBI_HOSTILE to its folder")
    return found
