"""`kibi inspect` says what is in a model, or what stands in its way."""

from pathlib import Path

import pytest

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.cli.conftest import Kibi


def test_inspect_of_the_shipped_model_shows_operators_and_totals(kibi: Kibi, glyphs: Path) -> None:
    """Each operator has its shapes, quantization, arithmetic and weights, and the totals are their sums."""
    done = kibi("inspect", glyphs)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    first = next(line for line in lines if line.lstrip().startswith("0 "))
    assert first.split() == [
        *("0", "CONV_2D", "SAME,", "RELU", "8x3x3x1", "int8", "1x28x28x8", "int8", "0.020365", "-128", "56,448", "104")
    ]
    assert lines[-1].split() == ["total", "413,648", "4,448"]
    assert "a scale for each channel in 9 operators" in done.out
    assert not any(line.endswith(" ") for line in lines)


def test_inspect_as_json_holds_every_fact(kibi: Kibi, glyphs: Path) -> None:
    """Programs get ends, attributes, operands and quantization, per channel too."""
    done = kibi("inspect", glyphs, "--json")
    record = done.record
    assert (done.code, done.err) == (0, "")
    assert (record["model"], record["source"]) == ("glyphs", "glyphs.tflite")
    assert record["inputs"][0]["shape"] == [1, 28, 28, 1]
    assert record["outputs"][0]["quantization"] == {"scales": [1 / 256], "zero_points": [-128], "axis": None}
    assert record["macs"] == sum(operator["macs"] for operator in record["operators"])
    pool = next(operator for operator in record["operators"] if operator["op"] == "MAX_POOL_2D")
    assert pool["attributes"] == {"kernel": [2, 2], "stride": [2, 2], "padding": "VALID", "activation": "NONE"}
    weights = record["operators"][0]["inputs"][1]
    assert (weights["operand"], weights["is_constant"]) == ("filter", True)
    assert len(weights["quantization"]["scales"]) == 8


def test_inspect_of_a_model_with_unsupported_operators_lists_all_of_them(kibi: Kibi, tmp_path: Path) -> None:
    """One error names every operator that is unsupported, and what is supported."""
    builder = ModelBuilder()
    x = builder.input([1, 4], DType.S8, 0.1, 0)
    for operator in ("BUCKETIZE", "COMPLEX_ABS", "RFFT2D"):
        y = builder.tensor([1, 4], DType.S8, 0.1, 0)
        builder.operator(operator, [x], [y])
        x = y
    path = tmp_path / "strange.tflite"
    path.write_bytes(builder.finish(outputs=[x]))
    done = kibi("inspect", path, "--json")
    assert (done.code, done.out) == (3, "")
    assert "strange.tflite: 3 problems" in done.err
    assert all(operator in done.err for operator in ("BUCKETIZE", "COMPLEX_ABS", "RFFT2D", "kibi operators"))


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        (b"", "the file is empty"),
        (b"A model that wakes up.\n", "it is a text file"),
        (b"\x08\x08\x12\x07pytorch\x1a\x052.1.0:\x10\n\x04\n\x01x\x12\x01y", "ONNX"),
        (b"cut", "problem"),
    ],
    ids=["empty", "text", "onnx", "short"],
)
def test_inspect_of_what_is_no_model_says_what_it_is(
    kibi: Kibi, tmp_path: Path, contents: bytes, expected: str
) -> None:
    """The error names the file and its nature, without a traceback."""
    path = tmp_path / "thing.tflite"
    path.write_bytes(contents)
    done = kibi("inspect", path)
    assert (done.code, done.out) == (3, "")
    assert str(path) in done.err or path.name in done.err
    assert expected in done.err
    assert "Traceback" not in done.err


def test_inspect_of_a_truncated_model_is_an_error(kibi: Kibi, tmp_path: Path, glyphs: Path) -> None:
    """Half of a model is no model."""
    path = tmp_path / "half.tflite"
    path.write_bytes(glyphs.read_bytes()[:3000])
    done = kibi("inspect", path)
    assert (done.code, done.out) == (3, "")
    assert "half.tflite" in done.err


def test_inspect_of_a_missing_file_or_a_folder_is_an_error(kibi: Kibi, tmp_path: Path) -> None:
    """Neither is a model, and each is told apart."""
    missing, folder = kibi("inspect", tmp_path / "absent.tflite"), kibi("inspect", tmp_path)
    assert (missing.code, folder.code) == (3, 3)
    assert "there is no such file" in missing.err
    assert "it is a folder" in folder.err


def test_inspect_of_names_that_steer_terminals_prints_none_of_them(kibi: Kibi, tmp_path: Path) -> None:
    """A model's names reach the terminal without control characters, on both streams."""
    builder = ModelBuilder()
    x = builder.input([1, 4], DType.S8, 0.1, 0, name="in\x1b[2J[bold]x")
    y = builder.tensor([1, 4], DType.S8, 0.1, 0, name="out\x1b]0;owned\x07")
    builder.operator("RELU", [x], [y])
    path = tmp_path / "evil.tflite"
    path.write_bytes(builder.finish(outputs=[y]))
    for verb in ("inspect", "plan"):
        done = kibi(verb, path)
        assert done.code == 0
        assert "\x1b" not in done.out + done.err
        assert "[bold]x" in done.out


def test_inspect_shows_signatures(kibi: Kibi, two_ways: Path) -> None:
    """Each with its name, the names of its inputs and outputs, and the graph that it runs."""
    lines = [line.split() for line in kibi("inspect", two_ways).out.splitlines()]
    assert ["signature", "clip:", "x", "->", "clipped,", "of", "subgraph", "0"] in lines
    assert ["signature", "size:", "x", "->", "magnitude,", "of", "subgraph", "1"] in lines
    wanted = {"name": "size", "subgraph": 1, "inputs": {"x": 0}, "outputs": {"magnitude": 1}}
    assert kibi("inspect", two_ways, "--json").record["signatures"][1] == wanted


def test_signature_option_chooses_the_graph_for_every_verb(kibi: Kibi, two_ways: Path, tmp_path: Path) -> None:
    """All verbs that load a model take it; an unknown name ends in the exit code of a model that cannot be loaded."""
    inspected = kibi("inspect", two_ways, "--signature", "size", "--json").record
    assert [operator["op"] for operator in inspected["operators"]] == ["ABS"]
    assert kibi("plan", two_ways, "--signature", "size", "--json").record["model"] == "two_ways_size"
    done = kibi("compile", two_ways, "--signature", "size", "--output", tmp_path / "library")
    assert done.code == 0
    assert "--signature size" in (tmp_path / "library" / "two_ways_size.c").read_text()
    done = kibi("plan", two_ways, "--signature", "square")
    assert (done.code, "there are: 'clip', 'size'" in done.err) == (3, True)
    assert kibi("plan", two_ways, "--signature", "size", "--use-embedded-plan").code != 0
