"""`kibi quantize`, and the line about float32 models."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer

import kibi
from examples.patterns import Layer, Net, patterns
from kibi import demo
from kibi.cli.options.sizes import byte_count, count
from kibi.errors import DataWarning, InputError, ModelError
from kibi.reports.evaluating import evaluate
from tests.cli.conftest import Kibi


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trained network, and data with labels."""
    folder = tmp_path_factory.mktemp("quantize")
    net = Net([Layer("conv", 6, 3, 2, "RELU"), Layer("dense", 10)], (12, 12, 1))
    net.train(*patterns(600, 1), epochs=6)
    (folder / "net.tflite").write_bytes(net.file())
    pictures, labels = patterns(120, 2)
    np.savez(folder / "data.npz", input=pictures.astype(np.float32), labels=labels)
    return folder


def quantize(kibi_: Kibi, files: Path, output: Path, *words: str, data: str = "data.npz") -> tuple[int, str, str]:
    """The exit code, and what was printed."""
    done = kibi_("quantize", str(files / "net.tflite"), "--data", str(files / data), "-o", str(output), *words)
    return done.code, done.out, done.err


def test_it_writes_a_model_and_says_what_that_costs(kibi: Kibi, files: Path, tmp_path: Path) -> None:
    """Accuracy before and after, costs on the emulated core, and a line for each layer."""
    output = tmp_path / "net_int8.tflite"
    code, out, err = quantize(kibi, files, output)
    assert (code, err) == (0, "")
    lines = {line.split("  ")[0]: line for line in out.splitlines()}
    assert lines["accuracy"].count("%") == 2
    for name in ("RAM", "flash", "instructions"):
        before, after = (int(word.replace(",", "")) for word in lines[name].split() if word[0].isdigit())
        assert after < before
    assert "CONV_2D" in lines


def test_json_has_the_figures_of_the_report(kibi: Kibi, files: Path, tmp_path: Path) -> None:
    """For programs: one object, with both evaluations and the error of each layer."""
    done = kibi(
        *("quantize", str(files / "net.tflite"), "--data", str(files / "data.npz"), "-o", str(tmp_path / "net.tflite")),
        *("--activations", "int16", "--no-measure", "--json"),
    )
    record = done.record
    assert record["activations"] == "int16"
    assert record["bytes"] == (tmp_path / "net.tflite").stat().st_size
    assert [layer["name"] for layer in record["layers"]] == ["CONV_2D", "RESHAPE", "FULLY_CONNECTED", "SOFTMAX"]
    assert {layer["dtype"] for layer in record["layers"]} == {"s16"}
    assert record["before"]["classification"]["accuracy"] == pytest.approx(
        record["after"]["classification"]["accuracy"], abs=0.02
    )
    assert record["costs_before"] is None


def test_weights_of_int4_are_said(kibi: Kibi, files: Path, tmp_path: Path) -> None:
    """How many operators have them, and which; the others have int8."""
    words = ("--no-measure", "--no-evaluate", "--no-improve")
    code, out, err = quantize(kibi, files, tmp_path / "net.tflite", "--int4", "layer1_dense", *words)
    assert (code, err) == (0, "")
    assert "4 compute integers (1 with weights of int4), 0 float32" in out
    lines = {line.split()[0]: line for line in out.splitlines() if line.startswith(("CONV_2D  ", "FULLY_CONNECTED  "))}
    assert "int4" not in lines["CONV_2D"]
    assert "int8, int4 weights" in lines["FULLY_CONNECTED"]
    done = kibi(
        *("quantize", str(files / "net.tflite"), "--data", str(files / "data.npz"), "-o", str(tmp_path / "net.tflite")),
        *("--weights", "int4", "--json", *words),
    )
    assert done.record["int4_operators"] == 2
    assert [layer["is_int4"] for layer in done.record["layers"]] == [True, False, True, False]


