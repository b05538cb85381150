"""The record of a report: everything that its page shows, as plain data for JSON."""

from collections.abc import Sequence
from typing import Any

from kibi.pages.answer import Limits, accuracy_words, advice, answer_record, peak_words
from kibi.pages.changes import changes_record
from kibi.pages.events import events_record
from kibi.pages.layers import kernels_record, layer_errors_record, nodes_record, tensors_record
from kibi.pages.measured import MeasuredModel
from kibi.pages.timeline import timeline_record
from kibi.printable import printable
from kibi.quantization.comparing import LayerComparison
from kibi.reports.evaluation import Evaluation
from kibi.reports.inspection import passes_record
from kibi.reports.pareto import Choice, pareto_record
from kibi.targets import Board
from kibi.version import __version__

SCHEMA_VERSION = 1
"""Goes up whenever a field of the record changes its meaning or goes away."""


def report_record(
    measured: MeasuredModel,
    *,
    old: MeasuredModel | None = None,
    limits: Limits | None = None,
    board: Board | None = None,
    choices: Sequence[Choice] = (),
    left_out: Sequence[str] = (),
    evaluation: Evaluation | None = None,
    comparison: LayerComparison | None = None,
) -> dict[str, Any]:
    """The record of one model; with `changes` where there is an older one to compare with.

    Args:
        measured: the model.
        old: what it is compared with.
        limits: what the device has.
        board: the one whose energy is estimated.
        choices: other ways to plan it, measured.
        left_out: ways that were not possible, and why.
        evaluation: its answers on a data set; None: no data were given.
        comparison: the errors of its layers; None: as above.
    """
    made = model_record(measured, limits or Limits(), board, comparison)
    graph, plan = measured.planned.graph, measured.planned.plan
    model, target = made["model"]["name"], measured.target.name
    return {
        "schema": "kibi-report",
        "schema_version": SCHEMA_VERSION,
        "made_by": {"kibi": __version__, "compiler": measured.compiler, "level": measured.level},
        "library_sha256": measured.library.digest,
        "target": {
            "name": target,
            "description": measured.target.description,
            "clock_hz": measured.target.clock_hz,
        },
        **made,
        "peak": peak_words(graph, plan),
        "accuracy": "" if evaluation is None else accuracy_words(evaluation),
        "evaluation": None if evaluation is None else _printable(evaluation.to_dict()),
        "layer_errors": layer_errors_record(graph, comparison),
        "advice": list(advice(measured, choices)),
        "kernels": kernels_record(measured),
        "plan": timeline_record(measured.planned),
        "events": events_record(measured),
        "passes": _printable(passes_record(measured.simplified)),
        "choices": {**pareto_record(model, target, choices), "left_out": [printable(each) for each in left_out]},
        "changes": None if old is None else changes_record(model_record(old, Limits()), made),
    }


def model_record(
    measured: MeasuredModel, limits: Limits, board: Board | None = None, comparison: LayerComparison | None = None
) -> dict[str, Any]:
    """What two models are compared by: `model`, `answer`, `nodes` and `tensors`."""
    graph = measured.simplified.graph
    return {
        "model": {
            "name": printable(graph.name),
            "source": printable(graph.source),
            "sha256": graph.digest,
            "operators": len(graph.nodes),
            "inputs": list(graph.inputs),
            "outputs": list(graph.outputs),
        },
        "answer": answer_record(measured, limits, board),
        "nodes": nodes_record(measured, comparison),
        "tensors": tensors_record(measured.planned),
    }


def _printable(value: Any) -> Any:
    """Plain data whose texts can be shown."""
    if isinstance(value, dict):
        return {key: _printable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(each) for each in value]
    return printable(value) if isinstance(value, str) else value
