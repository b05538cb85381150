"""Draw digits, train the small network that Kibi ships for its demonstration, and quantize it to int8.

    python examples/train_glyphs.py --output src/kibi/demo

Nothing comes from a data set or a font: each digit is a few strokes, defined below in a unit square, and each image is
one drawing of them with a random hand. Needs TensorFlow (`pip install --group train`), which is no dependency of Kibi;
drawing alone needs NumPy and Pillow. README.md beside this file records how the shipped model was made and what it
reached.
"""

import argparse
import hashlib
import itertools
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIDE = 28  # pixels along an image's edge
CLASSES = 10
TRAIN_COUNT, TEST_COUNT, CALIBRATION_COUNT = 50_000, 5_000, 500
TRAINING, TEST, SAMPLES, PICTURE = range(4)  # independent streams of one seed
BATCH, EPOCHS, PEAK_RATE = 128, 14, 4e-3

Points: TypeAlias = list[tuple[float, float]]
Glyph: TypeAlias = tuple[Points, ...]  # the strokes of one way to write a digit
Pixels: TypeAlias = NDArray[np.uint8]
Labels: TypeAlias = NDArray[np.int64]


def arc(center: tuple[float, float], radii: tuple[float, float], start: float, end: float) -> Points:
    """Points along an ellipse; angles in degrees, 0 points right and 90 down, so that growing angles run clockwise."""
    count = max(3, round(abs(end - start) / 20) + 1)
    angles = np.radians(np.linspace(start, end, count))
    return [(center[0] + radii[0] * float(np.cos(a)), center[1] + radii[1] * float(np.sin(a))) for a in angles]


def half_turn(glyph: Glyph) -> Glyph:
    """The glyph turned by 180 degrees: a six becomes a nine."""
    return tuple([(1 - x, 1 - y) for x, y in stroke] for stroke in glyph)


SIX_CURVED: Glyph = (arc((0.78, 0.7), (0.6, 0.7), 265, 180) + arc((0.5, 0.7), (0.32, 0.3), 180, -180),)
SIX_STRAIGHT: Glyph = ([(0.64, 0.0), (0.23, 0.57), *arc((0.5, 0.7), (0.31, 0.3), 205, -155)],)

# For each digit, the ways to write it. The unit square has its origin at the top left.
GLYPHS: tuple[tuple[Glyph, ...], ...] = (
    ((arc((0.5, 0.5), (0.34, 0.5), -90, 270),), (arc((0.5, 0.5), (0.25, 0.5), -60, 300),)),
    (
        ([(0.5, 0.0), (0.5, 1.0)],),
        ([(0.28, 0.24), (0.54, 0.0), (0.54, 1.0)],),
        ([(0.3, 0.2), (0.52, 0.0), (0.52, 1.0)], [(0.28, 1.0), (0.76, 1.0)]),
    ),
    (
        ([*arc((0.49, 0.29), (0.31, 0.29), 190, 395), (0.18, 1.0), (0.84, 1.0)],),
        (arc((0.48, 0.27), (0.3, 0.27), 205, 420) + arc((0.29, 0.88), (0.11, 0.1), 170, 380) + [(0.86, 0.98)],),
    ),
    (
        (arc((0.47, 0.25), (0.28, 0.25), 200, 440) + arc((0.47, 0.75), (0.33, 0.25), 280, 520),),
        ([(0.2, 0.0), (0.8, 0.0), (0.45, 0.4), *arc((0.47, 0.7), (0.33, 0.3), 275, 515)],),
    ),
    (
        ([(0.66, 1.0), (0.66, 0.0), (0.14, 0.68), (0.88, 0.68)],),
        ([(0.26, 0.0), (0.2, 0.56), (0.86, 0.56)], [(0.7, 0.05), (0.68, 1.0)]),
    ),
    (
        ([(0.78, 0.0), (0.28, 0.0), (0.24, 0.46), *arc((0.48, 0.69), (0.32, 0.31), 228, 510)],),
        ([(0.3, 0.02), (0.24, 0.44), *arc((0.46, 0.68), (0.33, 0.32), 238, 505)], [(0.3, 0.02), (0.8, 0.0)]),
    ),
    (SIX_CURVED, SIX_STRAIGHT),
    (
        ([(0.18, 0.0), (0.82, 0.0), (0.42, 1.0)],),
        ([(0.18, 0.0), (0.82, 0.0), (0.4, 1.0)], [(0.36, 0.5), (0.78, 0.5)]),
        ([(0.18, 0.14), (0.19, 0.0), (0.82, 0.0), *arc((0.95, 0.95), (0.45, 0.6), 225, 180)],),
    ),
    (
        (arc((0.5, 0.24), (0.26, 0.24), -90, 270), arc((0.5, 0.74), (0.33, 0.26), -90, 270)),
        (arc((0.5, 0.25), (0.28, 0.25), -30, -270) + arc((0.5, 0.75), (0.31, 0.25), -90, 270) + [(0.74, 0.12)],),
    ),
    (half_turn(SIX_CURVED), half_turn(SIX_STRAIGHT), ([*arc((0.5, 0.3), (0.3, 0.3), 0, -360), (0.76, 1.0)],)),
)


