"""`kibi report` writes the page of a model, `kibi view` opens it."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import kibi
from examples.patterns import Layer, Net, patterns
from kibi import demo, quantize
from kibi.errors import OracleError
from tests.cli.conftest import GLYPHS, Kibi
from tests.pages.networks import hostile_bytes

_QUICK = ("--no-choices", "--no-oracle")


def _record(page: Path) -> dict[str, object]:
    """The record that a page holds."""
    found = re.search(r'<script type="application/json" id="record">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found is not None
    record: dict[str, object] = json.loads(found[1])
    return record


def test_report_is_written_and_its_answer_is_printed(kibi: Kibi, tmp_path: Path) -> None:
    """With limits, the first line says if the model fits."""
    path, labels = tmp_path / "report.html", tmp_path / "labels.txt"
    labels.write_text("\n".join(demo.labels))
    done = kibi("report", GLYPHS, "-o", path, "--ram", "4k", "--flash", "12k", "--labels", labels, *_QUICK)
    assert done.code == 0
    lines = done.out.splitlines()
    assert re.fullmatch(r"fits +no: 2,256 bytes of flash missing", lines[1])
    assert lines[-1] == f"The report is in {path}: {path.stat().st_size:,} bytes."
    record = _record(path)
    assert record["answer"]["limits"] == {"ram_bytes": 4096, "flash_bytes": 12288}  # type: ignore[index]  # plain data
    assert record["run"]["labels"] == list(demo.labels)  # type: ignore[index]  # as above


def test_report_as_json_is_the_record_of_its_page(kibi: Kibi, tmp_path: Path) -> None:
    """Two versions: the changes are in both."""
    path = tmp_path / "report.html"
    done = kibi("report", GLYPHS, GLYPHS, "-o", path, *_QUICK, "--json")
    assert done.code == 0
    page = _record(path)
    assert page.pop("run").keys() >= {"wasm", "golden"}  # type: ignore[attr-defined]  # plain data
    assert {name: done.record[name] for name in page} == page
    assert {each["status"] for each in done.record["changes"]["layers"]} == {"same"}
    assert done.record["choices"]["choices"] == []


@pytest.mark.slow
def test_other_ways_to_plan_are_measured(kibi: Kibi, tmp_path: Path) -> None:
    """And those that save something are the advice."""
    done = kibi("report", GLYPHS, "-o", tmp_path / "report.html", "--no-oracle", "--granularity", "tensor", "--json")
    assert done.record["plan"]["proven_optimal"]
    variants = {each["variant"]: each for each in done.record["choices"]["choices"]}
    assert variants["by the tensor"]["ram_bytes"] == done.record["answer"]["ram_bytes"]
    limits = {int(name.split()[3].replace(",", "")): each for name, each in variants.items() if "within" in name}
    assert len(limits) >= 2
    assert all(each["arena_bytes"] <= limit for limit, each in limits.items())
    least = min(variants.values(), key=lambda each: each["ram_bytes"])
    assert done.record["advice"][0].startswith(f"Less RAM, planned {least['variant']}: \u2212")


def test_report_with_data_states_the_accuracy(kibi: Kibi, tmp_path: Path) -> None:
    """As `kibi evaluate` counts it; labels of data without the data are refused."""
    data, path = Path(demo.__file__).with_name("samples.npz"), tmp_path / "report.html"
    done = kibi("report", GLYPHS, "-o", path, "--data", data, *_QUICK)
    assert "How much each layer loses by its integers is not known" in path.read_text()
    sentence = "Accuracy 100.00%: 10 of 10 answers are right, on 10 inputs of samples.npz."
    assert f"accuracy      {sentence}" in done.out
    assert sentence in path.read_text()
    assert _record(path)["evaluation"]["classification"]["right"] == 10  # type: ignore[index]  # plain data
    refused = kibi("report", GLYPHS, "-o", path, "--truth", data)
    assert (refused.code, "Give --data, too" in refused.err) == (4, True)


@pytest.mark.slow
def test_report_with_a_reference_has_the_error_of_each_layer(kibi: Kibi, tmp_path: Path) -> None:
    """The decibels of `kibi quantize`; a reference that is quantized itself is refused, and nothing is written."""
    net = Net([Layer("dense", 16, activation="RELU"), Layer("dense", 10)], (12, 12, 1))
    pictures, labels = patterns(64, 1)
    net.train(pictures, labels, epochs=1)
    floats, integers, data, path = (tmp_path / name for name in ("f.tflite", "i.tflite", "d.npz", "report.html"))
    floats.write_bytes(net.file())
    np.savez(data, input=pictures.astype(np.float32), labels=labels)
    made = quantize(floats, data, integers, improve=False, evaluate=False, target=None)
    refused = kibi("report", integers, "-o", path, "--data", data, "--reference", integers, *_QUICK)
    assert (refused.code, path.exists()) == (4, False)
    assert "make no tensor of float32, beside which an error could be measured" in refused.err
    done = kibi("report", integers, "-o", path, "--data", data, "--reference", floats, *_QUICK, "--json")
    found = {layer.output: layer for layer in made.layers}
    for node in done.record["nodes"]:
        layer = found[done.record["tensors"][str(node["outputs"][0])]["name"]]
        assert node["decibels"] == pytest.approx(layer.decibels, abs=1e-3)
        assert node["lost_decibels"] == pytest.approx(layer.lost_decibels, abs=1e-3)
    errors = done.record["layer_errors"]
    assert (errors["reference"], errors["inputs"], errors["layers"]) == ("f.tflite", 32, len(done.record["nodes"]))
    assert errors["without_partner"] == errors["with_factors"] == []
    assert "Beside f.tflite: RMSE" in done.record["accuracy"]
    assert "4 of 4 have a partner." in path.read_text()


def test_report_follows_a_saved_plan(kibi: Kibi, tmp_path: Path) -> None:
    """And leaves the model out of the page where a page cannot imitate the plan."""
    plan, path = tmp_path / "plan.json", tmp_path / "report.html"
    plan.write_text(kibi("plan", "--no-longest-step", GLYPHS, "--input", "streamed", "--json").out)
    assert kibi("report", GLYPHS, "-o", path, "--plan", plan, *_QUICK).code == 0
    record = _record(path)
    assert record["plan"]["arena_bytes"] == json.loads(plan.read_text())["arena_bytes"]  # type: ignore[index]  # plain data
    assert record["run"].keys() == {"left_out"}  # type: ignore[attr-defined]  # as above


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("--target", "host"), 6, "is not emulated"),
        (("--ram", "many"), 2, "is no number of at least 1"),
        (("--compiler", "cc"), 7, "unknown compiler"),
        (("--goal", "beauty"), 4, "beauty"),
        (("--labels", "absent.txt"), 4, "absent.txt"),
        (("--data", ""), 2, "the data are empty"),
        (("--reference", str(GLYPHS)), 4, "--reference is compared with the model on data. Give --data, too"),
    ],
)
def test_arguments_that_make_no_sense_write_nothing(
    kibi: Kibi, tmp_path: Path, words: tuple[str, ...], code: int, text: str
) -> None:
    """Each ends with its exit code and says what is wrong."""
    done = kibi("report", GLYPHS, "-o", tmp_path / "report.html", *words)
    assert done.code == code
    assert text in done.err
    assert list(tmp_path.iterdir()) == []


def test_place_that_cannot_be_written_is_refused_before_anything_is_measured(
    kibi: Kibi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is missing, a folder in place of the file; and nothing is half-written."""
    monkeypatch.setattr("kibi.cli.commands.report.simplified_model", lambda *_, **__: pytest.fail("the model was read"))
    absent = kibi("report", GLYPHS, "-o", tmp_path / "absent" / "report.html", *_QUICK)
    assert (absent.code, f"there is no folder {tmp_path / 'absent'}" in absent.err) == (9, True)
    folder = kibi("report", GLYPHS, "-o", tmp_path, *_QUICK)
    assert (folder.code, "is a folder. Give the name of a file" in folder.err) == (9, True)
    assert list(tmp_path.iterdir()) == []


