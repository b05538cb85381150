"""Evaluations that are interrupted, and go on from what they wrote: after each batch, and from damaged files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kibi
from kibi.engines import batch
from kibi.errors import InputError, OutputError
from kibi.ir import Graph
from tests.reports.evaluated import CLASSIFIER, many, same, saved


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most four inputs are run together."""
    monkeypatch.setattr(batch, "_MOST_BATCH_INPUTS", 4)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("batches", [0, 1, 2, 4])
def test_interrupted_evaluation_tells_what_was_counted_and_goes_on(batches: int, tmp_path: Path) -> None:
    """After each batch; the file then gives the result of an evaluation that was never interrupted."""
    values, classes = many()
    path, log = saved(tmp_path, x=values, y=classes), tmp_path / "log"
    whole = kibi.evaluate(CLASSIFIER, path, workers=2)
    calls: list[int] = []

    def interrupt(done: int, total: int | None) -> None:
        assert total == 18
        calls.append(done)
        if len(calls) > batches:
            raise KeyboardInterrupt

    part = kibi.evaluate(CLASSIFIER, path, resume=log, watch=interrupt, workers=2)
    assert (part.is_complete, part.inputs, part.total) == (False, 4 * batches, 18)
    assert part.classification is not None
    assert part.classification.labelled == 4 * batches
    counted: list[int] = []
    again = kibi.evaluate(CLASSIFIER, path, resume=log, watch=lambda done, _: counted.append(done), workers=2)
    assert again == whole
    assert counted[: batches + 2] == [*(4 * number for number in range(batches + 1)), min(18, 4 * batches + 4)]
    lines = log.read_bytes()
    assert kibi.evaluate(CLASSIFIER, path, resume=log, workers=2) == whole
    assert log.read_bytes() == lines


def test_scores_that_are_infinite_or_no_numbers_are_resumed(tmp_path: Path) -> None:
    """The file is plain JSON, and has them all the same."""
    values = np.array([[np.inf, 0, 0], [0, -np.inf, 0], [1, np.inf, np.inf]], np.float32)
    path, log = saved(tmp_path, x=values, y=np.array([0, 1, 2])), tmp_path / "log"
    whole = kibi.evaluate(CLASSIFIER, path, resume=log, reference=CLASSIFIER, workers=1)
    for line in log.read_text().splitlines():
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert str(kibi.evaluate(CLASSIFIER, path, resume=log, reference=CLASSIFIER, workers=1)) == str(whole)


@pytest.mark.usefixtures("small_batches")
def test_file_that_was_cut_off_anywhere_goes_on(tmp_path: Path) -> None:
    """Complete lines count; the rest is computed again."""
    values, classes = many()
    path, log = saved(tmp_path, x=values, y=classes), tmp_path / "log"
    whole = kibi.evaluate(CLASSIFIER, path, resume=log, workers=1)
    data = log.read_bytes()
    ends = [place for place, byte in enumerate(data) if byte == ord("\n")]
    for cut in (ends[0] + 1, ends[0] + 2, ends[1], ends[2] + 20, len(data) - 1):
        log.write_bytes(data[:cut])
        assert kibi.evaluate(CLASSIFIER, path, resume=log, workers=1) == whole
        records = [json.loads(line) for line in log.read_bytes().splitlines()]
        assert sum(len(record["labels"]) for record in records[1:]) == 18


@pytest.mark.usefixtures("small_batches")
def test_file_of_something_else_is_refused_and_stays(tmp_path: Path) -> None:
    """Another model, other data, other labels, fewer data, another question; damaged, or no such file."""
    values, classes = many()
    path, log = saved(tmp_path, x=values, y=classes), tmp_path / "log"
    kibi.evaluate(CLASSIFIER, path, resume=log, workers=1)
    data = log.read_bytes()

    def refused(expected: str, model: Graph = CLASSIFIER, **options: Any) -> None:
        before = log.read_bytes()
        with pytest.raises(InputError, match=expected):
            kibi.evaluate(model, path, resume=log, workers=1, **options)
        assert log.read_bytes() == before

    refused("of another model", same([3, 1], [1, 3]))
    np.save(tmp_path / "truth.npy", np.equal(classes, 2))
    refused("of another task", score="class:1", truth=tmp_path / "truth.npy")
    refused("of another reference", reference=CLASSIFIER)
    refused("inputs 0 to 3 were others", most=2)
    changed = values.copy()
    changed[9, 1] += 1
    for arrays in ((changed, classes), (values, (classes + (np.arange(18) == 9)) % 3), (values[:9], classes[:9])):
        saved(tmp_path, x=arrays[0], y=arrays[1])
        refused("inputs 8 to 11 were others when it was written")
    saved(tmp_path, x=values, y=classes)
    second = data.splitlines(keepends=True)[1]
    for wrong, expected in (
        (b"", "no evaluation"), (b"{}\n", "no evaluation of this version"), (b"[]\n", "line 1: it is damaged"),
        (data.replace(b'"format": 1', b'"format": 2'), "no evaluation of this version"),
        (data.replace(second, b"{}\n"), "line 2: it is damaged"), (data.replace(second, b"\xff\n"), "line 2"),
        (data.replace(second, second.replace(b'"labels": [', b'"labels": [1, ')), "line 2: it is damaged"),
    ):  # fmt: skip
        log.write_bytes(wrong)
        refused(expected)
    for name, beyond in (("answers", 3), ("ended", 2), ("labels", 5), ("agrees", 7)):
        record = json.loads(second)
        record[name][1] = beyond
        log.write_bytes(data.replace(second, json.dumps(record).encode() + b"\n"))
        refused("it is damaged")
        record[name][1] = -7
        log.write_bytes(data.replace(second, json.dumps(record).encode() + b"\n"))
        refused("it is damaged")
    log.unlink()
    log.mkdir()
    with pytest.raises(InputError, match="no regular file"):
        kibi.evaluate(CLASSIFIER, path, resume=log)
    with pytest.raises(OutputError):
        kibi.evaluate(CLASSIFIER, path, resume=tmp_path / "absent" / "log")
    with pytest.raises(InputError, match="cannot be resumed"):
        kibi.evaluate(CLASSIFIER, path, resume=tmp_path / "new", keep_state=True)
    assert not (tmp_path / "new").exists()
