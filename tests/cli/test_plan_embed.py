"""`kibi plan --write-embedded-plan`, `--use-embedded-plan` and `--ascii`."""

from pathlib import Path

import pytest

import kibi as api
from kibi.frontends.tflite.offline_plan import read_offline_plan
from tests.cli.conftest import Kibi
from tests.support.offline_models import branches
from tests.support.zoo import model_path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model whose operators are in a bad order."""
    path = tmp_path / "branches.tflite"
    path.write_bytes(branches())
    return path


def test_embed_writes_a_copy_with_a_plan(kibi: Kibi, model: Path, tmp_path: Path) -> None:
    """The picture is that of the plan, and a sentence says what was gained."""
    out = tmp_path / "out.tflite"
    done = kibi("plan", "--no-longest-step", model, "--write-embedded-plan", out)
    assert (done.code, done.err) == (0, "")
    assert "arena 576 bytes" in done.out
    assert f"{out} carries this plan" in done.out
    assert "in a better order. Without it, its tensors take 768 bytes" in done.out
    assert read_offline_plan(out.read_bytes(), "out") is not None


def test_embedded_plan_can_be_followed(kibi: Kibi, model: Path, tmp_path: Path) -> None:
    """The second command reads what the first one wrote."""
    out = tmp_path / "out.tflite"
    written = kibi("plan", "--no-longest-step", model, "--write-embedded-plan", out, "--json").record
    read = kibi("plan", "--no-longest-step", out, "--use-embedded-plan", "--json").record
    assert read["arena_bytes"] == written["arena_bytes"] == 576
    assert [b["offset"] for b in read["buffers"]] == [b["offset"] for b in written["buffers"]]
    assert (
        api.Plan.from_json(kibi("plan", "--no-longest-step", out, "--use-embedded-plan", "--json").out).arena_bytes
        == 576
    )


def test_ascii_is_in_the_form_of_tflm(kibi: Kibi, model: Path, tmp_path: Path) -> None:
    """Of any plan; the plan alone is on standard output."""
    done = kibi("plan", "--no-longest-step", model, "--ascii")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("0 x: size=256 in 8 pieces, offset=0, ")
    assert done.out.endswith("k)\n")
    embedded = kibi("plan", "--no-longest-step", model, "--write-embedded-plan", tmp_path / "out.tflite", "--ascii").out
    assert "   4: " in embedded


def test_offline_without_a_plan_in_the_file_is_an_error(kibi: Kibi, model: Path) -> None:
    """It says how to get one."""
    done = kibi("plan", model, "--use-embedded-plan")
    assert (done.code, done.out) == (5, "")
    assert "kibi plan --write-embedded-plan" in done.err


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--use-embedded-plan", "-g", "row"), "has no use for granularity"),
        (("--write-embedded-plan", "out.tflite", "--input", "streamed"), "has no use for input"),
        (("--write-embedded-plan", "out.tflite", "--use-embedded-plan"), "Leave one of them out"),
        (("--ascii", "--compare"), "one plan of one model"),
    ],
)
def test_options_that_contradict_are_refused(
    kibi: Kibi, model: Path, options: tuple[str, ...], text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing is written."""
    monkeypatch.chdir(tmp_path)
    done = kibi("plan", model, *options)
    assert (done.code, done.out) == (5, "")
    assert text in done.err
    assert not (tmp_path / "out.tflite").exists()


def test_embed_where_a_folder_lies_is_an_output_error(kibi: Kibi, model: Path, tmp_path: Path) -> None:
    """Nothing is printed as if it had worked."""
    done = kibi("plan", model, "--write-embedded-plan", tmp_path)
    assert (done.code, done.out) == (9, "")


@pytest.mark.zoo
def test_embed_takes_models_that_kibi_does_not_run(kibi: Kibi, tmp_path: Path) -> None:
    """A float model with state in two subgraphs is planned for TFLM all the same."""
    done = kibi(
        "plan", "--no-longest-step", model_path("mww_v1_alexa"), "--write-embedded-plan", tmp_path / "out.tflite"
    )
    assert done.code == 0
    assert "arena 14,208 bytes" in done.out
