"""`kibi evaluate` prints figures, writes the worst inputs, and goes on after an interruption."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from kibi import demo
from kibi.cli.failure import EXIT_INTERRUPTED
from kibi.cli.terminal import counting
from tests.cli.conftest import GLYPHS, Kibi

SAMPLES = Path(demo.__file__).with_name("samples.npz")
IMAGES, LABELS = demo.samples()


def test_evaluate_prints_accuracy_classes_confusion_and_the_worst(kibi: Kibi) -> None:
    """The shipped model reads all samples."""
    done = kibi("evaluate", GLYPHS, "--data", SAMPLES, "--worst-count", "2")
    assert (done.code, done.err) == (0, "")
    lines = [line.split() for line in done.out.splitlines()]
    assert lines[0] == ["glyphs", "on", "samples.npz:", "10", "inputs"]
    assert ["accuracy", "100.00%:", "10", "of", "10"] in lines
    assert ["3", "1", "1", "1", "100.00%", "100.00%", "100.00%"] in lines
    assert ["label", "/", "answer", *"0123456789"] in lines
    assert ["3", ".", ".", ".", "1", ".", ".", ".", ".", ".", "."] in lines
    worst = lines.index(["input", "label", "answer", "figure"])
    assert len(lines) == worst + 3


def test_evaluate_as_json_is_the_result(kibi: Kibi, tmp_path: Path) -> None:
    """With names, and the worst inputs in a folder."""
    (tmp_path / "labels.txt").write_text("zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n")
    np.save(tmp_path / "x.npy", IMAGES)
    np.save(tmp_path / "y.npy", np.roll(LABELS, 1))
    options = ["--data", tmp_path / "x.npy", "--truth", tmp_path / "y.npy", "--labels", tmp_path / "labels.txt"]
    record = kibi("evaluate", GLYPHS, *options, "--worst", tmp_path / "worst", "--worst-count", "1", "--json").record
    assert record["classification"]["accuracy"] == 0
    assert record["classification"]["classes"][3]["label"] == "three"
    assert record["worst"][0]["label"] != record["worst"][0]["answer"]
    assert (tmp_path / "worst" / record["worst"][0]["file"]).read_bytes().startswith(b"\x89PNG")


def test_evaluate_of_a_function_and_a_reference(kibi: Kibi, tmp_path: Path) -> None:
    """A file of Python; the model beside itself."""
    (tmp_path / "own.py").write_text(
        "from kibi import demo\ndef read():\n    images, labels = demo.samples()\n    yield from zip(images, labels)\n"
    )
    done = kibi("evaluate", GLYPHS, "-d", f"{tmp_path / 'own.py'}:read", "--reference", GLYPHS, "--most", "5")
    assert done.code == 0
    lines = [line.split() for line in done.out.splitlines()]
    for expected in (
        ["reference", "glyphs.tflite"], ["RMSE", "0"], ["cosine", "1.000000", "on", "average,", "1.000000", "at", "the", "least"],
        ["same", "answer", "100.00%"],
    ):  # fmt: skip
        assert expected in lines


def test_evaluate_of_a_detector_prints_the_area_under_the_curve(kibi: Kibi, tmp_path: Path) -> None:
    """Is it a three? Exactly one sample is."""
    np.savez(tmp_path / "d.npz", x=IMAGES, y=(LABELS == 3).astype(np.int8))
    done = kibi("evaluate", GLYPHS, "--data", tmp_path / "d.npz", "--score", "class:3")
    assert "AUC" in done.out
    assert "1.0000: 1 anomalous inputs, 9 normal ones" in done.out
    assert "finds 100.00%, false alarms 0.00%" in done.out


@pytest.mark.parametrize(
    ("options", "code", "expected"),
    [
        (["--data", ""], 2, "--data"), (["--data", "absent.npz"], 4, "absent.npz: No such file"),
        (["--data", str(SAMPLES), "--score", "loss"], 4, "has no score 'loss'"),
        (["--data", str(SAMPLES), "--labels", str(SAMPLES)], 4, "no text file"),
        (["--data", str(SAMPLES), "--resume", "absent/log"], 9, "absent"),
        (["--data", str(SAMPLES), "--worst-count", "0"], 2, "--worst-count"),
    ],
    ids=str,
)  # fmt: skip
def test_evaluate_with_what_does_not_fit_says_why(
    kibi: Kibi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], code: int, expected: str
) -> None:
    """Nothing is printed on standard output, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    done = kibi("evaluate", GLYPHS, *options)
    assert (done.code, done.out) == (code, "")
    assert expected in done.err
    assert not list(tmp_path.iterdir())


def test_evaluate_warns_of_values_that_look_as_if_not_normalised(kibi: Kibi, tmp_path: Path) -> None:
    """On standard error, and in the record."""
    np.savez(tmp_path / "d.npz", x=IMAGES.astype(np.float32), y=LABELS)
    with pytest.warns(UserWarning, match="not normalised"):
        record = kibi("evaluate", GLYPHS, "--data", tmp_path / "d.npz", "--json").record
    assert len(record["warnings"]) == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_interrupted_evaluate_prints_what_was_counted_and_goes_on(
    kibi: Kibi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 130; the data never end before the signal comes."""
    (tmp_path / "own.py").write_text(
        "import pathlib, time\nfrom kibi import demo\n\ndef read():\n    images, labels = demo.samples()\n"
        "    for turn in range(600):\n        yield images[turn % 10], labels[turn % 10]\n"
        "        if turn > 100 and not pathlib.Path('go').exists():\n            time.sleep(0.02)\n"
    )
    command = [sys.executable, "-m", "kibi", "evaluate", str(GLYPHS), "--data", "own.py:read", "--resume", "log"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    log, end = tmp_path / "log", time.monotonic() + 120
    while not (log.exists() and log.read_bytes().count(b"\n") > 1) and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == EXIT_INTERRUPTED
    assert "inputs were counted." in err
    assert err.endswith("kibi: interrupted\n")
    assert "The same command goes on from there." in err
    assert "accuracy  100.00%" in out
    (tmp_path / "go").touch()
    monkeypatch.chdir(tmp_path)
    done = kibi(*command[3:])
    assert done.code == 0
    assert done.out.startswith("glyphs on own.py:read: 600 inputs\n")


def test_evaluate_that_is_interrupted_at_once_prints_no_figures(
    kibi: Kibi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only that nothing was counted."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "early.py").write_text("def read():\n    raise KeyboardInterrupt\n    yield\n")
    done = kibi("evaluate", GLYPHS, "--data", "early.py:read")
    assert (done.code, done.out) == (EXIT_INTERRUPTED, "")
    assert done.err == "kibi: 0 inputs were counted.\nkibi: interrupted\n"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_is_shown_on_a_terminal_alone(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many inputs are done, and how many there are; hostile words cannot steer it."""
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with counting("evaluating \x1b]0;", "inputs") as watch:
        for done in (3, 7):
            watch(done, 10)
    shown = stream.getvalue()
    assert ("7/10" in shown) == is_terminal
    assert "\x1b]0;" not in shown
    assert bool(shown) == is_terminal
