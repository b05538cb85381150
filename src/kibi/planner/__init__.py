"""Memory plans: order of row steps, lifetimes of buffers, their places, and a validator that trusts none of it."""

from kibi.planner.lifetimes import lifetimes
from kibi.planner.order import file_order
from kibi.planner.placement import Placement, place
from kibi.planner.plan import Buffer, Plan, Run, buffer_name, load_plan, peak_steps
from kibi.planner.planning import Granularity, granularity_named, plan
from kibi.planner.validation import validate

__all__ = [
    "Buffer",
    "Granularity",
    "Placement",
    "Plan",
    "Run",
    "buffer_name",
    "file_order",
    "granularity_named",
    "lifetimes",
    "load_plan",
    "peak_steps",
    "place",
    "plan",
    "validate",
]
