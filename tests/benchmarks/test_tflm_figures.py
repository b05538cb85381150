"""Figures beside TFLM's, in the chart of the README and the table of RISC-V: they are recorded, and what is recorded is true."""

import json
import os
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import kibi
from tests.support import zoo

ROOT = Path(__file__).resolve().parents[2]
_ZOO = Path(os.environ.get("KIBI_ZOO", ROOT.parent / "shared" / "zoo"))
_TIMES = "\N{MULTIPLICATION SIGN}"
_MODELS = (
    "mlperf_kws_int8", "mlperf_vww_int8", "mlperf_ic_int8", "mlperf_ad_int8", "mlperf_sww_int8", "tflm_person_detect",
    "tflm_micro_speech",
)  # fmt: skip

_RISCV_MODELS = _MODELS[:4] + _MODELS[5:6]


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "benchmarks" / name).read_text(encoding="utf-8"))
    return found


def test_chart_shows_each_model_with_the_recorded_figures() -> None:
    """Each bar's share, and both numbers below it, are those of the records."""
    counts, figures = _read("counts.json")["counts"], _read("tflm_figures.json")["models"]
    picture = ET.parse(ROOT / "docs" / "images" / "beside_tflm.svg").getroot()  # noqa: S314 - a file of our own
    named = {"": "http://www.w3.org/2000/svg"}
    texts = [text.text for text in picture.iterfind("text", named)]
    bars = [(bar[0].text or "", float(bar.attrib["width"])) for bar in picture.iterfind("rect", named) if len(bar)]
    assert len(bars) == 2 * 3 * len(_MODELS)
    drawn = iter(zip(bars[::2], bars[1::2], strict=True))
    for model in _MODELS:
        own, other = counts[f"model {model}"], figures[model]
        for mine, theirs in (
            (own["ram_bytes"], other["arena_bytes"] + other["stack_bytes"]),
            (own["instructions"], other["instructions"]),
            (own["flash_bytes"], other["code_bytes"] + other["model_bytes"]),
        ):
            (tooltip, whole), (_, share) = next(drawn)
            assert re.findall(r"[\d,]{3,}", tooltip) == [f"{mine:,}", f"{theirs:,}"]
            assert {f"{mine:,}", f"{theirs:,}", f"{theirs / mine:.1f}{_TIMES}"} <= set(texts)
            assert abs(share / whole - mine / theirs) < 0.001


def test_riscv_takes_a_third_of_what_reference_kernels_take() -> None:
    """The table of the page has the records' figures; the fewer ones of TFLM's are at least three times Kibi's."""
    costs, figures = _read("targets.json")["costs"], _read("tflm_riscv.json")["models"]
    assert {*_RISCV_MODELS} <= {*figures}
    page = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")
    for model, other in figures.items():
        own = costs[model]["rv32imc"]["instructions"]
        factor = min(other["instructions"], other["instructions_o2"]) / own
        cells = [f"{each:,}" for each in (other["instructions"], other["instructions_o2"], own)]
        assert f"| `{model}` | {' | '.join(cells)} | {factor:.1f} |" in page
        assert factor >= 3


@zoo.requires_zoo
def test_figures_of_tflm_are_those_that_were_measured() -> None:
    """The copied figures are the source's, and a model's bytes are those of its file."""
    source = json.loads((_ZOO.parent / "baselines" / "tflm.json").read_text(encoding="utf-8"))["models"]
    for model, copied in _read("tflm_figures.json")["models"].items():
        measured = source[model]["cortex_m4"]
        assert copied == {
            "instructions": measured["instructions_cmsis_nn"],
            "arena_bytes": measured["smallest_arena_bytes"],
            "stack_bytes": max(measured["stack_invoke_bytes"], measured["stack_init_bytes"]),
            "code_bytes": measured["code_bytes_cmsis_nn_int8_registrations"],
            "model_bytes": (_ZOO / "models" / f"{model}.tflite").stat().st_size,
        }


@zoo.requires_zoo
@pytest.mark.oracle
@pytest.mark.slow
@pytest.mark.parametrize("name", _MODELS)
def test_figures_of_kibi_are_those_that_are_measured(name: str, tmp_path: Path) -> None:
    """The chart's models take what is recorded, and give TFLM's bits."""
    record = _read("counts.json")
    for tool, number in record["tools"].items():
        if version(tool) != number:
            pytest.skip(f"the record was made with {tool} {number}; here is {version(tool)}")
    model = kibi.simplify(kibi.load(_ZOO / "models" / f"{name}.tflite"))
    measured = kibi.measure(kibi.compile(model, kibi.plan(model, target="cortex-m4"), tmp_path / "library"))
    assert measured.bit_exact
    assert measured.oracle == "tflm"
    known = record["counts"][f"model {name}"]
    assert measured.cycles_estimate == known["cycles"]
    counts = {key: count for key, count in known.items() if not key.startswith("cycles")}
    assert {key: getattr(measured, key) for key in counts} == counts
