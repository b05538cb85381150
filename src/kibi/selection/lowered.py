"""A graph whose nodes have their kernels: the input of planners, runtimes and the code generator."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

from kibi.errors import InputError
from kibi.ir import Graph, KernelCall, NodeView
from kibi.selection.choice import candidates, choose
from kibi.selection.variant import Goal
from kibi.targets import Target


@dataclass(frozen=True, kw_only=True)
class LoweredGraph(Graph):
    """A graph, and the kernel call of each of its nodes.

    Attributes:
        unlowered: the graph without kernels of its own.
        target: the processor that the kernels are for.
        goal: what they are good at.
        chosen: their C names, in the order of nodes; None: the rules choose; empty: the general ones.
        arenas: for each node with graphs inside, the bytes and the alignment of the arena that these share: its scratch.
        wide_calls: for some nodes, the call that makes all rows at once, as one row, where a plan allows that.
        narrow_calls: for some nodes, the call of those steps for which a plan has less scratch than for the others.
    """

    unlowered: Graph
    target: Target
    goal: Goal
    chosen: tuple[str, ...] | None = None
    arenas: tuple[tuple[int, int] | None, ...] = ()
    wide_calls: tuple[tuple[int, KernelCall], ...] = ()
    narrow_calls: tuple[tuple[int, KernelCall], ...] = ()

    @property
    def views(self) -> tuple[NodeView, ...]:
        """Each node with its tensors."""
        return self.unlowered.views

    @property
    def general_calls(self) -> tuple[KernelCall, ...]:
        """The call of each node's general kernel."""
        return self.unlowered.general_calls

    @cached_property
    def calls(self) -> tuple[KernelCall, ...]:
        """The call of the kernel that runs each node, with its own scratch.

        Raises:
            InputError: a kernel was named that cannot run its node.
        """
        calls = self._chosen()
        if not self.arenas:
            return calls
        return tuple(
            call if arena is None else replace(call, scratch_bytes=arena[0], scratch_alignment=arena[1])
            for call, arena in zip(calls, self.arenas, strict=True)
        )

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """The C name of the kernel that runs each node; empty where none does."""
        return tuple(call.kernel for call in self.calls)

    def _chosen(self) -> tuple[KernelCall, ...]:
        if self.chosen is None:
            return choose(self.general_calls, self.target, self.goal)
        return self._named(self.chosen) if self.chosen else self.general_calls

    def _named(self, names: Sequence[str]) -> tuple[KernelCall, ...]:
        """The calls of kernels of these names: mostly those that the rules choose, which are made once for a graph."""
        if len(names) != len(self.nodes):
            raise InputError(f"{len(names)} kernels are named for {len(self.nodes)} nodes of {self.name}.")
        found = []
        ruled = select(self.unlowered, self.target, self.goal).calls
        for node, call, its, name in zip(self.nodes, self.general_calls, ruled, names, strict=True):
            fitting = {each.kernel: each for each in (its, call)}
            if name not in fitting:
                fitting = self._candidates(call)
            if name not in fitting:
                known = ", ".join(fitting)
                raise InputError(
                    f"{node.label}: {name!r} is no kernel for it on {self.target.name}; there are: {known}."
                )
            found.append(fitting[name])
        return tuple(found)

    def _candidates(self, call: KernelCall) -> dict[str, KernelCall]:
        found = candidates(call, self.target, self.goal, every=True, on_request=True)
        return {each.kernel: each for each in found}


def select(graph: Graph, target: Target, goal: Goal, chosen: Sequence[str] | None = None) -> LoweredGraph:
    """Returns the graph with a kernel for each node.

    Args:
        graph: a verified graph.
        target: the processor.
        goal: what its code is to be good at.
        chosen: C names of kernels, one for each node: what was measured, or what a plan was made for. None: the rules choose.
            Empty: the general kernels.
    """
    key = (target.name, goal, None if chosen is None else tuple(chosen))
    known: dict[object, LoweredGraph] = graph.selections
    if key not in known:
        facts = {each.name: getattr(graph, each.name) for each in fields(Graph)}
        names = None if chosen is None else tuple(chosen)
        known[key] = LoweredGraph(**facts, unlowered=graph, target=target, goal=goal, chosen=names)
    return known[key]
