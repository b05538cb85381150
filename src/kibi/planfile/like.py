"""Plan files with the layout of an older one: after fine-tuning, weights differ and nothing else."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kibi.errors import PlanError
from kibi.ir import Graph
from kibi.passes import Simplified, simplify
from kibi.planfile.layout import Layout, digest_of
from kibi.planfile.writer import WrittenFile, written_file
from kibi.planner import Granularity, PlannedModel, plan, validate, with_kernels
from kibi.planner.handover import as_planned
from kibi.planner.plan import Plan
from kibi.selection import select
from kibi.selection.choice import candidates
from kibi.targets import target as target_of

_SHOWN = 8
"""Channels that a sentence names."""


@dataclass(frozen=True, slots=True)
class Departure:
    """Something that a new model cannot have as the old one has it.

    Attributes:
        where: the layer.
        what: what differs, and why.
    """

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True, eq=False)
class LikeFile:
    """A plan file that was made like an older one.

    Attributes:
        planned: the planned model.
        data: the bytes of the plan file.
        layout: the decisions that it was made with.
        departures: what is not as in the old file; empty: the layout is the same.
    """

    planned: PlannedModel
    data: bytes
    layout: Layout
    departures: tuple[Departure, ...]


def layout_of(
    planned: PlannedModel,
    simplified: Simplified,
    file: WrittenFile,
    *,
    core: Sequence[int] = (),
    names: bool = True,
) -> Layout:
    """Returns the decisions that a plan file was made with.

    Args:
        planned: the model and its plan.
        simplified: what the lossless passes did.
        file: the plan file.
        core: ids of the table of the core that it is for.
        names: True if names are stored.
    """
    named = planned.plan if planned.plan.kernels else replace(planned.plan, kernels=_kernels(planned))
    return Layout(
        digest_of(file.data), planned.model.source, simplified.without, simplified.channels, named, tuple(core), names,
        file.places,
    )  # fmt: skip


def written_like(model: Graph, layout: Layout) -> LikeFile:
    """Returns the plan file of a model with the kernels, the order and the places of an older one.

    Where the new weights do not allow that, the file departs from it: a channel that was constant and is not stays, and a layer
    that its kernel cannot run gets the general one.

    Args:
        model: the graph as it was loaded, before all passes.
        layout: of the older plan file.

    Raises:
        PlanError: the model has no plan that suits the layout's inputs and outputs.
        InputError: the layout leaves out a pass that this version does not have.
    """
    made = {index for node in model.nodes for index in node.outputs}
    keep = [index for index in layout.plan.external_buffers if index in made]
    simplified = simplify(model, layout.without, keep, layout.channels)
    graph = replace(simplified.graph, name=layout.plan.model)
    departures = list(_woken(model, simplified))
    own, others = (_anew(graph, layout.plan), []) if departures else _with_its_kernels(graph, layout.plan)
    departures += others
    planned = validate(graph, own)
    file = written_file(
        planned, core=layout.kernels, with_names=layout.names, places=layout.places, with_fences=layout.fences
    )
    if file.moved and not departures:
        what = "constants that were equal in the old file differ, so that all that follows has moved"
        departures.append(Departure("the file", what))
    saved = layout_of(planned, simplified, file, core=layout.kernels, names=layout.names)
    return LikeFile(planned, file.data, replace(saved, fences=layout.fences), tuple(departures))


def _kernels(planned: PlannedModel) -> tuple[str, ...]:
    return tuple(call.kernel for call in planned.graph.calls)


def _woken(model: Graph, simplified: Simplified) -> Iterator[Departure]:
    """The channels that were constant in the old model, or that nobody used, and that this one needs."""
    tensors = dict[int, list[int]]()
    for tensor, channel in simplified.missing:
        tensors.setdefault(tensor, []).append(channel)
    makers = {index: node.label for node in model.nodes for index in node.outputs}
    for tensor, channels in sorted(tensors.items()):
        named = ", ".join(map(str, channels[:_SHOWN])) + (", …" if len(channels) > _SHOWN else "")
        where = makers.get(tensor, f"tensor {tensor}")
        what = (
            "it was constant in the old model, or nobody used it"
            if len(channels) == 1
            else ("they were constant in the old model, or nobody used them")
        )
        yield Departure(
            where,
            f"channel{'s' * (len(channels) > 1)} {named} must stay: {what}; with the new weights outputs depend on that",
        )


def _with_its_kernels(graph: Graph, old: Plan) -> tuple[Plan, list[Departure]]:
    """The old plan, where its kernels can run the new weights; with general kernels in their places; or a new plan."""
    target, departures, chosen = target_of(old.target), list[Departure](), list[str]()
    try:
        handed = as_planned(graph, old)
    except PlanError as error:
        return _anew(graph, old), [Departure("the graph", f"the old plan does not suit it: {error}")]
    if len(handed.nodes) != len(old.kernels):
        what = f"it has {len(handed.nodes)} operators after the lossless passes; the old model has {len(old.kernels)}"
        return _anew(graph, old), [Departure("the graph", what)]
    for view, call, wanted in zip(handed.views, select(handed, target, old.goal, ()).calls, old.kernels, strict=True):
        fitting = {
            call.kernel,
            *(each.kernel for each in candidates(call, target, old.goal, every=True, on_request=True)),
        }
        chosen.append(wanted if wanted in fitting else call.kernel)
        if wanted not in fitting:
            what = f"{wanted} gives other bits, or none, with the new weights; {call.kernel} runs it"
            departures.append(Departure(view.node.label, what))
    try:
        made = with_kernels(graph, old, target, old.goal, chosen) if departures else old
        validate(graph, made)
    except PlanError as error:
        return _anew(graph, old), [*departures, Departure("the graph", f"the old plan does not suit it: {error}")]
    return made, departures


def _anew(graph: Graph, old: Plan) -> Plan:
    """A new plan for the same processor, inputs and outputs."""
    by_row = len(old.runs) > len({run.node for run in old.runs})
    return plan(
        graph, target_of(old.target), granularity=Granularity.ROW if by_row else Granularity.TENSOR, inputs=old.input,
        outputs=old.output, external_buffers=old.external_buffers, goal=old.goal,
    )  # fmt: skip
