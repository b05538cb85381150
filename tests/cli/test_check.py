"""`kibi check`: exit codes, tables, and the files that it writes."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from kibi import demo
from tests.cli.conftest import GLYPHS, Kibi

Project = Callable[..., Path]
"""Writes kibi.toml for the shipped model: keys of the model, and its budget."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A folder with the shipped model, in which the command runs."""
    shutil.copy(GLYPHS, tmp_path / "glyphs.tflite")
    monkeypatch.chdir(tmp_path)

    def write(keys: str = "", budget: str = "", further: str = "") -> Path:
        text = f'[[model]]\npath = "glyphs.tflite"\n{keys}\n[model.budget]\n{budget}\n{further}\n'
        (tmp_path / "kibi.toml").write_text(text)
        return tmp_path

    return write


def _words(text: str) -> str:
    """The text with one blank between words: columns are as wide as their widest cell."""
    return " ".join(text.split())


def test_budgets_that_hold_end_well(kibi: Kibi, project: Project) -> None:
    """A figure without a budget is shown, and is no reason to fail; the board's memory always is one."""
    project('boards = ["nucleo-f446re"]', 'ram = "4 KiB"\ncycles = "2M"')
    done = kibi("check", "--no-oracle")
    assert (done.code, done.err) == (0, "")
    assert "glyphs nucleo-f446re RAM 3,212 4,096 holds" in _words(done.out)
    assert "4 figures checked, all hold." in done.out
    assert "`kibi check --write` records one" in done.out
    record = kibi("check", "--json", "--no-oracle").record
    assert (record["schema_version"], record["holds"]) == (1, True)
    (result,) = record["results"]
    assert {each["name"]: each["limit"] for each in result["figures"]}["flash"] == 512 << 10
    values = {each["name"]: each["value"] for each in result["figures"]}
    waits_for_weights = 275_036
    assert values["cycles"] - values["instructions"] > waits_for_weights
    assert sum(layer["instructions"] for layer in result["layers"]) < 784_123
    assert result["tools"].startswith("kibi ")


def test_budget_that_breaks_has_an_exit_code_of_its_own_and_names_the_layers(kibi: Kibi, project: Project) -> None:
    """Without a baseline, those that take most."""
    project("", "instructions = 700_000")
    done = kibi("check", "--no-oracle")
    assert done.code == 16
    assert "instructions 772,079 is 72,079 instructions over the budget of 700,000" in done.out
    assert "block1_pointwise CONV_2D 160,816 instructions" in _words(done.out)
    assert "1 over budget. To go on, make the model smaller or raise the budget." in done.err


