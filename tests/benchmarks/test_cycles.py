"""The table of published times on the page about cycles: what it says of itself is true, and it is close."""

import re
from pathlib import Path

import kibi

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "cycles.md"
_CORE_ROW = re.compile(r"\| ml-kem-\d+, \w+ \| [\w ]+ \| ([\d,]+) \| ([\d,]+) \| ([+-][\d.]+)% \|")
_ROW = re.compile(r"\| (.+) \| `(.+)` \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([+-][\d.]+)% \|")


def test_estimates_are_close_to_published_times() -> None:
    """They are within 5 % of the board's; without its waits, those of CMSIS-NN on ST's board are 17 to 26 % too low."""
    rows = [each.groups() for each in _ROW.finditer(_PAGE.read_text(encoding="utf-8"))]
    assert len(rows) >= 8
    for name, board, published, zero, estimated, deviation in rows:
        assert kibi.board(board).memory is not None
        assert abs(float(estimated) / float(published) - 1 - float(deviation) / 100) < 0.002
        assert float(zero) < float(estimated)
        assert abs(float(deviation)) < 5
        if "CMSIS-NN" in name and board == "stm32l4r5zi":
            assert 0.73 < float(zero) / float(published) < 0.84


def test_estimates_of_the_core_alone_are_close_to_published_cycles() -> None:
    """Those of pqm4, without wait states: within 4 %."""
    rows = [each.groups() for each in _CORE_ROW.finditer(_PAGE.read_text(encoding="utf-8"))]
    assert len(rows) == 18
    for published, estimated, deviation in rows:
        found = int(estimated.replace(",", "")) / int(published.replace(",", "")) - 1
        assert abs(found - float(deviation) / 100) < 0.001
        assert abs(found) < 0.04
