"""The C against MISRA C:2012: each rule that is reported is recorded with its reason, and nothing is recorded in vain."""

from pathlib import Path

import pytest

import kibi
import kibi.demo
from kibi.kernels import closure
from kibi.selection.choice import VARIANTS
from kibi.selection.conv2d_row_pairs import KERNEL as KERNEL_OF_PAIRS
from kibi.targets import targets
from tests.codegen.misra import CATEGORIES, deviations, reported
from tests.kernels.test_sources import KERNELS
from tests.support.zoo import model_path, requires_zoo

_PAGE = (Path(__file__).parents[2] / "docs" / "misra.md").read_text(encoding="utf-8")
_RECORDED = deviations(_PAGE)
_ALLOWED = {(each.rule, place) for each in _RECORDED for place in each.places}
_USUAL_KERNELS = ("kibi_add_s8", "kibi_fully_connected_s8", "kibi_softmax_s8")
_LIBRARIES: tuple[tuple[str, dict[str, object]], ...] = (
    ("", {"slices": True, "checkpoints": True, "lease": True}),
    ("mlperf_sww_int8", {}),
    ("mlonmcu_lstm2", {}),
    ("mww_v2_okay_nabu", {}),
    ("tflm_audio_pre_int8", {}),
)


def _library(folder: Path, name: str, options: dict[str, object]) -> list[Path]:
    """The C of a model, without its tables of weights and without kernels."""
    model = kibi.load(model_path(name) if name else kibi.demo.model_path())
    kibi.compile(model, None, folder, **options)  # type: ignore[arg-type]
    return [path for path in sorted(folder.glob("*.c")) if not path.name.endswith("_weights.c")]


def _kernels(folder: Path, kernels: frozenset[str], kernel_sets: tuple[str, ...]) -> list[Path]:
    """The files of kernels of a set, in a folder of their own."""
    folder.mkdir()
    for name, text in closure(kernels, kernel_sets).items():
        (folder / name).write_text(text.text, encoding="utf-8")
    return sorted(folder.glob("*.c"))


def test_reported_rules_are_recorded(tmp_path: Path) -> None:
    """In each run of the tests: the shipped model with most functions, and some kernels."""
    files = _library(tmp_path / "model", *_LIBRARIES[0])
    kernels = _kernels(tmp_path / "kernels", frozenset(_USUAL_KERNELS), ("portable",))
    found = reported([*files, *(path for path in kernels if path.stem in _USUAL_KERNELS)])
    assert len(found) > 10
    assert found <= _ALLOWED


@pytest.mark.slow
@pytest.mark.timeout(3600)
@requires_zoo
def test_recorded_rules_are_those_reported(tmp_path: Path) -> None:
    """All kernels of all sets, and the C of models of all kinds."""
    files: dict[str, Path] = {}
    for number, kernel_sets in enumerate(sorted({each.kernel_sets for each in targets()} | {("portable",)})):
        if "host" in kernel_sets:  # vectors are extensions of compilers
            continue
        own = frozenset(each.kernel for each in VARIANTS if each.kernel_set == kernel_sets[0])
        for path in _kernels(tmp_path / str(number), KERNELS | own | {KERNEL_OF_PAIRS}, kernel_sets):
            files.setdefault(path.read_text(encoding="utf-8"), path)
    for name, options in _LIBRARIES:
        for path in _library(tmp_path / f"model_{name}", name, options):
            files[str(path)] = path
    assert reported(files.values(), workers=2) == _ALLOWED


def test_table_is_in_order_and_gives_reasons() -> None:
    """Rules come by number, each once, in a category, with a reason; a mandatory rule is reported by mistake alone."""
    numbers = [tuple(map(int, each.rule.split("."))) for each in _RECORDED]
    assert numbers == sorted(set(numbers))
    assert {each.category for each in _RECORDED} <= set(CATEGORIES)
    assert all(len(each.why) > 30 for each in _RECORDED)
    assert all(each.why.startswith("Reported for") for each in _RECORDED if each.category == "mandatory")
