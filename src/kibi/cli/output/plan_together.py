"""`kibi plan MODEL... --buffer …`: models and the application's buffers in one block of memory."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from kibi.cli.envelope import enveloped
from kibi.cli.terminal import byte_text, facts, output, print_json, say, show, table
from kibi.files import write_file
from kibi.text.json import json_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kibi.planner.together import JointPlan
    from kibi.reports.plan_comparison import ComparedPlan


def show_together(
    planned: "Sequence[ComparedPlan]", texts: "Sequence[str]", effort: int, *, saved: "Path | None", as_json: bool
) -> None:
    """Plans models and buffers together, and prints the result.

    Args:
        planned: the models with plans of their own, in the order in which they run.
        texts: the buffers, as `ApplicationBuffer.of` reads them.
        effort: how many times the usual work may be done.
        saved: the file in which the plan is to be saved, or None.
        as_json: true to print one JSON object.

    Raises:
        PlanError: a text is no buffer, or its time is not that of these models, or a plan has regions.
        OutputError: the file cannot be written.
    """
    from kibi.planner.together import ApplicationBuffer, plan_together  # noqa: PLC0415

    buffers = [ApplicationBuffer.of(text) for text in texts]
    made = plan_together([each.model for each in planned], [each.plan for each in planned], buffers, effort=effort)
    if saved is not None:
        write_file(saved, json_text(enveloped(_record(planned, made)), indent=2).text.encode())
    if as_json:
        print_json(_record(planned, made))
        return
    _show(planned, made)
    if saved is not None:
        say(output(), f"\nSaved in {saved}, for `kibi compile --plan`.")


def _record(planned: "Sequence[ComparedPlan]", made: "JointPlan") -> dict[str, object]:
    from kibi.planner import PlannedModel  # noqa: PLC0415
    from kibi.planner.plan import FORMAT  # noqa: PLC0415
    from kibi.reports.plan_record import plan_record  # noqa: PLC0415

    records = [plan_record(PlannedModel.of(each.model, plan)) for each, plan in zip(planned, made.plans, strict=True)]
    return {
        "format": FORMAT,
        "arena_bytes": made.arena_bytes,
        "lower_bound_bytes": made.lower_bound_bytes,
        "proven_optimal": made.proven_optimal,
        "separate_bytes": made.separate_bytes,
        "buffers": [asdict(each) for each in made.buffers],
        "plans": records,
    }


def _show(planned: "Sequence[ComparedPlan]", made: "JointPlan") -> None:
    console = output()
    proof = "proven: no placement in these orders needs less" if made.proven_optimal else "not proven"
    saved = made.separate_bytes - made.arena_bytes
    facts(
        console,
        [
            ("memory", f"{byte_text(made.arena_bytes)} for all of it; {proof}"),
            ("lower bound", byte_text(made.lower_bound_bytes)),
            (
                "apart",
                f"{byte_text(made.separate_bytes)}: one arena for the models, and the buffers beside it; {saved:,} more",
            ),
        ],
    )
    say(console)
    rows = table(console, "!what", ">bytes", ">offset", ">from step", ">to step")
    at = 0
    for each, plan in zip(planned, made.plans, strict=True):
        rows.add_row(f"model {each.model.name}", f"{plan.arena_bytes:,}", "0", f"{at:,}", f"{at + len(plan.steps):,}")
        at += len(plan.steps)
    for buffer in made.buffers:
        rows.add_row(
            f"buffer {buffer.name}",
            f"{buffer.size_bytes:,}",
            f"{buffer.offset:,}",
            f"{buffer.start:,}",
            f"{buffer.end:,}",
        )
    show(console, rows)
