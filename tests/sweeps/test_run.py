"""Runs of sweeps without a cluster: rows are those of a plain loop, refusals are rows, and runs go on where they were."""

import os
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import kibi
from kibi import demo
from kibi.clusters.tools import tools_here
from kibi.errors import InputError, KibiError
from kibi.sweeps import task
from kibi.sweeps.functions import function_of
from kibi.sweeps.rows import Costs, Outcome, Status
from kibi.sweeps.settings import Grid, Setting
from kibi.sweeps.table import read_table
from kibi.sweeps.task import Evaluation, evaluated, key_of, measured
from tests.clusters.extra import check_sweep
from tests.sweeps import evaluations
from tests.sweeps.work import row, small_model

if TYPE_CHECKING:
    from kibi.sweeps.models import Item


@pytest.fixture(autouse=True)
def _extra() -> None:
    check_sweep()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the models that are measured, in order."""
    names: list[str] = []

    measure = task._measured

    def count(data: bytes, name: str, setting: Setting) -> Outcome:
        names.append(name)
        return measure(data, name, setting)

    monkeypatch.setattr(task, "_measured", count)
    return names


@pytest.mark.slow
def test_rows_are_those_of_a_plain_loop(tmp_path: Path) -> None:
    """Each cost of the shipped model and of a small one, for each goal."""
    (tmp_path / "small.tflite").write_bytes(small_model(40))
    paths, targets, goals = [demo.model_path(), tmp_path / "small.tflite"], ("cortex-m4",), ("balanced", "flash")
    found = kibi.sweep(paths, targets, goals=goals, output=tmp_path / "t.parquet", workers=0)
    expected = []
    for path in paths:
        for target in targets:
            for goal in goals:
                model = kibi.simplify(kibi.load(path))
                library = kibi.compile(model, kibi.plan(model, target, goal=goal), tmp_path / "c")
                expected.append(Costs.of(kibi.measure(library, oracle=False)))
    assert [each.outcome.costs for each in found.rows] == expected
    assert {each.outcome.status for each in found.rows} == {Status.MEASURED}
    assert read_table(tmp_path / "t.parquet") == found.rows
    assert [each.name for each in tmp_path.glob("*.journal")] == []


def test_refused_models_are_rows_and_the_sweep_goes_on(tmp_path: Path) -> None:
    """Of an operator that is not supported, of a broken file, and of none."""
    (tmp_path / "broken.tflite").write_bytes(small_model(4)[:100])
    models: list[Item] = [
        *evaluations.with_one_refused(),
        str(tmp_path / "broken.tflite"),
        str(tmp_path / "none.tflite"),
    ]
    found = kibi.sweep(models, output=tmp_path / "t.parquet", workers=0)
    assert [each.outcome.status.value for each in found.rows] == [
        "measured",
        "refused",
        "measured",
        "refused",
        "refused",
    ]
    reasons = [each.outcome.reason for each in found.rows]
    assert "nobody_knows_it" in reasons[1]
    assert "corrupt" in reasons[3]
    assert "no such file" in reasons[4]
    assert (found.count(Status.MEASURED), found.count(Status.REFUSED)) == (2, 3)


def test_nothing_is_measured_twice(tmp_path: Path, counted: list[str]) -> None:
    """Neither the same bytes under one name in two folders, nor what a table has."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "net.tflite").write_bytes(small_model(6))
    paths = [str(tmp_path / name / "net.tflite") for name in ("a", "b")]
    first = kibi.sweep(paths, output=tmp_path / "t.parquet", workers=0)
    assert counted == ["net"]
    assert [each.model for each in first.rows] == paths
    second = kibi.sweep(paths, ["cortex-m4", "cortex-m0plus"], output=tmp_path / "t.parquet", workers=0)
    assert counted == ["net", "net"]
    assert second.reused == 2
    assert [each.setting.target for each in second.rows] == ["cortex-m4", "cortex-m0plus"] * 2
    third = kibi.sweep(paths, ["cortex-m4", "cortex-m0plus"], output=tmp_path / "t.parquet", workers=7)
    assert third.rows == second.rows
    assert third.reused == 4  # no cluster was started for nothing