def test_growth_against_the_baseline_is_told_with_its_cause_in_every_format(
    kibi: Kibi, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here the goal changed, so that layers have other kernels."""
    folder = project()
    assert kibi("check", "--write", "--no-oracle").code == 0
    before = (folder / "kibi-baseline.json").read_bytes()
    assert kibi("check", "--no-oracle").code == 0
    project('goal = "flash"\ngrowth = "50%"')
    monkeypatch.setenv("GITHUB_WORKSPACE", str(folder.parent))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    done = kibi("check", "--no-oracle", "--github", "--junit", "j.xml", "--sarif", "s.json", "--markdown", "m.md")
    assert done.code == 16
    assert "+2,218,128 (+287.29%) worse than recorded" in _words(done.out)
    cause = "119,140 to 495,516 instructions (+376,376); kernel kibi_conv2d_s8_3x3x1 became kibi_conv2d_s8"
    assert f"stem CONV_2D {cause}" in _words(done.out)
    assert "the model's file is that of the baseline" in done.out
    assert "the baseline was recorded with goal balanced; now it is goal flash" in done.out
    first, *middle, annotation = done.out.splitlines()
    token = first.removeprefix("::stop-commands::")
    assert middle[-1] == f"::{token}::"
    assert annotation.startswith(f"::error file={folder.name}/kibi.toml,line=1,title=glyphs on cortex-m4::instructions")
    assert (folder / "summary.md").read_text() == (folder / "m.md").read_text()
    assert f"`{cause}`" in (folder / "m.md").read_text()
    failures = ET.parse(folder / "j.xml").findall(".//failure")  # noqa: S314 - our own file
    assert len(failures) == 1
    assert cause in (failures[0].text or "")
    (found,) = json.loads((folder / "s.json").read_text())["runs"][0]["results"]
    assert found["ruleId"] == "kibi/instructions"
    assert cause in found["message"]["text"]
    place = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place == f"{folder.name}/kibi.toml"
    assert (folder / "kibi-baseline.json").read_bytes() == before


def test_damaged_baseline_is_refused_and_can_be_written_anew(kibi: Kibi, project: Project) -> None:
    """It is complete or as it was."""
    folder = project()
    path = folder / "kibi-baseline.json"
    path.write_text('{"format": 1')
    done = kibi("check", "--no-oracle")
    assert (done.code, done.out) == (4, "")
    assert "the baseline is damaged" in done.err
    assert kibi("check", "--write", "--no-oracle").code == 0
    assert json.loads(path.read_text())["format"] == 1


def test_model_that_cannot_be_measured_is_told_beside_those_that_can(kibi: Kibi, project: Project) -> None:
    """The exit code is that of its error, and no baseline is written without it."""
    folder = project("", "", '[[model]]\npath = "gone.tflite"\n')
    done = kibi("check", "--no-oracle", "--write", "--junit", "j.xml")
    assert done.code == 3
    assert "gone cortex-m4 not measured" in _words(done.out)
    assert "glyphs cortex-m4 RAM 3,212" in _words(done.out)
    assert "1 not measured" in done.err
    assert ET.parse(folder / "j.xml").findall(".//error[@type='ModelError']")  # noqa: S314 - our own file
    assert not (folder / "kibi-baseline.json").exists()


def test_accuracy_longest_step_and_equal_bits_are_measured_where_they_are_asked_for(
    kibi: Kibi, project: Project
) -> None:
    """Each engine that was compared is named."""
    folder = project(
        'data = "samples.npz"\nruns = 1', 'accuracy = 0.9\nlongest_step = "9k"\nequal_bits = true\nstack = 290'
    )
    shutil.copy(Path(demo.__file__).with_name("samples.npz"), folder)
    done = kibi("check", "--json", "--no-oracle")
    assert done.code == 16
    figures = {each["name"]: each for each in done.record["results"][0]["figures"]}
    assert (figures["accuracy"]["value"], figures["equal_bits"]["verdict"]) == (1.0, "holds")
    assert "host C" in figures["equal_bits"]["note"]
    assert (
        "longest step 10,090 is 1,090 instructions over the budget of 9,000: step " in figures["longest_step"]["reason"]
    )
    assert figures["stack"]["reason"] == "stack 292 is 2 bytes over the budget of 290"


def test_accuracy_without_labels_is_an_error_not_a_pass(kibi: Kibi, project: Project) -> None:
    """A gate that cannot look does not open."""
    import numpy as np  # noqa: PLC0415 - here alone

    folder = project('data = "unlabelled.npy"', "accuracy = 0.9")
    np.save(folder / "unlabelled.npy", np.zeros((2, 28, 28, 1), np.int8))
    done = kibi("check", "--no-oracle")
    assert done.code == 4
    assert "the accuracy is unknown" in done.out


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("--github", "--json"), 2, "both write to standard output"),
        (("no-such.toml",), 4, "no-such.toml"),
        (("--junit", "."), 9, "is a folder"),
    ],
)
def test_what_makes_no_sense_is_refused(
    kibi: Kibi, project: Project, words: tuple[str, ...], code: int, problem: str
) -> None:
    """As everywhere."""
    project()
    done = kibi("check", "--no-oracle", *words)
    assert done.code == code
    assert problem in done.err


def test_unknown_key_is_refused_before_anything_is_measured(kibi: Kibi, project: Project) -> None:
    """With a similar name."""
    project("", "rom = 3")
    done = kibi("check")
    assert (done.code, done.out) == (4, "")
    assert "there is no key 'rom'. Did you mean 'ram'" in done.err


def test_names_of_models_are_no_commands_to_github(kibi: Kibi, project: Project) -> None:
    """Whatever kibi.toml says, lines that begin with colons are read as text until the token comes."""
    project('name = "::add-mask::x"', "ram = 1")
    lines = kibi("check", "--no-oracle", "--github").out.splitlines()
    stops = [number for number, line in enumerate(lines) if line.startswith("::stop-commands::")]
    ends = [number for number, line in enumerate(lines) if line == f"::{lines[stops[0]].split('::')[2]}::"]
    masks = [number for number, line in enumerate(lines) if line.startswith("::add-mask")]
    assert masks
    assert all(stops[0] < number < ends[0] for number in masks)
