"""Networks that are trained here with NumPy alone, and their data: pictures of patterns, and spectrograms of keywords."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from examples.patterns import Labels, Layer, Net, Reals, make_uneven, patterns, separable
from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import ModelBuilder

TIMES, BANDS, WORDS = 24, 12, 8
"""The frames and the bands of a spectrogram, and the number of keywords."""
_BATCH, _RATE = 64, 1e-2
_GATES = 4


@cache
def keywords(count: int, seed: int, noise: float = 0.7) -> tuple[Reals, Labels]:
    """Spectrograms `[N, 24, 12, 1]` of eight words, and the numbers of the words.

    A word is two bands of energy that rise and fall in time, as formants do. It is spoken at another time, faster or slower, louder
    or softer, and with noise.
    """
    words = np.random.default_rng(77)
    starts, slopes = words.uniform(1, BANDS - 2, (WORDS, 2)), words.uniform(-9, 9, (WORDS, 2))
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, WORDS, count)
    begins, lengths = rng.uniform(0, 6, (count, 1, 1)), rng.uniform(12, 18, (count, 1, 1))
    part = (np.arange(TIMES)[None, :, None] - begins) / lengths
    is_spoken = np.clip(4 * np.minimum(part, 1 - part), 0, 1)
    bands = np.arange(BANDS)[None, None, :]
    energy = np.zeros((count, TIMES, BANDS))
    for voice in range(2):
        center = starts[labels, voice][:, None, None] + slopes[labels, voice][:, None, None] * part
        center = center + rng.normal(size=(count, 1, 1)) * 0.5
        energy += np.exp(-(((bands - center) / 1.2) ** 2))
    loud = rng.uniform(0.7, 1.5, (count, 1, 1))
    found = 3 * loud * energy * is_spoken + rng.normal(size=energy.shape) * noise
    return found[..., None], labels.astype(np.int64)


@cache
def keyword_net() -> Net:
    """A trained separable network as those for keywords are: convolutions over time and bands, and a mean at the end."""
    layers = [
        Layer("conv", 10, 3, 2, "RELU"),
        Layer("depthwise", 0, 3, 2, "RELU"),
        Layer("conv", 16, 1, 1, "RELU"),
        Layer("depthwise", 0, 3, 1, "RELU"),
        Layer("conv", 24, 1, 1, "RELU"),
        Layer("mean"),
        Layer("dense", WORDS),
    ]
    net = Net(layers, (TIMES, BANDS, 1))
    net.train(*keywords(1500, 1), epochs=16)
    return net


@dataclass
class LstmNet:
    """An LSTM whose last output goes to a dense layer and a softmax.

    Attributes:
        units: of the LSTM.
        shape: of one input, `[T, K]`.
        kernel, recurrent, bias: of the gates input, forget, cell and output, one after another: `[K, 4 U]`, `[U, 4 U]`, `[4 U]`.
        weights, offset: of the dense layer, `[U, O]` and `[O]`.
    """

    units: int
    classes: int
    shape: tuple[int, int]
    ends_in_softmax: bool = True
    kernel: Reals = field(default_factory=lambda: np.zeros(0))
    recurrent: Reals = field(default_factory=lambda: np.zeros(0))
    bias: Reals = field(default_factory=lambda: np.zeros(0))
    weights: Reals = field(default_factory=lambda: np.zeros(0))
    offset: Reals = field(default_factory=lambda: np.zeros(0))
    _seen: list[tuple[Reals, ...]] = field(default_factory=list)

    def forward(self, inputs: Reals) -> Reals:
        """The outputs of the dense layer for a batch `[N, T, K]`, before the softmax; what gradients need is kept."""
        hidden = cells = np.zeros((len(inputs), self.units))
        self._seen = []
        for time in range(inputs.shape[1]):
            sums = inputs[:, time] @ self.kernel + hidden @ self.recurrent + self.bias
            taken, kept, new, given = np.split(sums, _GATES, axis=1)
            taken, kept, given = (1 / (1 + np.exp(-each)) for each in (taken, kept, given))
            new, before, old = np.tanh(new), hidden, cells
            cells = kept * old + taken * new
            hidden = given * np.tanh(cells)
            self._seen.append((inputs[:, time], before, old, taken, kept, new, given, cells))
        self._last = hidden
        return np.asarray(hidden @ self.weights + self.offset)

    def train(self, inputs: Reals, labels: Labels, epochs: int, seed: int = 0) -> None:
        """Trains with labels by cross entropy; Adam takes the steps."""
        rng = np.random.default_rng(seed)
        wide = _GATES * self.units
        self.kernel = rng.normal(size=(self.shape[1], wide)) / np.sqrt(self.shape[1])
        self.recurrent = rng.normal(size=(self.units, wide)) / np.sqrt(self.units)
        self.bias = np.repeat([0.0, 1.0, 0.0, 0.0], self.units)
        self.weights = rng.normal(size=(self.units, self.classes)) / np.sqrt(self.units)
        self.offset = np.zeros(self.classes)
        moments = [(np.zeros_like(each), np.zeros_like(each)) for each in self._parameters()]
        step, steps = 0, epochs * -(-len(inputs) // _BATCH)
        for _ in range(epochs):
            order = rng.permutation(len(inputs))
            for start in range(0, len(inputs), _BATCH):
                chosen, step = order[start : start + _BATCH], step + 1
                gradients = self._gradients(inputs[chosen], labels[chosen])
                rate = _RATE * 0.5 * (1 + np.cos(np.pi * step / steps))
                for number, gradient in enumerate(gradients):
                    first = 0.9 * moments[number][0] + 0.1 * gradient
                    second = 0.99 * moments[number][1] + 0.01 * gradient**2
                    moments[number] = first, second
                    change = rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
                    self._parameters()[number][...] -= change

    def _parameters(self) -> tuple[Reals, ...]:
        return self.kernel, self.recurrent, self.bias, self.weights, self.offset

    def _gradients(self, inputs: Reals, labels: Labels) -> list[Reals]:
        """The gradients of all parameters."""
        outputs = self.forward(inputs)
        parts = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        error = parts / parts.sum(axis=1, keepdims=True)
        error[np.arange(len(labels)), labels] -= 1
        error /= len(inputs)
        kernel, recurrent, bias = (np.zeros_like(each) for each in self._parameters()[:3])
        hidden, cell = error @ self.weights.T, np.zeros((len(inputs), self.units))
        for given_in, before, old, taken, kept, new, given, cells in reversed(self._seen):
            curve = np.tanh(cells)
            cell = cell + hidden * given * (1 - curve**2)
            sums = np.concatenate(
                [
                    cell * new * taken * (1 - taken),
                    cell * old * kept * (1 - kept),
                    cell * taken * (1 - new**2),
                    hidden * curve * given * (1 - given),
                ],
                axis=1,
            )
            kernel += given_in.T @ sums
            recurrent += before.T @ sums
            bias += sums.sum(axis=0)
            hidden, cell = sums @ self.recurrent.T, cell * kept
        return [kernel, recurrent, bias, self._last.T @ error, error.sum(axis=0)]

    def gates(self, array: Reals) -> Iterator[Array]:
        """The parts of the gates, each as the schema has it: units first."""
        for part in np.split(array, _GATES, axis=-1):
            yield np.ascontiguousarray(part.T, np.float32)

    def file(self, *, signature: bool = False) -> bytes:
        """The network as a `.tflite` file of float32, with a signature if it is asked for."""
        b, (times, depth) = ModelBuilder(), self.shape
        x = b.input([1, times, depth], DType.F32, name="input")
        kernels, recurrents, biases = (
            [b.constant(each) for each in self.gates(array)] for array in (self.kernel, self.recurrent, self.bias)
        )
        states = [b.tensor([1, self.units], DType.F32, variable=True, name=name) for name in ("hidden", "cell")]
        every = b.tensor([1, times, self.units], DType.F32, name="lstm")
        operands = [x, *kernels, *recurrents, -1, -1, -1, *biases, -1, -1, *states, -1, -1, -1, -1]
        b.operator("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, [every], fused_activation_function="TANH")
        last = b.tensor([1, self.units], DType.F32, name="last")
        ends = ([0, times - 1, 0], [1, times, self.units], [1, 1, 1])
        places = [b.constant(np.array(each, np.int32)) for each in ends]
        b.operator("STRIDED_SLICE", [every, *places], [last], shrink_axis_mask=2, begin_mask=5, end_mask=5)
        scores, output = (b.tensor([1, self.classes], DType.F32, name=name) for name in ("dense", "scores"))
        weights, offset = (b.constant(np.ascontiguousarray(each.T, np.float32)) for each in (self.weights, self.offset))
        b.operator("FULLY_CONNECTED", [last, weights, offset], [scores])
        b.operator("SOFTMAX", [scores], [output], beta=1.0)
        if signature:
            b.signature("serving_default", 0, [("input", x)], [("output", output)])
        return b.finish([output])


@cache
def network(name: str) -> Net | LstmNet:
    """A trained network."""
    if name == "keywords LSTM":
        lstm = LstmNet(16, WORDS, (TIMES, BANDS))
        spoken, labels = keywords(1500, 1)
        lstm.train(spoken[..., 0], labels, epochs=12)
        return lstm
    kind, _, activation = name.partition(" ")
    if kind == "keywords":
        net = deepcopy(keyword_net())
        if activation == "uneven":
            make_uneven(net)
        return net
    pictures, labels = patterns(1200, 1)
    if kind == "autoencoder":
        net = Net(
            [Layer("dense", 48, activation="RELU"), Layer("dense", 16, activation="RELU"), Layer("dense", 144)],
            (144,),
            ends_in_softmax=False,
        )
        flat = pictures.reshape(-1, 144)
        net.train(flat, flat, epochs=8)
        return net
    if kind == "dense":
        net = Net([Layer("dense", 32, activation="RELU"), Layer("dense", 10)], (12, 12, 1))
        net.train(pictures, labels, epochs=6)
        return net
    net = separable(activation)
    if kind == "uneven":
        make_uneven(net)
    return net


def samples(name: str, count: int, seed: int) -> tuple[Reals, Labels]:
    """Inputs `[N, …]` of a network, and their labels."""
    found, labels = keywords(count, seed) if name.startswith("keywords") else patterns(count, seed)
    return found.reshape(count, *network(name).shape), labels


def inputs_of(name: str, count: int, seed: int) -> list[Array]:
    """The same, each as the model takes it: `[1, …]` f32."""
    return [np.asarray(each[None], np.float32) for each in samples(name, count, seed)[0]]


def exact_outputs(name: str, inputs: Reals) -> Any:
    """The outputs of the float32 network, before a softmax."""
    return network(name).forward(inputs)
