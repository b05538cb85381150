"""The table and the journal: what is written is read, and nothing else is."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kibi.errors import InputError, OutputError
from kibi.sweeps.journal import journal_path, opened
from kibi.sweeps.rows import Outcome, Row, Status, row_of
from kibi.sweeps.settings import Setting
from kibi.sweeps.table import METADATA_KEY, read_table, write_table
from tests.clusters.extra import check_sweep
from tests.sweeps.work import row

ROWS = (
    row("a", 1000, 9000, 500, accuracy=0.7),
    replace(row("b", 2000, 9100, 600), parameters=(("rate", 0.5), ("name", "x\ny"), ("deep", True))),
    Row("<c>", "", (), Setting("cortex-m0plus", seed=5), "", Outcome(Status.REFUSED, "it is\nno model")),
    replace(row("d", 1, 2, 3), outcome=Outcome(Status.FAILED, "a worker died")),
)


def test_records_of_rows_are_read_again() -> None:
    """Every kind of row."""
    for each in ROWS:
        assert row_of(each.record()) == each


def test_table_holds_rows_versions_and_typed_columns(tmp_path: Path) -> None:
    """As other programs see it, and as it is read again; the same rows give the same bytes."""
    check_sweep()
    from pyarrow import parquet  # noqa: PLC0415 - an extra

    write_table(tmp_path / "t.parquet", ROWS, {"tools": {"kibi": "1"}})
    assert read_table(tmp_path / "t.parquet") == ROWS
    table = parquet.read_table(tmp_path / "t.parquet")
    assert b'"kibi": "1"' in table.schema.metadata[METADATA_KEY]
    assert table.column("ram_bytes").to_pylist() == [1000, 2000, None, None]
    assert table.column("figure_accuracy").to_pylist() == [0.7, None, None, None]
    kinds = {each.name: str(each.type) for each in table.schema if each.name.startswith("parameter_")}
    assert kinds == {
        "parameter_width": "int64",
        "parameter_rate": "double",
        "parameter_name": "string",
        "parameter_deep": "bool",
    }
    write_table(tmp_path / "u.parquet", ROWS, {"tools": {"kibi": "1"}})
    assert (tmp_path / "t.parquet").read_bytes() == (tmp_path / "u.parquet").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.parquet", "u.parquet"]


def test_parameter_of_several_kinds_becomes_text(tmp_path: Path) -> None:
    """Whole numbers and fractions become fractions."""
    check_sweep()
    values: tuple[int | float | str, ...] = (1, 0.5, "wide")
    rows = [replace(row(str(value), 1, 2, 3), parameters=(("w", value),)) for value in values]
    write_table(tmp_path / "t.parquet", rows, {})
    assert [each.parameters for each in read_table(tmp_path / "t.parquet")] == [(("w", str(each)),) for each in values]
    write_table(tmp_path / "t.parquet", rows[:2], {})
    assert [each.parameters for each in read_table(tmp_path / "t.parquet")] == [(("w", 1.0),), (("w", 0.5),)]


def test_absent_table_has_no_rows(tmp_path: Path) -> None:
    """A sweep begins."""
    check_sweep()
    assert read_table(tmp_path / "t.parquet") == ()


def _is_refused(path: Path) -> bool:
    """True if a table cannot be read; other errors than Kibi's pass."""
    try:
        read_table(path)
    except InputError:
        return True
    return False


def test_damaged_or_foreign_table_is_refused(tmp_path: Path) -> None:
    """Each tenth byte changed or all after it cut off: rows of the right form, or an error of Kibi's."""
    check_sweep()
    import pyarrow as pa  # noqa: PLC0415 - an extra
    from pyarrow import parquet  # noqa: PLC0415 - as above

    path = tmp_path / "t.parquet"
    write_table(path, ROWS, {})
    whole, refused, tried = path.read_bytes(), 0, 0
    for place in range(0, len(whole), 97):
        for data in (whole[:place], whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :]):
            path.write_bytes(data)
            tried += 1
            refused += _is_refused(path)
    assert refused > tried // 2
    parquet.write_table(pa.table({"x": np.arange(3)}), path)
    with pytest.raises(InputError, match="no table of a sweep"):
        read_table(path)


