"""Running the command in this process."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kibi import demo
from kibi.cli.main import main
from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder
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


@pytest.fixture
def two_ways(tmp_path: Path) -> Path:
    """A model with two entry points: `clip`, and `size` in subgraph 1."""
    b = ModelBuilder()
    x, y = b.input([4], DType.F32, name="x:0"), b.tensor([4], DType.F32, name="y:0")
    b.operator("RELU", [x], [y])
    b.end_subgraph([y])
    x, z = b.input([4], DType.F32, name="x_1:0"), b.tensor([4], DType.F32, name="z:0")
    b.operator("ABS", [x], [z])
    b.signature("clip", 0, [("x", x)], [("clipped", y)])
    b.signature("size", 1, [("x", x)], [("magnitude", z)])
    path = tmp_path / "two_ways.tflite"
    path.write_bytes(b.finish([z]))
    return path
