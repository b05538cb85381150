"""The figures of an evaluation, from what was kept of each input."""

from typing import Any

import numpy as np

from kibi.errors import InputError
from kibi.ir import Graph
from kibi.reports.evaluation import Classification, Comparison, Detection
from kibi.reports.judging import Judgements, Labels, Task
from kibi.reports.metrics import ClassFigures, Numbers, Values, area_under_curve, best_threshold, confusion_matrix


def classification(task: Task, judged: Judgements, labels: Labels) -> Classification:
    """The figures of a classifier."""
    matrix = confusion_matrix(np.where(judged.ended == 1, judged.labels, -1), judged.answers, task.classes)
    right = np.diagonal(matrix)
    answers = np.bincount(judged.answers[judged.answers >= 0], minlength=task.classes)
    if matrix.any():
        answers = matrix[:, :-1].sum(axis=0)
    figures = tuple(
        ClassFigures(labels.name(number), int(matrix[number].sum()), int(answers[number]), int(right[number]))
        for number in range(task.classes)
    )
    return Classification(int(matrix.sum()), int(right.sum()), figures, tuple(tuple(map(int, row)) for row in matrix))


@np.errstate(all="ignore")  # scores may be infinite
def detection(task: Task, judged: Judgements, windows: int = 1) -> Detection:
    """The figures of a detector.

    Args:
        task: what is asked of the model.
        judged: what is kept of each input.
        windows: how many inputs after one another are windows of one; their scores are averaged, and those that are left at the end
            of an interrupted evaluation do not count.

    Raises:
        InputError: windows of one input have different labels.
    """
    every, labels = _of_windows(judged, windows)
    known = ~np.isnan(every)
    labelled = known & (labels >= 0)
    scores, positive = every[labelled], labels[labelled] == 1
    return Detection(
        score=task.score,
        normal=int((~positive).sum()),
        anomalous=int(positive.sum()),
        mean_normal=_mean(scores[~positive]),
        mean_anomalous=_mean(scores[positive]),
        mean=_mean(every[known]),
        auc=area_under_curve(scores, positive),
        threshold=best_threshold(scores, positive),
        not_numbers=int((np.isnan(judged.scores) & (judged.ended == 1)).sum()),
    )


@np.errstate(all="ignore")  # outputs may be infinite
def comparison(task: Task, judged: Judgements, graph: Graph, reference: Graph) -> Comparison:
    """The outputs beside those of another model."""
    known = judged.ended == 1
    elements = sum(graph.tensors[index].type.elements for index in graph.outputs)
    squares = judged.squares[known]
    lengths = np.sqrt(judged.norms[known] * judged.reference_norms[known])
    cosines = judged.dots[known][lengths > 0] / lengths[lengths > 0]
    agrees = judged.agrees[known]
    return Comparison(
        reference=reference.source,
        rmse=float(np.sqrt(squares.mean() / elements)) if squares.size else 0.0,
        cosine=_mean(cosines),
        least_cosine=float(cosines.min()) if cosines.size else None,
        same_answer=_mean(agrees.astype(np.float64)) if task.classes else None,
    )


def _of_windows(judged: Judgements, windows: int) -> tuple[Values, Numbers]:
    """The scores and labels of inputs that consist of windows."""
    count = len(judged) // windows
    scores = judged.scores[: count * windows].reshape(count, windows)
    labels = judged.labels[: count * windows].reshape(count, windows)
    mixed = np.flatnonzero((labels != labels[:, :1]).any(axis=1))
    if mixed.size:
        first = int(mixed[0]) * windows
        what = f"inputs {first} to {first + windows - 1} are windows of one, and have different labels"
        raise InputError(f"{what}. Give the number of windows of each.")
    return scores.mean(axis=1), labels[:, 0]


def _mean(values: "np.ndarray[Any, np.dtype[np.float64]]") -> float | None:
    return float(values.mean()) if values.size else None