def segments(glyph: Glyph) -> NDArray[np.float64]:
    """The straight pieces of a glyph's strokes, [pieces, 2 ends, 2 coordinates], around the origin."""
    pieces = [piece for stroke in glyph for piece in itertools.pairwise(stroke)]
    return np.array(pieces, dtype=np.float64) - 0.5


@dataclass(frozen=True, slots=True)
class Hand:
    """How widely the drawings vary; each figure is the largest deviation, drawn uniformly.

    Attributes:
        turn: rotation, radians.
        shear: slant, as horizontal units per vertical unit.
        wobble: elastic displacement of the strokes, of the unit square.
        shift: translation, pixels.
        height: smallest and largest glyph height, pixels.
        pen: smallest and largest stroke width, pixels.
        noise: largest standard deviation of the pixel noise, of full scale.
        light: largest change of brightness from edge to edge, of full scale.
    """

    turn: float = 0.35
    shear: float = 0.35
    wobble: float = 0.08
    shift: float = 3.0
    height: tuple[float, float] = (13.0, 22.0)
    pen: tuple[float, float] = (1.1, 3.8)
    noise: float = 0.1
    light: float = 0.25


def distort(strokes: NDArray[np.float64], hand: Hand, rng: np.random.Generator) -> NDArray[np.float64]:
    """Move a glyph's points [pieces, 2, 2] from the unit square to pixels, as a random hand would write them."""
    waves, phases = rng.uniform(0.4, 1.2, (2, 2)), rng.uniform(0, 2 * np.pi, 2)
    points = strokes + rng.uniform(0, hand.wobble) * np.sin(2 * np.pi * strokes @ waves + phases)
    turn, shear = rng.uniform(-hand.turn, hand.turn), rng.uniform(-hand.shear, hand.shear)
    height = rng.uniform(*hand.height)
    width = height * rng.uniform(0.7, 1.1)
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    placed = points @ np.array([[width, 0.0], [-shear * height, height]]) @ rotation
    return np.asarray(placed + SIDE / 2 + rng.uniform(-hand.shift, hand.shift, 2))


def coverage(pieces: NDArray[np.float64], pen: float, softness: float, side: int) -> NDArray[np.float64]:
    """How much ink each pixel gets, [side, side] in 0..1, from a round pen along the pieces.

    The pixel grid spans the square of `SIDE` units that the pieces lie in, whatever its resolution.

    Args:
        pieces: [pieces, 2 ends, 2 coordinates x, y], in units.
        pen: stroke width, units.
        softness: width of the edge over which the ink fades, units; about one pixel is plain anti-aliasing.
        side: pixels along the edge.
    """
    axis = (np.arange(side) + 0.5) * (SIDE / side)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)[:, :, None, :]
    start, along = pieces[:, 0], pieces[:, 1] - pieces[:, 0]
    length_squared = np.maximum((along**2).sum(-1), 1e-9)
    position = np.clip(((grid - start) * along).sum(-1) / length_squared, 0.0, 1.0)
    distance = np.sqrt(((grid - start - position[..., None] * along) ** 2).sum(-1).min(-1))
    return np.asarray(np.clip((pen / 2 - distance) / softness + 0.5, 0.0, 1.0))


