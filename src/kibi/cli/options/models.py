"""The models that verbs read: after the lossless passes, with the tensors that must stay."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kibi.ir import Graph
    from kibi.passes import Simplified
    from kibi.planner import Plan


def load_simplified(
    path: Path,
    without: list[str] | None,
    *,
    decompress: bool = False,
    signature: str | None = None,
    external_buffers: Sequence[str] = (),
    plan: "Path | Plan | None" = None,
    goal: str = "balanced",
) -> "Graph":
    """The model after the lossless passes: the graph of `simplified_model`.

    Raises:
        ModelError: it cannot be loaded, or has no such signature.
        InputError: there is no such pass, or no such tensor.
        PlanError: the plan's file holds no plan.
    """
    return simplified_model(
        path,
        without,
        decompress=decompress,
        signature=signature,
        external_buffers=external_buffers,
        plan=plan,
        goal=goal,
    ).graph


def simplified_model(
    path: Path,
    without: list[str] | None,
    *,
    decompress: bool = False,
    signature: str | None = None,
    external_buffers: Sequence[str] = (),
    plan: "Path | Plan | None" = None,
    goal: str = "balanced",
) -> "Simplified":
    """What the lossless passes make of a model for a goal; tensors in external buffers, also those of a saved plan, stay.

    A saved plan may have been made of the model without the passes that save what another goal does not ask for: it says which by
    what it fits.

    Raises:
        ModelError: it cannot be loaded, or has no such signature.
        InputError: there is no such pass, no such tensor, or no such goal.
        PlanError: the plan's file holds no plan.
    """
    import kibi  # noqa: PLC0415
    from kibi.passes import simplify  # noqa: PLC0415
    from kibi.passes.shortcut_pixels import NAME as SHORTCUT_PIXELS  # noqa: PLC0415
    from kibi.planner import load_plan  # noqa: PLC0415
    from kibi.runtime.preallocated import tensor_index  # noqa: PLC0415
    from kibi.selection import goal_named  # noqa: PLC0415

    graph = kibi.load(path, signature, decompress=decompress)
    loaded = load_plan(plan) if isinstance(plan, Path) else plan
    saved = () if loaded is None else _made(graph, loaded.external_buffers)
    keep = [tensor_index(graph, tensor) for tensor in (*external_buffers, *saved)]
    left = without or []
    made = simplify(graph, left, keep, goal=goal_named(goal) if loaded is None else loaded.goal)
    if loaded is None or _fits(made.graph, loaded):
        return made
    others = (simplify(graph, names, keep) for names in (left, [*left, SHORTCUT_PIXELS]))
    return next((each for each in others if _fits(each.graph, loaded)), made)


def _fits(graph: "Graph", plan: "Plan") -> bool:
    """True if a plan is for a graph."""
    from kibi.errors import KibiError  # noqa: PLC0415
    from kibi.planner import validate  # noqa: PLC0415

    try:
        validate(graph, plan)
    except KibiError:
        return False
    return True


def _made(graph: "Graph", tensors: Sequence[int]) -> list[int]:
    """Returns the tensors of a list that nodes make; validation later refuses a plan that names others, with a reason."""
    made = {index for node in graph.nodes for index in node.outputs}
    return [index for index in tensors if index in made]
