"""Memory plans: order of row steps, lifetimes of buffers, their places, and a validator that trusts none of it."""

from kibi.planner.granularity import Granularity, granularity_named
from kibi.planner.handover import with_handover
from kibi.planner.lifetimes import lifetimes
from kibi.planner.order.orders import file_order
from kibi.planner.placement.placing import Placement, place
from kibi.planner.plan import Buffer, Handover, Plan, RegionUse, Run, buffer_name, load_plan, peak_steps
from kibi.planner.planned_model import PlannedModel
from kibi.planner.planning import handover_named, plan, with_kernels
from kibi.planner.regions.file import Region, load_regions
from kibi.planner.validation import validate

__all__ = [
    "Buffer",
    "Granularity",
    "Handover",
    "Placement",
    "Plan",
    "PlannedModel",
    "Region",
    "RegionUse",
    "Run",
    "buffer_name",
    "file_order",
    "granularity_named",
    "handover_named",
    "lifetimes",
    "load_plan",
    "load_regions",
    "peak_steps",
    "place",
    "plan",
    "validate",
    "with_handover",
    "with_kernels",
]
