"""Plans that find faults: operators that interleave as much as their data allow, buffers with gaps between them."""

from dataclasses import replace

from kibi.ir import Graph, overwrites
from kibi.planner.plan import Buffer, Plan, Run

_GAP_BYTES = 12


def interleaved(graph: Graph) -> tuple[Run, ...]:
    """At each step, of the nodes whose rows are there to be read, the one nearest to the model's outputs."""
    made = [tensor.type.rows if tensor.is_constant else 0 for tensor in graph.tensors]
    for index in (*graph.inputs, *graph.variables):
        made[index] = graph.tensors[index].type.rows
    done = [0] * len(graph.nodes)
    accesses = [view.op.accesses(view) for view in graph.views]
    runs: list[Run] = []
    overwritten = overwrites(graph)

    def is_ready(node: int) -> bool:
        view = graph.views[node]
        if done[node] == view.steps:
            return False
        if any(done[other] < wanted[done[node]] for other, wanted in overwritten[node]):
            return False
        pairs = zip(view.row_tensors, accesses[node], strict=True)
        return all(max(access.needs(done[node]), default=-1) < made[tensor.index] for tensor, access in pairs)

    while any(count < view.steps for count, view in zip(done, graph.views, strict=True)):
        node = max(filter(is_ready, range(len(graph.nodes))))
        if runs and runs[-1].node == node:
            runs[-1] = Run(node, runs[-1].first_step, runs[-1].steps + 1)
        else:
            runs.append(Run(node, done[node], 1))
        made[graph.views[node].output.index] += len(graph.views[node].made_rows(done[node]))
        done[node] += 1
    return tuple(runs)


def spread(plan: Plan) -> Plan:
    """The same order with each buffer in bytes of its own, and gaps between them that no step may touch."""
    buffers: list[Buffer] = []
    end = 0
    for buffer in plan.buffers:
        offset = end + _GAP_BYTES
        offset += -offset % buffer.alignment
        buffers.append(replace(buffer, offset=offset))
        end = offset + buffer.size_bytes
    return replace(plan, buffers=tuple(buffers), arena_bytes=end + _GAP_BYTES, proven_optimal=False)


def gaps(plan: Plan) -> list[int]:
    """The arena's bytes that no buffer owns at any time."""
    owned = {byte for each in plan.buffers for byte in range(each.offset, each.offset + each.size_bytes)}
    return [byte for byte in range(plan.arena_bytes) if byte not in owned]
