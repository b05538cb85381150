"""Running the command in this process."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kibi import demo
from kibi.cli.main import main
from tests.support.schemas import check_printed

GLYPHS = demo.model_path()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended.

    Attributes:
        code: its exit code.
        out, err: what it printed on standard output and standard error.
    """

    code: int
    out: str
    err: str

    @property
    def record(self) -> Any:
        """The one JSON object that standard output holds, and nothing else."""
        return json.loads(self.out)


Kibi = Callable[..., Outcome]
"""`kibi` with the arguments of a command line."""


@pytest.fixture
def kibi(capsys: pytest.CaptureFixture[str]) -> Kibi:
    """Run a command in this process, as in a pipe. What it prints as JSON is as its published schema says."""

    def run(*arguments: str | Path) -> Outcome:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        if "--json" in arguments and printed.out:
            check_printed(str(arguments[0]), printed.out)
        return Outcome(code, printed.out, printed.err)

    return run


@pytest.fixture
def glyphs() -> Path:
    """The shipped model."""
    return GLYPHS
