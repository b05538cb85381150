"""Plans with given offsets; they are made in `kibi.planner.offline_plan`."""

from kibi.planner.offline_plan import plan_offline

__all__ = ["plan_offline"]