def draw(digit: int, rng: np.random.Generator, side: int = SIDE, hand: Hand | None = None) -> Pixels:
    """One grey image of a digit, [side, side]; dark ink on light paper as often as light on dark."""
    hand = hand or Hand()
    ways = GLYPHS[digit]
    pieces = distort(segments(ways[rng.integers(len(ways))]), hand, rng)
    ink = coverage(pieces, rng.uniform(*hand.pen), rng.uniform(0.8, 2.0), side)
    contrast = rng.uniform(0.35, 1.0)
    dark = rng.uniform(0.0, 1.0 - contrast)
    grey = dark + contrast * (ink if rng.random() < 0.5 else 1.0 - ink)
    slope = rng.uniform(-hand.light, hand.light, 2)
    ramp = np.linspace(-0.5, 0.5, side)
    grey = grey + slope[0] * ramp + slope[1] * ramp[:, None] + rng.normal(0, rng.uniform(0, hand.noise), grey.shape)
    return np.asarray(np.round(np.clip(grey, 0.0, 1.0) * 255), dtype=np.uint8)


def draw_set(count: int, seed: Sequence[int]) -> tuple[Pixels, Labels]:
    """Images [count, SIDE, SIDE] and labels [count], the digits in turn; the same seed gives the same set."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count, dtype=np.int64) % CLASSES
    return np.stack([draw(int(digit), rng) for digit in labels]), labels


def scaled(images: Pixels) -> NDArray[np.float32]:
    """Images as the network takes them: [N, SIDE, SIDE, 1], black 0 and white 1."""
    return np.asarray(images[..., None] / 255, dtype=np.float32)


def build_network(keras: Any, batch: int | None = None) -> Any:
    """A convolution, four depthwise-separable blocks (the second inside a residual), pooling and a classifier.

    [batch, 28, 28, 1] → 28x28x8 → 28x28x16 → 14x14x16 → 14x14x16 → 7x7x32 → 7x7x48 → 48 → 10 probabilities. The
    converter folds each normalization into the convolution before it.
    """
    layers = keras.layers

    def normalized(value: Any, layer: Any, *, activation: bool = True) -> Any:
        value = layers.BatchNormalization(name=f"{layer.name}_norm", momentum=0.95)(layer(value))
        return layers.ReLU(name=f"{layer.name}_relu")(value) if activation else value

    def separable(value: Any, name: str, channels: int, *, stride: int = 1, activation: bool = True) -> Any:
        depthwise = layers.DepthwiseConv2D(3, stride, "same", use_bias=False, name=f"{name}_depthwise")
        pointwise = layers.Conv2D(channels, 1, use_bias=False, name=f"{name}_pointwise")
        return normalized(normalized(value, depthwise), pointwise, activation=activation)

    image = layers.Input((SIDE, SIDE, 1), batch_size=batch, name="image")
    value = normalized(image, layers.Conv2D(8, 3, padding="same", use_bias=False, name="stem"))
    value = layers.MaxPooling2D(2, name="pool")(separable(value, "block1", 16))
    value = layers.Add(name="residual")([value, separable(value, "block2", 16, activation=False)])
    value = layers.ReLU(name="residual_relu")(value)
    value = separable(value, "block3", 32, stride=2)
    value = layers.GlobalAveragePooling2D(name="mean")(separable(value, "block4", 48))
    scores = layers.Dense(CLASSES, name="scores")(value)
    return keras.Model(image, layers.Softmax(name="probabilities")(scores), name="glyphs")


def train(keras: Any, images: Pixels, labels: Labels) -> Any:
    """Fit the network with Adam under a cosine schedule; images [N, SIDE, SIDE], labels [N]."""
    network = build_network(keras)
    steps = EPOCHS * -(-len(images) // BATCH)
    rate = keras.optimizers.schedules.CosineDecay(PEAK_RATE, steps)
    network.compile(keras.optimizers.Adam(rate), "sparse_categorical_crossentropy", metrics=["accuracy"])
    network.fit(scaled(images), labels, batch_size=BATCH, epochs=EPOCHS, verbose=2)
    return network


def quantize(tensorflow: Any, network: Any, images: Pixels) -> bytes:
    """The network as a .tflite file, all of it int8, with activation ranges measured on images [N, SIDE, SIDE].

    The batch is fixed to one before conversion: with a free one the converter may compute shapes at run time, by
    operators that a microcontroller should not need.
    """
    single = build_network(tensorflow.keras, batch=1)
    single.set_weights(network.get_weights())
    converter = tensorflow.lite.TFLiteConverter.from_keras_model(single)
    converter.optimizations = [tensorflow.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([image[None]] for image in scaled(images))
    converter.target_spec.supported_ops = [tensorflow.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tensorflow.int8
    # Per-channel dense layers are newer than many copies of TFLM, which would take them for per-tensor ones.
    converter._experimental_disable_per_channel_quantization_for_dense_layers = True  # noqa: SLF001 - no public switch
    return bytes(converter.convert())


def tidy(model: bytes) -> bytes:
    """The same model with one short name per tensor and without the converter's record of its run."""
    from tensorflow.lite.tools import flatbuffer_utils  # noqa: PLC0415 - drawing must work without TensorFlow

    tree = flatbuffer_utils.read_model_from_bytearray(bytearray(model))
    (graph,) = tree.subgraphs
    for operator in graph.operators:
        output = graph.tensors[operator.outputs[0]]
        # The converter joins the names of all that it fused: "glyphs/stem_relu_1/Relu;glyphs/stem_norm_1/…".
        layer = re.sub(r"(_norm|_relu)?(_\d+)?$", "", (output.name.decode() + "/").split("/")[1])
        output.name = layer
        for role, index in zip(
            ("input", "axis" if layer == "mean" else "weights", "bias"), operator.inputs, strict=False
        ):
            if tree.buffers[graph.tensors[index].buffer].data is not None:
                graph.tensors[index].name = f"{layer}/{role}"
    graph.tensors[graph.inputs[0]].name, graph.tensors[graph.outputs[0]].name = "image", "probabilities"
    for record in tree.metadata or ():
        tree.buffers[record.buffer].data = None
    tree.metadata, tree.description = None, "Ten digits, drawn and learnt by Kibi's examples/train_glyphs.py"
    return bytes(flatbuffer_utils.convert_object_to_bytearray(tree))


