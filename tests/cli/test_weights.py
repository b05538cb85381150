"""`--weights rice` codes weights, and every verb says what that saves and costs."""

from pathlib import Path

import pytest

from tests.cli.conftest import Kibi
from tests.support.dense_models import dense_network

_KERNEL = "kibi_fully_connected_s8_rice"


@pytest.fixture
def dense(tmp_path: Path) -> Path:
    """A convolution, whose weights are read again and again, and layers whose weights are worth coding."""
    path = tmp_path / "dense.tflite"
    path.write_bytes(dense_network(has_convolution=True))
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A layer that saves less than the decoder takes."""
    path = tmp_path / "small.tflite"
    path.write_bytes(dense_network((24, 24)))
    return path


def test_compile_shows_what_each_layer_saves(kibi: Kibi, dense: Path, tmp_path: Path) -> None:
    """Text and record agree; the library has the kernel, and its files name the option."""
    folder = tmp_path / "library"
    record = kibi("compile", dense, "--weights", "rice", "-o", folder, "--json").record["coded_weights"][0]
    done = kibi("compile", dense, "--weights", "rice", "-o", folder)
    convolution, *layers = record["layers"]
    assert not convolution["is_coded"]
    assert all(layer["is_coded"] for layer in layers)
    for layer in layers:
        assert layer["raw_bytes"] - layer["coded_bytes"] == layer["saved_bytes"] > 0
        figures = (f"{layer[name]:,}" for name in ("raw_bytes", "coded_bytes", "saved_bytes"))
        assert [layer["label"], *figures, "coded"] in [line.split("  ") for line in _spaced(done.out)]
    assert sum(layer["saved_bytes"] for layer in layers) == record["saved_bytes"] > record["decoder_bytes"]
    assert "as they are: an inference reads each weight 16 times" in done.out
    assert convolution["saved_bytes"] < 0
    assert "because each time it would be decoded again. Coding all of them would save nothing." in done.out
    assert (
        f"save {record['saved_bytes']:,} bytes; the code that decodes them takes {record['decoder_bytes']}" in done.out
    )
    assert (folder / "kernels" / f"{_KERNEL}.c").exists()
    assert "--weights rice" in (folder / "dense.c").read_text()[:400]


def _spaced(text: str) -> list[str]:
    """Lines in which cells are two blanks apart."""
    return ["  ".join(cell.strip() for cell in line.split("  ") if cell.strip()) for line in text.splitlines()]


def test_measure_counts_instructions_before_and_after(kibi: Kibi, dense: Path) -> None:
    """The record has both for each coded layer and in total, and they are those of the two measurements."""
    plain = kibi("measure", dense, "--json", "--no-oracle").record
    done = kibi("measure", dense, "--weights", "rice", "--json", "--no-oracle")
    found, coded = done.record, done.record["coded_weights"]
    assert "coded_weights" not in plain
    assert (coded["instructions_before"], coded["instructions"]) == (plain["instructions"], found["instructions"])
    assert (coded["flash_bytes_before"], coded["flash_bytes"]) == (plain["flash_bytes"], found["flash_bytes"])
    assert found["flash_bytes"] < plain["flash_bytes"]
    for layer in coded["layers"]:
        if layer["is_coded"]:
            assert layer["instructions_before"] == plain["ops"][layer["node"]]["instructions"]
            assert layer["instructions"] == found["ops"][layer["node"]]["instructions"]
    text = kibi("measure", dense, "--weights", "rice", "--no-oracle").out
    assert f"flash {plain['flash_bytes']:,} to {found['flash_bytes']:,} bytes" in text
    assert f"instructions {plain['instructions']:,} to {found['instructions']:,}" in text


def test_model_that_saves_too_little_is_left_as_it_is(kibi: Kibi, small: Path, tmp_path: Path) -> None:
    """The command says why, and writes what it writes without the option."""
    done = kibi("compile", small, "--weights", "rice", "-o", tmp_path / "coded")
    assert "bytes, and the decoder takes 548" in done.out
    assert "No weights are coded." in done.out
    assert not (tmp_path / "coded" / "kernels" / f"{_KERNEL}.c").exists()
    record = kibi("measure", small, "--weights", "rice", "--json", "--no-oracle").record["coded_weights"]
    assert record["saved_bytes"] == 0
    assert "instructions" not in record


def test_plan_with_coded_weights_can_be_saved_and_compiled(kibi: Kibi, dense: Path, tmp_path: Path) -> None:
    """The saved plan names the kernels; an option cannot change them."""
    saved = tmp_path / "plan.json"
    record = kibi("plan", dense, "--weights", "rice", "--json", "--no-longest-step").record
    assert record["kernels"].count(_KERNEL) == 4
    assert record["coded_weights"]["saved_bytes"] > 0
    shown = kibi("plan", dense, "--weights", "rice", "-o", saved, "--no-longest-step")
    assert "Coded weights save" in shown.out
    assert kibi("compile", dense, "--plan", saved, "-o", tmp_path / "library").code == 0
    assert (tmp_path / "library" / "kernels" / f"{_KERNEL}.c").exists()
    done = kibi("compile", dense, "--plan", saved, "--weights", "rice", "-o", tmp_path / "library")
    assert done.code != 0
    assert "is a plan already, so that --weights rice cannot change it" in done.err


def test_plan_file_and_core_take_coded_weights(kibi: Kibi, dense: Path, tmp_path: Path) -> None:
    """A core for the model has the kernel, and verification covers the file."""
    core = kibi("core", dense, "--weights", "rice", "-o", tmp_path / "core", "--json").record
    assert _KERNEL in {each["name"] for each in core["kernels"]}
    file = tmp_path / "dense.kibi"
    done = kibi("compile", dense, "--weights", "rice", "--format", "plan", "-o", file, "--core", tmp_path / "core")
    assert "Coded weights save" in done.out
    plain = tmp_path / "plain.kibi"
    kibi("compile", dense, "--format", "plan", "-o", plain)
    assert file.stat().st_size < plain.stat().st_size
    found = kibi("verify", dense, "--weights", "rice", "--format", "plan", "--runs", "1", "--json", "--no-oracle")
    assert (found.code, found.record["differences"]) == (0, [])


def test_layers_that_are_read_again_have_what_they_would_save(kibi: Kibi, tmp_path: Path) -> None:
    """Of several vectors with narrow weights it is much, and yet they stay."""
    path = tmp_path / "batch.tflite"
    path.write_bytes(dense_network((64, 64), batch=2))
    done = kibi("compile", path, "--weights", "rice", "-o", tmp_path / "library", "--json")
    ((layer,),) = (each["layers"] for each in done.record["coded_weights"])
    assert (layer["reads"], layer["is_coded"]) == (2, False)
    share = f"{layer['saved_bytes'] / layer['raw_bytes']:.1%}"
    text = f"would save {layer['saved_bytes']:,} of {layer['raw_bytes']:,} bytes, {share}."
    assert text in kibi("compile", path, "--weights", "rice", "-o", tmp_path / "library").out


@pytest.mark.parametrize("verb", ["compile", "core", "measure", "plan", "verify"])
def test_weights_of_another_name_are_refused(kibi: Kibi, dense: Path, tmp_path: Path, verb: str) -> None:
    """The text lists the names."""
    words = ["-o", tmp_path / "library"] if verb in ("compile", "core") else []
    done = kibi(verb, dense, "--weights", "zip", *words)
    assert (done.code, done.out) == (kibi("plan", dense, "--goal", "zip").code, "")
    assert "weights cannot be stored as 'zip'. They can be: flash, rice, read:NAME" in done.err
