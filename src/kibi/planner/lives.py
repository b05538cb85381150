"""Which bytes of an arena hold something between two steps: what a checkpoint saves, and what is free to lend."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from kibi.ir import Graph
from kibi.planner.plan import Plan


@dataclass(frozen=True, slots=True)
class Life:
    """Bytes of the arena, and the places in the order between which they hold something.

    The place of an inference is the number of steps that it has run. The bytes live at a place if `made <= place < end`.

    Attributes:
        offset: of the first byte.
        size_bytes: how many.
        made: the number of steps after which they hold something; 0 for the inputs that the caller writes.
        end: the number of steps after which nothing reads them; one more than all steps for the outputs.
        is_scratch: true if steps write them, but no step reads what an earlier one wrote.
    """

    offset: int
    size_bytes: int
    made: int
    end: int
    is_scratch: bool = False


def lives(graph: Graph, plan: Plan, region: str | None = None) -> tuple[Life, ...]:
    """Returns the lives of the bytes of a plan's arena, by offset; buffers that follow in one place are one life.

    Args:
        graph: the graph that the plan's numbers mean.
        plan: the plan.
        region: which region's bytes are meant; None: those of the first, which is the arena where there are no regions.
    """
    wanted = plan.region_names[0] if region is None else region
    given = frozenset(graph.stored_inputs)
    found: list[Life] = []
    for buffer in plan.buffers:
        made = 0 if buffer.tensor in given else buffer.start + 1
        end = buffer.end + (buffer.tensor in graph.outputs and buffer.end == len(plan.steps))
        is_scratch = buffer.tensor is None and not any(graph.views[node].accumulates for node in buffer.nodes)
        if buffer.size_bytes and buffer.region == wanted:
            found.append(Life(buffer.offset, buffer.size_bytes, made, end, is_scratch))
    return tuple(sorted(_beside(_after(found)), key=lambda life: (life.offset, life.made, life.size_bytes, life.end)))


def _after(found: Sequence[Life]) -> list[Life]:
    """Joins lives of the same bytes where one begins with the step that ends the other."""
    joined: list[Life] = []
    for _, group in groupby(sorted(found, key=_place), key=lambda life: _place(life)[:3]):
        for life in group:
            before = joined[-1] if joined else None
            if before is not None and _place(before)[:3] == _place(life)[:3] and life.made <= before.end + 1:
                joined[-1] = replace(before, end=max(before.end, life.end))
            else:
                joined.append(life)
    return joined


def _place(life: Life) -> tuple[int, int, bool, int]:
    return life.offset, life.size_bytes, life.is_scratch, life.made


def _beside(found: Sequence[Life]) -> list[Life]:
    """Joins lives of equal times whose bytes follow one another."""
    joined: list[Life] = []
    for life in sorted(found, key=lambda each: (each.made, each.end, each.is_scratch, each.offset)):
        before = joined[-1] if joined else None
        same = before is not None and (before.made, before.end, before.is_scratch) == (
            life.made,
            life.end,
            life.is_scratch,
        )
        if before is not None and same and before.offset + before.size_bytes == life.offset:
            joined[-1] = replace(before, size_bytes=before.size_bytes + life.size_bytes)
        else:
            joined.append(life)
    return joined


def every_life(graph: Graph, plan: Plan) -> tuple[Life, ...]:
    """Returns the lives of the bytes of all regions, one region after the other; each has offsets of its own."""
    return tuple(life for region in plan.region_names for life in lives(graph, plan, region))


def saved_bytes(found: Sequence[Life], steps: int) -> tuple[int, ...]:
    """Returns how many bytes live at each place of an order, from 0 steps to all; scratch counts nowhere.

    Args:
        found: the lives of the bytes.
        steps: the number of steps of the order.
    """
    change = np.zeros(steps + 3, np.int64)
    for life in found:
        if not life.is_scratch:
            change[life.made] += life.size_bytes
            change[life.end] -= life.size_bytes
    return tuple(np.cumsum(change)[: steps + 1].tolist())
