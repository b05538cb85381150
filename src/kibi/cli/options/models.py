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
) -> "Graph":
    """The model after the lossless passes: the graph of `simplified_model`.

    Raises:
        ModelError: it cannot be loaded, or has no such signature.
        InputError: there is no such pass, or no such tensor.
        PlanError: the plan's file holds no plan.
    """
    return simplified_model(
        path, without, decompress=decompress, signature=signature, external_buffers=external_buffers, plan=plan
    ).graph


def simplified_model(
    path: Path,
    without: list[str] | None,
    *,
    decompress: bool = False,
    signature: str | None = None,
    external_buffers: Sequence[str] = (),
    plan: "Path | Plan | None" = None,
) -> "Simplified":
    """What the lossless passes make of a model; tensors in external buffers, also those of a saved plan, stay.

    Raises:
        ModelError: it cannot be loaded, or has no such signature.
        InputError: there is no such pass, or no such tensor.
        PlanError: the plan's file holds no plan.
    """
    import kibi  # noqa: PLC0415
    from kibi.passes import simplify  # noqa: PLC0415
    from kibi.planner import load_plan  # noqa: PLC0415
    from kibi.runtime.preallocated import tensor_index  # noqa: PLC0415

    graph = kibi.load(path, signature, decompress=decompress)
    loaded = load_plan(plan) if isinstance(plan, Path) else plan
    saved = () if loaded is None else _made(graph, loaded.external_buffers)
    keep = [tensor_index(graph, tensor) for tensor in (*external_buffers, *saved)]
    return simplify(graph, without or (), keep)


def _made(graph: "Graph", tensors: Sequence[int]) -> list[int]:
    """Returns the tensors of a list that nodes make; validation later refuses a plan that names others, with a reason."""
    made = {index for node in graph.nodes for index in node.outputs}
    return [index for index in tensors if index in made]
