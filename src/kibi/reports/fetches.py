"""What one inference fetches from slow memory, for people and for other tools."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from kibi.planner import PlannedModel
from kibi.planner.compute_time import node_seconds
from kibi.planner.read_ahead import Overlap
from kibi.planner.slow_weights import Fetches
from kibi.targets import target


def fetches_of(planned: PlannedModel, seconds: Sequence[float] | None = None) -> Fetches | None:
    """Returns what one inference of a planned model fetches; None where its weights are constants.

    Args:
        planned: the model with its plan.
        seconds: the time that each node computes; None: as it is estimated.
    """
    slow, graph = planned.plan.slow_weights, planned.graph
    if slow is None:
        return None
    times = node_seconds(graph, target(planned.plan.target)) if seconds is None else seconds
    overlap = Overlap.of(graph, planned.plan, slow, times)
    return replace(Fetches.of(graph, slow), ahead=overlap.ahead, hidden_seconds=overlap.hidden_seconds)


def fetches_record(planned: PlannedModel) -> dict[str, Any]:
    """The same for JSON, as `fetches`: bytes, calls, shares, milliseconds, what is read ahead; empty without slow memory."""
    found = fetches_of(planned)
    if found is None:
        return {}
    shares = {"share": round(found.share, 4), "hidden_share": round(found.hidden_share, 4)}
    return {"fetches": {**asdict(found), **shares, "milliseconds": found.seconds * 1000}}


def fetches_text(found: Fetches) -> str:
    """Returns a sentence on what one inference fetches, and how much of that passes while steps compute."""
    hidden = f"{found.hidden_seconds * 1000:,.1f} ms ({found.hidden_share:.0%})"
    ahead = f"; {found.ahead:,} start ahead, and {hidden} pass at best while kernels run" if found.ahead else ""
    return (
        f"{found.fetched_bytes:,} bytes fetched ({found.share:.2f} x of {found.weights_bytes:,}) in {found.count:,} calls of at "
        f"most {found.largest_bytes:,}: {found.seconds * 1000:,.1f} ms at {found.bandwidth:,} bytes/s{ahead}"
    )
