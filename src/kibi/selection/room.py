"""Kernels that take more scratch where a plan has room for it: the same kernels, which then read their weights less often."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from kibi.ir import KernelCall
from kibi.selection.choice import VARIANTS, candidates
from kibi.selection.lowered import LoweredGraph
from kibi.selection.variant import Goal, Variant


@dataclass(frozen=True, kw_only=True)
class RoomyGraph(LoweredGraph):
    """A lowered graph some of whose kernels take more scratch than they need.

    Attributes:
        made_calls: the call of each node's kernel.
    """

    made_calls: tuple[KernelCall, ...]

    @property
    def calls(self) -> tuple[KernelCall, ...]:
        """The call of the kernel that runs each node."""
        return self.made_calls


def with_room(graph: LoweredGraph, rooms: Sequence[int]) -> LoweredGraph:
    """Returns the graph with kernels that take as much scratch as there is and as they can use; the graph itself where none does.

    A kernel stays the same, and its output may come as close to its inputs as before.

    Args:
        graph: with kernels that take the scratch that they need.
        rooms: bytes of scratch for each node.
    """
    pairs = zip(graph.general_calls, graph.calls, rooms, strict=True)
    calls = tuple(_with_room(graph.goal, general, call, room) for general, call, room in pairs)
    if all(new is old for new, old in zip(calls, graph.calls, strict=True)):
        return graph
    facts = {each.name: getattr(graph, each.name) for each in fields(LoweredGraph)}
    return RoomyGraph(**facts, made_calls=calls)


def call_with_room(graph: LoweredGraph, node: int, room: int) -> KernelCall:
    """Returns the call of a node's kernel with as much scratch as there is and as it can use; arguments as of `with_room`."""
    return _with_room(graph.goal, graph.general_calls[node], graph.calls[node], room)


def call_without_copy(graph: LoweredGraph, node: int, call: KernelCall) -> KernelCall:
    """Returns the call of the same kernel, in no more scratch, that runs a node whose constants are read from flash.

    It differs from the node's call where that is of a variant whose constants are for copies.

    Args:
        graph: with kernels that take the scratch that they need.
        node: whose call it is.
        call: the node's call, or one with more scratch.
    """
    general = graph.general_calls[node]
    variants = _of_goal(graph.goal, general, call)
    for variant in variants[1:] if variants and variants[0].is_for_copies else ():
        made = variant.pack(replace(general, scratch_bytes=call.scratch_bytes))
        if made is not None and made.scratch_bytes <= call.scratch_bytes and _is_as_close(made, call):
            return made
    return call


def narrower_call(graph: LoweredGraph, node: int, call: KernelCall) -> KernelCall | None:
    """Returns the call of the same kernel, with the same constants, in the next smaller scratch; None if no call takes less.

    Its output may come as close to its inputs as that of the call.

    Args:
        graph: with kernels that take the scratch that they need.
        node: whose call it is.
        call: the node's call, or one with more or less scratch.
    """
    general = graph.general_calls[node]
    for variant in _variants(general, call) if call.scratch_bytes else ():
        made = variant.pack(replace(general, scratch_bytes=call.scratch_bytes - 1))
        if made is None or made.scratch_bytes >= call.scratch_bytes or not _is_as_close(made, call):
            continue
        # A kernel that works in another way says so in its numbers; others hand on the scratch that they were given.
        if _numbers(made) != _numbers(call) and _same_constants(made, call):
            return made
    return None


def apart_call(graph: LoweredGraph, node: int, call: KernelCall) -> KernelCall:
    """Returns the call of the same kernel that computes no blocks side by side: it takes hardly more instructions.

    Arguments as of `narrower_call`.
    """
    smaller = narrower_call(graph, node, call)
    while smaller is not None and _numbers(smaller, "blocks") == _numbers(call, "blocks"):
        call, smaller = smaller, narrower_call(graph, node, smaller)
    return call


def _numbers(call: KernelCall, *but: str) -> dict[str, object]:
    """The numbers of a call's parameters, without those of some names."""
    return {name: value for name, value in call.by_name.items() if name not in call.constants and name not in but}


def _same_constants(one: KernelCall, other: KernelCall) -> bool:
    """True if two calls read the same arrays, so that a library holds them once."""
    return one.constants.keys() == other.constants.keys() and all(
        data.dtype == other.constants[name].dtype and np.array_equal(data, other.constants[name])
        for name, data in one.constants.items()
    )


def useful_scratch_bytes(graph: LoweredGraph) -> tuple[int, ...]:
    """The most scratch that each node's kernel can use; 0 where more than it has is of no use."""
    pairs = zip(graph.general_calls, graph.calls, strict=True)
    return tuple(
        max((each.scratch_bytes(general, Goal.SPEED) for each in _variants(general, call)), default=0)
        for general, call in pairs
    )


def frugal_kernels(graph: LoweredGraph) -> tuple[str, ...]:
    """The C name of each node's kernel, or of the general one where the kernel takes a part of the arena for speed."""
    pairs = zip(graph.general_calls, graph.calls, strict=True)
    return tuple(call.kernel if _is_frugal(graph, general, call) else general.kernel for general, call in pairs)


def _is_frugal(graph: LoweredGraph, general: KernelCall, call: KernelCall) -> bool:
    """True if a call takes no more scratch than where no arena is known of which it may take a part, and none for speed alone."""
    if not all(each.is_frugal for each in _variants(general, call)):
        return False
    poor = candidates(replace(general, least_arena_bytes=0), graph.target, graph.goal)
    return any(each.kernel == call.kernel and each.scratch_bytes >= call.scratch_bytes for each in poor)


def _variants(general: KernelCall, call: KernelCall) -> Iterator[Variant]:
    """The variant that made a node's call of its general one, if one did."""
    return (each for each in VARIANTS if (each.kernel, each.of) == (call.kernel, general.kernel))


def _of_goal(goal: Goal, general: KernelCall, call: KernelCall) -> tuple[Variant, ...]:
    """Those of them that serve a goal; all, if a plan's own list of kernels named one that does not."""
    every = tuple(_variants(general, call))
    return tuple(each for each in every if goal in each.goals) or every


def _with_room(goal: Goal, general: KernelCall, call: KernelCall, room: int) -> KernelCall:
    if room <= call.scratch_bytes:
        return call
    for variant in _of_goal(goal, general, call):
        made = variant.pack(replace(general, scratch_bytes=room))
        if made is not None and call.scratch_bytes < made.scratch_bytes <= room and _is_as_close(made, call):
            return made
    return call


def _is_as_close(made: KernelCall, call: KernelCall) -> bool:
    """True if an output may be wherever it may be with the other call."""
    distances = zip(made.inplace_distance_bytes, call.inplace_distance_bytes, strict=True)
    return all(before is None or (now is not None and now <= before) for now, before in distances)
