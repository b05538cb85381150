"""Programs with other conventions of calls, types and languages than Kibi's own: the bits are the same."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kibi
import kibi.demo
from kibi.dtypes import Array
from kibi.ir import Graph
from kibi.targets import Target, target
from tests.kernels.flagged import run_flagged
from tests.ops.comparison import graph_of
from tests.support.amount import sample
from tests.support.operator_models import f32_case
from tests.toolchain.tools import check_cross

_SOFT = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=soft")
_SOFTFP = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=softfp", "-mfpu=fpv4-sp-d16")
_M4 = target("cortex-m4")
_M33 = target("cortex-m33")
_CONVENTIONS: dict[str, tuple[Target, str, str, str]] = {
    "floats in core registers": (replace(_M4, gcc_flags=_SOFTFP), "gcc", "", "c99"),
    "floats by calls": (replace(_M4, gcc_flags=_SOFT, has_fpu=False), "gcc", "", "c99"),
    "short enums": (_M4, "gcc", "-fshort-enums", "c99"),
    "short enums by clang": (_M4, "zig", "-fshort-enums", "c99"),
    "unsigned char": (_M4, "gcc", "-funsigned-char", "c99"),
    "no unaligned words": (_M4, "gcc", "-mno-unaligned-access", "c99"),
    "no literals between instructions": (_M4, "gcc", "-mslow-flash-data", "c99"),
    "C++17": (_M4, "gcc", "", "c++17"),
    "C++17 at link time": (_M4, "gcc", "-flto", "c++17"),
    "secure state": (_M33, "gcc", "-mcmse", "c99"),
    "secure state by clang": (_M33, "zig", "-mcmse", "c99"),
    "secure state, short enums, no literals": (_M33, "gcc", "-mcmse -fshort-enums -mslow-flash-data", "c99"),
}
"""The processor, the compiler, its further flags and the language of each."""
_USUAL = {
    ("floats in core registers", "floats"),
    ("floats by calls", "floats"),
    ("no unaligned words", "glyphs"),
    ("C++17 at link time", "glyphs"),
    ("secure state, short enums, no literals", "glyphs"),
}


def _glyphs() -> tuple[Graph, Sequence[Array]]:
    images, _ = kibi.demo.samples()
    return kibi.load(kibi.demo.model_path()), [(images[3].astype(np.int16) - 128).astype(np.int8).reshape(1, 28, 28, 1)]


def _floats() -> tuple[Graph, Sequence[Array]]:
    case = f32_case("TANH", 1)
    return graph_of(case), case.inputs


_MODELS: dict[str, Callable[[], tuple[Graph, Sequence[Array]]]] = {"glyphs": _glyphs, "floats": _floats}


@pytest.mark.share(2, part=0)
@pytest.mark.cross
@pytest.mark.parametrize(
    ("convention", "name"), sample([(each, name) for each in _CONVENTIONS for name in _MODELS], _USUAL)
)
def test_program_of_another_convention_gives_the_same_bits(
    convention: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library has no assumption of its own of how floats are passed, how wide enums are, or what a `char` is."""
    check_cross()
    core, compiler, flags, language = _CONVENTIONS[convention]
    model, inputs = _MODELS[name]()
    plan = kibi.plan(model, core.name, granularity="tensor")
    found = run_flagged(monkeypatch, tmp_path, model, plan, inputs, core, compiler, flags.split(), language=language)
    assert found[0].tobytes() == kibi.run(model, plan, inputs)[0].tobytes()
