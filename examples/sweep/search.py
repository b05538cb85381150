"""The models and the evaluation of `search.toml`: depthwise networks that read digits, trained here.

`architectures` trains each network that is not in the folder yet, and yields it, so that workers measure the first ones while the
next ones learn. `accuracy` counts how many drawings a model reads correctly, as C on the machine of the worker.

The drawings are those of `train_glyphs.py`. Their paper becomes black and their ink white, as an application would do it.
"""

import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from training import Architecture, Floats, quantized, train

import kibi
from kibi.engines import HostEngine
from kibi.files import temporary_folder, write_file

FOLDER = Path(os.environ.get("KIBI_SWEEP_FOLDER", "build/sweep")).absolute()
"""Where drawings and trained models are kept; the same for all workers."""
TRAIN_COUNT, TEST_COUNT, CALIBRATION_COUNT, EPOCHS, SEED = 4000, 1000, 300, 6, 2


def architectures(
    widths: Sequence[int], depths: Sequence[int], resolutions: Sequence[int]
) -> Iterator[tuple[str, bytes, Mapping[str, int]]]:
    """Yields a trained network for each width, depth and resolution."""
    for width, depth, resolution in product(widths, depths, resolutions):
        name = f"digits_w{width}_d{depth}_r{resolution}"
        path = FOLDER / f"{name}.tflite"
        if not path.exists():
            write_file(path, trained(Architecture(width, depth, resolution)))
        yield name, path.read_bytes(), {"width": width, "depth": depth, "resolution": resolution}


def trained(given: Architecture, epochs: int = EPOCHS) -> bytes:
    """Trains a network, and returns it as a `.tflite` file."""
    images, labels, _, _ = drawings()
    pixels: Floats = np.asarray(scaled(images, given.resolution) / 255, np.float32)
    layers = train(given, pixels, labels, epochs=epochs)
    made: bytes = quantized(given, layers, pixels[:CALIBRATION_COUNT])
    return made


def accuracy(data: bytes) -> Mapping[str, float]:
    """The share of the test drawings whose best score is that of their digit."""
    _, _, images, labels = drawings()
    with temporary_folder() as folder:
        path = folder / "model.tflite"
        path.write_bytes(data)
        model = kibi.simplify(kibi.load(path))
        engine = HostEngine(kibi.compile(model, kibi.plan(model, "host"), folder / "c"))
    side = model.tensors[model.inputs[0]].type.shape[1]
    inputs = (scaled(images, side).astype(np.int16) - 128).astype(np.int8)
    answers = [int(engine.run([each[None]])[0].argmax()) for each in inputs]
    return {"accuracy": float(np.mean(np.array(answers) == labels))}


@cache
def drawings() -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """Images `[N, 28, 28]` and labels to learn from, and others to test with; drawn once, and kept in the folder."""
    path = FOLDER / "drawings.npz"
    if not path.exists():
        drawn = _drawing()
        images, labels = drawn.draw_set(TRAIN_COUNT, [SEED, drawn.TRAINING])
        others, their_labels = drawn.draw_set(TEST_COUNT, [SEED, drawn.TEST])
        FOLDER.mkdir(parents=True, exist_ok=True)
        with temporary_folder(FOLDER) as folder:
            np.savez(folder / "new.npz", images=images, labels=labels, others=others, their_labels=their_labels)
            (folder / "new.npz").replace(path)
    with np.load(path, allow_pickle=False) as kept:
        return kept["images"], kept["labels"], kept["others"], kept["their_labels"]


def scaled(images: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Images with black paper and white ink, `[N, side, side, 1]`."""
    grey: Floats = images.astype(np.float32)
    border = np.concatenate([grey[:, 0], grey[:, -1], grey[:, :, 0], grey[:, :, -1]], axis=1)
    ink = np.abs(grey - np.median(border, axis=1)[:, None, None])
    pixels = np.round(ink / ink.max((1, 2), keepdims=True) * 255).astype(np.uint8)
    small = [Image.fromarray(each).resize((side, side), Image.Resampling.BOX) for each in pixels]
    return np.stack([np.asarray(each) for each in small])[..., None]


def _drawing() -> ModuleType:
    """The script that draws digits, in the folder above."""
    path = Path(__file__).parents[1] / "train_glyphs.py"
    spec = importlib.util.spec_from_file_location("train_glyphs", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is missing")
    made = importlib.util.module_from_spec(spec)
    sys.modules["train_glyphs"] = made  # dataclasses look their module up
    spec.loader.exec_module(made)
    return made
