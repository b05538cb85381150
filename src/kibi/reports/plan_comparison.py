"""Plans side by side: the arena of each, its proof, and the size of its tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from kibi.ir import Graph
from kibi.planner import Plan, PlannedModel
from kibi.reports.memory_timeline import manner
from kibi.reports.plan_record import plan_record


@dataclass(frozen=True)
class ComparedPlan:
    """A model with one of its plans.

    Attributes:
        planned: both.
        variant: the way of planning, in words.
    """

    planned: PlannedModel
    variant: str

    @property
    def model(self) -> Graph:
        """The graph of the planned model."""
        return self.planned.model

    @property
    def plan(self) -> Plan:
        """The plan of the planned model."""
        return self.planned.plan

    @property
    def manner(self) -> str:
        """The requested granularity, and the planned one if complete tensors need no more memory than rows."""
        made = manner(self.plan)
        return made if self.variant in ("", made) else f"{self.variant}: whole tensors do"

    @property
    def gap(self) -> float:
        """The arena's excess over its lower bound, as a share of the bound."""
        bound = self.plan.lower_bound_bytes
        return (self.plan.arena_bytes - bound) / bound if bound else 0.0

    @property
    def proof(self) -> str:
        """Says whether the arena is proven to be the least for its order, or how far it may be off."""
        return "proven" if self.plan.proven_optimal else f"gap {self.gap:.1%}"

    @property
    def table_entries(self) -> int:
        """Entries of the constant tables that the device keeps in flash: the order, and offsets of rows.

        The order has one for each run, if operators alternate. A tensor has one for each of its rows, unless they are at
        equal distances in order.
        """
        graph = self.planned.graph
        takes_turns = len(self.plan.runs) > len(graph.nodes)
        return (len(self.plan.runs) if takes_turns else 0) + sum(
            len(offsets) for offsets in _offsets(graph, self.plan) if not _is_array(offsets)
        )


def comparison_record(planned: Sequence[ComparedPlan]) -> list[dict[str, Any]]:
    """Returns the plans for JSON: the fields of `plan_record` and those of the comparison."""
    return [
        {
            "variant": each.variant,
            "gap": each.gap,
            "table_entries": each.table_entries,
            **plan_record(each.planned),
        }
        for each in planned
    ]


def times_smaller(planned: Sequence[ComparedPlan], position: int) -> float | None:
    """The ratio of the arena of the same model's first plan to each arena; None for the first."""
    mine = planned[position]
    first = next(number for number, each in enumerate(planned) if each.model is mine.model)
    if first == position or not mine.plan.arena_bytes:
        return None
    return planned[first].plan.arena_bytes / mine.plan.arena_bytes


def _offsets(graph: Graph, plan: Plan) -> list[tuple[int, ...]]:
    """The offsets of each tensor's rows."""
    placed = {buffer.tensor for buffer in plan.buffers if buffer.tensor is not None}
    return [plan.row_offsets(graph, tensor) for tensor in sorted(placed)]


def _is_array(offsets: tuple[int, ...]) -> bool:
    """True if the offsets of rows rise by equal distances."""
    return len({after - before for before, after in pairwise(offsets)}) <= 1 and offsets == tuple(sorted(offsets))
