"""`kibi place` places tables of buffers, and says what it knows."""

from pathlib import Path

import pytest

from tests.cli.conftest import Kibi
from tests.planner.test_placement_file import EXAMPLE


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """The example of MiniMalloc's README."""
    path = tmp_path / "input.12.csv"
    path.write_text(EXAMPLE, encoding="utf-8")
    return path


def test_place_prints_status_peak_and_bound(kibi: Kibi, table: Path) -> None:
    """What a person reads has the same figures as what a program reads."""
    text, record = kibi("place", table, "--capacity", "12"), kibi("place", table, "--json").record
    assert text.code == 0
    assert text.out.split() == (
        f"buffers 5 status optimal peak 12 bytes lower bound 12 bytes seconds {text.out.split()[-1]}".split()
    )
    assert {key: record[key] for key in ("instance", "buffers", "status", "peak_bytes", "lower_bound_bytes")} == {
        "instance": "input.12.csv",
        "buffers": 5,
        "status": "optimal",
        "peak_bytes": 12,
        "lower_bound_bytes": 12,
    }
    assert list(record["offsets"]) == ["b1", "b2", "b3", "b4", "b5"]


def test_place_output_is_the_table_with_offsets(kibi: Kibi, table: Path, tmp_path: Path) -> None:
    """The written table read back is its own solution."""
    solved = tmp_path / "solved.csv"
    first = kibi("place", table, "-o", solved, "--json")
    assert solved.read_text(encoding="utf-8").startswith("id,lower,upper,size,offset\nb1,0,3,4,")
    assert kibi("place", solved, "--json").record["offsets"] == first.record["offsets"]


def test_place_what_cannot_fit_ends_with_the_proof(kibi: Kibi, table: Path) -> None:
    """A capacity that cannot be met ends with a plan's exit code, and says that nothing else would help."""
    outcome = kibi("place", table, "--capacity", "11", "--json")
    assert outcome.code == 5
    assert outcome.record["status"] == "infeasible"
    assert "it is proven that none can" in outcome.err


def test_place_fixed_offsets_that_contradict_are_an_error(kibi: Kibi, tmp_path: Path) -> None:
    """Two fixed buffers on the same bytes leave nothing to print but that."""
    path = tmp_path / "wrong.csv"
    path.write_text("id,lower,upper,size,offset\na,0,2,4,0\nb,1,3,4,2\n", encoding="utf-8")
    outcome = kibi("place", path)
    assert outcome.code == 5
    assert "fixed offsets" in outcome.err


@pytest.mark.parametrize("contents", [b"", b"\xff\xfe", None])
def test_place_no_table_is_an_error(kibi: Kibi, tmp_path: Path, contents: bytes | None) -> None:
    """An empty file, a binary one and none at all are refused with the path."""
    path = tmp_path / "broken.csv"
    if contents is not None:
        path.write_bytes(contents)
    outcome = kibi("place", path)
    assert outcome.code == 5
    assert "broken.csv" in outcome.err


def test_place_table_of_another_encoding_is_told_from_one_of_utf8(kibi: Kibi, table: Path) -> None:
    """A table with the mark of UTF-8 is read; one in UTF-16 is refused as such."""
    plain = kibi("place", table, "--json").record["offsets"]
    table.write_text(EXAMPLE, encoding="utf-8-sig")
    assert kibi("place", table, "--json").record["offsets"] == plain
    table.write_text(EXAMPLE, encoding="utf-16")
    done = kibi("place", table)
    assert (done.code, "written in UTF-16" in done.err) == (5, True)


@pytest.mark.parametrize("limit", ["inf", "1e300"])
def test_place_without_a_time_limit_worth_the_name_ends(kibi: Kibi, table: Path, limit: str) -> None:
    """Where the answer is known, any time limit is kept."""
    assert kibi("place", table, "--time-limit", limit, "--capacity", str(10**30)).code == 0
