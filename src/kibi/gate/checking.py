"""Measures the models of kibi.toml, and compares them with their budgets and with the baseline."""

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING

import kibi
from kibi.clusters.tools import tools_here
from kibi.errors import InputError, KibiError, MismatchError
from kibi.files import temporary_folder
from kibi.frontends.model_file import read_model
from kibi.gate.baseline import Baseline
from kibi.gate.causes import causes
from kibi.gate.figures import KINDS
from kibi.gate.results import Failure, Figure, Layer, Measured, Report, Result, figures_of
from kibi.gate.spec import ModelSpec, Place, Spec
from kibi.planner import PlannedModel
from kibi.reports.plan_record import plan_record
from kibi.version import __version__

if TYPE_CHECKING:
    from kibi.codegen import Library
    from kibi.ir import Graph
    from kibi.planner import Plan
    from kibi.reports.measurement import Measurement


def check(
    spec: Spec,
    baseline: Baseline | None,
    *,
    oracle: bool = True,
    watch: Callable[[str], None] | None = None,
) -> Report:
    """Measures every model in every place.

    Args:
        spec: what is to be checked.
        baseline: recorded figures, or None: budgets alone count.
        oracle: True to compare bits with TFLM's build where it is installed; it is native code that does not check the model.
        watch: is told in a few words what is being measured.

    Returns:
        The report. A model that cannot be measured is a failure in it; the others are measured.
    """
    results = tuple(result for model in spec.models for result in _results(model, baseline, oracle, watch))
    return Report(str(spec.path), __version__, results, tuple(_remarks(results, baseline)))


def _remarks(results: tuple[Result, ...], baseline: Baseline | None) -> Iterator[str]:
    """Yields what concerns all models."""
    if baseline is None:
        yield "There is no baseline: budgets alone were checked. `kibi check --write` records one."
        return
    named = {(each.model, each.place) for each in results}
    gone = [f"{each.model} on {each.place}" for each in baseline.entries if (each.model, each.place) not in named]
    if gone:
        more = f" and {len(gone) - 3} more" if len(gone) > 3 else ""
        yield f"The baseline has what kibi.toml does not name: {', '.join(gone[:3])}{more}."


def _results(
    model: ModelSpec, baseline: Baseline | None, oracle: bool, watch: Callable[[str], None] | None
) -> Iterator[Result]:
    """Yields the result of one model in each place."""
    made: _Model | None = None
    failure = None
    try:
        made = _Model(model, oracle)
    except KibiError as error:
        failure = _failure(error)
    for place in model.places:
        file = str(model.path)
        if watch is not None:
            watch(f"{model.name} on {place.name}")
        if made is None:
            yield Result(model.name, place.name, file, model.line, failure=failure)
            continue
        try:
            measured, notes, remarks = made.measured(place)
        except KibiError as error:
            yield Result(model.name, place.name, file, model.line, failure=_failure(error))
            continue
        recorded = None if baseline is None else baseline.entry(model.name, place.name)
        figures = tuple(_figures(model, place, measured, recorded, notes))
        result = Result(model.name, place.name, file, model.line, figures, measured=measured)
        found = causes(result.broken, measured, recorded)
        told = (*remarks, *_changes(result, measured, recorded, has_baseline=baseline is not None))
        yield Result(model.name, place.name, file, model.line, figures, found, told, measured=measured)


def _failure(error: KibiError) -> Failure:
    return Failure(type(error).__name__, str(error), error.exit_code)


def _changes(result: Result, measured: Measured, recorded: Measured | None, *, has_baseline: bool) -> Iterator[str]:
    """Yields what changed since the baseline apart from figures: the model's file, its options, Kibi, the compiler."""
    if recorded is None:
        if has_baseline:
            yield "the baseline has nothing of this model here: `kibi check --write` records it"
        return
    if not any(figure.change for figure in result.figures):
        return
    is_same = measured.model_sha256 == recorded.model_sha256
    yield f"the model's file is {'that' if is_same else 'not that'} of the baseline"
    then, now = (f"{each.options}, {each.tools}".split(", ") for each in (recorded, measured))
    if then != now:
        was, became = (
            ", ".join(each for each in these if each not in those) for these, those in ((then, now), (now, then))
        )
        yield f"the baseline was recorded with {was or 'nothing else'}; now it is {became or 'without that'}"


