"""Plans that compute some elements twice so that fewer live at once: which stages are computed stripe by stripe."""

from collections.abc import Callable
from math import isfinite

from kibi.errors import PlanError
from kibi.ir import Graph
from kibi.planner.plan import Plan, Stripes
from kibi.planner.stripe_refining import counted, refined
from kibi.planner.stripe_search import Found, stages_within
from kibi.selection import LoweredGraph

MOST_PLANS = 3
"""Plans that are made at most, the one without stages among them; before, what they need is counted without rows in place."""
_MOST_TRIED = 4
"""Results of the search that are counted in an order of the whole graph."""


def check_recompute(factor: float, *, is_alone: bool, is_whole: bool) -> None:
    """Checks what is asked of a plan that may compute some elements twice.

    Args:
        factor: the most multiply-accumulates, as a multiple of the model's.
        is_alone: True if neither an order nor regions nor kernels nor stripes are given, and no function reads weights.
        is_whole: True if each operator runs to completion.

    Raises:
        PlanError: the factor is below 1 or no number, or it is above 1 with something that does not go with it.
    """
    if not (isfinite(factor) and factor >= 1):
        what = f"a plan cannot compute {factor:g} times the multiply-accumulates of the model"
        raise PlanError(f"{what}. Give a number from 1 on, as in 1.1 for a tenth more.")
    if factor > 1 and is_whole:
        what = "recomputation lowers the arena of plans by the row, and this plan has whole tensors"
        raise PlanError(f"{what}. Plan by the row, and with --goal speed give a limit of RAM; or leave recompute out.")
    if factor > 1 and not is_alone:
        what = "recomputation searches for an order of its own in one arena, with weights that are read in place"
        raise PlanError(f"{what}. Leave runs, kernels, stripes, regions and weights in slow memory out, or recompute.")


def best_recomputed(
    handed: Graph,
    factor: float,
    made: Callable[[tuple[Stripes, ...]], Plan],
    lowered: Callable[[Graph], LoweredGraph],
    ram_bytes: int | None,
) -> Plan:
    """Returns the plan with the smallest arena; with a limit, the one with the least work that fits.

    Args:
        handed: the model with its inputs and outputs handed over.
        factor: the most multiply-accumulates, as a multiple of the model's; above 1.
        made: makes the plan with stages.
        lowered: chooses the kernels of a graph.
        ram_bytes: the most bytes that the arena may have; None: no limit.

    Raises:
        PlanError: no plan fits.
    """
    most_macs = int(handed.macs * (factor - 1))
    found = stages_within(lowered(handed), most_macs)
    plans: list[Plan] = []
    refusal: PlanError | None = None
    for stages in ((), *_chosen(handed, found, most_macs, lowered)):
        try:
            plans.append(made(stages))
        except PlanError as error:
            refusal = error
        if plans and ram_bytes is not None:
            return plans[0]
    if not plans:
        raise refusal or PlanError(f"{handed.name} cannot be planned.")
    return min(plans, key=lambda each: each.arena_bytes)


def _chosen(
    handed: Graph,
    found: tuple[Found, ...],
    most_macs: int,
    lowered: Callable[[Graph], LoweredGraph],
) -> list[tuple[Stripes, ...]]:
    """Returns the stages with the smallest peaks that either search finds, those with the least work first."""
    least = sorted(found, key=lambda each: each.peak_bytes)[:_MOST_TRIED]
    tried = [
        counted(handed, each.stages, lowered) for each in {each.stages: each for each in (*least, found[0])}.values()
    ]
    best = min(tried, key=lambda each: (each.peak_bytes, each.extra_macs))
    further = refined(handed, best, most_macs, lowered)
    ranked = sorted((*tried, *further), key=lambda each: (each.peak_bytes, each.extra_macs))
    kept = {each.stages: each for each in ranked if each.stages and each.extra_macs <= most_macs}
    shortest = sorted(list(kept.values())[: MOST_PLANS - 1], key=lambda each: (each.extra_macs, each.peak_bytes))
    return [each.stages for each in shortest]
