"""Trains small depthwise networks in NumPy, and quantizes them to int8.

A network is a convolution with stride 2, blocks of a depthwise and a pointwise convolution, the mean of all pixels, and a dense
layer. Each convolution is normalized over the batch and has a ReLU. Arrays are `[N, H, W, C]`, f32. Gradients are written by
hand, so that no framework is needed.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder

Floats = NDArray[np.float32]
CLASSES = 10
_BATCH, _PEAK_RATE = 64, 2e-2
_DECAYS, _TINY = (0.9, 0.99), 1e-5
_STATISTICS = 1000
"""Images whose mean and deviation replace those of the batches."""
_SIDE = 3  # of every kernel but those of 1 by 1


@dataclass(frozen=True, slots=True)
class Architecture:
    """A network.

    Attributes:
        width: channels of the first convolution; every second block has a stride of 2 and twice as many as the one before it.
        depth: number of blocks.
        resolution: pixels of a side of the input.
    """

    width: int
    depth: int
    resolution: int

    @property
    def blocks(self) -> tuple[tuple[int, int, int], ...]:
        """Stride, channels of the input and of the output of each block."""
        made, channels = [], self.width
        for number in range(self.depth):
            stride = 2 if number % 2 else 1
            made.append((stride, channels, channels * stride))
            channels *= stride
        return tuple(made)


@dataclass(slots=True)
class Layer:
    """A convolution or the dense layer, with what Adam remembers of it.

    Attributes:
        kind: `conv` or `depthwise` with kernels of 3 by 3, `pointwise`, `dense`.
        stride: of the kernels.
        weights: `[9, out]`, `[9, channels]`, `[in, out]`.
        gain: `[out]`, of the normalized sums; the dense layer has none.
        bias: `[out]`.
    """

    kind: str
    stride: int
    weights: Floats
    gain: Floats
    bias: Floats

    @property
    def trained(self) -> tuple[Floats, Floats, Floats]:
        """What training changes."""
        return self.weights, self.gain, self.bias


def layers_of(given: Architecture, random: np.random.Generator) -> list[Layer]:
    """Returns the layers with random weights."""

    def made(kind: str, stride: int, inputs: int, shape: tuple[int, int]) -> Layer:
        weights = random.normal(0, np.sqrt(2 / inputs), shape).astype(np.float32)
        return Layer(kind, stride, weights, np.ones(shape[1], np.float32), np.zeros(shape[1], np.float32))

    layers, channels = [made("conv", 2, _SIDE**2, (_SIDE**2, given.width))], given.width
    for stride, inputs, outputs in given.blocks:
        layers.append(made("depthwise", stride, _SIDE**2, (_SIDE**2, inputs)))
        layers.append(made("pointwise", 1, inputs, (inputs, outputs)))
        channels = outputs
    return [*layers, made("dense", 1, channels, (channels, CLASSES))]


def _windows(x: Floats, stride: int) -> tuple[list[tuple[slice, slice]], Floats]:
    """The padded input, and for each of the nine places in a kernel the pixels that it meets, as TensorFlow's SAME pads."""
    size = x.shape[1]
    outputs = -(-size // stride)
    pad = max((outputs - 1) * stride + _SIDE - size, 0)
    before = pad // 2
    padded = np.pad(x, ((0, 0), (before, pad - before), (before, pad - before), (0, 0)))
    ends = (outputs - 1) * stride + 1
    cuts = [slice(place, place + ends, stride) for place in range(_SIDE)]
    return [(rows, columns) for rows in cuts for columns in cuts], padded


def _sums(layer: Layer, x: Floats) -> Floats:
    """What a convolution adds up, without its bias."""
    if layer.kind == "pointwise":
        return x @ layer.weights
    places, padded = _windows(x, layer.stride)
    pieces = [padded[:, rows, columns] for rows, columns in places]
    if layer.kind == "conv":
        return np.concatenate(pieces, -1) @ layer.weights
    made: Floats = pieces[0] * layer.weights[0]
    for piece, kernel in zip(pieces[1:], layer.weights[1:], strict=True):
        made += piece * kernel
    return made


def _scores(layer: Layer, x: Floats) -> Floats:
    made: Floats = x.mean((1, 2)) @ layer.weights + layer.bias
    return made


def forward(layers: list[Layer], x: Floats) -> list[Floats]:
    """Returns the input and the output of each folded layer; the last one has the scores, `[N, 10]`."""
    values = [x]
    for layer in layers[:-1]:
        values.append(np.maximum(_sums(layer, values[-1]) + layer.bias, 0))
    return [*values, _scores(layers[-1], values[-1])]


def folded(layers: list[Layer], images: Floats) -> list[Layer]:
    """Returns layers without normalization that compute the same, with the statistics of the images."""
    made, x = [], images
    for layer in layers[:-1]:
        sums = _sums(layer, x)
        mean, deviation = sums.mean((0, 1, 2)), sums.std((0, 1, 2)) + _TINY
        factor = layer.gain / deviation
        made.append(Layer(layer.kind, layer.stride, layer.weights * factor, layer.gain, layer.bias - mean * factor))
        x = np.maximum(sums * factor + made[-1].bias, 0)
    return [*made, layers[-1]]


def _gradients(layers: list[Layer], x: Floats, labels: NDArray[np.int64]) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Yields the gradients of weights, gain and bias of each layer, the last one first."""
    kept = []
    for layer in layers[:-1]:
        sums = _sums(layer, x)
        deviation = sums.std((0, 1, 2)) + _TINY
        normal = (sums - sums.mean((0, 1, 2))) / deviation
        y = np.maximum(normal * layer.gain + layer.bias, 0)
        kept.append((layer, x, normal, deviation, y))
        x = y
    last = layers[-1]
    shares = np.exp(_scores(last, x) - _scores(last, x).max(1, keepdims=True))
    slope: Floats = shares / shares.sum(1, keepdims=True)
    slope[np.arange(len(labels)), labels] -= 1
    slope /= len(labels)
    yield x.mean((1, 2)).T @ slope, np.zeros_like(last.gain), slope.sum(0)
    slope = np.broadcast_to((slope @ last.weights.T / (x.shape[1] * x.shape[2]))[:, None, None], x.shape)
    for layer, given, normal, deviation, y in reversed(kept):
        slope = slope * (y > 0)
        of_gain, of_bias = (slope * normal).sum((0, 1, 2)), slope.sum((0, 1, 2))
        count = slope[..., 0].size
        slope = (slope - of_bias / count - normal * (of_gain / count)) * (layer.gain / deviation)
        of_weights, slope = _backwards(layer, given, slope)
        yield of_weights, of_gain, of_bias


def _backwards(layer: Layer, x: Floats, slope: Floats) -> tuple[Floats, Floats]:
    """The gradients of a convolution's weights and of its input; the first layer needs none of the latter."""
    flat = slope.reshape(-1, slope.shape[-1])
    if layer.kind == "pointwise":
        return x.reshape(-1, x.shape[-1]).T @ flat, slope @ layer.weights.T
    places, padded = _windows(x, layer.stride)
    pieces = [padded[:, rows, columns] for rows, columns in places]
    if layer.kind == "conv":
        return np.concatenate(pieces, -1).reshape(-1, len(places)).T @ flat, x
    of_weights = np.stack([np.einsum("nhwc,nhwc->c", piece, slope) for piece in pieces])
    back = np.zeros_like(padded)
    for (rows, columns), kernel in zip(places, layer.weights, strict=True):
        back[:, rows, columns] += slope * kernel
    before = (padded.shape[1] - x.shape[1]) // 2
    return of_weights, back[:, before : before + x.shape[1], before : before + x.shape[2]]


def train(given: Architecture, images: Floats, labels: NDArray[np.int64], *, epochs: int, seed: int = 0) -> list[Layer]:
    """Returns trained layers: Adam, with a rate that falls as half a cosine.

    Args:
        given: the network.
        images: `[N, H, W, 1]`, 0 to 1.
        labels: `[N]`, 0 to 9.
        epochs: how often each image is seen.
        seed: of weights and order.
    """
    random = np.random.default_rng(seed)
    layers = layers_of(given, random)
    moments = [[(np.zeros_like(each), np.zeros_like(each)) for each in layer.trained] for layer in layers]
    batches = len(images) // _BATCH
    for step in range(epochs * batches):
        if step % batches == 0:
            order = random.permutation(len(images))
        chosen = order[step % batches * _BATCH :][:_BATCH]
        rate = _PEAK_RATE * min((step + 1) / 50, 0.5 + 0.5 * np.cos(np.pi * step / (epochs * batches)))
        slopes = list(_gradients(layers, images[chosen], labels[chosen]))
        for layer, kept, found in zip(reversed(layers), reversed(moments), slopes, strict=True):
            for value, (mean, square), slope in zip(layer.trained, kept, found, strict=True):
                _adam(value, mean, square, slope, rate, step)
    return folded(layers, images[:_STATISTICS])


def _adam(value: Floats, mean: Floats, square: Floats, slope: Floats, rate: float, step: int) -> None:
    """One step of Adam (Kingma and Ba, 2015), in place."""
    for moment, new, decay in ((mean, slope, _DECAYS[0]), (square, slope * slope, _DECAYS[1])):
        np.multiply(moment, np.float32(decay), out=moment)
        np.add(moment, np.float32(1 - decay) * new, out=moment)
    least, most = mean / (1 - _DECAYS[0] ** (step + 1)), square / (1 - _DECAYS[1] ** (step + 1))
    value -= (rate * least / (np.sqrt(most) + _TINY)).astype(np.float32)


def quantized(given: Architecture, layers: list[Layer], images: Floats) -> bytes:
    """Returns the network as a `.tflite` file in int8; the ranges of activations are those on the images.

    The input has scale 1/255 and zero point -128: the byte of a pixel minus 128. Weights of convolutions have a scale for each
    channel. The outputs are scores, without a softmax.
    """
    values = forward(layers, images)
    builder = ModelBuilder()
    size, scale, zero = given.resolution, 1 / 255, -128
    x = builder.input([1, size, size, 1], DType.S8, scale=scale, zero_point=zero, name="image")
    for number, (layer, y) in enumerate(zip(layers[:-1], values[1:], strict=False)):
        outputs = y.shape[-1]
        per_channel = np.maximum(np.abs(layer.weights).max(0), 1e-6) / 127
        rounded = np.clip(np.round(layer.weights / per_channel), -127, 127).astype(np.int8)
        shape = {
            "conv": (outputs, _SIDE, _SIDE, 1),
            "depthwise": (1, _SIDE, _SIDE, outputs),
            "pointwise": (outputs, 1, 1, len(layer.weights)),
        }[layer.kind]
        is_depthwise = layer.kind == "depthwise"
        stored = (rounded if is_depthwise else rounded.T).reshape(shape)
        weights = builder.constant(stored, per_channel.tolist(), [0] * outputs, axis=3 if is_depthwise else 0)
        bias = builder.constant(_bias(layer.bias, scale * per_channel), (scale * per_channel).tolist(), [0] * outputs)
        scale = float(max(np.abs(y).max(), 1e-3)) / 255
        size = y.shape[1]
        z = builder.tensor(
            [1, size, size, outputs], DType.S8, scale=scale, zero_point=-128, name=f"{layer.kind}_{number}"
        )
        options: dict[str, int | str] = {"depth_multiplier": 1} if is_depthwise else {}
        builder.operator(
            "DEPTHWISE_CONV_2D" if is_depthwise else "CONV_2D",
            [x, weights, bias],
            [z],
            options,
            padding="SAME",
            stride_w=layer.stride,
            stride_h=layer.stride,
            fused_activation_function="RELU",
            dilation_w_factor=1,
            dilation_h_factor=1,
        )
        x = z
    last = layers[-1]
    channels = len(last.weights)
    mean = builder.tensor([1, channels], DType.S8, scale=scale, zero_point=-128, name="mean")
    builder.operator("MEAN", [x, builder.constant(np.array([1, 2], np.int32))], [mean], keep_dims=False)
    of_weights = float(np.abs(last.weights).max()) / 127
    rounded = np.clip(np.round(last.weights.T / of_weights), -127, 127).astype(np.int8)
    weights = builder.constant(rounded, of_weights, 0)
    bias = builder.constant(_bias(last.bias, np.array(scale * of_weights)), scale * of_weights, 0)
    low, high = float(min(values[-1].min(), 0)), float(max(values[-1].max(), 0))
    of_scores = (high - low) / 255
    zero = int(np.clip(np.round(-128 - low / of_scores), -128, 127))
    scores = builder.tensor([1, CLASSES], DType.S8, scale=of_scores, zero_point=zero, name="scores")
    builder.operator("FULLY_CONNECTED", [mean, weights, bias], [scores], fused_activation_function="NONE")
    return builder.finish(outputs=[scores], description="trained by Kibi's examples/sweep")


def _bias(bias: Floats, scale: NDArray[np.floating]) -> NDArray[np.int32]:
    return np.round(bias / scale).astype(np.int32)
