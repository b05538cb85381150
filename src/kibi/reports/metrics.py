"""Figures of classifiers and detectors, computed from labels, answers and scores."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """One class.

    Attributes:
        label: its name; its number where it has none.
        inputs: how many inputs have this label.
        answers: how many inputs the model put into it.
        right: how many of both.
    """

    label: str
    inputs: int
    answers: int
    right: int

    @property
    def precision(self) -> float | None:
        """The part of the answers that are right; None if there are no answers."""
        return self.right / self.answers if self.answers else None

    @property
    def recall(self) -> float | None:
        """The part of the inputs that were found; None if there are no inputs."""
        return self.right / self.inputs if self.inputs else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall; None if the class has neither inputs nor answers."""
        return 2 * self.right / (self.inputs + self.answers) if self.inputs + self.answers else None


def confusion_matrix(labels: Numbers, answers: Numbers, classes: int) -> Numbers:
    """How many inputs of each class got each answer.

    Args:
        labels: `[N]`, the class of each input; -1: it has none, and does not count.
        answers: `[N]`, the class that the model answered; -1: none.
        classes: how many there are.

    Returns:
        `[classes, classes + 1]`: a row for each label, a column for each answer; the last one is of inputs without an answer.
    """
    counted = labels >= 0
    columns = np.where(answers < 0, classes, answers)[counted]
    matrix = np.zeros((classes, classes + 1), np.int64)
    np.add.at(matrix, (labels[counted], columns), 1)
    return matrix


def area_under_curve(scores: Values, positive: NDArray[np.bool_]) -> float | None:
    """The area under the receiver operating characteristic: how often a positive one scores above a negative one.

    A pair of equal scores counts half. This is the Mann-Whitney statistic, computed from ranks (Hanley and McNeil, 1982).

    Args:
        scores: `[N]`, none of them NaN.
        positive: `[N]`.

    Returns:
        A number from 0 to 1; None if there are no positive or no negative ones.
    """
    positives = int(positive.sum())
    negatives = positive.size - positives
    if not positives or not negatives:
        return None
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    return float((ranks[places][positive].sum() - positives * (positives + 1) / 2) / (positives * negatives))


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold of scores.

    Attributes:
        score: inputs with at least this score count as positive.
        found: the part of the positive ones that reach it.
        false_alarms: the part of the negative ones that reach it.
    """

    score: float
    found: float
    false_alarms: float


def best_threshold(scores: Values, positive: NDArray[np.bool_]) -> Threshold | None:
    """The threshold at which found minus false alarms is largest (Youden's index); the highest one if several are.

    Args:
        scores: `[N]`, none of them NaN.
        positive: `[N]`.

    Returns:
        The threshold; None if there are no positive or no negative ones.
    """
    positives = int(positive.sum())
    negatives = positive.size - positives
    if not positives or not negatives:
        return None
    order = np.argsort(-scores, kind="stable")
    found, alarms = np.cumsum(positive[order]) / positives, np.cumsum(~positive[order]) / negatives
    ends = np.append(scores[order][1:] != scores[order][:-1], True)
    best = int(np.argmax(np.where(ends, found - alarms, -np.inf)))
    return Threshold(float(scores[order][best]), float(found[best]), float(alarms[best]))
