"""Generated C as people read it: a header, and all that is made for a model of three operators, beside what was accepted last."""

from dataclasses import replace
from pathlib import Path

import pytest

import kibi
import kibi.demo
from kibi.codegen import Library, generate
from kibi.ir import Graph
from kibi.packages import packaged
from kibi.planner import PlannedModel
from tests.engines.networks import pooled_network

_GOLDENS = Path(__file__).parent / "goldens"
_NAMES = ("pooled.h", "pooled.c", "pooled_weights.h", "pooled_weights.c", "examples/example_main.c", "CMakeLists.txt")


def _library(model: Graph) -> Library:
    target = kibi.target("cortex-m0plus")
    return packaged(generate([PlannedModel.of(model, kibi.plan(model, target))], target), "cmake")


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """What is compared, by its path among the goldens."""
    # Without the digest of a file, whose bytes depend on the library that made it.
    pooled = _library(replace(pooled_network("MEAN"), digest="")).files
    header = _library(kibi.load(kibi.demo.model_path())).files["glyphs.h"]
    return {"glyphs.h": header, **{f"pooled/{name}": pooled[name] for name in _NAMES}}


@pytest.mark.parametrize("name", ["glyphs.h", *(f"pooled/{name}" for name in _NAMES)])
def test_generated_file_is_as_accepted(name: str, files: dict[str, str], request: pytest.FixtureRequest) -> None:
    """Whoever changes what is written looks at the difference, and accepts it."""
    path = _GOLDENS / name
    if request.config.getoption("--accept-goldens"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[name], encoding="utf-8")
    accepted = path.read_text(encoding="utf-8") if path.is_file() else ""
    message = f"{name} is generated otherwise. If that is meant: pytest tests/codegen --accept-goldens"
    assert files[name].split("\n") == accepted.split("\n"), message
