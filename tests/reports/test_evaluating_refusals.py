"""Evaluations of data, labels and options that do not fit."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kibi
from kibi.errors import InputError, OutputError
from kibi.reports import evaluated_batches
from tests.reports.evaluated import CLASSES, CLASSIFIER, GLYPHS, SCORES, many, saved


def test_labels_and_windows_that_do_not_fit_are_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of the last inputs; no code is compiled, and no file is made."""
    monkeypatch.setattr(evaluated_batches, "BatchEngine", lambda *_, **__: pytest.fail("an engine was made"))
    values, classes = many()
    path = saved(tmp_path, x=values, y=np.where(np.arange(18) == 17, 3, classes))
    np.save(tmp_path / "truth.npy", np.where(np.arange(18) == 16, -1, classes))
    np.save(tmp_path / "two.npy", np.equal(classes, 2))
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "input 17: the label is 3; classes are 0 to 2"),
        ({"truth": tmp_path / "truth.npy"}, "input 16: the label is -1"),
        ({"score": "class:1"}, r"the label is 2; those of a detector are 0 \(normal\) and 1 \(anomalous\)"),
        ({"score": "class:1", "truth": tmp_path / "two.npy", "most": 5, "windows": 2}, "5 inputs, and 2 are windows"),
    ]
    for options, expected in cases:
        with pytest.raises(InputError, match=expected):
            kibi.evaluate(CLASSIFIER, path, resume=tmp_path / "log", **options)
    with pytest.raises(OutputError, match="is a file"):
        kibi.evaluate(CLASSIFIER, path, worst=path)
    assert not (tmp_path / "log").exists()


def test_data_that_do_not_fit_leave_nothing(tmp_path: Path) -> None:
    """Labels beyond the classes, no inputs, forms that change, and an input that fails late."""

    def late() -> Iterator[Any]:
        yield from [(SCORES[0], 0)] * 9
        yield SCORES[0][:2], 0

    cases: list[tuple[Any, str]] = [
        (saved(tmp_path, x=SCORES, y=CLASSES + 1), "input 3: the label is 3; classes are 0 to 2"),
        (lambda: iter([(SCORES[0], -1)]), "input 0: the label is -1"),
        (lambda: iter([(SCORES[0], "cat")]), "nothing says which class 'cat' is"),
        (lambda: iter([(SCORES[0], "9" * 5000)]), f"nothing says which class '{'9' * 40}…' is"),
        (lambda: iter([(SCORES[0], 10**5000)]), "the label is int, and no number or name of a class"),
        (lambda: iter([]), "there are no inputs"),
        (lambda: iter([SCORES[0], SCORES[1].astype(np.float64)]), "input 1: it has shape .* and type float64"),
        (late, "one input has the shape"),
    ]
    for data, expected in cases:
        with pytest.raises(InputError, match=expected):
            kibi.evaluate(CLASSIFIER, data, worst=tmp_path / "worst", workers=1)
    assert {path.name for path in tmp_path.iterdir()} == {"d.npz"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"labels": ["a", "b"]}, "2 labels for 3 classes"), ({"labels": []}, "0 labels for 3"),
        ({"labels": ["a", "b", "a"]}, "two labels are the same"),
        ({"score": "output"}, "has no score 'output'"), ({"score": "class:3"}, "has no score 'class:3'"),
        ({"score": f"class:{'9' * 5000}"}, "has no score"),
        ({"score": "class:"}, "has no score"), ({"score": "loss"}, "has no score 'loss'"),
        ({"most": 0}, "Give at least 1"),
        ({"windows": 0}, "Give at least 1"), ({"windows": 2}, "windows are for the scores"),
        ({"worst_count": 0}, "Give at least 1"), ({"workers": 0}, "at least 1"),
        ({"reference": GLYPHS}, "has inputs of"),
    ],
    ids=str,
)  # fmt: skip
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], expected: str) -> None:
    """Before anything runs, or at the first input."""
    with pytest.raises(InputError, match=expected):
        kibi.evaluate(CLASSIFIER, lambda: iter(SCORES), **options)
