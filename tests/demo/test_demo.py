"""The shipped model and its samples are what they are said to be."""

import importlib.util
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import tflite
from numpy.typing import NDArray
from PIL import Image

from kibi import demo

SIDE = 28

# Runs in a child process: TFLM's Python build may end the process instead of raising.
CLASSIFY = """
import sys
import numpy as np
from tflite_micro.python.tflite_micro import runtime

interpreter = runtime.Interpreter.from_file(sys.argv[1], arena_size=100_000)
for image in np.load(sys.argv[2]):
    interpreter.set_input((image.astype(np.int16) - 128).astype(np.int8)[None, ..., None], 0)
    interpreter.invoke()
    print(int(np.argmax(interpreter.get_output(0))))
"""


def _model() -> tflite.Model:
    return tflite.Model.GetRootAs(demo.model_path().read_bytes(), 0)


def test_model_size_is_that_of_a_small_network() -> None:
    """The model fits a microcontroller: 8 to 20 kB."""
    assert 8_000 <= demo.model_path().stat().st_size <= 20_000


def test_model_operators_cover_the_memory_planner_s_cases() -> None:
    """The model has convolutions, depthwise ones, a residual, pooling and a classifier, and no shape arithmetic."""
    model = _model()
    graph = model.Subgraphs(0)
    names = {code: name for name, code in vars(tflite.BuiltinOperator).items() if isinstance(code, int)}
    codes = [model.OperatorCodes(graph.Operators(i).OpcodeIndex()) for i in range(graph.OperatorsLength())]
    assert Counter(names[code.BuiltinCode()] for code in codes) == {
        "CONV_2D": 5,
        "DEPTHWISE_CONV_2D": 4,
        "MAX_POOL_2D": 1,
        "ADD": 1,
        "MEAN": 1,
        "FULLY_CONNECTED": 1,
        "SOFTMAX": 1,
    }


def test_model_ends_are_int8_in_the_documented_quantization() -> None:
    """A pixel's byte minus 128 is the model's input, and its output counts in 256ths, as the package says."""
    graph = _model().Subgraphs(0)
    image, probabilities = graph.Tensors(graph.Inputs(0)), graph.Tensors(graph.Outputs(0))
    for tensor, shape, scale in ((image, [1, SIDE, SIDE, 1], 1 / 255), (probabilities, [1, 10], 1 / 256)):
        assert tensor.Type() == tflite.TensorType.INT8
        assert tensor.ShapeAsNumpy().tolist() == shape
        assert tensor.Quantization().ScaleAsNumpy() == pytest.approx([scale])
        assert tensor.Quantization().ZeroPointAsNumpy().tolist() == [-128]


def test_model_weights_of_each_convolution_are_quantized_per_channel() -> None:
    """Each convolution's weights have one scale per output channel."""
    graph = _model().Subgraphs(0)
    tensors = [graph.Tensors(i) for i in range(graph.TensorsLength())]
    weights = [tensor for tensor in tensors if tensor.Name().endswith((b"stem/weights", b"wise/weights"))]
    channels = [max(tensor.Shape(0), tensor.Shape(3) if tensor.Shape(0) == 1 else 0) for tensor in weights]
    assert len(weights) == 9
    assert [tensor.Quantization().ScaleLength() for tensor in weights] == channels


def test_model_file_says_nothing_of_the_machine_that_made_it() -> None:
    """The converter's record of its run is not shipped, and neither is any path."""
    assert _model().MetadataLength() == 0
    assert not any(word in demo.model_path().read_bytes() for word in (b"/tmp", b"/home", b"/root", b"/work"))


def test_samples_are_one_image_of_each_digit() -> None:
    """The samples are ten different grey images, one per label, in few bytes."""
    images, labels = demo.samples()
    assert images.dtype == np.uint8
    assert images.shape == (10, SIDE, SIDE)
    assert labels.dtype == np.int64
    assert labels.tolist() == list(range(len(demo.labels)))
    assert len({image.tobytes() for image in images}) == 10
    assert (demo.model_path().parent / "samples.npz").stat().st_size < 10_000


def test_pictures_are_small_grey_images() -> None:
    """The PNG files are grey; the seven is the sample of that digit, the three is larger than the model's input."""
    with Image.open(demo.picture_paths()[0]) as seven, Image.open(demo.picture_paths()[1]) as three:
        assert (seven.mode, three.mode) == ("L", "L")
        assert np.array_equal(np.asarray(seven), demo.samples()[0][7])
        assert three.size == (4 * SIDE, 4 * SIDE)


def _shrunk(path: Path) -> NDArray[np.uint8]:
    """A picture at the model's resolution, [28, 28]."""
    with Image.open(path) as picture:
        return np.asarray(picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR))


@pytest.mark.oracle
def test_samples_under_the_oracle_are_read_right(tmp_path: Path) -> None:
    """TFLM reads at least nine of the ten samples as what they are, and both pictures."""
    if importlib.util.find_spec("tflite_micro") is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("tflite_micro is not installed")
    images, labels = demo.samples()
    pictures = [_shrunk(path) for path in demo.picture_paths()]
    np.save(tmp_path / "images.npy", np.stack([*images, *pictures]))
    command = [sys.executable, "-c", CLASSIFY, str(demo.model_path()), str(tmp_path / "images.npy")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    answers = [int(line) for line in done.stdout.split()]
    assert sum(answer == label for answer, label in zip(answers[:10], labels, strict=True)) >= 9
    assert answers[10:] == [7, 3]
