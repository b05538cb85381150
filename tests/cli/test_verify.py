"""`kibi verify` compares the engines, and finds the first operator that differs."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kibi import demo
from kibi.dtypes import Array
from kibi.engines import HostEngine
from tests.cli.conftest import Kibi


def test_verify_lists_the_engines_that_agree(kibi: Kibi, glyphs: Path) -> None:
    """Each engine has a line that says yes."""
    done = kibi("verify", glyphs, "--runs", "2", "--target", "cortex-m0plus")
    assert (done.code, done.err) == (0, "")
    rows = {line.rsplit("  ", 1)[0].strip(): line.rsplit("  ", 1)[1] for line in done.out.splitlines() if "  " in line}
    assert rows["host C"] == rows["cortex-m0plus"] == "yes"
    assert "2 inputs" in done.out


def test_verify_as_json_says_what_was_compared(kibi: Kibi, glyphs: Path) -> None:
    """On the host alone no core is emulated; files take the place of random inputs, one for each run."""
    seven, three = demo.picture_paths()
    record = kibi("verify", glyphs, "--target", "host", "-i", seven, "-i", three, "--json").record
    assert record["bit_exact"] is True
    assert record["runs"] == 2
    assert record["engines"][0] == "host C"
    assert "cortex-m4" not in record["engines"]


class _Forgetful(HostEngine):
    """A host engine with one wrong bit in its first output."""

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """One inference, spoiled."""
        first, *others = super().run(inputs)
        spoiled = first.copy()
        spoiled.view(np.uint8).reshape(-1)[0] ^= 4
        return [spoiled, *others]


def test_verify_of_an_engine_that_differs_names_the_first_operator(
    kibi: Kibi, glyphs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Operator, elements and distance are in the error, whose exit code is its family's; JSON is printed all the same."""
    monkeypatch.setattr("kibi.reports.verification.HostEngine", _Forgetful)
    monkeypatch.setattr("kibi.reports.verification.available", lambda: False)
    done = kibi("verify", glyphs, "--json", "--runs", "1")
    assert done.code == 10
    difference = done.record["differences"][0]
    assert (difference["engine"], difference["operator"], difference["op"]) == ("host C", 0, "CONV_2D")
    assert (difference["elements"], difference["largest"]) == (1, 4.0)
    assert "host C, run 0: operator 0 (CONV_2D)" in done.err
    text = kibi("verify", glyphs, "--runs", "1")
    assert text.code == 10
    assert [line.split()[-1] for line in text.out.splitlines() if line.startswith("host C")] == ["no"]
    assert "TFLM" in text.out
    assert "skipped" in text.out


def test_verify_of_no_runs_is_a_usage_error(kibi: Kibi, glyphs: Path) -> None:
    """Nothing compared is nothing proven."""
    done = kibi("verify", glyphs, "--runs", "0")
    assert (done.code, done.out) == (2, "")
    assert "--runs" in done.err
