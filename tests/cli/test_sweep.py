"""`kibi sweep`."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.cli.conftest import Kibi
from tests.clusters.extra import check_sweep

_SPEC = """
generator = "{folder}/evaluations.py:architectures"
targets = ["cortex-m4", "cortex-m0plus"]
evaluate = "{folder}/evaluations.py:size"
maximize = "accuracy"
[arguments]
lengths = [3, 40]
[budget]
ram_bytes = {ram}
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A specification of four rows, in the working folder."""
    check_sweep()
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "spec.toml"
    folder = (Path(__file__).parents[1] / "sweeps").as_posix()
    path.write_text(_SPEC.format(folder=folder, ram=100_000), encoding="utf-8")
    return path


def test_sweep_shows_the_best_and_draws_them(kibi: Kibi, spec: Path) -> None:
    """Then again, from its table alone, as JSON."""
    done = kibi("sweep", spec, "--workers", "0", "--svg", "s.svg", "--top", "2")
    assert done.code == 0
    assert done.out.startswith("most accuracy, at most RAM 100,000\n")
    assert done.out.count("relu_3_int8 ") == 2
    assert "4 rows in spec.parquet: 4 measured\n" in done.out
    ET.fromstring(Path("s.svg").read_text(encoding="utf-8"))  # noqa: S314 - our own output
    record = kibi("sweep", spec, "--json").record
    assert (record["rows"], record["measured"], record["reused"]) == (4, 4, 4)
    assert record["budget"] == {"ram_bytes": 100_000}
    assert len(record["best"]) == 4
    assert {each["parameter_length"] for each in record["pareto_optimal"]} == {3}


def test_sweep_says_that_nothing_is_in_the_budget(kibi: Kibi, spec: Path) -> None:
    """The rows are in the table all the same; a new budget measures nothing."""
    spec.write_text(spec.read_text(encoding="utf-8").replace("100000", "2"), encoding="utf-8")
    done = kibi("sweep", spec, "--workers", "0", "-o", "t.parquet")
    assert "no row is in this budget" in done.out
    spec.write_text(spec.read_text(encoding="utf-8").replace("ram_bytes = 2", "flash_bytes = 100000"), encoding="utf-8")
    done = kibi("sweep", spec, "-o", "t.parquet")
    assert "most accuracy, at most flash 100,000" in done.out
    assert "4 of them by an earlier run" in done.out


def test_axes_with_several_values_are_columns(kibi: Kibi, spec: Path) -> None:
    """Rows that differ in the way of storing weights alone can be told apart."""
    spec.write_text('weights = ["flash", "rice"]\n' + spec.read_text(encoding="utf-8"), encoding="utf-8")
    done = kibi("sweep", spec, "--workers", "0", "--top", "8")
    assert " weights " in done.out
    assert " granularity " not in done.out
    assert (done.out.count("-Os    flash "), done.out.count("-Os    rice ")) == (4, 4)


def test_reasons_of_refusals_are_counted(kibi: Kibi, spec: Path) -> None:
    """One line for each reason."""
    text = (
        spec.read_text(encoding="utf-8").replace("architectures", "with_one_refused").replace("lengths = [3, 40]", "")
    )
    spec.write_text(text, encoding="utf-8")
    done = kibi("sweep", spec, "--workers", "0")
    assert done.code == 0
    assert "6 rows in spec.parquet: 4 measured, 2 refused\n" in done.out
    assert "  2 x second.tflite: 1 problem" in done.out


@pytest.mark.parametrize(
    ("change", "code", "word"),
    [
        (("cortex-m0plus", "cortex-m99"), 4, "cortex-m99"),
        (('"accuracy"', '"precision"'), 4, "no row has 'precision'"),
        ((":architectures", ":wrong"), 4, "unexpected keyword argument 'lengths'"),
        (("[3, 40]", "[]"), 4, "models are missing"),
        (("[arguments]", "[argument]"), 4, "no key 'argument'"),
    ],
)
def test_bad_sweep_ends_in_an_error(kibi: Kibi, spec: Path, change: tuple[str, str], code: int, word: str) -> None:
    """With the code of its family."""
    spec.write_text(spec.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    done = kibi("sweep", spec, "--workers", "0")
    assert (done.code, done.out) == (code, "")
    assert word in done.err


def test_scheduler_that_does_not_exist_is_an_error(kibi: Kibi, spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address is named, and no file is made."""
    monkeypatch.setattr("kibi.clusters.cluster._ANSWER_SECONDS", 1)
    done = kibi("sweep", spec, "--scheduler", "tcp://127.0.0.1:9")
    assert (done.code, done.out) == (7, "")
    assert "the scheduler tcp://127.0.0.1:9 does not answer" in done.err
    assert [path.name for path in spec.parent.iterdir()] == ["spec.toml"]


@pytest.mark.parametrize(
    "address", ["http://a:9", "nonsense", "tcp://a", "inproc://a/1/2", "tcp://a:1 b", "a.json", ""]
)
def test_address_of_another_form_is_refused(kibi: Kibi, spec: Path, address: str) -> None:
    """Before anything is measured or connected to."""
    done = kibi("sweep", spec, "--scheduler", address)
    assert (done.code, done.out) == (4, "")
    assert "Write tcp://host:port, or tls://host:port" in done.err


def test_missing_library_is_named_with_the_extra(kibi: Kibi, spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is measured that could not be written."""
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    done = kibi("sweep", spec, "--workers", "0")
    assert done.code == 7
    assert "pip install 'kibi[sweep]'" in done.err