def accuracy(answer: Callable[[Pixels], NDArray[Any]], images: Pixels, labels: Labels) -> float:
    """The share of images [N, SIDE, SIDE] whose best score is their label's; `answer` maps one image to its scores."""
    return float(np.mean([int(np.argmax(answer(image))) == label for image, label in zip(images, labels, strict=True)]))


def as_input(image: Pixels) -> NDArray[np.int8]:
    """An image [SIDE, SIDE] in the model's input quantization, scale 1/255 and zero point -128: [1, SIDE, SIDE, 1]."""
    return (image.astype(np.int16) - 128).astype(np.int8)[None, ..., None]


def accuracy_in_tflite(tensorflow: Any, model: bytes, images: Pixels, labels: Labels) -> float:
    """The quantized model's accuracy, computed by TensorFlow Lite's reference kernels."""
    kernels = tensorflow.lite.experimental.OpResolverType.BUILTIN_REF
    interpreter = tensorflow.lite.Interpreter(model_content=model, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    source, result = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]

    def answer(image: Pixels) -> NDArray[Any]:
        interpreter.set_tensor(source, as_input(image))
        interpreter.invoke()
        return np.asarray(interpreter.get_tensor(result))

    return accuracy(answer, images, labels)


def accuracy_in_tflm(model: bytes, images: Pixels, labels: Labels) -> float:
    """The quantized model's accuracy, computed by TensorFlow Lite Micro's Python build."""
    from tflite_micro.python.tflite_micro import runtime  # noqa: PLC0415 - only --check needs it

    interpreter = runtime.Interpreter.from_bytes(model, arena_size=100_000)

    def answer(image: Pixels) -> NDArray[Any]:
        interpreter.set_input(as_input(image), 0)
        interpreter.invoke()
        return np.asarray(interpreter.get_output(0))

    return accuracy(answer, images, labels)


