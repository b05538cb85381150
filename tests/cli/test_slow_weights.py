"""`--weights read:NAME` on the command line: what it prints, and what does not go with it."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Kibi
from tests.engines.networks import residual_bytes

_OPTIONS = ("--weights", "read:storage_read", "--bandwidth", "1000000")
_AHEAD = ("--weights", "read:storage,ahead", "--bandwidth", "1000000")


@pytest.fixture
def residual(tmp_path: Path) -> Path:
    """A small network's file."""
    path = tmp_path / "residual.tflite"
    path.write_bytes(residual_bytes())
    return path


def test_plan_is_printed_saved_and_compiled(kibi: Kibi, residual: Path, tmp_path: Path) -> None:
    """The same bytes fetched in the text, in JSON and in the library's report."""
    shown = kibi("plan", residual, *_OPTIONS, "--no-longest-step", "-o", tmp_path / "plan.json")
    assert (shown.code, shown.err) == (0, "")
    fetches = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))["fetches"]
    assert fetches["fetched_bytes"] == fetches["weights_bytes"] * fetches["share"]
    assert fetches["milliseconds"] == pytest.approx(fetches["fetched_bytes"] / 1_000)
    assert f"Weights in slow memory: {fetches['fetched_bytes']:,} bytes fetched (1.00 x" in shown.out
    compiled = kibi("compile", residual, "--plan", tmp_path / "plan.json", "-o", tmp_path / "a")
    assert f"{fetches['count']} calls of at most {fetches['largest_bytes']:,}" in " ".join(compiled.out.split())
    anew = kibi("compile", residual, *_OPTIONS, "-o", tmp_path / "b", "--json")
    record = json.loads(anew.out)
    assert record["models"][0]["fetches"] == fetches
    assert "residual_weights.bin" in record["files"]
    assert (tmp_path / "a" / "residual.c").read_bytes().splitlines()[2:] == (
        (tmp_path / "b" / "residual.c").read_bytes().splitlines()[2:]
    )
    first = (tmp_path / "b" / "residual.c").read_text(encoding="utf-8").splitlines()[1]
    assert (
        first == "/* kibi compile residual.tflite --target cortex-m4 --weights read:storage_read --bandwidth 1000000 */"
    )


def test_measurement_names_the_fetches(kibi: Kibi, residual: Path) -> None:
    """Time for fetching is apart from that of instructions."""
    done = kibi("measure", residual, *_OPTIONS, "--no-oracle")
    assert (done.code, done.err) == (0, "")
    assert "ms at 1,000,000 bytes/s" in " ".join(done.out.split())
    assert "FETCH_WEIGHTS" in done.out


def test_windows_that_are_read_ahead_are_printed_saved_and_compiled(kibi: Kibi, residual: Path, tmp_path: Path) -> None:
    """What passes while kernels run, in the text and in JSON; a saved plan makes the same library."""
    options = ("--weights", "read:storage,ahead", "--bandwidth", "1000000", "--ram", "50000")
    shown = kibi("plan", residual, *options, "--no-longest-step", "-o", tmp_path / "plan.json")
    assert (shown.code, shown.err) == (0, "")
    fetches = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))["fetches"]
    assert 0 < fetches["ahead"] <= fetches["count"]
    assert fetches["hidden_share"] == round(fetches["hidden_seconds"] * 1000 / fetches["milliseconds"], 4)
    words = f"{fetches['ahead']} start ahead, and {fetches['hidden_seconds'] * 1000:.1f} ms ({fetches['hidden_share']:.0%}) pass"
    assert words in " ".join(shown.out.split())
    compiled = kibi("compile", residual, "--plan", tmp_path / "plan.json", "-o", tmp_path / "a")
    assert words in " ".join(compiled.out.split())
    anew = kibi("compile", residual, *options, "-o", tmp_path / "b", "--json")
    assert json.loads(anew.out)["models"][0]["fetches"] == fetches
    texts = [(tmp_path / name / "residual.c").read_bytes().splitlines() for name in "ab"]
    assert texts[0][2:] == texts[1][2:]
    header = (tmp_path / "b" / "residual.h").read_text(encoding="utf-8")
    assert "\nint storage_start(void *to, uint32_t offset, uint32_t bytes);\n" in header
    assert "\nint storage_wait(void);\n" in header
    measured = kibi("measure", residual, *options, "--no-oracle", "--json")
    found = json.loads(measured.out)
    assert found["bit_exact"] is True
    assert found["fetches"]["ahead"] == fetches["ahead"]
    assert 0 < found["fetches"]["hidden_seconds"] <= found["fetches"]["fetched_bytes"] / 1_000_000


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["plan", "--weights", "rom:x", "--bandwidth", "5"], "weights cannot be stored as 'rom:x'"),
        (["plan", "--weights", "read:x"], "Add --bandwidth"),
        (["plan", "--weights", "read:x,ahead"], "Add --bandwidth"),
        (["plan", "--weights", "read:x,later", "--bandwidth", "5"], "Write read:NAME,ahead or read:NAME"),
        (["compile", *_AHEAD, "--format", "plan", "-o", "x.kpln"], "Leave --format plan and --tune out"),
        (["measure", *_AHEAD, "--tune"], "Leave --format plan and --tune out"),
        (["plan", "--bandwidth", "5"], "Add --weights"),
        (["plan", *_OPTIONS, "--fences", "--no-longest-step"], "Leave --weights out"),
        (["compile", *_OPTIONS, "--format", "plan", "-o", "x.kpln"], "Leave --format plan and --tune out"),
        (["compile", *_OPTIONS, "--tune", "-o", "x"], "Leave --format plan and --tune out"),
        (["measure", *_OPTIONS, "--tune"], "Leave --format plan and --tune out"),
    ],
)
def test_what_does_not_go_together_is_refused(
    kibi: Kibi, residual: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], what: str
) -> None:
    """With the reason, and nothing is written."""
    monkeypatch.chdir(residual.parent)
    done = kibi(words[0], residual, *words[1:])
    assert done.code != 0
    assert what in " ".join(done.err.split())
    assert [path.name for path in residual.parent.iterdir()] == [residual.name]
