"""The error of a quantized model, layer by layer: how much stronger the signal is than the noise."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log10

import numpy as np

from kibi.dtypes import Array
from kibi.quantization.network import Network
from kibi.quantization.quantizing import Model
from kibi.quantization.running import GraphRunner

Rows = Sequence[Sequence[Array]]
_LAST = ("SOFTMAX", "LOGISTIC", "LOG_SOFTMAX", "RESHAPE")
"""Operators at the end that squeeze differences, or do nothing to them."""
_LIMIT_DB = 200.0
"""More is no figure: the noise is nothing."""


@dataclass(frozen=True, slots=True)
class Energy:
    """Sums of squares.

    Attributes:
        signal: of the float32 model's elements.
        noise: of the differences to them.
    """

    signal: float = 0.0
    noise: float = 0.0

    def plus(self, exact: Array, found: Array) -> "Energy":
        """With further elements, f64."""
        wanted = exact.astype(np.float64).reshape(-1)
        difference = wanted - found.astype(np.float64).reshape(-1)
        return Energy(self.signal + float(wanted @ wanted), self.noise + float(difference @ difference))

    @property
    def decibels(self) -> float:
        """The signal over the noise, at most 200 dB; 0 dB where there is no signal but noise."""
        if self.noise <= 0:
            return _LIMIT_DB
        return min(10 * log10(self.signal / self.noise), _LIMIT_DB) if self.signal > 0 else 0.0

    @property
    def part(self) -> float:
        """The noise over the signal."""
        if self.noise <= 0:
            return 0.0
        return self.noise / self.signal if self.signal > 0 else inf


def exact_elements(
    network: Network, indices: Sequence[int], rows: Rows, *, keep_state: bool = False
) -> Iterator[tuple[Array, ...]]:
    """Yields the float32 model's elements of tensors that it makes, for each input."""
    return GraphRunner(network.graph, indices).run_all(rows, keep_state=keep_state)


def noise_of(
    model: Model, indices: Sequence[int], exact: Iterable[tuple[Array, ...]], rows: Rows
) -> Mapping[int, Energy]:
    """Signal and noise of tensors that a quantized model makes.

    Args:
        model: the quantized model.
        indices: of tensors of the float32 model.
        exact: what `exact_elements` gave for them.
        rows: the inputs.
    """
    runner = GraphRunner(model.graph, [model.forms[index][0] for index in indices])
    inputs = [model.inputs_of(each) for each in rows]
    found = dict.fromkeys(indices, Energy())
    for wanted, made in zip(exact, runner.run_all(inputs, keep_state=model.wishes.keep_state), strict=True):
        for index, right, elements in zip(indices, wanted, made, strict=True):
            found[index] = found[index].plus(right, model.reals_of(index, elements))
    return found


def layer_noise(model: Model, rows: Rows) -> Mapping[int, Energy]:
    """Signal and noise of every tensor that both models make, by its index in the float32 model."""
    network = model.network
    made = {index for node in model.graph.nodes for index in node.outputs}
    indices = [
        index
        for index in network.reals
        if index not in network.inputs and index in model.forms and model.forms[index][0] in made
    ]
    exact = exact_elements(network, indices, rows, keep_state=model.wishes.keep_state)
    return noise_of(model, indices, exact, rows)


def lost_decibels(inputs: Sequence[int], output: int, noise: Mapping[int, Energy]) -> float:
    """How many decibels less an output has than its worst input; inputs of which nothing is known do not count.

    Args:
        inputs: of an operator.
        output: one that it makes.
        noise: of tensors, that of the output among them.
    """
    known = [noise[index].decibels for index in inputs if index in noise]
    own = noise[output].decibels
    return min(known, default=own) - own


def answers_of(network: Network) -> tuple[int, ...]:
    """The tensors by which the error of a model is judged: its outputs, before a softmax or logistic function at the end.

    Of an output that is no real number, such as the number of a class, it is what the number was made of.
    """
    found: list[int] = []
    reals = frozenset(network.reals)  # without what is read of variables
    waiting = list(reversed(network.outputs))
    while waiting:
        index = waiting.pop()
        layer = network.makers.get(index)
        if layer is None:
            continue
        before = [each for each in layer.inputs if each in reals and each in network.makers]
        if before and (layer.name in _LAST or not network.is_real(index)):
            waiting += reversed(before)
        elif index in reals:
            found.append(index)
    return tuple(dict.fromkeys(found))


def answer_noise(model: Model, rows: Rows) -> Energy:
    """Signal and noise of the answers of a model, of all together; each answer has the same weight.

    Args:
        model: the quantized model.
        rows: the inputs.
    """
    answers = answers_of(model.network)
    exact = exact_elements(model.network, answers, rows, keep_state=model.wishes.keep_state)
    return joined(noise_of(model, answers, exact, rows).values())


def joined(parts: Iterable[Energy]) -> Energy:
    """Several tensors' signal and noise as one, each with a signal of 1."""
    listed = [each for each in parts if each.signal > 0]
    return Energy(float(len(listed)), sum(each.part for each in listed)) if listed else Energy(1.0, 0.0)
