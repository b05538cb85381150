"""The tasks of a sweep: pure functions from the bytes of a model and a setting to an outcome, which any worker may run."""

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

from kibi.clusters.tools import Tools, tools_here, tools_that_differ
from kibi.errors import (
    EmulationError,
    InputError,
    KibiError,
    LimitError,
    MismatchError,
    ModelError,
    PlanError,
    TargetError,
)
from kibi.files import temporary_folder
from kibi.frontends.naming import identifier
from kibi.sweeps.functions import USER_ERRORS, NamedFunction
from kibi.sweeps.models import check_name
from kibi.sweeps.rows import COST_NAMES, Costs, Outcome, Status
from kibi.sweeps.settings import Setting
from kibi.text.json import json_text

_REFUSALS = (EmulationError, InputError, LimitError, MismatchError, ModelError, PlanError, TargetError)
"""Errors that a model or a setting causes, on every machine."""
_MOST_NAME = 100
_FORMAT = 1
"""Counts up when tasks give other results for the same model, setting and tools."""
_one_at_a_time = threading.Lock()
"""A worker's threads take turns: each measurement runs a compiler and an emulator, and warns of what concerns the process."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an evaluation says of a model.

    Attributes:
        figures: by name, in the order of the names.
        failure: why there are none, or empty.
    """

    figures: tuple[tuple[str, float], ...] = ()
    failure: str = ""


def library_name(model: str) -> str:
    """Returns the name of a model in C, as `kibi.load` makes it of the name of a file; symbols have it, and so depend on it."""
    return identifier(model)[:_MOST_NAME]


def key_of(model_sha256: str, name: str, setting: Setting, tools: Tools, function: NamedFunction | None) -> str:
    """Returns the digest of all that an outcome depends on: model, its name in C, setting, tools, evaluation."""
    evaluated = None if function is None else [function.sha256, function.name]
    named = [
        getattr(setting, name) for name in ("target", "goal", "level", "weights", "granularity", "compiler", "seed")
    ]
    record = [_FORMAT, model_sha256, name, named, tools.record(), evaluated]
    return sha256(json_text(record, indent=None).text.encode()).hexdigest()


def model_bytes(data: bytes) -> bytes:
    """Returns the bytes of a model: the task whose result all tasks of a model share."""
    return data


def measured(data: bytes, name: str, setting: Setting, tools: Tools, evaluation: Evaluation | None = None) -> Outcome:
    """Measures a model in a setting, as a loop of `kibi.load`, `simplify`, `plan`, `compile` and `measure` does.

    Args:
        data: the bytes of a `.tflite` file.
        name: its name in C, from `library_name`.
        setting: how it is put on a device.
        tools: those of the sweep; a worker that has others refuses to work.
        evaluation: what was said of the model.

    Returns:
        The outcome. Errors are outcomes, too: a sweep goes on.
    """
    try:
        own = tools_here(setting.compiler, setting.target)
        if own != tools:
            return Outcome(Status.FAILED, tools_that_differ(own, tools))
        with _one_at_a_time:
            outcome = _measured(data, name, setting)
    except _REFUSALS as error:
        return Outcome(Status.REFUSED, str(error))
    except Exception as error:  # noqa: BLE001 - one broken task of thousands must not end the others
        return Outcome(Status.FAILED, _reason(error))
    if evaluation is None:
        return outcome
    if evaluation.failure:
        return replace(outcome, status=Status.FAILED, reason=evaluation.failure)
    return replace(outcome, figures=evaluation.figures)


def evaluated(data: bytes, function: NamedFunction) -> Evaluation:
    """Calls a function with the bytes of a model.

    Args:
        data: the bytes of a `.tflite` file.
        function: takes bytes, and returns finite numbers by their names.

    Returns:
        The figures, or the failure.
    """
    try:
        with _one_at_a_time:
            return Evaluation(_figures(function.load()(data), function.text))
    except USER_ERRORS as error:
        return Evaluation(failure=f"{function.text}: {_reason(error)}")


def _measured(data: bytes, name: str, setting: Setting) -> Outcome:
    import kibi  # noqa: PLC0415 - its functions are imported late

    with temporary_folder() as folder:
        path = folder / f"{name}.tflite"
        path.write_bytes(data)
        graph = kibi.simplify(kibi.load(path), goal=setting.goal)
        plan = kibi.plan(
            graph, setting.target, goal=setting.goal, weights=setting.weights, granularity=setting.granularity
        )
        library = kibi.compile(graph, plan, folder / "c", package=None)
        found = kibi.measure(library, compiler=setting.compiler, level=setting.level, seed=setting.seed, oracle=False)
    if not found.bit_exact:
        what = "the device's bits differ from Python's. Run `kibi verify` to find the operator, and report it."
        return Outcome(Status.FAILED, what, Costs.of(found))
    return Outcome(Status.MEASURED, costs=Costs.of(found))


def _figures(found: object, source: str) -> tuple[tuple[str, float], ...]:
    if not isinstance(found, Mapping):
        raise InputError(f"it gave a {type(found).__name__}. Let it return a dict of numbers by their names.")
    figures = []
    for name, value in found.items():
        number = float(value)
        if not math.isfinite(number):
            raise InputError(f"{name} is {number}. Let it return finite numbers.")
        if name in COST_NAMES:
            raise InputError(f"{name} is the name of a cost. Let it return the figure by another name.")
        figures.append((check_name(name, f"a figure of {source}"), number))
    return tuple(sorted(figures))


def _reason(error: BaseException) -> str:
    """The text of an error; with its kind, if it is none of Kibi's own."""
    return str(error) if isinstance(error, KibiError) else str(KibiError(f"{type(error).__name__}: {error}"))