def test_failure_of_tflm_is_said_in_the_page_and_at_the_end(
    kibi: Kibi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report is written; the exit code is that of `kibi measure`."""

    def fail(*_: object) -> bool:
        raise OracleError("TFLM <stopped>.")

    monkeypatch.setattr("kibi.reports.measurement._agrees_with_tflm", fail)
    path = tmp_path / "report.html"
    done = kibi("report", GLYPHS, "-o", path, "--no-choices")
    assert done.code == OracleError.exit_code
    assert "Leave it out by --no-oracle" in done.err
    assert "They were not compared with TFLM: TFLM &lt;stopped&gt;." in path.read_text()


def test_view_opens_a_page_in_the_cache(kibi: Kibi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is there before the browser is asked; without a browser its path is the error's text."""
    opened: list[str] = []

    def open_page(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr("webbrowser.open", open_page)
    (tmp_path / "<b>.tflite").write_bytes(hostile_bytes())
    done = kibi("view", tmp_path / "<b>.tflite", "--no-oracle")
    assert done.code == 0
    (address,) = opened
    path = Path(address.removeprefix("file://"))
    assert path.read_bytes().startswith(b"<!doctype html>")
    assert f"The report is in {path}" in done.out
    monkeypatch.setattr("webbrowser.open", lambda _: False)
    failed = kibi("view", tmp_path / "<b>.tflite", "--no-oracle")
    assert failed.code == 9
    assert f"no browser was found. Open {path} in one." in failed.err


def test_limits_in_python_are_numbers_of_bytes() -> None:
    """A negative one, and a plan of an older model that is not there, are refused."""
    model = kibi.load(GLYPHS)
    with pytest.raises(kibi.KibiError, match="ram is -1"):
        kibi.report(model, ram=-1)
    with pytest.raises(kibi.KibiError, match="Give `old`"):
        kibi.report(model, old_plan=kibi.plan(model))
