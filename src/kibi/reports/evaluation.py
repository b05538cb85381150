"""The result of an evaluation: what a model answers on a data set, in figures."""

from dataclasses import asdict, dataclass
from typing import Any

from kibi.reports.metrics import ClassFigures, Threshold


@dataclass(frozen=True, slots=True)
class Classification:
    """A classifier's answers.

    Attributes:
        labelled: how many inputs have a label.
        right: how many of them got it as the answer.
        classes: each class.
        confusion: for each class, in a row, how many of its inputs got each answer; the last column is of inputs without an
            answer, because a score was not a number.
    """

    labelled: int
    right: int
    classes: tuple[ClassFigures, ...]
    confusion: tuple[tuple[int, ...], ...]

    @property
    def accuracy(self) -> float | None:
        """The part of the labelled inputs with the right answer; None if there are none."""
        return self.right / self.labelled if self.labelled else None


@dataclass(frozen=True, slots=True)
class Detection:
    """The scores of a detector of anomalies.

    Attributes:
        score: what the score is: `reconstruction`, `output` or `class:N`.
        normal, anomalous: how many inputs have the label 0, and how many 1.
        mean_normal, mean_anomalous: the mean score of both; None if there are no such inputs.
        mean: the mean score of all inputs.
        auc: the area under the curve; None without inputs of both kinds.
        threshold: the one at which found minus false alarms is largest; None as above.
        not_numbers: how many scores are no numbers; they are left out.
    """

    score: str
    normal: int
    anomalous: int
    mean_normal: float | None
    mean_anomalous: float | None
    mean: float | None
    auc: float | None
    threshold: Threshold | None
    not_numbers: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outputs beside those of another model, in real values.

    Attributes:
        reference: the other model's file.
        rmse: the root of the mean squared difference of all elements.
        cosine, least_cosine: the mean and the least cosine of the angle between both models' outputs for one input; None if an
            output of zeros has no angle for any input.
        same_answer: the part of the inputs with the same best class; None if the model is no classifier.
    """

    reference: str
    rmse: float
    cosine: float | None
    least_cosine: float | None
    same_answer: float | None


@dataclass(frozen=True, slots=True)
class WorstInput:
    """One of the inputs with the worst outputs.

    Attributes:
        number: its place in the data, from 0.
        name: of its file; empty if it has none.
        label: its class, by name; empty if it has none.
        answer: the class that the model answered; empty if it answered no class.
        figure: what it was chosen by: see `Evaluation.worst_by`.
        file: the file that it was written to; empty if it was not.
    """

    number: int
    name: str
    label: str
    answer: str
    figure: float
    file: str = ""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a model answers on a data set.

    Attributes:
        model, data: the names of the model and of the data.
        inputs: how many inputs were counted.
        total: how many the data have; None if that is not known.
        is_complete: False if it was interrupted before the data ended.
        without_outputs: inferences that an operator ended early, because it waits for further ones; they count nowhere else.
        classification: of a classifier.
        detection: of a model with scores.
        comparison: with another model.
        worst_by: what `WorstInput.figure` is.
        worst: the worst inputs, the worst first.
        warnings: what looks wrong with the data.
    """

    model: str
    data: str
    inputs: int
    total: int | None
    is_complete: bool
    without_outputs: int
    classification: Classification | None
    detection: Detection | None
    comparison: Comparison | None
    worst_by: str
    worst: tuple[WorstInput, ...]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Returns the facts as plain data, for JSON."""
        record = asdict(self)
        if self.classification is not None:
            record["classification"]["accuracy"] = self.classification.accuracy
            for row, each in zip(record["classification"]["classes"], self.classification.classes, strict=True):
                row |= {"precision": each.precision, "recall": each.recall, "f1": each.f1}
        return record
