"""Train small float32 networks with NumPy alone, and write them with data, to try `kibi quantize` on.

    python examples/patterns.py

It writes `patterns.npz`, pictures of ten patterns with their labels; `even.tflite`, a separable network that tells them apart;
`uneven.tflite`, the same network with channels of very different ranges, as training with batch normalization may give them; and
`dense.tflite`, a network of dense layers, in which weights take most of the memory.

Layers are convolutions, depthwise convolutions, means over the picture and dense layers, with or without ReLU or ReLU6. The
gradients are written out; Adam takes the steps.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder

Reals = NDArray[np.float64]
Labels = NDArray[np.int64]
_BATCH, _RATE = 64, 1e-2


@dataclass
class Layer:
    """One layer.

    Attributes:
        kind: `conv`, `depthwise`, `mean` or `dense`.
        channels: outputs; of a depthwise convolution those of its input.
        kernel, stride: of a convolution.
        activation: `NONE`, `RELU` or `RELU6`.
        weights: `[KH, KW, I, O]` of a convolution, `[KH, KW, C]` of a depthwise one, `[I, O]` of a dense layer.
        bias: `[O]`.
    """

    kind: str
    channels: int = 0
    kernel: int = 3
    stride: int = 1
    activation: str = "NONE"
    weights: Reals = field(default_factory=lambda: np.zeros(0))
    bias: Reals = field(default_factory=lambda: np.zeros(0))
    _seen: dict[str, Any] = field(default_factory=dict)

    def prepare(self, shape: tuple[int, ...], rng: np.random.Generator) -> tuple[int, ...]:
        """Draws weights for an input `[H, W, C]` or `[C]`, and returns the shape of the output."""
        if self.kind == "mean":
            return shape[-1:]
        if self.kind == "dense":
            inputs = int(np.prod(shape))
            self.weights = rng.normal(size=(inputs, self.channels)) * np.sqrt(2 / inputs)
            self.bias = np.zeros(self.channels)
            return (self.channels,)
        depth, area = shape[-1], self.kernel**2
        if self.kind == "depthwise":
            self.channels = depth
            self.weights = rng.normal(size=(self.kernel, self.kernel, depth)) * np.sqrt(2 / area)
        else:
            self.weights = rng.normal(size=(self.kernel, self.kernel, depth, self.channels)) * np.sqrt(
                2 / (area * depth)
            )
        self.bias = np.zeros(self.channels)
        return (*(-(-side // self.stride) for side in shape[:2]), self.channels)

    def forward(self, inputs: Reals) -> Reals:
        """The outputs for a batch, kept for the gradients."""
        if self.kind == "mean":
            self._seen["shape"] = inputs.shape
            return np.asarray(inputs.mean(axis=(1, 2)))
        if self.kind == "dense":
            flat = inputs.reshape(len(inputs), -1)
            self._seen |= {"flat": flat, "shape": inputs.shape}
            sums = flat @ self.weights + self.bias
        else:
            windows = self._windows(inputs)
            letters = "nyxcij,ijc->nyxc" if self.kind == "depthwise" else "nyxcij,ijco->nyxo"
            sums = np.einsum(letters, windows, self.weights, optimize=True) + self.bias
        self._seen["sums"] = sums
        return self._activated(sums)

    def backward(self, gradient: Reals) -> tuple[Reals, list[Reals]]:
        """The gradient of the input, and those of weights and bias, from that of the outputs."""
        if self.kind == "mean":
            count, height, width, channels = self._seen["shape"]
            spread = gradient[:, None, None, :] / (height * width)
            return np.broadcast_to(spread, (count, height, width, channels)), []
        gradient = gradient * self._slope()
        if self.kind == "dense":
            back = (gradient @ self.weights.T).reshape(self._seen["shape"])
            return back, [self._seen["flat"].T @ gradient, gradient.sum(axis=0)]
        windows, is_depthwise = self._seen["windows"], self.kind == "depthwise"
        letters = "nyxcij,nyxc->ijc" if is_depthwise else "nyxcij,nyxo->ijco"
        own = np.einsum(letters, windows, gradient, optimize=True)
        letters = "nyxc,ijc->nyxcij" if is_depthwise else "nyxo,ijco->nyxcij"
        return self._folded(np.einsum(letters, gradient, self.weights, optimize=True)), [
            own,
            gradient.sum(axis=(0, 1, 2)),
        ]

    def _windows(self, inputs: Reals) -> Reals:
        """The windows `[N, OH, OW, C, KH, KW]` of a convolution with SAME padding."""
        pads = [(0, 0), *(self._pads(side) for side in inputs.shape[1:3]), (0, 0)]
        padded = np.pad(inputs, pads)
        windows = sliding_window_view(padded, (self.kernel, self.kernel), axis=(1, 2))
        found = windows[:, :: self.stride, :: self.stride]
        self._seen |= {"windows": found, "padded": padded.shape, "pads": pads}
        return found

    def _pads(self, side: int) -> tuple[int, int]:
        needed = max((-(-side // self.stride) - 1) * self.stride + self.kernel - side, 0)
        return needed // 2, needed - needed // 2

    def _folded(self, windows: Reals) -> Reals:
        """Adds up what windows give back to the elements of the input."""
        total = np.zeros(self._seen["padded"])
        height, width = windows.shape[1:3]
        for row in range(self.kernel):
            for column in range(self.kernel):
                rows = slice(row, row + self.stride * (height - 1) + 1, self.stride)
                columns = slice(column, column + self.stride * (width - 1) + 1, self.stride)
                total[:, rows, columns] += windows[..., row, column]
        (top, bottom), (left, right) = self._seen["pads"][1:3]
        return total[:, top : total.shape[1] - bottom, left : total.shape[2] - right]

    def _activated(self, sums: Reals) -> Reals:
        if self.activation == "NONE":
            return sums
        return np.clip(sums, 0, 6 if self.activation == "RELU6" else None)

    def _slope(self) -> Reals:
        sums = self._seen["sums"]
        if self.activation == "NONE":
            return np.ones_like(sums)
        return np.asarray((sums > 0) & ((sums < 6) | (self.activation == "RELU")), np.float64)


@dataclass
class Net:
    """A chain of layers.

    Attributes:
        layers: in order.
        shape: of one input.
        ends_in_softmax: true if the file ends in a SOFTMAX.
    """

    layers: list[Layer]
    shape: tuple[int, ...]
    ends_in_softmax: bool = True

    def forward(self, inputs: Reals) -> Reals:
        """The outputs of the last layer, before a softmax."""
        for layer in self.layers:
            inputs = layer.forward(inputs)
        return inputs

    def train(self, inputs: Reals, targets: NDArray[Any], epochs: int, seed: int = 0) -> None:
        """Trains with labels (by cross entropy) or with real outputs (by squares)."""
        rng = np.random.default_rng(seed)
        shape = self.shape
        for layer in self.layers:
            shape = layer.prepare(shape, rng)
        moments: dict[tuple[int, int], tuple[Reals, Reals]] = {}
        step, steps = 0, epochs * -(-len(inputs) // _BATCH)
        for _ in range(epochs):
            order = rng.permutation(len(inputs))
            for start in range(0, len(inputs), _BATCH):
                chosen = order[start : start + _BATCH]
                step += 1
                rate = _RATE * 0.5 * (1 + np.cos(np.pi * step / steps))
                self._step(inputs[chosen], targets[chosen], moments, step, rate)

    def _step(
        self,
        inputs: Reals,
        targets: NDArray[Any],
        moments: dict[tuple[int, int], tuple[Reals, Reals]],
        step: int,
        rate: float,
    ) -> None:
        outputs = self.forward(inputs)
        if targets.ndim == 1:
            parts = np.exp(outputs - outputs.max(axis=1, keepdims=True))
            gradient = parts / parts.sum(axis=1, keepdims=True)
            gradient[np.arange(len(targets)), targets] -= 1
        else:
            gradient = 2 * (outputs - targets) / targets.shape[1]
        gradient /= len(inputs)
        for number, layer in reversed(list(enumerate(self.layers))):
            gradient, own = layer.backward(gradient)
            for place, each in enumerate(own):
                first, second = moments.get((number, place), (np.zeros_like(each), np.zeros_like(each)))
                first, second = 0.9 * first + 0.1 * each, 0.99 * second + 0.01 * each**2
                moments[number, place] = first, second
                change = rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
                if place:
                    layer.bias = layer.bias - change
                else:
                    layer.weights = layer.weights - change

    def rescale(self, number: int, factors: Reals) -> None:
        """Multiplies the output channels of a layer with positive factors, and divides the next one's weights by them.

        The outputs stay what they are if the activation is none or ReLU, or ReLU6 that cuts nothing above.
        """
        layer, following = self.layers[number], self.layers[number + 1]
        layer.weights, layer.bias = layer.weights * factors, layer.bias * factors
        axis = {"conv": 2, "depthwise": 2, "dense": 0}[following.kind]
        along = [1] * following.weights.ndim
        along[axis] = -1
        following.weights = following.weights / factors.reshape(along)

    def file(self, *, signature: bool = False) -> bytes:
        """The network as a `.tflite` file of float32, with a signature if it is asked for."""
        b, shape = ModelBuilder(), self.shape
        at = source = b.input([1, *shape], DType.F32, name="input")
        for number, layer in enumerate(self.layers):
            at, shape = self._write(b, layer, at, shape, f"layer{number}_{layer.kind}")
        if self.ends_in_softmax:
            output = b.tensor([1, *shape], DType.F32, name="scores")
            b.operator("SOFTMAX", [at], [output], beta=1.0)
            at = output
        if signature:
            b.signature("serving_default", 0, [("input", source)], [("output", at)])
        return b.finish([at])

    def _write(
        self, b: ModelBuilder, layer: Layer, at: int, shape: tuple[int, ...], name: str
    ) -> tuple[int, tuple[int, ...]]:
        if layer.kind == "mean":
            axes = b.constant(np.array([1, 2], np.int32), name=f"{name}_axes")
            output = b.tensor([1, shape[-1]], DType.F32, name=name)
            b.operator("MEAN", [at, axes], [output], keep_dims=False)
            return output, shape[-1:]
        if layer.kind == "dense":
            if len(shape) > 1:
                flat = b.tensor([1, int(np.prod(shape))], DType.F32, name=f"{name}_flat")
                b.operator("RESHAPE", [at], [flat], new_shape=[1, int(np.prod(shape))])
                at = flat
            kernel, operator = layer.weights.T, "FULLY_CONNECTED"
            after: tuple[int, ...] = (layer.channels,)
            attributes: dict[str, Any] = {}
        else:
            after = (*(-(-side // layer.stride) for side in shape[:2]), layer.channels)
            attributes = {"padding": "SAME", "stride_h": layer.stride, "stride_w": layer.stride}
            if layer.kind == "depthwise":
                kernel, operator = layer.weights[None], "DEPTHWISE_CONV_2D"
                attributes["depth_multiplier"] = 1
            else:
                kernel, operator = np.moveaxis(layer.weights, 3, 0), "CONV_2D"
        weights = b.constant(np.ascontiguousarray(kernel, np.float32), name=f"{name}_weights")
        bias = b.constant(layer.bias.astype(np.float32), name=f"{name}_bias")
        output = b.tensor([1, *after], DType.F32, name=name)
        b.operator(operator, [at, weights, bias], [output], fused_activation_function=layer.activation, **attributes)
        return output, after


@cache
def patterns(count: int, seed: int, noise: float = 0.4) -> tuple[Reals, Labels]:
    """Pictures `[N, 12, 12, 1]` of ten smooth patterns, each shifted, of another brightness and with noise, and their labels."""
    shapes = np.random.default_rng(99).normal(size=(10, 16, 16))
    for _ in range(2):
        shapes = np.sum([np.roll(shapes, shift, axis=axis) for shift in (-1, 0, 1) for axis in (1, 2)], axis=0)
    shapes /= shapes.std(axis=(1, 2), keepdims=True)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, count)
    pictures = np.stack(
        [
            shapes[label, row : row + 12, column : column + 12]
            for label, row, column in zip(labels, rng.integers(0, 5, count), rng.integers(0, 5, count), strict=True)
        ]
    )
    gains = rng.uniform(0.6, 1.4, (count, 1, 1))
    return (gains * pictures + rng.normal(size=pictures.shape) * noise)[..., None], labels.astype(np.int64)


def accuracy(scores: Sequence[Any] | NDArray[Any], labels: Labels) -> float:
    """The part of the inputs whose best score is that of their label."""
    return float((np.argmax(np.asarray(scores).reshape(len(labels), -1), axis=1) == labels).mean())


def separable(activation: str = "RELU") -> Net:
    """A trained network as MobileNet is, of five convolutions and a dense layer."""
    net = Net(
        [
            Layer("conv", 8, 3, 2, activation),
            Layer("depthwise", 0, 3, 2, activation),
            Layer("conv", 16, 1, 1, activation),
            Layer("depthwise", 0, 3, 1, activation),
            Layer("conv", 24, 1, 1, activation),
            Layer("dense", 10),
        ],
        (12, 12, 1),
    )
    net.train(*patterns(1200, 1), epochs=6)
    return net


def make_uneven(net: Net) -> None:
    """Divides channels of the convolutions by up to 128, which the next layers take back."""
    rng = np.random.default_rng(5)
    for number in range(4):
        net.rescale(number, 2.0 ** rng.uniform(-7, 0, net.layers[number].channels))


def dense() -> Net:
    """A trained network of two dense layers."""
    net = Net([Layer("dense", 64, activation="RELU"), Layer("dense", 10)], (12, 12, 1))
    net.train(*patterns(1200, 1), epochs=6)
    return net


def main() -> None:
    """Writes the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(), help="the folder, by default this one")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    pictures, labels = patterns(1000, 2)
    np.savez(folder / "patterns.npz", input=pictures.astype(np.float32), labels=labels)
    net = separable()
    (folder / "even.tflite").write_bytes(net.file())
    make_uneven(net)
    (folder / "uneven.tflite").write_bytes(net.file())
    (folder / "dense.tflite").write_bytes(dense().file())


if __name__ == "__main__":
    main()
