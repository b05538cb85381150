"""A quantization from the file to the figures."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kibi.dtypes import Array, DType
from kibi.errors import DataWarning, InputError
from kibi.frontends.model_file import read_model
from kibi.ir import Graph
from kibi.passes import simplify
from kibi.quantization.advice import float_operators, layer_figures
from kibi.quantization.costs import costs_of
from kibi.quantization.fitting import MOST_JUDGED, Inputs, fit
from kibi.quantization.improving import improve
from kibi.quantization.network import Network
from kibi.quantization.noise import answer_noise, layer_noise
from kibi.quantization.quantizing import Model, Wishes, quantize_network
from kibi.quantization.report import LIMIT_WORDS, Limits, Quantization
from kibi.quantization.samples import CALIBRATION_INPUTS, PIXELS, Sample, Samples, few_of, unnormalized
from kibi.reports.evaluating import Request, evaluate
from kibi.reports.evaluation import Evaluation
from kibi.reports.judging import Labels, Task
from kibi.targets import Target, target

ACTIVATIONS = {"int8": DType.S8, "int16": DType.S16}
"""The types of activations, by their names."""
_WEIGHTS = ("int8", "int4")
Watch = Callable[[str], None]
"""Is told what is being done."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is quantized, and how.

    Attributes:
        model: the path of the float32 model.
        data: see `open_dataset`.
        truth: the path of a file with labels; None: those in the data.
        labels: the names of the classes in order; None: they have numbers.
        score: of a detector, as for `kibi.evaluate`.
        pixels: what the pixels of images and of u8 arrays mean: one of `PIXELS`.
        calibration_inputs: how many inputs give the ranges.
        most: how many inputs the evaluation takes at most; None: all.
        wishes: what the new model is to be.
        target: the processor whose costs are measured; None: nothing is measured.
        evaluates: False leaves the evaluation out.
        improves: False takes the ranges of the data and the weights of the file as they are.
        limits: what the model may take on the target: types are chosen so that it fits.
    """

    model: Path
    data: str | Path | Callable[[], Iterable[Any]]
    truth: Path | None = None
    labels: Sequence[str] | None = None
    score: str | None = None
    pixels: str = PIXELS[0]
    calibration_inputs: int = CALIBRATION_INPUTS
    most: int | None = None
    wishes: Wishes = field(default_factory=Wishes)
    target: str | None = "cortex-m4"
    evaluates: bool = True
    improves: bool = True
    limits: Limits = field(default_factory=Limits)


def activations_named(name: str) -> DType:
    """The type of activations of a name.

    Raises:
        InputError: there is no such type.
    """
    if name not in ACTIVATIONS:
        raise InputError(f"activations cannot be {name!r}. Give {' or '.join(ACTIVATIONS)}.")
    return ACTIVATIONS[name]


def are_int4(weights: str, activations: str) -> bool:
    """True if a name of a type of weights is that of int4.

    Raises:
        InputError: there is no such type, or it does not go with the activations.
    """
    if weights not in _WEIGHTS:
        raise InputError(f"weights cannot be {weights!r}. Give {' or '.join(_WEIGHTS)}.")
    if weights == "int4" and activations_named(activations) is not DType.S8:
        what = f"weights cannot be int4 where activations are {activations}: TFLM has no such kernel"
        raise InputError(f"{what}. Give activations of int8, or name the operators that are to have int4.")
    return weights == "int4"


def run_job(job: Job, watch: Watch | None = None) -> Quantization:
    """Quantizes a model, and measures what that costs and saves.

    Raises:
        ModelError: the model is broken, not supported, or quantized already.
        InputError: data, labels or options do not fit the model.
        PlanError: no choice of types fits the limits.
        TargetError: there is no such target, or nothing emulates it.
        ToolchainError: the compiler is missing or fails.
        MismatchError: C code and Python disagree.
        EmulationError: the emulated core stopped.
    """
    tell = watch or (lambda _: None)
    if job.calibration_inputs < 1:
        raise InputError(f"the number of calibration inputs is {job.calibration_inputs}. Give at least 1.")
    processor = None if job.target is None else target(job.target)
    _check_limits(job.limits, processor)
    network = Network.of(read_model(job.model), job.model.name)
    job.wishes.check(network)
    samples = Samples(network.graph, job.data, job.truth, job.pixels)
    tell("reading data")
    rows = samples.chosen(job.calibration_inputs, is_sequence=job.wishes.keep_state)
    news = unnormalized(network.graph, rows)
    for text in news:
        warnings.warn(text, DataWarning, stacklevel=3)
    tell("ranges")
    budget = None
    if processor is not None and job.limits.given:
        judged = samples.chosen_samples(MOST_JUDGED, is_sequence=job.wishes.keep_state)
        labels = _class_numbers(job, samples, network, judged)
        inputs = Inputs(rows, [each.inputs for each in judged], labels)
        fitted = fit(network, inputs, job.wishes, job.limits, processor, tell, improves=job.improves)
        plain, made, steps, budget = fitted.plain, fitted.model, fitted.steps, fitted.budget
    else:
        plain = quantize_network(network, rows, job.wishes)
        made, steps = improve(plain, rows, tell) if job.improves else (plain, ())
    tell("errors of layers")
    figures = replace(_figures(job, samples, rows, plain, made), improvements=steps, budget=budget)
    return _with_measures(job, samples, made, replace(figures, warnings=tuple(news)), processor, tell)


def _check_limits(limits: Limits, processor: Target | None) -> None:
    """Refuses limits that nothing can be held to."""
    for name, limit in limits.given.items():
        if processor is None:
            raise InputError(f"a limit of {LIMIT_WORDS[name]} needs a processor to measure. Give a target.")
        if limit < 1:
            raise InputError(f"the limit of {LIMIT_WORDS[name]} is {limit:,}. Give at least 1.")


def _class_numbers(job: Job, samples: Samples, network: Network, judged: Sequence[Sample]) -> list[int] | None:
    """The class of each input; None if the model is no classifier, or an input has no label."""
    task = Task.of(network.graph, job.score, has_reference=True)
    if not task.classes:
        return None
    known = Labels.of(task, job.labels, samples.dataset.classes, samples.dataset.source)
    numbers = [known.number(each.label, f"input {number}") for number, each in enumerate(judged)]
    return numbers if min(numbers) >= 0 else None


def _figures(job: Job, samples: Samples, rows: Sequence[Sequence[Array]], plain: Model, made: Model) -> Quantization:
    """The figures that need no compiler."""
    few = rows if job.wishes.keep_state else few_of(rows)
    choices = made.choices.values()
    return Quantization(
        model=job.model.name,
        data=made.written.data,
        dataset=samples.dataset.source,
        calibration_inputs=len(rows),
        activations=next(name for name, dtype in ACTIVATIONS.items() if dtype is job.wishes.activations),
        target="" if job.target is None else job.target,
        integer_operators=sum(choice.dtype in (DType.S8, DType.S16) for choice in choices),
        int4_operators=sum(choice.is_int4 for choice in choices),
        float_operators=float_operators(made),
        layers=layer_figures(made, layer_noise(made, few)),
        decibels=answer_noise(made, rows).decibels,
        plain_decibels=answer_noise(plain, rows).decibels,
    )


def _with_measures(
    job: Job, samples: Samples, made: Model, figures: Quantization, processor: Target | None, tell: Watch
) -> Quantization:
    """The figures with those that need a compiler."""
    exact, found = (simplify(graph).graph for graph in (made.network.graph, made.graph))
    if job.evaluates:
        tell("evaluating")
        after = _evaluated(job, samples, found, exact)
        has_truth = after.classification is not None and after.classification.labelled
        is_judged = bool(has_truth) or (after.detection is not None and after.detection.auc is not None)
        before = _evaluated(job, samples, exact, None) if is_judged else None
        figures = replace(figures, before=before, after=after)
    if processor is not None:
        tell(f"measuring on {processor.name}")
        figures = replace(figures, costs_before=costs_of(exact, processor), costs_after=costs_of(found, processor))
    return figures


def _evaluated(job: Job, samples: Samples, graph: Graph, reference: Graph | None) -> Evaluation:
    """The evaluation of a model on the data."""
    folders = samples.dataset.classes
    names = job.labels or (folders if any(not name.isdecimal() for name in folders) else None)
    request = Request(
        graph=graph,
        data=samples.items,
        labels=names,
        score=job.score,
        reference=reference,
        most=job.most,
        keep_state=job.wishes.keep_state,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the calibration has looked at the data
        found = evaluate(request)
    if not found.is_complete:  # it was interrupted, and so is all of the quantization
        raise KeyboardInterrupt
    return replace(found, data=samples.dataset.source, total=samples.dataset.count)
