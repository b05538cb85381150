"""The table of `docs/slow-memory.md` is what plans and the emulated core say of the zoo's models."""

import re
from pathlib import Path

import pytest

import kibi
from kibi.planner import validate
from tests.docs.documents import DOCS
from tests.support.zoo import requires_zoo, zoo_path

PAGE = DOCS / "slow-memory.md"
_ROW = re.compile(
    r"^\| (?P<model>\w+) \| (?P<input>stored|streamed) \| (?P<ram>[\d,]+|-) \| (?P<rate>[\d.]+) \|.*$", re.MULTILINE
)
_QUICK = ("mlperf_kws_int8", "-", "4")
"""The row that each run of the tests looks at; the slow tests look at all."""


def row(model: str, mode: str, ram: str, rate: str, folder: Path) -> str:
    """Returns the line of the table for a model, a way of handing over its input, `--ram`, and megabytes in a second."""
    graph = kibi.simplify(kibi.load(zoo_path() / "models" / f"{model}.tflite"))
    limit = None if ram == "-" else int(ram.replace(",", ""))
    bandwidth = round(float(rate) * 1_000_000)
    plan = kibi.plan(graph, "cortex-m4", input=mode, ram=limit, weights="read:storage_read", bandwidth=bandwidth)
    validate(graph, plan)
    found = kibi.measure(kibi.compile(graph, plan, folder), oracle=False)
    assert found.bit_exact
    assert found.fetches is not None
    assert found.cycles_estimate is not None
    compute = found.cycles_estimate / kibi.target("cortex-m4").clock_hz * 1000
    fetch = found.fetches.seconds * 1000
    facts = [
        f"{found.ram_bytes:,}",
        f"{found.flash_bytes:,}",
        f"{found.fetches.fetched_bytes:,}",
        f"{found.fetches.share:.2f}",
        str(found.fetches.count),
        f"{found.fetches.largest_bytes:,}",
        f"{compute:,.0f} + {fetch:,.0f} ms",
    ]
    return f"| {model} | {mode} | {ram} | {rate} | {' | '.join(facts)} |"


def ahead_row(model: str, mode: str, ram: str, rate: str, folder: Path) -> str:
    """Returns the line of the table of windows that are read ahead, beside those that are not; arguments as of `row`."""
    graph = kibi.simplify(kibi.load(zoo_path() / "models" / f"{model}.tflite"))
    limit = None if ram == "-" else int(ram.replace(",", ""))
    clock, bandwidth, facts = kibi.target("cortex-m4").clock_hz, round(float(rate) * 1_000_000), list[str]()
    for weights in ("read:storage", "read:storage,ahead"):
        plan = kibi.plan(graph, "cortex-m4", input=mode, ram=limit, weights=weights, bandwidth=bandwidth)
        validate(graph, plan)
        found = kibi.measure(kibi.compile(graph, plan, folder), oracle=False)
        assert found.bit_exact
        assert found.fetches is not None
        assert found.cycles_estimate is not None
        fetches, compute = found.fetches, found.cycles_estimate / clock * 1000
        together = compute + (fetches.seconds - fetches.hidden_seconds) * 1000
        facts += [f"{found.ram_bytes:,}", f"{fetches.fetched_bytes:,}"]
        if plan.slow_weights is not None and plan.slow_weights.ahead:
            facts += [f"{fetches.ahead} of {fetches.count}", f"{fetches.hidden_share:.0%}"]
        facts.append(f"{together:,.0f} ms")
    return f"| {model} | {mode} | {ram} | {rate} | {' | '.join(facts)} |"


def _rows(*, are_ahead: bool = False) -> list[re.Match[str]]:
    """The rows of the first table, or of that of windows that are read ahead, which has shares."""
    found = _ROW.finditer(PAGE.read_text(encoding="utf-8"))
    return [match for match in found if ("%" in match[0]) is are_ahead]


def _cases(*, are_ahead: bool = False) -> list[object]:
    found: list[object] = []
    for match in _rows(are_ahead=are_ahead):
        is_quick = (match["model"], match["ram"], match["rate"]) == _QUICK
        marks = [] if is_quick else [pytest.mark.slow]
        found.append(pytest.param(match[0], marks=marks, id=f"{match['model']}-{match['ram']}-{match['rate']}"))
    return found


@requires_zoo
@pytest.mark.parametrize("line", _cases())
def test_table_says_what_is_measured(line: str, tmp_path: Path) -> None:
    """Each figure of a row; a row that differs is shown as it should be."""
    match = _ROW.match(line)
    assert match is not None
    assert row(match["model"], match["input"], match["ram"], match["rate"], tmp_path) == line


@pytest.mark.slow
@requires_zoo
@pytest.mark.parametrize("line", _cases(are_ahead=True))
def test_table_of_windows_that_are_read_ahead_says_what_is_measured(line: str, tmp_path: Path) -> None:
    """The same for plans that read ahead and plans that do not."""
    match = _ROW.match(line)
    assert match is not None
    assert ahead_row(match["model"], match["input"], match["ram"], match["rate"], tmp_path) == line


def test_table_of_windows_that_are_read_ahead_has_all_models_at_each_bandwidth() -> None:
    """An inference is never slower than without, and some are much faster."""
    rows = [[cell.strip() for cell in match[0].strip("|").split("|")] for match in _rows(are_ahead=True)]
    for model in ("tflm_person_detect", "mlperf_kws_int8", "mlperf_vww_int8"):
        assert {cells[3] for cells in rows if cells[0] == model} == {"0.5", "4", "20"}
    times = [[int(cells[place].split()[0]) for place in (6, 11)] for cells in rows]
    assert all(ahead <= plain for plain, ahead in times)
    assert min(ahead / plain for plain, ahead in times) < 0.8


def test_table_has_the_models_and_the_bandwidths_that_the_page_speaks_of() -> None:
    """Three models, three bandwidths; person detection in 16 kB of RAM, with at most 1.2 times its weights fetched."""
    rows = [[cell.strip() for cell in match[0].strip("|").split("|")] for match in _rows()]
    assert {cells[0] for cells in rows} == {"tflm_person_detect", "mlperf_kws_int8", "mlperf_vww_int8"}
    for model in ("mlperf_kws_int8", "mlperf_vww_int8"):
        assert {cells[3] for cells in rows if cells[0] == model} == {"0.5", "4", "20"}
    person = [cells for cells in rows if cells[0] == "tflm_person_detect"]
    assert any(int(cells[4].replace(",", "")) <= 16_384 and float(cells[7]) <= 1.2 for cells in person)
