"""Memory plans: order of row steps, lifetimes of buffers, their places, and a validator that trusts none of it."""

from kibi.planner.lifetimes import lifetimes
from kibi.planner.order import file_order
from kibi.planner.placement import Placement, place
from kibi.planner.plan import Buffer, Handover, Plan, RegionUse, Run, buffer_name, load_plan, peak_steps
from kibi.planner.planned_graph import planned_graph, with_handover
from kibi.planner.planning import Goal, Granularity, goal_named, granularity_named, handover_named, plan
from kibi.planner.region_file import Region, load_regions
from kibi.planner.validation import validate

__all__ = [
    "Buffer",
    "Goal",
    "Granularity",
    "Handover",
    "Placement",
    "Plan",
    "Region",
    "RegionUse",
    "Run",
    "buffer_name",
    "file_order",
    "goal_named",
    "granularity_named",
    "handover_named",
    "lifetimes",
    "load_plan",
    "load_regions",
    "peak_steps",
    "place",
    "plan",
    "planned_graph",
    "validate",
    "with_handover",
]