def test_interrupted_sweep_goes_on_where_it_was(tmp_path: Path, counted: list[str]) -> None:
    """The journal has what was measured; the table is as it was before, and complete after the second run."""
    lengths = [3, 4, 5, 6]
    table = tmp_path / "t.parquet"

    def interrupted() -> Iterator[tuple[str, bytes, dict[str, int]]]:
        for number, (name, data, _) in enumerate(evaluations.architectures(lengths)):
            if number == 2:
                raise KeyboardInterrupt
            yield name, data, {"length": lengths[number]}

    with pytest.raises(KeyboardInterrupt):
        kibi.sweep(interrupted(), output=table, workers=0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.parquet.journal"]
    found = kibi.sweep(evaluations.architectures(lengths), output=table, workers=0)
    assert counted == [f"relu_{length}_int8" for length in lengths]
    assert found.reused == 2
    assert [dict(each.parameters)["length"] for each in found.rows] == lengths
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.parquet"]


def test_failed_rows_are_tried_again_and_refused_ones_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What failed may work the next time; what was refused is refused again."""
    outcomes = {
        3: Outcome(Status.FAILED, "no memory"),
        4: Outcome(Status.REFUSED, "too wide"),
        5: row("x", 1, 2, 3).outcome,
    }
    seen: list[int] = []

    def give(data: bytes, *_: Any) -> Outcome:
        seen.append(next(length for length in (3, 4, 5) if small_model(length) == data))
        return outcomes[seen[-1]]

    monkeypatch.setattr(task, "_measured", give)
    for _ in range(2):
        kibi.sweep(evaluations.architectures([3, 4, 5]), output=tmp_path / "t.parquet", workers=0)
    assert seen == [3, 4, 5, 3]


def test_sweep_without_models_leaves_the_table_as_it_was(tmp_path: Path) -> None:
    """A generator may yield none by mistake; no journal stays."""
    table = tmp_path / "t.parquet"
    kibi.sweep(evaluations.architectures([3]), output=table, workers=0)
    before = table.read_bytes()
    for lengths in ([], [3]):
        with pytest.raises(InputError, match="models are missing"):
            kibi.sweep(list(evaluations.architectures(lengths))[1:], output=table, workers=0)
    assert table.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_names_that_are_no_text_are_rows(tmp_path: Path) -> None:
    """A name of a file may have bytes that are not UTF-8."""
    name = os.fsdecode(b"net\xff.tflite")
    (tmp_path / name).write_bytes(small_model(3))
    models: list[Item] = [str(tmp_path / name), ("\udc80", small_model(4), {"p": "\ud800"})]
    kibi.sweep(models, output=tmp_path / "t.parquet", workers=0)
    found = read_table(tmp_path / "t.parquet")
    assert [each.model for each in found] == [f"{tmp_path}/net\ufffd.tflite", "\ufffd"]
    assert found[1].parameters == (("p", "\ufffd"),)
    assert kibi.sweep(models, output=tmp_path / "t.parquet", workers=0).reused == 2


def test_code_that_exits_ends_no_sweep(tmp_path: Path) -> None:
    """`sys.exit` in an evaluation is a failure of that row; in a generator, it is an error that says so."""
    failed = evaluated(b"1", function_of(evaluations.leaves))
    assert failed.failure == "evaluations.py:leaves: SystemExit: 3"
    with pytest.raises(InputError, match="SystemExit instead of item 1: 3"):
        kibi.sweep(map(evaluations.left, [0]), output=tmp_path / "t.parquet", workers=0)


def test_figure_with_the_name_of_a_cost_is_a_failure() -> None:
    """A budget would take it for the cost."""
    failed = evaluated(b"1", function_of(evaluations.named_as_a_cost))
    assert "ram_bytes is the name of a cost" in failed.failure


def test_evaluation_gives_figures_once_for_a_model(tmp_path: Path) -> None:
    """A function of a file by itself, or by its name; other figures are another key."""
    sizes = {"a": 3, "b": 300}
    models: list[Item] = [(name, small_model(size), {"size": size}) for name, size in sizes.items()]
    by_itself = kibi.sweep(models, output=tmp_path / "t.parquet", workers=0, evaluate=evaluations.size)
    by_name = kibi.sweep(models, output=tmp_path / "u.parquet", workers=0, evaluate=f"{evaluations.__file__}:size")
    for each, size in zip(by_itself.rows, sizes.values(), strict=True):
        count = len(small_model(size))
        assert each.outcome.figures == (("accuracy", 1 / count), ("bytes", float(count)))
    assert [each.outcome for each in by_name.rows] == [each.outcome for each in by_itself.rows]
    without = kibi.sweep(models, output=tmp_path / "t.parquet", workers=0)
    assert without.reused == 0
    assert [each.model for each in by_itself.best(maximize="accuracy", ram_bytes=100_000)] == ["a", "b"]
    assert [each.model for each in by_itself.front(maximize="accuracy")] == ["a"]


def test_evaluation_that_fails_is_a_row_with_costs(tmp_path: Path) -> None:
    """An exception, and a number that is none."""
    function = function_of(evaluations.broken)
    assert evaluated(b"1", function).failure.startswith("evaluations.py:broken: accuracy is nan")
    assert evaluated(b"12", function) == Evaluation(failure="evaluations.py:broken: ValueError: no labels for this one")
    found = kibi.sweep(
        [("a", small_model(3), {})], output=tmp_path / "t.parquet", workers=0, evaluate=evaluations.broken
    )
    assert found.rows[0].outcome.status is Status.FAILED
    assert found.rows[0].outcome.costs is not None


def test_worker_with_other_tools_refuses_to_work() -> None:
    """Its figures would not be comparable."""
    own = tools_here("zig", "cortex-m4")
    other = type(own)("0.0.1", own.kibi_sha256, own.compiler, own.unicorn, own.numpy)
    outcome = measured(small_model(3), "net", Setting("cortex-m4"), other)
    assert outcome.status is Status.FAILED
    assert f"kibi {kibi.__version__}, not 0.0.1" in outcome.reason


def test_unexpected_error_of_a_task_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its kind; one of Kibi's that a machine causes is a failure, too."""
    for error, text in ((ZeroDivisionError("by zero"), "ZeroDivisionError: by zero"), (KibiError("full"), "full")):

        def raise_it(*_: Any, error: Exception = error, **__: Any) -> None:
            raise error

        monkeypatch.setattr(kibi, "plan", raise_it)
        outcome = measured(small_model(3), "net", Setting("cortex-m4"), tools_here("zig", "cortex-m4"))
        assert outcome == Outcome(Status.FAILED, text)


def test_functions_that_workers_cannot_import_are_refused(tmp_path: Path) -> None:
    """A lambda, and one inside of a function."""
    with pytest.raises(InputError, match="workers cannot import it"):
        kibi.sweep([], output=tmp_path / "t.parquet", evaluate=lambda _: {})


def test_arguments_out_of_range_are_refused(tmp_path: Path) -> None:
    """With the reason, and no file is made."""
    table = tmp_path / "t.parquet"
    for keywords, word in (
        ({"workers": -1}, "workers is -1"), ({"workers": 2, "scheduler": "tcp://x:1"}, "A scheduler has its own workers"),
        ({"scheduler": "x"}, "Write tcp://host:port"), ({"models": 5}, "the generator of models is a int"),
        ({"models": [small_model, 5]}, "item 1: it is a function"), ({"targets": "host"}, "not emulated"),
        ({"levels": []}, "levels is empty"), ({"output": ""}, "output is empty"),
    ):  # fmt: skip
        given: dict[str, Any] = {"models": ["x.tflite"], "output": table, "workers": 0, **keywords}
        if "scheduler" in keywords and "workers" not in keywords:
            del given["workers"]
        with pytest.raises(InputError, match=word):
            kibi.sweep(**given)
    assert list(tmp_path.iterdir()) == []


def test_key_covers_all_that_an_outcome_depends_on() -> None:
    """Each field of the setting, the model, its name, the tools, the evaluation."""
    tools = tools_here("zig", "cortex-m4")
    usual = ("0" * 64, "net", Setting("cortex-m4"), tools, function_of(evaluations.size))
    keys = [
        key_of(*usual),
        key_of("1" * 64, *usual[1:]),
        key_of(usual[0], "other", *usual[2:]),
        key_of(*usual[:4], None),
    ]
    keys.append(key_of(*usual[:4], function_of(evaluations.broken)))
    for field in fields(Setting):
        changed: dict[str, Any] = {field.name: 1 if field.name == "seed" else "other"}
        keys.append(key_of(*usual[:2], replace(usual[2], **changed), *usual[3:]))
    keys += [key_of(*usual[:3], replace(tools, **{name: "other"}), usual[4]) for name in tools.record()]
    assert len({*keys}) == len(keys)


def test_settings_are_all_combinations() -> None:
    """Levels vary fastest."""
    grid = Grid(("cortex-m4", "cortex-m0plus"), levels=("s", "3"))
    assert [(each.target, each.level) for each in grid.settings] == [
        ("cortex-m4", "s"), ("cortex-m4", "3"), ("cortex-m0plus", "s"), ("cortex-m0plus", "3")
    ]  # fmt: skip
