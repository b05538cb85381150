"""`kibi convert`: what it writes and says."""

from pathlib import Path

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.cli.conftest import Kibi
from tests.frontends.models import classifier
from tests.frontends.tflite.test_normal_form import float16_model


def test_convert_says_what_changed(kibi: Kibi, tmp_path: Path) -> None:
    """As text and as JSON; the file that it writes needs no change."""
    (tmp_path / "m.tflite").write_bytes(float16_model())
    done = kibi("convert", tmp_path / "m.tflite", "-o", tmp_path / "n.tflite")
    assert (done.code, done.err) == (0, "")
    assert "1 constants of float16 became float32" in done.out
    record = kibi("convert", tmp_path / "n.tflite", "-o", tmp_path / "o.tflite", "--json").record
    assert (record["buffers_inlined"], record["float16_constants"], record["hybrid_constants"]) == (0, 0, 0)
    assert record["bytes"] == (tmp_path / "o.tflite").stat().st_size
    assert (tmp_path / "n.tflite").read_bytes() == (tmp_path / "o.tflite").read_bytes()


def test_convert_of_what_is_no_model_writes_nothing(kibi: Kibi, tmp_path: Path) -> None:
    """The exit code is that of a model that cannot be used."""
    (tmp_path / "m.h").write_text("int a;")
    done = kibi("convert", tmp_path / "m.h", "-o", tmp_path / "n.tflite")
    assert done.code == 3
    assert not (tmp_path / "n.tflite").exists()


def test_convert_fixes_the_open_shape_of_a_tflite_file(kibi: Kibi, tmp_path: Path) -> None:
    """And says how many shapes follow."""
    builder = ModelBuilder()
    x = builder.tensor([1, 1, 4], DType.F32, name="x", shape_signature=[1, -1, 4])
    y = builder.tensor([1, 1, 4], DType.F32, name="y", shape_signature=[1, -1, 4])
    builder.operator("RELU", [x], [y])
    path, made = tmp_path / "open.tflite", tmp_path / "fixed.tflite"
    path.write_bytes(builder.finish([y], [x]))
    done = kibi("convert", path, "-o", made)
    assert done.code == 3
    assert "The size of its axis 1 is unknown" in done.err
    assert "--shape x=1,1,4" in done.err
    done = kibi("convert", path, "-o", made, "--shape", "x=1,16,4", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.record["notes"] == ["shapes that follow from those that were given: 1"]
    assert kibi("plan", "--no-longest-step", made, "--json").code == 0


def test_quantized_ends_are_taken_by_verbs_and_files(kibi: Kibi, tmp_path: Path) -> None:
    """A quarter of the input's bytes; the command in the C says so, and the file that `convert` writes plans alike."""
    path = tmp_path / "floats.tflite"
    path.write_bytes(classifier())
    ends = ("--input", "quantized", "--quantized-outputs")
    stored = kibi("plan", "--no-longest-step", path, "--json").record["arena_bytes"]
    assert stored >= 4 * 64
    taken = kibi("plan", "--no-longest-step", path, *ends, "--json").record["arena_bytes"]
    assert taken < stored
    assert (
        kibi("plan", "--no-longest-step", path, "--input", "streamed,quantized", "--json").record["input"] == "streamed"
    )
    library = tmp_path / "library"
    assert kibi("compile", path, *ends, "-o", library).code == 0
    header = (library / "floats.h").read_text(encoding="utf-8")
    assert "kibi compile floats.tflite --target cortex-m4 --input quantized --quantized-outputs" in header
    assert "[1, 8, 8, 1] int8" in header
    assert kibi("compile", path, "--input", "streamed,quantized", "-o", tmp_path / "rows").code == 0
    rows = (tmp_path / "rows" / "floats.h").read_text(encoding="utf-8")
    assert "kibi compile floats.tflite --target cortex-m4 --input quantized,streamed */" in rows
    assert kibi("convert", path, *ends, "-o", tmp_path / "integers.tflite").code == 0
    assert kibi("plan", "--no-longest-step", tmp_path / "integers.tflite", "--json").record["arena_bytes"] == taken


def test_ends_that_cannot_be_integers_end_in_a_reason(kibi: Kibi, tmp_path: Path) -> None:
    """The operator is named, and nothing is written."""
    path, builder = tmp_path / "relu.tflite", ModelBuilder()
    x, y = builder.input([1, 4], DType.F32, name="x"), builder.tensor([1, 4], DType.F32, name="y")
    builder.operator("RELU", [x], [y])
    path.write_bytes(builder.finish(outputs=[y]))
    for verb in (("plan",), ("convert", "-o", tmp_path / "out.tflite"), ("compile", "-o", tmp_path / "out")):
        done = kibi(verb[0], path, "--input", "quantized", *verb[1:])
        assert done.code == 3
        assert "input 'x' is read as float32 by RELU" in done.err
    assert [each.name for each in tmp_path.iterdir()] == ["relu.tflite"]
    done = kibi("convert", path, "--input", "streamed", "-o", tmp_path / "out.tflite")
    assert done.code == 4
    assert "Give quantized, or leave it out" in done.err


def test_ways_of_handing_over_are_checked_beside_quantized(kibi: Kibi) -> None:
    """An unknown one, and two at once; before the model is read."""
    done = kibi("plan", "never-read.tflite", "--input", "quantized,flying")
    assert "inputs cannot be 'flying'. They can be: stored, streamed, external; and quantized" in done.err
    done = kibi("plan", "never-read.tflite", "--input", "stored,external")
    assert "inputs cannot be stored and external at once" in done.err