@pytest.mark.slow
def test_limits_choose_types_and_the_report_says_them(kibi: Kibi, files: Path, tmp_path: Path) -> None:
    """What is used of each limit, for people and for programs."""
    words = ("--ram", "1.5k", "--flash", "64K", "--no-improve", "--no-evaluate")
    code, out, err = quantize(kibi, files, tmp_path / "net.tflite", *words)
    assert (code, err) == (0, "")
    lines = {line.split("  ")[0]: line for line in out.splitlines()}
    assert re.search(
        r"[\d,]+ of 1,536 bytes of RAM, [\d,]+ of 65,536 bytes of flash; \d+ models tried", lines["limits"]
    )
    done = kibi(
        *("quantize", str(files / "net.tflite"), "--data", str(files / "data.npz"), "-o", str(tmp_path / "net.tflite")),
        *("--json", *words),
    )
    budget = done.record["budget"]
    assert budget["limits"] == {"ram_bytes": 1536, "flash_bytes": 65536, "instructions": None}
    assert budget["used"] == done.record["costs_after"]
    assert budget["used"]["ram_bytes"] <= 1536
    assert [each["name"] for each in budget["types"]] == ["CONV_2D", "RESHAPE", "FULLY_CONNECTED", "SOFTMAX"]
    counts = Counter(each["precision"] for each in budget["types"])
    assert f"as {', '.join(f'{name} ({count})' for name, count in counts.items())}:" in lines["model"]


@pytest.mark.parametrize(
    ("text", "found"), [("8192", 8192), ("8k", 8192), ("1.5k", 1536), ("2M", 2 << 20), ("1g", 1 << 30)]
)
def test_bytes_are_counted_in_powers_of_two(text: str, found: int) -> None:
    """As the memories of devices are."""
    assert byte_count(text) == found


@pytest.mark.parametrize(("text", "found"), [("250", 250), ("250k", 250_000), ("3M", 3_000_000), ("0.5m", 500_000)])
def test_instructions_are_counted_in_powers_of_ten(text: str, found: int) -> None:
    """As everything that is no memory."""
    assert count(text) == found


@pytest.mark.parametrize("text", ["", "k", "-1", "1e3", "٣k", "8 k", "1" * 40, "0.0001"])
def test_other_texts_are_no_sizes(text: str) -> None:
    """The reason shows the text and an example."""
    with pytest.raises(typer.BadParameter, match="is no number of at least 1"):
        byte_count(text)


def test_the_same_inputs_give_the_same_file(files: Path) -> None:
    """Nothing in a quantization is random."""
    made = [kibi.quantize(files / "net.tflite", files / "data.npz", evaluate=False, target=None).data for _ in range(2)]
    assert made[0] == made[1]


def test_data_may_be_a_python_function(files: Path, tmp_path: Path) -> None:
    """It yields inputs, or pairs of input and label; the file is written."""
    pictures, labels = patterns(40, 3)
    items = [(picture.astype(np.float32), int(label)) for picture, label in zip(pictures, labels, strict=True)]
    made = kibi.quantize(files / "net.tflite", lambda: iter(items), tmp_path / "net.tflite", target=None)
    assert made.calibration_inputs == 40
    assert made.after is not None
    assert made.after.classification is not None
    assert made.after.classification.labelled == 40
    assert (tmp_path / "net.tflite").read_bytes() == made.data


def test_pixels_mean_what_is_said(files: Path) -> None:
    """Arrays of uint8 become values from -1 to 1."""
    pixels = np.random.default_rng(0).integers(0, 256, (30, 12, 12, 1)).astype(np.uint8)
    made = kibi.quantize(
        files / "net.tflite", lambda: iter(pixels), pixels="-1..1", evaluate=False, improve=False, target=None
    )
    from kibi.frontends.tflite import parse_tflite  # noqa: PLC0415 - one place

    graph = parse_tflite(made.data, "net.tflite")
    quantization = graph.tensors[graph.inputs[0]].type.quantization
    assert quantization is not None
    assert quantization.scale == pytest.approx(2 / 255, rel=1e-6)


def test_pixels_that_nobody_scaled_are_warned_of(files: Path) -> None:
    """A model that does not scale them itself was hardly trained on values from 0 to 255."""
    pixels = np.random.default_rng(0).integers(0, 256, (30, 12, 12, 1)).astype(np.uint8)
    with pytest.warns(DataWarning, match="whole numbers, as pixels have them"):
        made = kibi.quantize(files / "net.tflite", lambda: iter(pixels), evaluate=False, improve=False, target=None)
    assert len(made.warnings) == 1


