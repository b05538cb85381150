"""Copies of model files with embedded plans for TFLM."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations

from kibi.errors import PlanError
from kibi.frontends.tflite.embed import embed_offline_plan
from kibi.frontends.tflite.offline_plan import read_offline_plan
from kibi.frontends.tflite.outline import read_outline
from kibi.ir import Graph
from kibi.planner.plan import Plan, buffer_name
from kibi.tflm.tflm_plan import offsets_of, tflm_own_plan, tflm_plan


@dataclass(frozen=True, slots=True)
class Embedding:
    """A model file with a plan for TFLM in it.

    Attributes:
        data: the contents of the new file.
        graph: the outline of the file that was given; tensors and nodes are numbered as in that file.
        before: TFLM's plan for the original file: its own, or the one that the file already carries.
        plan: the plan in the new file, in the order of the new file's operators.
    """

    data: bytes = field(repr=False)
    graph: Graph
    before: Plan
    plan: Plan

    @property
    def is_reordered(self) -> bool:
        """True if the operators are in another order than before."""
        return self.plan.runs != self.before.runs


def embed_plan(
    data: bytes, source: str, *, reorders: bool = True, scratch_bytes: Mapping[int, int] | None = None
) -> Embedding:
    """Plans a `.tflite` file for TFLM, and writes the plan into a copy of it.

    Operators may be any that TFLM runs: those that Kibi does not run are planned all the same.

    Args:
        data: the contents of the file.
        source: its name, for messages.
        reorders: True if the operators may be written in another order, where that needs less.
        scratch_bytes: the scratch of TFLM's kernels, by the operator's index.

    Returns:
        The new file and its plan, which is never larger than the old one.

    Raises:
        ModelError: the file is corrupt, or the plan that it carries does not fit it, or it cannot be copied.
        PlanError: the plan that the file carries lets tensors share bytes while both live, so that no other may replace it.
    """
    outline = read_outline(data, source)
    graph, tensors = outline.graph, len(outline.graph.tensors)
    given = read_offline_plan(data, source)
    before = tflm_own_plan(graph, None if given is None else given[:tensors])
    if given is not None:
        _check_replaceable(graph, before)
    may_reorder = reorders and outline.is_free
    plan = tflm_plan(graph, before=outline.before, reorders=may_reorder, scratch_bytes=scratch_bytes)
    order = tuple(run.node for run in plan.runs)
    return Embedding(embed_offline_plan(data, source, offsets_of(plan, tensors), order), graph, before, plan)


def _check_replaceable(graph: Graph, plan: Plan) -> None:
    """Refuses to replace a plan that means more than memory: operators for an accelerator may rely on shared bytes.

    Raises:
        PlanError: tensors share bytes while both live.
    """
    for one, other in combinations(plan.buffers, 2):
        lives = one.start < other.end and other.start < one.end
        if lives and one.offset < other.offset + other.size_bytes and other.offset < one.offset + one.size_bytes:
            names = " and ".join(repr(buffer_name(graph, buffer)) for buffer in (one, other))
            what = f"{graph.source} carries a plan in which {names} share bytes while both live"
            raise PlanError(f"{what}: its operators may rely on that. Leave this plan as it is.")
