"""ONNX files at the command line."""

from pathlib import Path

from tests.cli.conftest import Kibi, kibi  # noqa: F401 - a fixture
from tests.support.onnx_models import OnnxBuilder


def _open_model(folder: Path) -> Path:
    b = OnnxBuilder()
    y = b.node("Relu", b.node("Conv", b.input(("batch", 3, 8, 8), name="image"), b.weights(4, 3, 3, 3)))
    path = folder / "small net.onnx"
    path.write_bytes(b.model(str(y)).SerializeToString())
    return path


def test_convert_fixes_a_shape_and_says_which_inputs_are_channels_last(kibi: Kibi, tmp_path: Path) -> None:  # noqa: F811 - the fixture
    """As text and as JSON; the file that it writes is one that every verb takes."""
    path, made = _open_model(tmp_path), tmp_path / "small.tflite"
    done = kibi("convert", path, "-o", made, "--shape", "image=1,3,8,8")
    assert (done.code, done.err) == (0, "")
    assert "'image' is stored channels last" in done.out
    record = kibi("convert", path, "-o", made, "--shape", "image=1,3,8,8", "--json").record
    assert record["notes"][0] == "'image' is stored channels last: its axes are ONNX's [0, 2, 3, 1]"
    assert kibi("plan", made, "--json").code == 0


def test_convert_without_a_shape_names_the_option(kibi: Kibi, tmp_path: Path) -> None:  # noqa: F811 - the fixture
    """What to type is in the text, and nothing is written."""
    done = kibi("convert", _open_model(tmp_path), "-o", tmp_path / "small.tflite")
    assert done.code == 3
    assert "--shape image=1,3,8,8" in done.err
    assert not (tmp_path / "small.tflite").exists()


def test_shape_that_is_no_shape_is_refused(kibi: Kibi, tmp_path: Path) -> None:  # noqa: F811 - the fixture
    """Each with the form that is right."""
    path = _open_model(tmp_path)
    for wrong in ("image", "image=", "=1,2", "image=1,x", "image=1,0", "image=1,-3", "image=1,,3", f"image={1 << 40}"):
        done = kibi("convert", path, "-o", tmp_path / "small.tflite", "--shape", wrong)
        assert done.code == 4, wrong
        assert "for instance x=1,3,96,96" in done.err


def test_plan_takes_an_onnx_file_as_it_is(kibi: Kibi, tmp_path: Path) -> None:  # noqa: F811 - the fixture
    """Where no size is open."""
    b = OnnxBuilder()
    path = tmp_path / "dense.onnx"
    path.write_bytes(b.model(str(b.node("Gemm", b.input((1, 6)), b.weights(6, 3)))).SerializeToString())
    assert kibi("plan", path, "--json").code == 0
