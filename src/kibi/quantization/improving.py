"""Makes the error of a quantized model smaller, by the error of the integers that will run.

Each step is a change that is tried: the changed model runs, bit by bit as on the device, and the change stays if the answers come
nearer to the float32 model's. Meanwhile ranges come from one half of the calibration inputs, and the other half judges. So a
change that would cut what other inputs reach does not stay. A search among many changes fits the inputs that judge it, so what it
finds is checked the other way round: with ranges of the second half, judged by the first. In the end, ranges come from all inputs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kibi.dtypes import Array, DType
from kibi.quantization.calibration import Values
from kibi.quantization.equalization import equalized
from kibi.quantization.layer import Layer
from kibi.quantization.layout import Form
from kibi.quantization.noise import Energy, Rows, answers_of, exact_elements, joined, noise_of
from kibi.quantization.quantizing import Changes, Model
from kibi.quantization.recurrent import seen_of
from kibi.quantization.report import Improvement
from kibi.quantization.rules import RULES
from kibi.quantization.running import GraphRunner

_MOST_ROWS = 128
_FEW = 8
_PARTS = (0.9, 0.8, 0.65, 0.5, 0.35, 0.25, 0.18)
"""The parts of a range that are tried, until two of them are no better."""
_PATIENCE = 2
_GAIN, _RANGE_GAIN = 0.995, 0.95
"""A change stays if the noise is less than this part of what it was. A smaller range may cut what further inputs reach: it must
gain more."""
_SHARES = (0.5, 1.0)
Watch = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Judge:
    """Says how far the answers of a model are from the float32 model's.

    Attributes:
        answers: the tensors that are compared.
        rows: the inputs.
        exact: the float32 model's elements.
    """

    answers: tuple[int, ...]
    rows: Rows
    exact: tuple[tuple[Array, ...], ...]

    @staticmethod
    def of(model: Model, rows: Rows) -> "Judge":
        """A judge by these inputs."""
        answers = answers_of(model.network)
        exact = exact_elements(model.network, answers, rows, keep_state=model.wishes.keep_state)
        return Judge(answers, rows, tuple(exact))

    def energy(self, model: Model) -> Energy:
        """Signal and noise of the answers."""
        return joined(noise_of(model, self.answers, self.exact, self.rows).values())


@dataclass(frozen=True, slots=True)
class _Check:
    """Judges changes by inputs that did not choose them.

    Attributes:
        judge: by the inputs that gave ranges while changes were tried.
        model: without changes, with the ranges of the inputs that judged them.
    """

    judge: Judge
    model: Model

    def agrees(self, after: Changes, before: Changes, gain: float) -> bool:
        """True if the noise after a change is less than this part of that before it."""
        made, was = (self.judge.energy(self.model.changed(changes)).part for changes in (after, before))
        return made < gain * was


@dataclass(slots=True)
class _Best:
    """The best model so far.

    Attributes:
        judge: says whether a change stays.
        check: says whether many changes together do.
        model: the model.
        noise: of its answers, as a part of the signal.
        steps: what made it better.
    """

    judge: Judge
    check: _Check
    model: Model
    noise: float
    steps: list[Improvement]

    def tries(self, changes: Changes, kind: str, output: str, gain: float = _GAIN) -> bool:
        """Takes a change if it makes the noise smaller; returns whether it did."""
        model = self.model.changed(changes)
        energy = self.judge.energy(model)
        if energy.part >= gain * self.noise:
            return False
        self.model, self.noise = model, energy.part
        self.steps.append(Improvement(kind, output, energy.decibels))
        return True


def improve(model: Model, rows: Sequence[Sequence[Array]], watch: Watch) -> tuple[Model, tuple[Improvement, ...]]:
    """A model with a smaller error, and the steps to it; the same model if no step makes it smaller.

    Args:
        model: with the ranges of the data.
        rows: the calibration inputs; of a sequence, each goes on from the one before.
        watch: is told what is tried.
    """
    if not answers_of(model.network):
        return model, ()
    ranging, judging = _halves(rows, is_sequence=model.wishes.keep_state)
    start, other = (_with_ranges(model, part) for part in (ranging, judging))
    judge = Judge.of(model, _few(judging))
    check = _Check(Judge.of(model, _few(ranging)), other)
    best = _Best(judge, check, start, judge.energy(start).part, [])
    for name, step in (("equalization", _equalize), ("ranges", _search), ("biases", _correct)):
        watch(f"trying {name}")
        step(best)
    changes = best.model.changes
    if not best.steps or not check.agrees(changes, Changes(), 1.0):
        return model, ()
    return model.changed(changes), tuple(best.steps)


def _with_ranges(model: Model, rows: Rows) -> Model:
    """The model without changes, with the ranges of these inputs."""
    return replace(model, seen=seen_of(model.network, rows, keep_state=model.wishes.keep_state)).changed(Changes())


def _halves(rows: Rows, *, is_sequence: bool) -> tuple[Rows, Rows]:
    """The inputs that give ranges while changes are tried, and those that judge the changes."""
    return (rows, rows) if is_sequence or len(rows) < _FEW else (rows[::2], rows[1::2])


def _few(rows: Rows) -> Rows:
    """Inputs of these, spread evenly, as many as are run for each change."""
    return rows[:: max(1, len(rows) // _MOST_ROWS)][:_MOST_ROWS]


def _equalize(best: _Best) -> None:
    """Equalizes channels with each of the shares in turn, and keeps what makes the noise smaller."""
    start = best.model
    for share in _SHARES:
        changes = equalized(start, share)
        if changes.factors:
            best.tries(changes, "equalization", "")


def _search(best: _Best) -> None:
    """Shrinks the range of each group of tensors, one after another; all stay as they were if the check finds no gain."""
    before, noise, count = best.model, best.noise, len(best.steps)
    for root in _roots(best.model):
        name, failures = best.model.network.records[root[0]].name, 0
        for part in _PARTS:
            changes = best.model.changes
            shrunk = {**changes.shrunk, root: part}
            is_better = best.tries(replace(changes, shrunk=shrunk), "range", name, _RANGE_GAIN)
            failures = 0 if is_better else failures + 1
            if failures == _PATIENCE:
                break
    if len(best.steps) > count and not best.check.agrees(best.model.changes, before.changes, _RANGE_GAIN):
        best.model, best.noise = before, noise
        del best.steps[count:]


def _roots(model: Model) -> list[Form]:
    """The groups of s8 whose scales follow from ranges, in the order in which they come up; but for those of the model's inputs.

    The range of an input is mostly known, and whoever uses the model relies on it.
    """
    layout = model.written.layout
    roots = dict.fromkeys(layout.groups.values())
    fixed = {
        layout.groups[index, dtype]
        for layer in model.network.layers
        if (rule := RULES.get(layer.name)) is not None
        and rule.fixed
        and (dtype := layout.dtype_of(layer)) is not DType.F32
        for index in layer.outputs
    }
    fixed |= {root for (index, _), root in layout.groups.items() if index in model.network.inputs}
    return [root for root in roots if root[1] is DType.S8 and root not in fixed]


def _correct(best: _Best) -> None:
    """Shifts the biases of layers by the mean error of their outputs, one layer after another."""
    for layer in list(_weighted(best.model)):
        model, changes = best.model, best.model.changes
        shift = _mean_error(model, layer.outputs[0], best.judge.rows)
        weights = RULES[layer.name].weights
        if weights is None or not np.abs(shift).max(initial=0):
            continue
        index = layer.inputs[weights.bias] if weights.bias < len(layer.inputs) else -1
        own = changes.biases.get(layer.index, changes.weights.get(index, model.network.constant(index)))
        bias = np.asarray((0 if own is None else own.astype(np.float64)) + shift, np.float32)
        name = model.network.records[layer.outputs[0]].name
        best.tries(replace(changes, biases={**changes.biases, layer.index: bias}), "bias", name)


def _weighted(model: Model) -> Iterator[Layer]:
    """Yields the layers with weights that compute integers, and whose output both models make."""
    for layer in model.network.layers:
        rule = RULES.get(layer.name)
        is_integer = model.choices[layer.index].dtype in (DType.S8, DType.S16)
        if rule is not None and rule.weights is not None and is_integer and layer.outputs[0] in model.forms:
            yield layer


def _mean_error(model: Model, index: int, rows: Rows) -> Values:
    """By how much the sums of each channel of a tensor are too small on average, `[C]`, in the quantized model's own terms.

    Where an activation cuts, elements that are cut tell nothing: the mean is of the others.
    """
    exact = exact_elements(model.network, [index], rows, keep_state=model.wishes.keep_state)
    runner = GraphRunner(model.graph, [model.forms[index][0]])
    inputs = [model.inputs_of(each) for each in rows]
    total, count = np.zeros(1), np.zeros(1)
    for (wanted,), (elements,) in zip(exact, runner.run_all(inputs, keep_state=model.wishes.keep_state), strict=True):
        right = wanted.reshape(-1, wanted.shape[-1] if wanted.ndim else 1).astype(np.float64)
        found = model.reals_of(index, elements).reshape(right.shape)
        is_open = (right != 0) | (found != 0)
        total, count = total + np.where(is_open, right - found, 0).sum(axis=0), count + is_open.sum(axis=0)
    means: Values = total / np.maximum(count, 1)
    factors: Mapping[int, Values] = model.changes.factors
    return means * factors[index] if index in factors else means