@pytest.mark.parametrize(
    ("words", "data", "said"),
    [
        (("--activations", "int4"), "data.npz", "activations cannot be 'int4'. Give int8 or int16."),
        (("--weights", "int2"), "data.npz", "weights cannot be 'int2'. Give int8 or int4."),
        (
            ("--weights", "int4", "--activations", "int16"),
            "data.npz",
            "weights cannot be int4 where activations are int16",
        ),
        (("--int4", "conv9"), "data.npz", "no operator is called 'conv9'"),
        (
            ("--int4", "SOFTMAX"),
            "data.npz",
            "SOFTMAX 'scores' cannot have weights of int4: only CONV_2D and FULLY_CONNECTED",
        ),
        (("--io", "uint8"), "data.npz", "inputs and outputs cannot be 'uint8'. Give integer or float32."),
        (("--pixels", "0..2"), "data.npz", "pixels cannot mean '0..2'"),
        (("--float", "conv9"), "data.npz", "no operator is called 'conv9'"),
        (("--target", "z80"), "data.npz", "z80"),
        (("--ram", "8kk"), "data.npz", "'8kk' is no number of at least 1. Give 8192, 8k or 1M"),
        (("--instructions", "0"), "data.npz", "'0' is no number of at least 1. Give 250000, 250k or 3M"),
        (("--flash", "64k", "--no-measure"), "data.npz", "what fits a limit has to be measured"),
        pytest.param(
            ("--ram", "100", "--no-improve"),
            "data.npz",
            "more than the limit of 100. Give --ram",
            marks=pytest.mark.slow,
        ),
        ((), "none.npz", "none.npz: No such file or directory"),
        ((), "wide.npz", "one input has the shape [5], [1, 12, 12, 1] is required"),
        ((), "nan.npz", "values that are not numbers"),
        ((), "none_inside.npz", "there are no inputs"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else None,
)
def test_wrong_input_ends_in_a_reason_and_writes_nothing(
    kibi: Kibi, files: Path, tmp_path: Path, words: tuple[str, ...], data: str, said: str
) -> None:
    """Options, data of another shape, values that are no numbers, no data."""
    np.savez(files / "wide.npz", input=np.zeros((3, 5), np.float32))
    np.savez(files / "nan.npz", input=np.full((3, 12, 12, 1), np.nan, np.float32))
    np.savez(files / "none_inside.npz", input=np.zeros((0, 12, 12, 1), np.float32))
    code, out, err = quantize(kibi, files, tmp_path / "net.tflite", *words, data=data)
    assert code != 0
    assert out == ""
    assert said in err
    assert list(tmp_path.iterdir()) == []


def test_array_without_memory_for_it_is_refused(files: Path) -> None:
    """Whoever yields a list of an array that takes no memory, such as a broadcast one, asks for a copy that takes terabytes."""
    huge = np.broadcast_to(np.zeros((), np.float32), (1 << 20, 1 << 20))
    with pytest.raises(InputError, match="there is no memory for its elements"):
        kibi.quantize(files / "net.tflite", lambda: iter([[huge]]))


def test_quantized_model_is_refused(files: Path) -> None:
    """With the reason, and what to give instead."""
    with pytest.raises(ModelError, match=r"quantized already.*Give the float32 model"):
        kibi.quantize(demo.model_path(), files / "data.npz")


def test_number_of_inputs_below_one_is_refused(files: Path) -> None:
    """Ranges need at least one."""
    with pytest.raises(InputError, match="calibration inputs is 0"):
        kibi.quantize(files / "net.tflite", files / "data.npz", calibration_inputs=0)


def test_inputs_are_taken_evenly_and_of_a_sequence_the_first_ones(files: Path, tmp_path: Path) -> None:
    """The data of a folder or a file begin with one class; those of a sequence go on from one another."""
    from kibi.quantization.samples import Samples  # noqa: PLC0415 - one place

    values = np.arange(10, dtype=np.float32)
    np.save(tmp_path / "data.npy", np.broadcast_to(values[:, None, None, None], (10, 12, 12, 1)))
    samples = Samples(kibi.load(files / "net.tflite"), tmp_path / "data.npy")
    assert [inputs[0].flat[0] for inputs in samples.chosen(4)] == [0, 3, 6, 9]
    assert [inputs[0].flat[0] for inputs in samples.chosen(4, is_sequence=True)] == [0, 1, 2, 3]
    assert len(samples.chosen(20)) == 10


def test_interrupted_evaluation_ends_all_and_writes_nothing(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while the data run is no reason to write a model of which nothing is known."""
    monkeypatch.setattr("kibi.quantization.job.evaluate", lambda request: replace(evaluate(request), is_complete=False))
    with pytest.raises(KeyboardInterrupt):
        kibi.quantize(files / "net.tflite", files / "data.npz", tmp_path / "net.tflite", improve=False, target=None)
    assert list(tmp_path.iterdir()) == []
