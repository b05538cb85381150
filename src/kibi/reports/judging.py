"""What is kept of each input of an evaluation: a few numbers, from which all figures are computed at the end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import isfinite, isnan
from typing import Any, Self

import numpy as np

from kibi.arrays.dataset import Label, class_number
from kibi.engines.host_process import Results
from kibi.errors import InputError
from kibi.ir import Graph
from kibi.reports.metrics import Numbers, Values
from kibi.reports.outputs import is_classifier, real_values

_MOST_SHOWN = 40
"""The most characters of a label in an error."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked of a model.

    Attributes:
        classes: how many classes its output tells apart; 0: it is no classifier.
        score: what the score of an input is: `output`, `reconstruction`, `class:N`; empty if it has no score.
    """

    classes: int
    score: str

    @staticmethod
    def of(graph: Graph, score: str | None, *, has_reference: bool) -> "Task":
        """The task of a model.

        Args:
            graph: the model.
            score: what the user asks for; None: what follows from the shapes.
            has_reference: True if it is compared with another model.

        Raises:
            InputError: the model has no such score, or nothing can be said of it.
        """
        outputs = [graph.tensors[index].type for index in graph.outputs]
        inputs = [graph.tensors[index].type for index in graph.inputs]
        is_like_input = len(inputs) == len(outputs) == 1 and inputs[0].elements == outputs[0].elements
        count = outputs[0].elements if len(outputs) == 1 else 0
        if score is None:
            if is_classifier(graph):
                return Task(count, "")
            found = "reconstruction" if is_like_input and count > 1 else "output" if count == 1 else ""
            if not found and not has_reference:
                what = f"{graph.source} has outputs that are neither classes nor a score"
                raise InputError(f"{what}. Give --score, or --reference and the model to compare it with.")
            return Task(0, found)
        kind, _, number = score.partition(":")
        wanted = class_number(number)
        fits = {
            "reconstruction": is_like_input and not number,
            "output": count == 1 and not number,
            "class": wanted is not None and wanted < count,
        }
        if not fits.get(kind, False):
            needed = "output (one element), reconstruction (an output of the input's size), or class:N (one output, N from 0)"
            raise InputError(f"{graph.source} has no score {score!r}. Scores are {needed}.")
        return Task(0, score)


@dataclass(frozen=True, slots=True)
class Judgements:
    """What is kept of N inputs, `[N]` each.

    Attributes:
        ended: 1 if the inference came to its end, else 0, and all else is empty.
        labels: the number of the class; -1: it has no label.
        answers: the class with the best score; -1: the model is no classifier, or a score is no number.
        margins: the score of the label minus the best score of another class; without a label, the best minus the second; NaN:
            there are none.
        scores: of a detector; NaN: the model is none, or the score is no number.
        squares, dots, norms, reference_norms: of the outputs and those of the other model: the sums of squared differences, of
            products, and of squares of each; NaN: there is no other model.
        agrees: 1 if both models have the same answer, 0 if not, -1 if they are no classifiers.
    """

    ended: Numbers
    labels: Numbers
    answers: Numbers
    margins: Values
    scores: Values
    squares: Values
    dots: Values
    norms: Values
    reference_norms: Values
    agrees: Numbers

    def __len__(self) -> int:
        return len(self.labels)

    def fits(self, labels: Numbers, task: Task) -> bool:
        """True if these can be of inputs with such labels, for such a task."""
        ranges = ((self.ended, 0, 1), (self.answers, -1, task.classes - 1), (self.agrees, -1, 1))
        is_inside = all(((array >= low) & (array <= high)).all() for array, low, high in ranges)
        return is_inside and np.array_equal(self.labels, labels)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Those of all inputs, in order."""
        if not parts:
            return cls.from_lists({field.name: [] for field in fields(cls)})
        arrays: dict[str, Any] = {
            field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)
        }
        return cls(**arrays)

    def to_lists(self) -> dict[str, list[int | float | str | None]]:
        """Plain lists, by name, of what JSON has: NaN is None, and infinite numbers are texts."""
        return {field.name: [_plain(value) for value in getattr(self, field.name).tolist()] for field in fields(self)}

    @classmethod
    def from_lists(cls, lists: Mapping[str, Any]) -> Self:
        """What `to_lists` gave.

        Raises:
            ValueError: it did not.
        """
        arrays: dict[str, Any] = {}
        for field in fields(cls):
            kind = np.int64 if field.type is Numbers else np.float64
            arrays[field.name] = np.array(lists.get(field.name), dtype=kind)
        if len({array.shape for array in arrays.values()}) > 1 or arrays["ended"].ndim != 1:
            raise ValueError("lists of other lengths")
        return cls(**arrays)


@np.errstate(all="ignore")  # scores may be infinite
def judge(
    graph: Graph,
    task: Task,
    given: Values | None,
    results: Results,
    labels: Numbers,
    reference: Sequence[Values] | None,
) -> Judgements:
    """What is kept of a batch.

    Args:
        graph: the model.
        task: what is asked of it.
        given: the real values of the input, `[N, …]`, for a reconstruction; None: the score is another one.
        results: the outputs.
        labels: `[N]`, the number of each input's class, or -1.
        reference: real values of the other model's outputs, `[N, …]` each; None without another model.
    """
    count = len(labels)
    outputs = [
        real_values(graph.tensors[index], array).reshape(count, -1)
        for index, array in zip(graph.outputs, results.outputs, strict=True)
    ]
    answers, margins = _classes(outputs[0], labels) if task.classes else (_none(count), _nothing(count))
    squares = dots = norms = reference_norms = _nothing(count)
    agrees = _none(count)
    if reference is not None:
        ours = np.concatenate(outputs, axis=1)
        theirs = np.concatenate([array.reshape(count, -1) for array in reference], axis=1)
        squares, dots = np.square(ours - theirs).sum(axis=1), (ours * theirs).sum(axis=1)
        norms, reference_norms = np.square(ours).sum(axis=1), np.square(theirs).sum(axis=1)
        if task.classes:
            agrees = (answers == _classes(theirs, labels)[0]).astype(np.int64)
    scores = _scores(task, given, outputs) if task.score else _nothing(count)
    made = Judgements(
        results.ended.astype(np.int64), labels, answers, margins, scores, squares, dots, norms, reference_norms, agrees
    )
    return made if results.ended.all() else _without_outputs(made)


