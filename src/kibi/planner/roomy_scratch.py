"""Scratch that grows into bytes of the arena that are free while it lives: kernels with more of it read weights less often."""

from collections.abc import Sequence
from dataclasses import replace

from kibi.ir import Graph, KernelCall
from kibi.planner.plan import Buffer, Plan
from kibi.selection import LoweredGraph, narrower_call, read_bytes, useful_scratch_bytes, with_room


def with_roomy_scratch(graph: LoweredGraph, plan: Plan) -> Plan:
    """Returns the plan with larger scratch where kernels can use it and bytes are free; the arena stays as large as it is.

    Args:
        graph: of the plan's nodes, with kernels that take the scratch that they need.
        plan: of one arena.
    """
    useful, buffers = useful_scratch_bytes(graph), list(plan.buffers)
    for nodes in dict.fromkeys(each.nodes for each in buffers if each.nodes):
        places = [place for place, each in enumerate(buffers) if each.nodes == nodes]
        own, wanted = [buffers[place] for place in places], max(useful[node] for node in nodes)
        if wanted > own[0].size_bytes:
            others = [each for each in buffers if each.nodes != nodes]
            for place, grown in zip(places, _grown(own, wanted, plan.arena_bytes, others), strict=True):
                buffers[place] = grown
    taken = [call.scratch_bytes for call in with_room(graph, rooms(replace(plan, buffers=tuple(buffers)), graph)).calls]
    trimmed = (_trimmed(old, new, taken) for old, new in zip(plan.buffers, buffers, strict=True))
    return replace(plan, buffers=tuple(trimmed))


def rooms(plan: Plan, graph: LoweredGraph) -> tuple[int, ...]:
    """The bytes of scratch that a plan has for each node: the most, where some runs have less."""
    nodes = range(len(graph.nodes))
    return tuple(max((each.size_bytes for each in plan.scratch_by_run(node)), default=0) for node in nodes)


def with_narrow_calls(graph: LoweredGraph, lowered: LoweredGraph, plan: Plan) -> LoweredGraph:
    """Returns the graph with calls for the runs of nodes for which a plan has less scratch.

    Args:
        graph: with kernels that take what scratch the plan has for most runs.
        lowered: with kernels that take the scratch that they need.
        plan: its plan.
    """
    found = list[tuple[int, KernelCall]]()
    for node, call in enumerate(graph.calls):
        room = min((each.size_bytes for each in plan.scratch_by_run(node)), default=call.scratch_bytes)
        smaller: KernelCall | None = call if room < call.scratch_bytes and may_vary(graph, node) else None
        while smaller is not None and smaller.scratch_bytes > room:
            smaller = narrower_call(lowered, node, smaller)
        found += [] if smaller is None else [(node, smaller)]
    return replace(graph, narrow_calls=tuple(found)) if found else graph


def constants_read_bytes(graph: LoweredGraph, plan: Plan) -> int:
    """Returns the bytes of constants that kernels read in an inference, as `read_bytes` counts them, with a plan's scratch.

    Args:
        graph: with kernels that take the scratch that they need.
        plan: its plan. Runs may have less scratch than others of the same node.
    """
    roomy, read = with_room(graph, rooms(plan, graph)), 0
    narrow = dict(with_narrow_calls(roomy, graph, plan).narrow_calls)
    for node, call in enumerate(roomy.calls):
        few = [each for each in plan.scratch_by_run(node) if each.size_bytes < call.scratch_bytes]
        few_steps = sum(each.end - each.start for each in few) if node in narrow else 0
        read += few_steps * read_bytes(narrow.get(node, call))
        read += (graph.views[node].steps - few_steps) * read_bytes(call)
    return read


def may_vary(graph: Graph, node: int) -> bool:
    """True if the scratch of a node may have another place, and another size, for each of its runs."""
    view, op = graph.views[node], graph.views[node].op
    is_plain = not (view.accumulates or op.states or op.subgraph_names or op.fetches or op.waits)
    return is_plain and not graph.calls[node].takes_step


def _grown(own: Sequence[Buffer], wanted: int, arena_bytes: int, others: Sequence[Buffer]) -> list[Buffer]:
    """A node's scratch where most of the wanted bytes are free, the lowest such place; as it was where nothing larger is."""
    alive = [
        (each.offset, each.offset + each.size_bytes) for each in others if any(_live_together(each, one) for one in own)
    ]
    best, offset, low = own[0].size_bytes, own[0].offset, 0
    for start, end in sorted([*alive, (arena_bytes, arena_bytes)]):
        aligned = low + -low % own[0].alignment
        if min(wanted, start - aligned) > best:
            best, offset = min(wanted, start - aligned), aligned
        low = max(low, end)
    return [replace(each, offset=offset, size_bytes=best) for each in own]


def _live_together(one: Buffer, other: Buffer) -> bool:
    return one.start < other.end and other.start < one.end


def _trimmed(old: Buffer, new: Buffer, taken: Sequence[int]) -> Buffer:
    """The grown buffer without what none of its nodes takes."""
    most = max((taken[node] for node in old.nodes), default=0)
    return replace(new, size_bytes=most) if most > old.size_bytes else old
