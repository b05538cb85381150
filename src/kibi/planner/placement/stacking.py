"""Memory regions above one another, for those who draw a plan with one axis of addresses."""

from dataclasses import replace
from itertools import accumulate

from kibi.planner.plan import Plan


def stacked(plan: Plan) -> Plan:
    """The plan with its memory regions above one another, so that an offset tells bytes of different regions apart."""
    bases = dict(region_bases(plan))
    if len(bases) < 2:
        return plan
    buffers = tuple(replace(buffer, offset=buffer.offset + bases[buffer.region]) for buffer in plan.buffers)
    return replace(plan, buffers=buffers)


def region_bases(plan: Plan) -> tuple[tuple[str, int], ...]:
    """The names of a plan's regions, and where each starts when they are stacked; none for a plan with one arena."""
    tops = accumulate((use.used_bytes for use in plan.regions), initial=0)
    return tuple((use.name, base) for use, base in zip(plan.regions, tops, strict=False))