def test_table_that_would_need_much_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of a megabyte that many rows name, too many rows, columns of other types."""
    check_sweep()
    import pyarrow as pa  # noqa: PLC0415 - an extra
    from pyarrow import parquet  # noqa: PLC0415 - as above

    path = tmp_path / "t.parquet"
    write_table(path, ROWS[:1], {})
    small = parquet.read_table(path)
    place, count = small.schema.get_field_index("model"), 300
    many = pa.concat_tables([small] * count).combine_chunks()
    long = many.set_column(place, "model", pa.array(["x" * (1 << 20)] * count))
    parquet.write_table(long, path)
    assert path.stat().st_size < 1 << 18
    with pytest.raises(InputError, match="the column model has a text of more than 65,536 bytes"):
        read_table(path)
    parquet.write_table(many, path)
    monkeypatch.setattr("kibi.sweeps.table.MOST_ROWS", count - 1)
    with pytest.raises(InputError, match=f"more than {count - 1} rows"):
        read_table(path)
    for name, values in (("macs", ["1"]), ("model", [1]), ("parameter_w", [[1]]), ("figure_a", ["1"]), ("x", [1])):
        part = small.drop_columns([name]) if name in small.column_names else small
        parquet.write_table(part.append_column(name, pa.array(values)), path)
        with pytest.raises(InputError, match=f"the column {name} is "):
            read_table(path)


def test_long_reason_is_cut(tmp_path: Path) -> None:
    """What is written can be read."""
    check_sweep()
    long = replace(ROWS[3], outcome=Outcome(Status.FAILED, "\U0001f600" * 20_000))
    write_table(tmp_path / "t.parquet", [long], {})
    assert read_table(tmp_path / "t.parquet")[0].outcome.reason == "\U0001f600" * 10_000


def test_journal_without_rows_is_removed(tmp_path: Path) -> None:
    """Also after an error, so that a sweep that could not begin leaves nothing."""
    path = tmp_path / "t.journal"
    with pytest.raises(RuntimeError), opened(path):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_journal_that_is_removed_while_it_is_opened_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another sweep may end between the opening and the lock; its file has no name any more."""
    path = tmp_path / "t.journal"
    times = []

    def lock_late(handle: int) -> bool:
        times.append(handle)
        if len(times) == 1:
            path.unlink()
        return True

    monkeypatch.setattr("kibi.sweeps.journal.lock", lock_late)
    with opened(path) as (journal, _):
        journal.add(ROWS[0])
    assert len(times) == 2
    with opened(path) as (_, rows):
        assert rows == [ROWS[0]]


def test_journal_that_is_no_file_is_refused(tmp_path: Path) -> None:
    """A link, and a pipe, which would wait for ever."""
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(OutputError, match=name), opened(tmp_path / name):
            pass
    assert not (tmp_path / "elsewhere").exists()


def test_journal_keeps_rows_and_drops_an_incomplete_line(tmp_path: Path) -> None:
    """Wherever a process was killed."""
    path = journal_path(tmp_path / "t.parquet")
    with opened(path) as (journal, rows):
        assert rows == []
        for each in ROWS:
            journal.add(each)
    whole = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == 10]
    for size in (*range(0, len(whole), 53), *ends):
        path.write_bytes(whole[:size])
        with opened(path) as (journal, rows):
            assert rows == [*ROWS][: max(sum(end <= size for end in ends) - 1, 0)]
            journal.add(ROWS[0])
        with opened(path) as (_, again):
            assert again == [*rows, ROWS[0]]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (b"{\n", "line 3"), (b"[]\n", "no row"), (b'{"model": "a"}\n', "is missing"), (b"\xff\n", "line 3"),
        (b"[" * 100_000 + b"\n", "line 3"),
    ],
    ids=["json", "list", "column", "text", "deep"],
)  # fmt: skip
def test_damaged_journal_is_refused_with_the_line(tmp_path: Path, line: bytes, word: str) -> None:
    """And is left as it is."""
    path = tmp_path / "t.journal"
    with opened(path) as (journal, _):
        journal.add(ROWS[0])
    damaged = path.read_bytes() + line
    path.write_bytes(damaged)
    with pytest.raises(InputError, match=word), opened(path):
        pass
    assert path.read_bytes() == damaged


def test_file_that_is_no_journal_is_left_alone(tmp_path: Path) -> None:
    """It may be somebody's text."""
    path = tmp_path / "t.journal"
    path.write_text("my notes\n", encoding="utf-8")
    with pytest.raises(InputError, match="no journal"), opened(path):
        pass
    assert path.read_text(encoding="utf-8") == "my notes\n"


def test_two_sweeps_cannot_write_one_journal(tmp_path: Path) -> None:
    """The second one is refused; and a folder that does not exist is an error."""
    path = tmp_path / "t.journal"
    with opened(path), pytest.raises(OutputError, match="another sweep"), opened(path):
        pass
    with pytest.raises(OutputError, match="No such file"), opened(tmp_path / "none" / "t.journal"):
        pass


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("status", "done"), ("ram_bytes", "x"), ("ram_bytes", True), ("macs", None), ("seed", None), ("model", 5),
        ("parameter_w", [1]), ("figure_a", "x"), ("unknown", 1),
    ],
)  # fmt: skip
def test_record_with_a_wrong_column_is_refused(column: str, value: object) -> None:
    """The text names the column, or says that costs are missing."""
    with pytest.raises(InputError, match=f"{column}|some costs are missing"):
        row_of({**ROWS[0].record(), column: value})
