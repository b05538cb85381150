"""`kibi measure` writes what it measured for spreadsheets, for pages and for Model Explorer."""

import csv
import json
from pathlib import Path

import pytest

import kibi as api
from kibi.reports.node_data import FIGURES
from tests.cli.conftest import Kibi


def test_tables_have_the_operators_and_totals_that_json_has(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """The lines of operators and of calls add up to the total."""
    sheet, page = tmp_path / "m.csv", tmp_path / "m.md"
    record = kibi("measure", glyphs, "--no-oracle", "--csv", sheet, "--markdown", page, "--json").record
    rows = list(csv.DictReader(sheet.read_text(encoding="utf-8").splitlines()))
    assert [row["row"] for row in rows] == ["operator"] * len(record["ops"]) + ["calls", "total"]
    for row, cost in zip(rows, record["ops"], strict=False):
        assert (row["operator"], row["output"]) == (cost["op"], cost["name"])
        assert [int(row[name]) for name in ("macs", "instructions", "scratch_bytes")] == [
            cost[name] for name in ("macs", "instructions", "scratch_bytes")
        ]
    total = rows[-1]
    assert sum(int(row["instructions"]) for row in rows[:-1]) == int(total["instructions"]) == record["instructions"]
    assert {name: int(total[name]) for name in total if name.endswith("_bytes") and total[name]} == {
        name: record[name] for name in total if name.endswith("_bytes") and name != "scratch_bytes"
    }
    assert all(row["ram_bytes"] == "" for row in rows[:-1])
    text = page.read_text(encoding="utf-8")
    assert f"| RAM | {record['ram_bytes']:,} |" in text
    for cost in record["ops"]:
        assert f"| `{cost['op']}` | `{cost['name']}` | {cost['macs']:,} | {cost['instructions']:,} |" in text


def test_tables_of_a_board_have_what_its_core_waits(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """By operator and by cause, adding up to the total; without a board there is no column of waits in Markdown."""
    sheet, page = tmp_path / "m.csv", tmp_path / "m.md"
    words = ("--board", "stm32l4r5zi", "--csv", sheet, "--markdown", page, "--json")
    record = kibi("measure", glyphs, "--no-oracle", *words).record
    rows = list(csv.DictReader(sheet.read_text(encoding="utf-8").splitlines()))
    stalls = record["waits"]["stalls"]
    for name, total in {
        "cycles_estimate": record["cycles_estimate"],
        **{f"stalls_{each}": stalls[each] for each in stalls},
    }.items():
        assert int(rows[-1][name]) == total == sum(int(row[name]) for row in rows[:-1])
        assert all(int(row[name]) >= 0 for row in rows)
    assert sum(stalls.values()) > 0
    text = page.read_text(encoding="utf-8")
    assert f"| waits for weights and tables | {stalls['data']:,} |" in text
    first = record["ops"][0]
    waits = f"| {first['cycles_estimate']:,} | {sum(first['stalls'].values()):,} |"
    assert next(line for line in text.splitlines() if f"`{first['name']}`" in line).endswith(waits)


def test_node_data_have_every_operator_by_its_number_in_the_file(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """In the graph of the name that the subgraph has; bytes are those of the kernels' constants."""
    record = kibi("measure", glyphs, "--no-oracle", "--node-data", tmp_path / "nodes", "--json").record
    numbers = [str(operator["index"]) for operator in kibi("inspect", glyphs, "--json").record["operators"]]
    assert sorted(path.stem for path in (tmp_path / "nodes").iterdir()) == sorted(FIGURES)
    for name in FIGURES:
        saved = json.loads((tmp_path / "nodes" / f"{name}.json").read_text(encoding="utf-8"))
        assert list(saved) == ["main"]
        assert [each["stop"] for each in saved["main"]["gradient"]] == [0, 1]
        values = {number: each["value"] for number, each in saved["main"]["results"].items()}
        assert list(values) == numbers
        if name != "weights_bytes":
            assert list(values.values()) == [cost[name] for cost in record["ops"]]
        else:
            graph = api.simplify(api.load(glyphs))
            made = api.compile(graph, api.plan(graph), tmp_path / "library").model
            assert sum(values.values()) == sum(
                each.nbytes for call in made.graph.calls for each in call.constants.values()
            )


def test_node_data_of_an_entry_point_are_in_its_subgraph(kibi: Kibi, two_ways: Path, tmp_path: Path) -> None:
    """Without a name it has the one that Model Explorer gives it."""
    done = kibi("measure", two_ways, "--signature", "size", "--no-oracle", "--node-data", tmp_path, "--json")
    assert done.code == 0
    assert list(json.loads((tmp_path / "macs.json").read_text(encoding="utf-8"))) == ["subgraph_1"]


def test_plan_file_has_tables_and_no_node_data(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Its layers are kernels of a core."""
    words = ("measure", glyphs, "--format", "plan")
    assert kibi(*words, "--csv", tmp_path / "m.csv").code == 0
    assert (tmp_path / "m.csv").read_text(encoding="utf-8").startswith("model,target,row,")
    done = kibi(*words, "--node-data", tmp_path / "nodes")
    assert (done.code, "Leave --format plan out" in done.err) == (4, True)
    assert not (tmp_path / "nodes").exists()


@pytest.mark.parametrize("option", ["--csv", "--markdown", "--node-data"])
def test_file_that_cannot_be_written_is_an_error(kibi: Kibi, glyphs: Path, tmp_path: Path, option: str) -> None:
    """With the exit code of outputs."""
    (tmp_path / "file").write_bytes(b"")
    done = kibi("measure", glyphs, "--no-oracle", option, tmp_path / "file" / "x")
    assert (done.code, done.out) == (api.errors.OutputError.exit_code, "")