def _figures(
    model: ModelSpec, place: Place, measured: Measured, recorded: Measured | None, notes: Mapping[str, str]
) -> Iterator[Figure]:
    """Yields each figure beside what limits it."""
    limits, known = dict(place.limits), {} if recorded is None else dict(recorded.figures)
    memories = {} if place.board is None else _memories(place)
    for name, value in measured.figures:
        kind = KINDS[name]
        limit, source = limits.get(name), "budget"
        if name in memories and (limit is None or memories[name] < limit):
            limit, source = memories[name], "board's memory"
        before = None if kind.unit == "bits" else known.get(name)
        allowed = None if before is None else kind.worst(before, model.growth)
        yield Figure(kind, value, limit, source, before, allowed, notes.get(name, ""))


def _memories(place: Place) -> dict[str, float]:
    """What a board has: no model may need more, whatever its budget."""
    if place.board is None:
        return {}
    return {
        "ram": float(place.board.ram_bytes),
        "arena": float(place.board.largest_ram.size_bytes),
        "flash": float(place.board.flash_bytes),
    }


class _Model:
    """One model, loaded and evaluated once for all places.

    Args:
        model: what is to be checked of it.
        oracle: True to compare bits with TFLM.

    Raises:
        KibiError: it cannot be loaded or evaluated.
    """

    def __init__(self, model: ModelSpec, oracle: bool) -> None:
        self._model = model
        self._oracle = oracle
        self._sha256 = sha256(read_model(model.path)).hexdigest()
        self._original = kibi.load(model.path, model.options.signature)
        self._graph = kibi.simplify(self._original, goal=model.options.goal)
        self._quality = self._evaluated()

    def measured(self, place: Place) -> tuple[Measured, dict[str, str], list[str]]:
        """Measures the model in a place.

        Returns:
            What was measured, notes on figures by their names, and remarks.

        Raises:
            KibiError: it cannot be measured, or the device's bits differ although equal bits are in no budget.
        """
        options, wanted = self._model.options, dict(place.limits)
        plan = kibi.plan(
            self._graph, place.target, goal=options.goal, granularity=options.granularity, weights=options.weights,
            recompute=options.recompute or 1.0,
        )  # fmt: skip
        with temporary_folder() as folder:
            library = kibi.compile(self._graph, plan, folder / "c", target=place.target, package=None)
            has_oracle = self._oracle and "equal_bits" not in wanted
            memory = place.board.memory if place.board is not None and "cycles" in wanted else None
            found = kibi.measure(
                library, compiler=options.compiler, level=options.level, oracle=has_oracle, memory=memory
            )
            if not found.bit_exact and "equal_bits" not in wanted:
                raise MismatchError(
                    f"{self._model.path}: the device's bits differ. Run `kibi verify` to find the operator."
                )
            layers = _layers(library, found)
        parts = {
            "code": found.code_bytes - found.plan_table_bytes, "plan tables": found.plan_table_bytes,
            "weights": found.weights_bytes, "arena": found.arena_bytes, "state": found.state_bytes, "stack": found.stack_bytes,
        }  # fmt: skip
        values = {
            "ram": found.ram_bytes, "arena": found.arena_bytes, "stack": found.stack_bytes, "flash": found.flash_bytes,
            "instructions": found.instructions, **self._quality,
        }  # fmt: skip
        if "cycles" in wanted:
            values["cycles"] = _cycles(found, place)
        notes, remarks = (
            {},
            [f"none of the inputs runs {each}: nothing of it is counted" for each in found.not_executed],
        )
        remarks += [] if found.oracle_failure is None else [f"TFLM's build failed: {found.oracle_failure}"]
        if "longest_step" in wanted:
            values["longest_step"], notes["longest_step"] = self._longest_step(plan, place)
        if "equal_bits" in wanted:
            values["equal_bits"], notes["equal_bits"] = self._compared(plan, place)
        tools = tools_here(options.compiler, place.target.name)
        measured = Measured(
            model=self._model.name,
            place=place.name,
            model_sha256=self._sha256,
            tools=f"kibi {tools.kibi}, {tools.compiler}",
            options=options.text,
            figures=figures_of(values),
            parts=tuple(parts.items()),
            layers=layers,
            peak=_peak(self._graph, plan),
        )
        return measured, notes, remarks

    def _evaluated(self) -> dict[str, float]:
        """The accuracy of a classifier, or the area under the curve of a detector; empty without data."""
        model = self._model
        if model.data is None:
            return {}
        found = kibi.evaluate(self._graph, model.data, truth=model.truth, most=model.most)
        if not found.is_complete:
            raise KeyboardInterrupt
        values = {
            "accuracy": None if found.classification is None else found.classification.accuracy,
            "auc": None if found.detection is None else found.detection.auc,
        }
        wanted = {name for place in model.places for name, _ in place.limits}
        for name, value in values.items():
            if name in wanted and value is None:
                raise InputError(
                    f"{model.data}: the {KINDS[name].label} is unknown: the data have no labels, or the model is of another "
                    "kind. Give truth, or leave this budget out."
                )
        return {name: value for name, value in values.items() if value is not None}

    def _longest_step(self, plan: "Plan", place: Place) -> tuple[float, str]:
        """The longest row step, of a library of its own: what slices take is no part of the other figures."""
        options = self._model.options
        with temporary_folder() as folder:
            library = kibi.compile(self._graph, plan, folder / "c", target=place.target, slices=True, package=None)
            found = kibi.measure(library, compiler=options.compiler, level=options.level, oracle=False).longest_step
        return (0.0, "") if found is None else (float(found.instructions), found.text)

    def _compared(self, plan: "Plan", place: Place) -> tuple[float, str]:
        """Whether all engines give the same bits, and which were compared."""
        found = kibi.verify(
            self._graph,
            plan,
            target=place.target,
            runs=self._model.runs,
            compiler=self._model.options.compiler,
            original=self._original,
            oracle=self._oracle,
        )
        if not found.is_exact:
            return 0.0, "; ".join(map(str, found.differences))
        skipped = "" if "tflm" in found.engines else f"; {' '.join(found.skipped) or 'TFLM was left out'}"
        failed = f"; {found.oracle_failure}" if found.oracle_failure else ""
        return 1.0, f"{found.runs} inputs in Python, {', '.join(found.engines)}{skipped}{failed}"


def _cycles(found: "Measurement", place: Place) -> float:
    """The estimate of cycles. It is a figure only where a budget asks for it: it also changes with the place of code in caches.

    Raises:
        InputError: Kibi has no table of cycles for this core.
    """
    if found.cycles_estimate is None:
        raise InputError(f"no table of cycles is published for {place.target.name}. Leave the budget of cycles out.")
    return float(found.cycles_estimate)


def _layers(library: "Library", found: "Measurement") -> tuple[Layer, ...]:
    """The layers of a measured model, with what each stores."""
    calls = library.model.graph.calls
    return tuple(
        Layer(
            name=cost.name,
            op=cost.op,
            kernel=call.kernel,
            instructions=cost.instructions,
            constant_bytes=call.constant_bytes,
            scratch_bytes=cost.scratch_bytes,
        )
        for cost, call in zip(found.ops, calls, strict=True)
    )


def _peak(graph: "Graph", plan: "Plan") -> tuple[tuple[str, int], ...]:
    """Who holds bytes of the arena at its fullest step."""
    peak = plan_record(PlannedModel.of(graph, plan))["peak"]
    return () if peak is None else tuple((each["name"], each["size_bytes"]) for each in peak["holders"])
