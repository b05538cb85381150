"""`kibi compile --like`: plan files with the layout of an older one."""

import json
from pathlib import Path

import numpy as np
import pytest

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from tests.cli.conftest import Kibi
from tests.engines.networks import residual_bytes


def _model(path: Path, seed: int) -> Path:
    path.write_bytes(residual_bytes(seed=seed))
    return path


def _depthwise(path: Path, scale: float = 0.002) -> Path:
    """A depthwise convolution whose fast kernel needs a small scale of its weights."""
    builder = ModelBuilder()
    image = builder.input([1, 8, 8, 8], DType.S8, 0.05, -128)
    filters = builder.constant(np.full((1, 3, 3, 8), 3, np.int8), [scale] * 8, [0] * 8, axis=3)
    output = builder.tensor([1, 8, 8, 8], DType.S8, 0.04, -128)
    options: dict[str, Attribute] = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "depth_multiplier": 1}
    options["fused_activation_function"] = "RELU"
    builder.operator("DEPTHWISE_CONV_2D", [image, filters, builder.constant(np.zeros(8, np.int32))], [output], options)
    path.write_bytes(builder.finish([output]))
    return path


def test_other_weights_keep_the_layout(kibi: Kibi, tmp_path: Path) -> None:
    """The text says how many bytes differ; so does the record."""
    old, new = tmp_path / "old.kibi", tmp_path / "new.kibi"
    assert kibi("compile", _model(tmp_path / "a.tflite", 0), "--format", "plan", "-o", old).code == 0
    model = _model(tmp_path / "b.tflite", 1)
    done = kibi("compile", model, "--format", "plan", "--like", old, "-o", new)
    assert (done.code, done.err) == (0, "")
    differ = sum(a != b for a, b in zip(old.read_bytes(), new.read_bytes(), strict=True))
    assert f"It has the layout of old.kibi: {differ:,} of {len(new.read_bytes()):,} bytes differ." in done.out
    record = json.loads(kibi("compile", model, "--format", "plan", "--like", old, "-o", new, "--json").out)
    assert record["differing_bytes"] == differ > 0
    assert record["departures"] == []


def test_departures_are_told_with_what_each_way_costs(kibi: Kibi, tmp_path: Path) -> None:
    """Nothing is written until one of the ways is chosen."""
    old, new = tmp_path / "old.kibi", tmp_path / "new.kibi"
    kibi("compile", _depthwise(tmp_path / "a.tflite"), "--format", "plan", "-o", old)
    model = _depthwise(tmp_path / "b.tflite", 0.9)
    done = kibi("compile", model, "--format", "plan", "--like", old, "-o", new)
    assert done.code == 5
    assert "b.tflite cannot keep the layout of old.kibi:" in done.err
    assert "operator 0 (DEPTHWISE_CONV_2D): kibi_depthwise_conv2d_s8_3x3_relu" in done.err
    assert done.err.count("instructions") == 2
    assert not new.exists()
    done = kibi("compile", model, "--format", "plan", "--like", old, "--otherwise", "-o", new)
    assert done.code == 0
    assert "It departs from old.kibi: operator 0" in done.out
    assert new.exists()


@pytest.mark.share(3, part=0)
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--like", "OLD"], "--like is for plan files"),
        (["--format", "plan", "--otherwise"], "Add --like OLD"),
        (["--format", "plan", "--like", "OLD", "--goal", "speed"], "the old file decides on --goal speed"),
        (["--format", "plan", "--like", "OLD", "--without-pass", "all"], "the old file decides on --without-pass all"),
        (["--format", "plan", "--like", "OLD", "--name", "x"], "the old file decides on --name"),
        (["--format", "plan", "--like", "OLD", "--target", "cortex-m0plus"], "is for cortex-m4, not for cortex-m0plus"),
        (["--format", "plan", "--like", "NONE"], "none.kibi"),
    ],
)
def test_contradictions_are_refused(kibi: Kibi, words: list[str], expected: str, tmp_path: Path) -> None:
    """The text says what to leave out; nothing is written."""
    old, new = tmp_path / "old.kibi", tmp_path / "new.kibi"
    model = _model(tmp_path / "a.tflite", 0)
    kibi("compile", model, "--format", "plan", "-o", old)
    places = {"OLD": old, "NONE": tmp_path / "none.kibi"}
    done = kibi("compile", model, *(places.get(word, word) for word in words), "-o", new)
    assert done.code in (4, 5)
    assert expected in done.err
    assert not new.exists()
