"""The C text of where bytes lie: libraries whose regions hold nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

import kibi
from kibi.ir import Graph
from kibi.planner.regions.file import Region
from kibi.toolchain import compile_objects
from tests.ops.comparison import graph_of
from tests.support.operator_models import s8_case
from tests.toolchain.tools import check_gcc

_FLAGS = ("-Wtype-limits",)


def _external() -> Graph:
    """A model all of whose tensors are in external buffers."""
    return replace(graph_of(s8_case("ADD", 3)), name="bare")


@pytest.mark.parametrize("compiler", ["zig", "gcc"])
@pytest.mark.parametrize("language", ["c99", "c++17"])
def test_arena_of_no_bytes_gives_no_warning(compiler: str, language: str, tmp_path: Path) -> None:
    """No check compares an unsigned number with 0, and no array has no elements."""
    if compiler == "gcc":
        check_gcc()
    model = _external()
    made = kibi.plan(model, "host", input="external", output="external")
    assert made.arena_bytes == 0
    library = kibi.compile(model, made, tmp_path, target="host")
    names = (*library.sources, *(["examples/example_main.c"] if language == "c99" else []))
    sources = [tmp_path / name for name in names]
    includes, target = [tmp_path], library.target
    compile_objects(sources, target, compiler=compiler, language=language, includes=includes, flags=_FLAGS)


@pytest.mark.parametrize("compiler", ["zig", "gcc"])
def test_region_of_no_bytes_gives_no_warning(compiler: str, tmp_path: Path) -> None:
    """A region that only holds constants, or nothing, is not checked for its size either."""
    if compiler == "gcc":
        check_gcc()
    model = replace(graph_of(s8_case("CONV_2D", 3)), name="spread")
    regions = [Region("tcm", 1 << 20, 1.0), Region("sdram", 1 << 20, 9.0)]
    made = kibi.plan(model, "host", regions=regions)
    assert 0 in [use.used_bytes for use in made.regions]
    library = kibi.compile(model, made, tmp_path, target="host")
    sources = [tmp_path / name for name in (*library.sources, "examples/example_main.c")]
    compile_objects(sources, library.target, compiler=compiler, includes=[tmp_path], flags=_FLAGS)
