"""Images as inputs: which real value a pixel means, and how it becomes an element of a tensor."""

import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.errors import InputError
from kibi.files import read_file
from kibi.ir import Graph, Quantization, Tensor
from kibi.runtime.inputs import quantize_real

IMAGE_SUFFIXES = (".bmp", ".png")
_MOST_FILE_BYTES = 128 << 20
_MODES = {1: "L", 3: "RGB"}
_TOLERANCE = 0.1
"""The greatest distance of the ends of a quantized range from those of [0, 1] or [-1, 1], after calibration."""
_TIE = 2.0**-10
"""The distance from a tie that still counts as halfway: scales are float32, and their error is smaller."""


def read_image(graph: Graph, path: Path, tensor: Tensor) -> Array:
    """Reads an image file as an input: resized to its height and width, grey or RGB as its channels say, then quantized.

    Transparent pixels are seen on white. Resizing is bilinear over the pixels that an output pixel covers.

    Args:
        graph: the model.
        path: a `.png` or `.bmp` file.
        tensor: the input, `[1, H, W, 1]` or `[1, H, W, 3]`.

    Raises:
        InputError: the file is no image, its pixels have more than 8 bits, or the input is no image.
    """
    return image_array(graph, tensor, read_pixels(path, tensor))


def read_pixels(path: Path, tensor: Tensor) -> NDArray[np.uint8]:
    """The pixels of an image file, resized as `read_image` says: 0 (black) to 255 (white), `[H, W]` or `[H, W, 3]`.

    Args:
        path: a `.png` or `.bmp` file.
        tensor: the input, `[1, H, W, 1]` or `[1, H, W, 3]`.

    Raises:
        InputError: as `read_image`.
    """
    shape = tensor.type.shape
    if not is_image_shape(shape):
        what = f"{path}: an image fits an input [1, H, W, 1] or [1, H, W, 3]; {tensor.name!r} is {list(shape)}"
        raise InputError(f"{what}. Give a .npy file of its shape.")
    return _read_pixels(path, _MODES[shape[3]], (shape[2], shape[1]))


def is_image_shape(shape: tuple[int, ...]) -> bool:
    """True for `[1, H, W, 1]` and `[1, H, W, 3]`."""
    return len(shape) == 4 and shape[0] == 1 and shape[3] in _MODES


def image_array(graph: Graph, tensor: Tensor, pixels: NDArray[np.uint8]) -> Array:
    """Pixels as an input: the real values of `pixel_values`, quantized as the input says.

    A pixel halfway between two stored values takes the upper one, as all pixels of a model trained on [-1, 1] are: so
    they too become the pixel minus 128.

    Args:
        graph: the model.
        tensor: the input.
        pixels: 0 (black) to 255 (white), u8, as many as the input has elements, in its order.

    Raises:
        InputError: the input is one of integers without a scale, other than u8.
    """
    return quantized_pixels(graph, tensor, pixels.reshape(tensor.type.shape))


def quantized_pixels(graph: Graph, tensor: Tensor, pixels: NDArray[np.uint8]) -> Array:
    """Pixels of any shape as elements of an input: see `image_array`."""
    kind, quantization = tensor.type.dtype, tensor.type.quantization
    if kind is DType.U8 and quantization is None:
        return pixels
    values = pixel_values(pixels, real_range(graph, tensor))
    if quantization is None or not kind.is_integer or not quantization.scale:
        return quantize_real(tensor, values)
    stored = np.floor(values / quantization.scale + (0.5 + _TIE)) + quantization.zero_point
    return np.asarray(np.clip(stored, *kind.limits).astype(kind.numpy))


def pixel_values(pixels: NDArray[np.uint8], span: tuple[float, float] | None) -> NDArray[np.float64]:
    """The real values of pixels; the range of the input says how the model was trained.

    Args:
        pixels: 0 (black) to 255 (white), u8 of any shape.
        span: the lowest and the highest real value of the input, or None where nothing is known of it.

    Returns:
        For a range of about [0, 1]: pixel / 255. For about [-1, 1]: pixel / 127.5 - 1. For any other: the pixel itself.
    """
    values = pixels.astype(np.float64)
    if span is not None and _is_about(span, (0.0, 1.0)):
        return values / 255
    if span is not None and _is_about(span, (-1.0, 1.0)):
        return values / 127.5 - 1
    return values


def _is_about(span: tuple[float, float], ends: tuple[float, float]) -> bool:
    return all(abs(value - end) <= _TOLERANCE for value, end in zip(span, ends, strict=True))


def real_range(graph: Graph, tensor: Tensor) -> tuple[float, float] | None:
    """The real range of an input; of a float input, that of the tensor to which the model first quantizes it; None if unknown."""
    if tensor.type.quantization is not None and tensor.type.dtype.is_integer:
        return _real_range(tensor.type.quantization, tensor.type.dtype)
    for view in graph.views:
        quantization, kind = view.output.type.quantization, view.output.type.dtype
        if tensor.index in view.node.inputs and quantization is not None and kind.is_integer:
            return _real_range(quantization, kind)
    return None


def _real_range(quantization: Quantization, kind: DType) -> tuple[float, float]:
    low, high = ((limit - quantization.zero_point) * quantization.scale for limit in kind.limits)
    return low, high


def _read_pixels(path: Path, mode: str, size: tuple[int, int]) -> NDArray[np.uint8]:
    """Pixels `[H, W]` or `[H, W, 3]`.

    Args:
        path: the file.
        mode: `L` for grey, `RGB` for colours.
        size: width and height.
    """
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - only images pay for it

    data = read_file(path, _MOST_FILE_BYTES, InputError, "Give a PNG or BMP image, or a .npy file.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(BytesIO(data), formats=("PNG", "BMP")) as image:
                return _shown(path, image, mode, size)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise InputError(f"{path}: the image is too large to be one. Scale it down first.") from None
    except UnidentifiedImageError:
        raise InputError(f"{path}: it is no PNG or BMP image. Give one, or a .npy file.") from None
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - Pillow raises what it likes on damaged images
        reason = getattr(error, "strerror", None) or str(error) or "it is damaged"
        raise InputError(f"{path}: the image cannot be read: {reason}. Give a whole PNG or BMP image.") from None


def _shown(path: Path, image: Any, mode: str, size: tuple[int, int]) -> NDArray[np.uint8]:
    """The pixels of an open image on white."""
    from PIL import Image  # noqa: PLC0415 - only images pay for it

    if image.mode.startswith(("I", "F")):
        raise InputError(f"{path}: its pixels have more than 8 bits. Save it with 8 bits in each channel.")
    if image.has_transparency_data:
        front = image.convert("RGBA")
        shown = Image.alpha_composite(Image.new("RGBA", image.size, "white"), front).convert(mode)
    else:
        shown = image.convert(mode)
    return np.asarray(shown.resize(size, Image.Resampling.BILINEAR), np.uint8)