def _classes(scores: Values, labels: Numbers) -> tuple[Numbers, Values]:
    """The answers and margins of a classifier; of equal scores the first class wins, as on the device."""
    rows = np.arange(len(scores))
    is_number = np.array([not each.any() for each in np.isnan(scores)], np.bool_)
    answers = np.where(is_number, np.argmax(np.where(is_number[:, None], scores, 0), axis=1), -1)
    chosen = np.where(labels >= 0, labels, answers)
    others = scores.copy()
    others[rows, chosen] = -np.inf
    margins = np.where(is_number, scores[rows, chosen] - others.max(axis=1), np.nan)
    return answers.astype(np.int64), margins


def _scores(task: Task, given: Values | None, outputs: Sequence[Values]) -> Values:
    if given is not None:
        return np.asarray(np.square(given.reshape(outputs[0].shape) - outputs[0]).mean(axis=1))
    _, _, number = task.score.partition(":")
    return np.asarray(outputs[0][:, int(number or 0)])


def _without_outputs(made: Judgements) -> Judgements:
    """The same, empty where there are no outputs."""
    arrays: dict[str, Any] = {}
    for field in fields(made):
        array = getattr(made, field.name)
        empty = -1 if array.dtype == np.int64 else np.nan
        is_kept = field.name in ("ended", "labels")
        arrays[field.name] = array if is_kept else np.where(made.ended == 1, array, empty).astype(array.dtype)
    return Judgements(**arrays)


def _plain(value: float) -> int | float | str | None:
    """A number as JSON has it."""
    if isinstance(value, int) or isfinite(value):
        return value
    return None if isnan(value) else str(value)


def _none(count: int) -> Numbers:
    return np.full(count, -1, np.int64)


def _nothing(count: int) -> Values:
    return np.full(count, np.nan)


@dataclass(frozen=True, slots=True)
class Labels:
    """How the labels of a data set become numbers of classes.

    Attributes:
        names: the names of the classes in order, which the user gave; none: they have numbers.
        folders: the names of the folders of classes, in order.
        count: how many classes there are: 2 for a detector, normal and anomalous.
        is_detector: True if 0 is normal and 1 is anomalous, which the order of folders does not tell.
        source: the data's name, for errors.
    """

    names: tuple[str, ...]
    folders: tuple[str, ...]
    count: int
    is_detector: bool
    source: str

    @staticmethod
    def of(task: Task, names: Sequence[str] | None, folders: Sequence[str], source: str) -> "Labels":
        """The labels for a task.

        Raises:
            InputError: there are more or fewer names than classes, or folders that are no classes.
        """
        count = task.classes or (2 if task.score else 0)
        made = Labels(tuple(names or ()), tuple(folders), count, not task.classes, source)
        if names is not None and len(names) != count:
            raise InputError(f"there are {len(names)} labels for {count} classes. Give one label per class.")
        if len(set(made.names)) != len(made.names):
            raise InputError("two labels are the same. Give each class a name of its own.")
        for folder in made.folders:
            made.number(folder, f"folder {folder!r}")
        return made

    def number(self, label: Label | None, where: str) -> int:
        """The number of a label's class; -1 if there is no label.

        Raises:
            InputError: it is no class.
        """
        if label is None or not self.count:
            return -1
        if isinstance(label, str):
            label = self._named(label, where)
        if not 0 <= label < self.count:
            known = f"classes are 0 to {self.count - 1}"
            if self.is_detector:
                known = "those of a detector are 0 (normal) and 1 (anomalous)"
            raise InputError(f"{self.source}, {where}: the label is {label}; {known}.")
        return label

    def name(self, number: int) -> str:
        """The name of a class; empty for -1."""
        if number < 0:
            return ""
        return self.names[number] if self.names else self.folders[number] if self._are_classes else str(number)

    @property
    def _are_classes(self) -> bool:
        """True if the folders, in order, are the classes of a classifier."""
        has_names = any(not each.isdecimal() for each in self.folders)
        return not self.names and not self.is_detector and has_names and len(self.folders) == self.count

    def _named(self, label: str, where: str) -> int:
        if label in self.names:
            return self.names.index(label)
        number = class_number(label)
        if number is not None and not self.names:
            return number
        if self._are_classes and label in self.folders:
            return self.folders.index(label)
        shown = repr(label if len(label) <= _MOST_SHOWN else f"{label[:_MOST_SHOWN]}…")
        if self.names:
            raise InputError(f"{self.source}, {where}: {shown} is none of the labels {', '.join(self.names[:16])}.")
        what = f"{self.source}, {where}: nothing says which class {shown} is"
        order = ", normal first" if self.is_detector else ""
        raise InputError(
            f"{what}. Give --labels and a file with the names of the {self.count} classes in order{order}."
        )
