"""`kibi pareto` measures every way of planning a model, and says which are worth having."""

import json
from pathlib import Path

import pytest

from kibi.cli.commands.pareto import pareto
from kibi.cli.options.variants import MEASURED, VARIANTS
from kibi.errors import TargetError, ToolchainError
from tests.cli.conftest import GLYPHS


def test_pareto_measures_every_variant(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The row plan needs several times less RAM and little more flash, so that both are worth having."""
    svg = tmp_path / "pareto.svg"
    pareto(GLYPHS, as_json=True, svg=svg)
    record = json.loads(capsys.readouterr().out)
    choices = {choice["variant"]: choice for choice in record["choices"]}
    assert {*choices, *(text.split(":")[0] for text in record["left_out"])} == set(MEASURED)
    by_tensor, by_row = choices["by the tensor"], choices["by the row"]
    assert by_row["ram_bytes"] < by_tensor["ram_bytes"] / 3
    assert by_row["instructions"] < by_tensor["instructions"] * 1.04
    assert by_tensor["pareto_optimal"] is by_row["pareto_optimal"] is (by_row["flash_bytes"] > by_tensor["flash_bytes"])
    for_flash = choices["by the row, for flash"]
    assert for_flash["pareto_optimal"]
    assert for_flash["flash_bytes"] < by_row["flash_bytes"]
    assert for_flash["instructions"] > by_row["instructions"]
    assert svg.read_text().startswith("<svg")


def test_pareto_as_text_marks_what_is_optimal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line for each choice with its bound, in a pipe without colours."""
    monkeypatch.setattr("kibi.cli.commands.pareto.MEASURED", {"by the tensor": VARIANTS["by the tensor"]})
    pareto(GLYPHS)
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "glyphs on cortex-m4"
    assert "* Pareto-optimal" in out
    (line,) = [line for line in out.splitlines() if line.startswith("*  by the tensor")]
    assert "-Os" in line


def test_pareto_leaves_out_what_cannot_be_planned(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says why."""
    few = {"by the tensor": VARIANTS["by the tensor"], "tiny": {**VARIANTS["by the row"], "ram": 10}}
    monkeypatch.setattr("kibi.cli.commands.pareto.MEASURED", few)
    pareto(GLYPHS, as_json=True)
    record = json.loads(capsys.readouterr().out)
    assert len(record["choices"]) == 1
    assert record["left_out"][0].startswith("tiny: no plan")


def test_pareto_refuses_what_does_not_exist() -> None:
    """Levels that no compiler has, and targets that nothing emulates."""
    for levels in ("", "x", "s9"):
        with pytest.raises(ToolchainError, match="unknown level"):
            pareto(GLYPHS, levels=levels)
    with pytest.raises(TargetError):
        pareto(GLYPHS, target="host")
