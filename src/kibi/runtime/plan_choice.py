"""The plan of an interpreter: a given one, the one that the model file carries, or the default one."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from kibi.eager.events import Event
from kibi.eager.inference_events import EmbeddedPlanLeft, EmbeddedPlanUsed
from kibi.errors import ModelError, PlanError
from kibi.frontends.model_file import read_model
from kibi.frontends.tflite.offline_plan import ONLINE, read_offline_plan
from kibi.ir import Graph
from kibi.planner import Plan
from kibi.planner import plan as make_plan
from kibi.planner.offline_plan import plan_offline
from kibi.targets import Target, target


class PlanOrigin(StrEnum):
    """Where an interpreter's plan is from."""

    GIVEN = "given"
    EMBEDDED = "embedded"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class ChosenPlan:
    """A plan, where it is from, and the event that says so if the model file carries one.

    Attributes:
        plan: the plan.
        origin: where it is from.
        event: tells that the plan in the file is followed, or why not; None for a file without a plan, or if nobody wants it.
    """

    plan: Plan
    origin: PlanOrigin
    event: Event | None = None


def choose_plan(
    model: Graph, plan: Plan | None, external: Sequence[int], *, use_embedded_plan: bool | None
) -> ChosenPlan:
    """The plan that an interpreter follows.

    Args:
        model: the graph.
        plan: the given plan, or None.
        external: the tensors in registered buffers.
        use_embedded_plan: True: the plan in the model file, and no other. False: the default one. None: the plan in the file
            if there is one that can be followed; else the default one.

    Raises:
        PlanError: the plan in the file is wanted, and there is none, it cannot be followed, or another one is given.
        ModelError: the plan in the file is wanted, and it does not fit the model's tensors, or the file cannot be read.
    """
    if plan is not None:
        if use_embedded_plan:
            raise PlanError(
                f"{model.source}: a plan is given, and the one in the file is wanted. Leave one of them out."
            )
        return ChosenPlan(plan, PlanOrigin.GIVEN)
    processor, event = target("host"), None
    if use_embedded_plan is not False:
        try:
            found = _followed(model, processor, external)
        except (PlanError, ModelError) as error:
            if use_embedded_plan:
                raise
            found, event = None, EmbeddedPlanLeft(model=model.source, reason=str(error))
        if found is not None:
            used = EmbeddedPlanUsed(model=model.source, arena_bytes=found.arena_bytes)
            return ChosenPlan(found, PlanOrigin.EMBEDDED, used)
        if use_embedded_plan:
            raise no_embedded_plan(model)
    made = make_plan(model, processor, external_buffers=tuple(external))
    return ChosenPlan(made, PlanOrigin.DEFAULT, event)


def _followed(model: Graph, processor: Target, external: Sequence[int]) -> Plan | None:
    """The plan that a model's file carries; None if it carries none.

    Raises:
        ModelError, PlanError: it cannot be followed.
    """
    found = embedded_plan(model, processor)
    if found is not None and external:
        names = ", ".join(repr(model.tensors[index].name) for index in external)
        raise PlanError(
            f"{model.source} carries a plan with places for all tensors, and {names} is in a registered buffer."
        )
    return found


def embedded_plan(graph: Graph, processor: Target) -> Plan | None:
    """The plan that a graph's file carries; None if it carries none, or the graph is not the first one of a file.

    Raises:
        ModelError: the file cannot be read, or the plan does not fit its tensors.
        PlanError: tensors are in one another's way, or the file has changed since it was loaded.
    """
    if graph.path is None:
        return None
    data = read_model(graph.path)
    offsets = read_offline_plan(data, graph.source, first_graph=True)
    if offsets is None:
        return None
    if graph.digest and sha256(data).hexdigest() != graph.digest:
        raise PlanError(f"{graph.source} has changed since it was loaded. Load it again.")
    # Tensors that the importer has added come after those of the file.
    every = (*offsets, *(ONLINE,) * (len(graph.tensors) - len(offsets)))
    return plan_offline(graph, processor, every)


def embedded_plan_only(graph: Graph, processor: Target, ram: int | None, *, alone: bool) -> Plan:
    """The plan that a graph's file carries, which takes no other options.

    Args:
        graph: the model.
        processor: where it runs.
        ram: the most bytes that its arena may have; None: any.
        alone: True if no option of planning is given beside it.

    Raises:
        PlanError: the file carries no plan, other options are given, or the arena is larger.
        ModelError: the file cannot be read, or the plan does not fit its tensors.
    """
    if not alone:
        what = "a plan in a model file has an order, one arena, and inputs and outputs that are stored"
        raise PlanError(f"{what}; ask for nothing else, or plan without it.")
    made = embedded_plan(graph, processor)
    if made is None:
        raise no_embedded_plan(graph)
    if ram is not None and made.arena_bytes > ram:
        raise PlanError(
            f"the plan in {graph.source} needs {made.arena_bytes} bytes, {ram} are allowed. Plan without it."
        )
    return made


def no_embedded_plan(graph: Graph) -> PlanError:
    """The error that a graph's file carries no plan."""
    return PlanError(
        f"{graph.source} carries no plan. Write one into it with `kibi plan --write-embedded-plan`, or plan without it."
    )
