"""What a quantized model loses, as one number: by its integers, on inputs that gave no ranges."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kibi.dtypes import Array
from kibi.ir import Graph
from kibi.quantization.network import Network
from kibi.quantization.noise import Energy, Rows, answers_of, joined
from kibi.quantization.quantizing import Model
from kibi.quantization.running import GraphRunner


@dataclass(frozen=True, slots=True)
class Loss:
    """What a model loses.

    Attributes:
        noise: of the answers, as a part of the signal.
        accuracy: the part of the inputs whose answer is that of their label; None without labels.
        lost_accuracy: by how much that is less than the float32 model's; 0 if it is not less, and without labels.
    """

    noise: float
    accuracy: float | None = None
    lost_accuracy: float = 0.0

    @property
    def total(self) -> float:
        """The accuracy that is lost plus the noise, which decides where accuracies are alike."""
        return self.lost_accuracy + self.noise


@dataclass(frozen=True, slots=True)
class LossJudge:
    """Says what models lose against the float32 model.

    Attributes:
        answers: the tensors that are compared.
        rows: the inputs.
        exact: the float32 model's elements of the answers.
        labels: the number of the class of each input; None: accuracy is not counted.
        right: the part of the inputs that the float32 model answers right.
        keep_state: True if the inputs are a sequence.
    """

    answers: tuple[int, ...]
    rows: Rows
    exact: tuple[tuple[Array, ...], ...]
    labels: tuple[int, ...] | None
    right: float
    keep_state: bool

    @staticmethod
    def of(network: Network, rows: Rows, labels: Sequence[int] | None, *, keep_state: bool = False) -> "LossJudge":
        """A judge by these inputs.

        Args:
            network: the float32 model.
            rows: inputs; for each an array for each model input, of its shape and type.
            labels: the number of the class of each input, for a classifier; None: there are none.
            keep_state: True if the inputs are a sequence: variables keep their values.
        """
        answers = answers_of(network)
        exact, outputs = _run(network.graph, answers, network.outputs, rows, keep_state=keep_state)
        numbers = None if labels is None else tuple(labels)
        right = 0.0 if numbers is None else _accuracy(outputs, numbers)
        return LossJudge(answers, rows, exact, numbers, right, keep_state)

    def loss(self, model: Model) -> Loss:
        """What a model loses, by the integers that will run."""
        rows = [model.inputs_of(each) for each in self.rows]
        places = [model.forms[index][0] for index in self.answers]
        found, outputs = _run(model.graph, places, model.graph.outputs, rows, keep_state=self.keep_state)
        energies = [Energy() for _ in self.answers]
        for wanted, made in zip(self.exact, found, strict=True):
            for place, (index, right, elements) in enumerate(zip(self.answers, wanted, made, strict=True)):
                energies[place] = energies[place].plus(right, model.reals_of(index, elements))
        noise = joined(energies).part
        if self.labels is None:
            return Loss(noise)
        accuracy = _accuracy(outputs, self.labels)
        return Loss(noise, accuracy, max(self.right - accuracy, 0.0))


def _run(
    graph: Graph, places: Sequence[int], outputs: Sequence[int], rows: Rows, *, keep_state: bool
) -> tuple[tuple[tuple[Array, ...], ...], list[Array]]:
    """The elements of tensors for each input, and those of the first output."""
    wanted = list(dict.fromkeys((*places, outputs[0])))
    made = list(GraphRunner(graph, wanted).run_all(rows, keep_state=keep_state))
    numbers, last = [wanted.index(place) for place in places], wanted.index(outputs[0])
    return tuple(tuple(each[number] for number in numbers) for each in made), [each[last] for each in made]


def _accuracy(outputs: Sequence[Array], labels: Sequence[int]) -> float:
    """The part of outputs whose largest element is that of the label."""
    return float(np.mean([int(np.argmax(each)) == label for each, label in zip(outputs, labels, strict=True)]))
