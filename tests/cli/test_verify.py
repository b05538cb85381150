"""`kibi verify` compares the engines, and finds the first operator that differs."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kibi import demo
from kibi.dtypes import Array
from kibi.engines import HostEngine
from kibi.errors import OracleError
from kibi.tflm.litert import litert_outputs
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

    def run(self, inputs: Sequence[Array], *, slice_steps: int | None = None) -> list[Array]:
        """One inference, spoiled."""
        first, *others = super().run(inputs, slice_steps=slice_steps)
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


_CRASHING = "import os, signal, sys\nsys.stdin.buffer.read(8)\nos.kill(os.getpid(), signal.SIGSEGV)\n"


@pytest.fixture
def crashing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build of TFLM that crashes on every model."""
    script = tmp_path / "worker.py"
    script.write_text(_CRASHING, encoding="utf-8")
    monkeypatch.setattr("kibi.tflm.worker.__file__", str(script))
    for module in ("kibi.tflm", "kibi.tflm.oracle", "kibi.reports.verification"):
        monkeypatch.setattr(f"{module}.available", lambda: True)


@pytest.mark.usefixtures("crashing")
def test_verify_where_tflm_crashes_keeps_kibis_results(kibi: Kibi, glyphs: Path) -> None:
    """The other engines are compared and shown; the error names the crash, and what it means."""
    done = kibi("verify", glyphs, "--target", "host", "--runs", "1", "--json")
    assert done.code == 11
    assert (done.record["bit_exact"], done.record["engines"][0]) == (True, "host C")
    assert "tflm" not in done.record["engines"]
    crashed = "TensorFlow Lite Micro's build crashed with SIGSEGV on this model"
    assert crashed in done.record["oracle_failure"]
    assert crashed in done.err
    assert "Kibi's own result is not compared with it. Leave it out by --no-oracle." in done.err
    text = kibi("verify", glyphs, "--target", "host", "--runs", "1")
    assert f"skipped: {crashed}" in text.out


@pytest.mark.usefixtures("crashing")
def test_measure_where_tflm_crashes_keeps_the_figures(kibi: Kibi, glyphs: Path) -> None:
    """What was measured is shown, and the error follows."""
    done = kibi("measure", glyphs, "--granularity", "tensor", "--json")
    assert done.code == 11
    assert (done.record["bit_exact"], done.record["oracle"]) == (True, None)
    assert "crashed with SIGSEGV" in done.record["oracle_failure"]
    assert "crashed with SIGSEGV" in done.err


@pytest.mark.usefixtures("crashing")
@pytest.mark.parametrize("verb", ["verify", "measure"])
def test_verb_without_the_oracle_does_not_start_it(kibi: Kibi, glyphs: Path, verb: str) -> None:
    """The model is not handed to native code that does not check it."""
    extra = ["--target", "host"] if verb == "verify" else ["--granularity", "tensor"]
    done = kibi(verb, glyphs, *extra, "--no-oracle", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.record["oracle_failure"] is None
    if verb == "verify":
        assert done.record["skipped"] == ["tflm: left out, as asked for"]


def test_verify_says_how_litert_differs(kibi: Kibi, glyphs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other bits of LiteRT are explained, and are no failure; a model that it refuses is said to be skipped."""

    def wrong(_: bytes, runs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        return [[np.zeros((1, 10), np.int8)] for _ in runs]

    def refuse(_: bytes, __: Sequence[Sequence[Array]]) -> list[list[Array]]:
        raise OracleError("it does not run this model")

    monkeypatch.setattr("kibi.reports.verification.has_litert", lambda: True)
    monkeypatch.setattr("kibi.reports.verification.litert_outputs", wrong)
    done = kibi("verify", glyphs, "--target", "host", "--runs", "2")
    assert (done.code, done.err) == (0, "")
    assert re.search(r"LiteRT +\d+ of 20 elements differ, by at most [1-9]", done.out)
    assert "LiteRT computes 2 of 2 inputs with other bits: its kernels for large machines (XNNPACK) round" in done.out
    monkeypatch.setattr("kibi.reports.verification.litert_outputs", refuse)
    assert "skipped: it does not run this model" in kibi("verify", glyphs, "--target", "host", "--runs", "1").out


def test_litert_runs_in_a_child_process(glyphs: Path) -> None:
    """Its outputs have the model's order; a file that is no model is an error."""
    pytest.importorskip("ai_edge_litert")
    images, labels = demo.samples()
    runs = [[(image.astype(np.int16) - 128).astype(np.int8).reshape(1, 28, 28, 1)] for image in images[:3]]
    found = litert_outputs(glyphs.read_bytes(), runs)
    assert [int(np.argmax(outputs[0])) for outputs in found] == labels[:3].tolist()
    with pytest.raises(OracleError, match="does not run"):
        litert_outputs(b"no model", runs[:1])
