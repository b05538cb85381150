"""What one inference fetches from slow memory, for people and for other tools."""

from dataclasses import asdict
from typing import Any

from kibi.planner import PlannedModel
from kibi.planner.slow_weights import Fetches


def fetches_of(planned: PlannedModel) -> Fetches | None:
    """Returns what one inference of a planned model fetches; None where its weights are constants."""
    slow = planned.plan.slow_weights
    return None if slow is None else Fetches.of(planned.graph, slow)


def fetches_record(planned: PlannedModel) -> dict[str, Any]:
    """The same for JSON, as `fetches`: bytes, calls, the share of all weights, milliseconds; empty without slow memory."""
    found = fetches_of(planned)
    if found is None:
        return {}
    return {"fetches": {**asdict(found), "share": round(found.share, 4), "milliseconds": found.seconds * 1000}}


def fetches_text(found: Fetches) -> str:
    """Returns a sentence on what one inference fetches."""
    return (
        f"{found.fetched_bytes:,} bytes fetched ({found.share:.2f} x of {found.weights_bytes:,}) in {found.count:,} calls of at "
        f"most {found.largest_bytes:,}: {found.seconds * 1000:,.1f} ms at {found.bandwidth:,} bytes/s"
    )
