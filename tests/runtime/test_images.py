"""Images become inputs by one documented rule."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from kibi import demo, load
from kibi.arrays.images import image_array, pixel_values, read_image
from kibi.dtypes import Array, DType
from kibi.errors import InputError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph

ALL_PIXELS = np.arange(256, dtype=np.uint8)


def _model(shape: list[int], scale: float, zero_point: int) -> Graph:
    builder = ModelBuilder()
    x = builder.input(shape, DType.S8, scale, zero_point, name="x")
    y = builder.tensor(shape, DType.S8, scale, zero_point)
    builder.operator("RELU", [x], [y])
    return parse_tflite(builder.finish(outputs=[y]), "m.tflite")


def _floats(scale: float, zero_point: int) -> Graph:
    """A float input that is quantized first."""
    builder = ModelBuilder()
    x = builder.input([1, 16, 16, 1], DType.F32, name="x")
    y = builder.tensor([1, 16, 16, 1], DType.S8, scale, zero_point)
    builder.operator("QUANTIZE", [x], [y])
    return parse_tflite(builder.finish(outputs=[y]), "m.tflite")


def _read(graph: Graph, path: Path) -> Array:
    return read_image(graph, path, graph.tensors[graph.inputs[0]])


def _save(path: Path, pixels: NDArray[np.uint8], mode: str | None = None) -> Path:
    image = Image.fromarray(pixels)
    (image if mode is None else image.convert(mode)).save(path)
    return path


@pytest.mark.parametrize(
    ("real_range", "values"),
    [
        ((0.0, 1.0), (0.0, 128 / 255, 1.0)),
        ((0.0, 0.944), (0.0, 128 / 255, 1.0)),
        ((-1.0, 1.0), (-1.0, 128 / 127.5 - 1, 1.0)),
        ((-1.004, 0.992), (-1.0, 128 / 127.5 - 1, 1.0)),
        ((0.0, 255.0), (0.0, 128.0, 255.0)),
        ((-128.0, 127.0), (0.0, 128.0, 255.0)),
        ((0.0, 6.2), (0.0, 128.0, 255.0)),
        (None, (0.0, 128.0, 255.0)),
    ],
)
def test_pixel_values_follow_the_range_of_the_input(
    real_range: tuple[float, float] | None, values: tuple[float, ...]
) -> None:
    """About [0, 1] and about [-1, 1] are recognised; everything else takes the pixel itself."""
    assert pixel_values(np.array([0, 128, 255], np.uint8), real_range) == pytest.approx(values, abs=1e-6)


def test_image_array_of_the_shipped_model_is_the_pixel_minus_128() -> None:
    """Every grey value, exactly."""
    graph = load(demo.model_path())
    pixels = np.resize(ALL_PIXELS, 28 * 28)
    array = image_array(graph, graph.tensors[graph.inputs[0]], pixels)
    assert array.dtype == np.int8
    assert np.array_equal(array.reshape(-1), pixels.astype(np.int16) - 128)


@pytest.mark.parametrize(("scale", "zero_point"), [(1 / 127.5, -1), (1.0, -128), (1 / 255, -128)])
def test_image_array_of_the_usual_quantizations_is_the_pixel_minus_128(scale: float, zero_point: int) -> None:
    """Trained on [-1, 1], on [0, 255] or on [0, 1], calibration maps black and white to the ends of the type."""
    graph = _model([1, 16, 16, 1], scale, zero_point)
    array = image_array(graph, graph.tensors[graph.inputs[0]], ALL_PIXELS)
    assert np.array_equal(array.reshape(-1), ALL_PIXELS.astype(np.int16) - 128)


def test_image_array_of_a_float_input_follows_what_it_is_quantized_to() -> None:
    """The first quantized tensor says what a pixel means."""
    unit = _floats(1 / 255, -128)
    raw = _floats(1.0, -128)
    for graph, divisor in ((unit, 255), (raw, 1)):
        array = image_array(graph, graph.tensors[graph.inputs[0]], ALL_PIXELS)
        assert array.dtype == np.float32
        assert array.reshape(-1) == pytest.approx(ALL_PIXELS / divisor)


def test_read_image_of_colours_keeps_them_in_order(tmp_path: Path) -> None:
    """Red, green, blue, row by row; a grey model sees their luminance."""
    pixels = np.zeros((2, 3, 3), np.uint8)
    pixels[0, 0], pixels[1, 2] = (255, 10, 20), (1, 2, 3)
    path = _save(tmp_path / "x.bmp", pixels)
    assert np.array_equal(_read(_model([1, 2, 3, 3], 1.0, -128), path)[0], pixels.astype(np.int16) - 128)
    grey = _read(_model([1, 2, 3, 1], 1.0, -128), path)
    assert grey[0, 0, 0, 0] == round(0.299 * 255 + 0.587 * 10 + 0.114 * 20) - 128


def test_read_image_of_another_size_is_resized_to_height_and_width(tmp_path: Path) -> None:
    """The left half black and the right half white stay so, whatever the proportions."""
    pixels = np.zeros((40, 60), np.uint8)
    pixels[:, 30:] = 255
    array = _read(_model([1, 5, 8, 1], 1.0, -128), _save(tmp_path / "x.png", pixels))[0, :, :, 0]
    assert (array[:, :3] == -128).all()
    assert (array[:, 5:] == 127).all()


def test_read_image_with_transparency_sees_it_on_white(tmp_path: Path) -> None:
    """What lies under a transparent pixel does not show; half of it shows half."""
    pixels = np.zeros((1, 3, 4), np.uint8)
    pixels[0, :, 3] = (255, 0, 128)
    array = _read(_model([1, 1, 3, 1], 1.0, -128), _save(tmp_path / "x.png", pixels))
    assert array.reshape(-1).tolist() == [-128, 127, -1]


def test_read_image_of_a_palette_or_of_bits_is_read_as_it_looks(tmp_path: Path) -> None:
    """Stored indices are no pixels."""
    pixels = np.array([[0, 255], [255, 0]], np.uint8)
    graph = _model([1, 2, 2, 1], 1.0, -128)
    for mode in ("P", "1"):
        array = _read(graph, _save(tmp_path / f"{mode}.png", pixels, mode))
        assert np.array_equal(array[0, :, :, 0], pixels.astype(np.int16) - 128)


def test_read_image_of_more_than_8_bits_is_refused(tmp_path: Path) -> None:
    """Such pixels would be clipped, not scaled."""
    path = tmp_path / "deep.png"
    Image.fromarray(np.full((2, 2), 40000, np.uint16)).save(path)
    with pytest.raises(InputError, match="more than 8 bits"):
        _read(_model([1, 2, 2, 1], 1.0, -128), path)


def test_read_image_of_another_format_is_refused_whatever_its_name(tmp_path: Path) -> None:
    """A JPEG file under the name of a PNG file is not decoded: its decoders do not agree on the bits."""
    path = tmp_path / "photo.png"
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(path, format="JPEG")
    with pytest.raises(InputError, match="no PNG or BMP image"):
        _read(_model([1, 8, 8, 1], 1.0, -128), path)


def test_read_image_cut_short_or_missing_is_refused(tmp_path: Path) -> None:
    """The error says which file."""
    graph = _model([1, 64, 64, 1], 1.0, -128)
    noise = np.random.default_rng(0).integers(0, 256, (64, 64)).astype(np.uint8)
    path = _save(tmp_path / "x.png", noise)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(InputError, match=r"x\.png"):
        _read(graph, path)
    with pytest.raises(InputError, match="No such file"):
        _read(graph, tmp_path / "absent.png")


def test_read_image_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    """A small file that claims to be a huge picture."""
    path = tmp_path / "bomb.png"
    Image.new("1", (12_000, 12_000)).save(path)
    with pytest.raises(InputError, match="too large"):
        _read(_model([1, 2, 2, 1], 1.0, -128), path)


@pytest.mark.parametrize("shape", [[1, 784], [1, 28, 28, 2], [2, 28, 28, 1]])
def test_read_image_for_an_input_that_is_none_is_refused(tmp_path: Path, shape: list[int]) -> None:
    """The error has the shape, and says what to give."""
    path = _save(tmp_path / "x.png", np.zeros((28, 28), np.uint8))
    with pytest.raises(InputError, match=r"\.npy"):
        _read(_model(shape, 1.0, -128), path)