def write_samples(folder: Path, seed: int) -> None:
    """Draw what the demonstration classifies: one small image of each digit, and two as pictures."""
    images, labels = draw_set(CLASSES, [seed, SAMPLES])
    np.savez_compressed(folder / "samples.npz", images=images, labels=labels)
    Image.fromarray(images[7]).save(folder / "seven.png", optimize=True)
    large = draw(3, np.random.default_rng([seed, PICTURE]), side=4 * SIDE, hand=Hand(noise=0.0, light=0.0))
    Image.fromarray(large).save(folder / "three.png", optimize=True)


def make(folder: Path, seed: int) -> None:
    """Draw, train, quantize, write the model and its samples to the folder, and print what was reached."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import tensorflow  # noqa: ICN001, PLC0415 - drawing must work without TensorFlow

    start = time.monotonic()
    tensorflow.keras.utils.set_random_seed(seed)
    tensorflow.config.experimental.enable_op_determinism()
    images, labels = draw_set(TRAIN_COUNT, [seed, TRAINING])
    network = train(tensorflow.keras, images, labels)
    model = tidy(quantize(tensorflow, network, images[:CALIBRATION_COUNT]))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "glyphs.tflite").write_bytes(model)
    write_samples(folder, seed)

    images, labels = draw_set(TEST_COUNT, [seed, TEST])
    scores = network.predict(scaled(images), batch_size=BATCH, verbose=0)
    print(f"seed            {seed}")
    print(f"versions        tensorflow {tensorflow.__version__}, numpy {np.__version__}")
    print(f"test images     {len(images)}")
    print(f"float accuracy  {np.mean(scores.argmax(-1) == labels):.4f}")
    print(f"int8 accuracy   {accuracy_in_tflite(tensorflow, model, images, labels):.4f}")
    print(f"model           {len(model)} bytes, SHA-256 {hashlib.sha256(model).hexdigest()}")
    print(f"time            {time.monotonic() - start:.0f} s")


def check(model: Path, seed: int) -> None:
    """Print a model's accuracy under TensorFlow Lite Micro on the test images of the seed."""
    images, labels = draw_set(TEST_COUNT, [seed, TEST])
    print(f"int8 accuracy in TFLM  {accuracy_in_tflm(model.read_bytes(), images, labels):.4f}")


def main() -> None:
    """Read the command line and do what it asks."""
    parser = argparse.ArgumentParser(description="Draw digits, train a small network on them and quantize it to int8.")
    work = parser.add_mutually_exclusive_group(required=True)
    work.add_argument("--output", type=Path, metavar="DIR", help="train, and write the model and its samples here")
    work.add_argument(
        "--check", type=Path, metavar="MODEL", help="measure a .tflite file's accuracy under TFLM instead"
    )
    parser.add_argument(
        "--seed", type=int, default=2, help="decides drawings, weights and order (default: %(default)s)"
    )
    options = parser.parse_args()
    if options.check:
        check(options.check, options.seed)
    else:
        make(options.output, options.seed)


if __name__ == "__main__":
    main()
