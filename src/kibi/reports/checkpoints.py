"""The cheapest places for checkpoints in an inference: where the fewest bytes have to be saved."""

from dataclasses import dataclass

import numpy as np

from kibi.codegen.lives_c import HEAD_BYTES
from kibi.errors import InputError
from kibi.planner import PlannedModel
from kibi.planner.lives import every_life, saved_bytes

_PARTS = 8
"""Parts of equal work into which an inference is divided; each has a cheapest place."""


@dataclass(frozen=True, slots=True)
class CheckpointPlace:
    """A place for a checkpoint.

    Attributes:
        steps: how many row steps have run there.
        size_bytes: what a checkpoint writes there: its head, the variables, and what lives in the arena.
        op, name: the operator that ran last, and its output tensor; empty before the first step.
        macs: multiply-accumulates that have been done.
    """

    steps: int
    size_bytes: int
    op: str
    name: str
    macs: int


def cheapest_places(planned: PlannedModel, parts: int = _PARTS) -> tuple[CheckpointPlace, ...]:
    """Returns the cheapest place of each part of an inference; parts are equal in multiply-accumulates.

    Args:
        planned: a model and its plan, without external buffers.
        parts: the number of parts.

    Raises:
        InputError: tensors are in external buffers, which no checkpoint saves.
    """
    graph, plan = planned.graph, planned.plan
    if any(tensor.is_external for tensor in graph.tensors):
        raise InputError(f"{graph.source}: a checkpoint does not save external buffers. Plan without them.")
    order = plan.steps
    sizes = saved_bytes(every_life(graph, plan), len(order))
    fixed = HEAD_BYTES + sum(-(-graph.tensors[index].type.size_bytes // 8) * 8 for index in graph.variables)
    macs = np.cumsum(
        [0.0, *(graph.views[node].op.macs(graph.views[node]) / graph.views[node].steps for node, _ in order)]
    )
    # A step without multiply-accumulates is some work, too.
    work = macs + np.arange(len(order) + 1) * max(macs[-1] / 100 / len(order), 1)
    found: dict[int, CheckpointPlace] = {}
    for part in range(parts):
        low, high = (work[-1] * each / parts for each in (part, part + 1))
        inside = [place for place in range(len(order)) if low <= work[place] < high]
        if inside:
            best = min(inside, key=lambda place: (sizes[place], place))
            view = graph.views[order[best - 1][0]] if best else None
            op, name = ("", "") if view is None else (view.op.name, view.output.name)
            found[best] = CheckpointPlace(best, fixed + sizes[best], op, name, round(macs[best]))
    return tuple(found.values())
