"""Plans for weights in slow memory: the graph that a plan with `SlowWeights` runs, and what one inference fetches."""

from collections.abc import Sequence
from dataclasses import dataclass

from kibi.errors import PlanError
from kibi.ir import Graph
from kibi.planner.channel_parts import divided, most_parts
from kibi.planner.plan import Plan, SlowWeights
from kibi.planner.subgraphs import with_subgraphs
from kibi.planner.weights_option import ReadWeights, check_function
from kibi.planner.windows import has_weights, with_windows
from kibi.selection import Goal, LoweredGraph, select
from kibi.targets import Target


def lowered_for(
    handed: Graph,
    slow: SlowWeights | None,
    target: Target,
    goal: Goal,
    kernels: Sequence[str] | None,
    subgraphs: Sequence[Plan],
) -> LoweredGraph:
    """Returns the graph that a plan is for: with kernels, with arenas for subgraphs, and with windows for slow weights.

    Args:
        handed: the model, with its inputs and outputs handed over.
        slow: how weights are fetched; None: they are not.
        target: the processor.
        goal: what the code is good at.
        kernels: as for `select`; where layers are divided, one for each node after that.
        subgraphs: the plans of the graphs inside of operators.

    Raises:
        PlanError: the weights cannot be fetched so, or there are more or fewer plans than subgraphs.
    """
    if slow is None:
        return with_subgraphs(select(handed, target, goal, kernels), subgraphs)
    _check_parts(handed, slow)
    lowered = with_subgraphs(select(divided(handed, slow.parts), target, goal, kernels), subgraphs)
    _check_loads(lowered, slow)
    return with_windows(lowered, slow.loads, ahead=slow.ahead)


def named_kernels(graph: LoweredGraph) -> tuple[str, ...]:
    """Returns the kernels that a plan names: those of all nodes but the ones that fill windows, which have none."""
    pairs = zip(graph.views, graph.calls, strict=True)
    return tuple(call.kernel for view, call in pairs if not (view.op.fetches or view.op.waits))


def check_slow(weights: ReadWeights | None, bandwidth: int | None, *, is_alone: bool) -> None:
    """Checks what is asked of a plan for slow memory.

    Args:
        weights: the function that reads weights, or None.
        bandwidth: the bytes that it reads in a second, or None.
        is_alone: True if neither an order nor regions nor kernels are given.

    Raises:
        PlanError: one is given without the other, the bandwidth is none, or something is given that does not go with them.
    """
    if (weights is None) != (bandwidth is None):
        what = (
            "a bandwidth is for weights in slow memory. Add --weights read:NAME"
            if weights is None
            else "the plan depends on how fast weights are read. Add --bandwidth with the bytes in a second"
        )
        raise PlanError(f"{what}, or leave it out.")
    if bandwidth is not None and bandwidth < 1:
        raise PlanError(f"{bandwidth} bytes in a second are no bandwidth. Give a number from 1 on.")
    if weights is not None and not is_alone:
        what = "a plan for weights in slow memory has its own order, kernels and one arena"
        raise PlanError(f"{what}. Leave runs, regions and kernels out.")


def _check_parts(graph: Graph, slow: SlowWeights) -> None:
    check_function(slow.function)
    if slow.bandwidth < 1:
        raise PlanError(f"{slow.bandwidth} bytes in a second are no bandwidth. Give a number from 1 on.")
    if len(slow.parts) != len(graph.nodes):
        raise PlanError(f"the plan divides {len(slow.parts)} nodes of {graph.name}, which has {len(graph.nodes)}.")
    for view, count in zip(graph.views, slow.parts, strict=True):
        if not 1 <= count <= most_parts(view):
            raise PlanError(f"{view.node.label} falls into at most {most_parts(view)} parts, not {count}.")


def _check_loads(graph: LoweredGraph, slow: SlowWeights) -> None:
    if len(slow.loads) != len(graph.nodes):
        raise PlanError(f"the plan fetches weights of {len(slow.loads)} nodes; {graph.name} has {len(graph.nodes)}.")
    for view, call, count in zip(graph.views, graph.calls, slow.loads, strict=True):
        if has_weights(call) != bool(count) or count < 0 or (count and view.steps % count):
            what = f"in {view.steps} steps" if has_weights(call) else "though it has none"
            raise PlanError(f"{view.node.label} cannot fetch its weights {count} times {what}.")


@dataclass(frozen=True, slots=True)
class Fetches:
    """What one inference fetches from slow memory.

    Attributes:
        weights_bytes: bytes of all weights, each once.
        fetched_bytes: bytes that one inference fetches.
        count: calls of the function that reads them, or starts to.
        largest_bytes: the largest window.
        bandwidth: bytes in a second.
        ahead: transfers that run while steps compute.
        hidden_seconds: the time of all transfers that passes meanwhile, at best; 0 where windows are not read ahead.
    """

    weights_bytes: int
    fetched_bytes: int
    count: int
    largest_bytes: int
    bandwidth: int
    ahead: int = 0
    hidden_seconds: float = 0.0

    @staticmethod
    def of(graph: Graph, slow: SlowWeights) -> "Fetches":
        """Returns what a planned graph fetches."""
        windows = [view.output.type for view in graph.views if view.op.fetches]
        return Fetches(
            sum(kind.row_bytes for kind in windows),
            sum(kind.size_bytes for kind in windows),
            sum(kind.rows for kind in windows),
            max((kind.row_bytes for kind in windows), default=0),
            slow.bandwidth,
        )

    @property
    def share(self) -> float:
        """The bytes fetched, as a multiple of all weights; 0 where there are none."""
        return self.fetched_bytes / self.weights_bytes if self.weights_bytes else 0.0

    @property
    def seconds(self) -> float:
        """How long the fetches of one inference take."""
        return self.fetched_bytes / self.bandwidth

    @property
    def hidden_share(self) -> float:
        """The part of this time that passes while steps compute."""
        return self.hidden_seconds / self.seconds if self.fetched_bytes else 0.0
