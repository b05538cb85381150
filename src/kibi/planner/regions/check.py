"""The naive validator's view of regions: counted again from the graph, sharing no code with what assigns them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite

from kibi.errors import TargetError
from kibi.ir import Graph
from kibi.planner.plan import Plan
from kibi.planner.regions.names import names_problem
from kibi.targets import target


def region_sizes(plan: Plan) -> dict[str, int]:
    """The bytes that buffers may use, of each region."""
    return {use.name: use.used_bytes for use in plan.regions} or {"arena": plan.arena_bytes}


def check_region_uses(graph: Graph, plan: Plan) -> Iterator[str]:
    """Yields what is wrong with the regions of a plan: names, capacities, sums, weights, cost, tensors in several regions."""
    problem = names_problem([use.name for use in plan.regions])
    if problem:
        yield problem.removesuffix(".")
    total = sum(use.used_bytes for use in plan.regions)
    if plan.regions and total != plan.arena_bytes:
        yield f"the regions use {total} bytes, but the arena is said to have {plan.arena_bytes}"
    for use in plan.regions:
        if not 0 <= use.lower_bound_bytes <= use.used_bytes:
            yield f"region {use.name!r}: the lower bound is {use.lower_bound_bytes} bytes, used are {use.used_bytes}"
        if not (isfinite(use.cost) and use.cost >= 0):
            yield f"region {use.name!r}: a byte cannot cost {use.cost}"
    yield from _weights(graph, plan)
    yield from _accessed(graph, plan)
    yield from _scattered(graph, plan)


def side_by_side(plan: Plan) -> Plan:
    """The same with all regions in one arena, one after the other, a byte that nobody owns between them."""
    if not plan.regions:
        return plan
    starts, bottom = {}, 0
    for use in plan.regions:
        starts[use.name] = bottom
        bottom += use.used_bytes + 1
    moved = (replace(each, offset=starts[each.region] + each.offset, region="arena") for each in plan.buffers)
    return replace(plan, buffers=tuple(moved), arena_bytes=bottom, regions=())


def _weights(graph: Graph, plan: Plan) -> Iterator[str]:
    """Each constant is in one region that is there, and with the buffers they fit."""
    sizes, alignment = _constant_sizes(graph, plan)
    taken = Counter[str]()
    seen = set()
    for index, name in plan.weight_regions:
        if index not in sizes:
            yield f"tensor {index} is assigned to region {name!r}, but is no constant that a kernel reads"
            continue
        if index in seen:
            yield f"constant {graph.tensors[index].name!r} is assigned twice"
        if name not in {use.name for use in plan.regions}:
            yield f"constant {graph.tensors[index].name!r} is assigned to region {name!r}, which does not exist"
        seen.add(index)
        taken[name] += sizes[index]
    for use in plan.regions:
        if use.weights_bytes != taken[use.name]:
            yield f"region {use.name!r}: its constants have {taken[use.name]} bytes, not {use.weights_bytes}"
        start = -(-use.used_bytes // alignment) * alignment if use.weights_bytes else use.used_bytes
        if start + use.weights_bytes > use.size_bytes:
            both = f"{use.used_bytes} bytes of buffers and {use.weights_bytes} of constants"
            yield f"region {use.name!r}: {both} in {use.size_bytes}"


def _accessed(graph: Graph, plan: Plan) -> Iterator[str]:
    """The cost is what the steps read and write, one after another."""
    if not plan.regions:
        return
    placed = {each.tensor: each.region for each in plan.buffers if each.tensor is not None}
    scratch = {node: each.region for each in plan.buffers for node in each.nodes}
    constants = dict(plan.weight_regions)
    counted = Counter[str | None]()
    for index in (*graph.stored_inputs, *set(graph.outputs)):
        counted[placed.get(index)] += graph.tensors[index].type.size_bytes
    for node, (view, call) in enumerate(zip(graph.views, graph.calls, strict=True)):
        for step in range(view.steps):
            counted[scratch.get(node)] += 2 * call.scratch_bytes
            for tensor, access in zip(view.row_tensors, view.accesses, strict=True):
                its = constants.get(tensor.index) if tensor.is_constant else placed.get(tensor.index)
                handed = [each for each in access.positions(step) if each is not None]
                counted[its] += len(handed) * access.taken(tensor.type.row_elements)[1] * tensor.type.dtype.size_bytes
            for output, tensor in enumerate(view.outputs):
                counted[placed.get(tensor.index)] += len(view.made_rows(step, output)) * tensor.type.row_bytes
        times = 1 if view.accumulates else view.steps
        for name, data in call.constants.items():
            for operand, constant in view.operands:
                if operand == name and constant is not None:
                    counted[constants.get(constant.index)] += times * data.nbytes
    for use in plan.regions:
        if use.accessed_bytes != counted[use.name]:
            what = f"one inference reads and writes {counted[use.name]} bytes there, not {use.accessed_bytes}"
            yield f"region {use.name!r}: {what}"
    if not 0 <= plan.cost_lower_bound <= plan.cost:
        yield f"the lower bound of the cost is {plan.cost_lower_bound}, the cost {plan.cost}"


def _scattered(graph: Graph, plan: Plan) -> Iterator[str]:
    """Tensors whose rows are in several regions."""
    regions: dict[int, set[str]] = {}
    for buffer in plan.buffers:
        if buffer.tensor is not None:
            regions.setdefault(buffer.tensor, set()).add(buffer.region)
    for index, names in regions.items():
        if len(names) > 1 and 0 <= index < len(graph.tensors):
            yield f"{graph.tensors[index].name}: its rows are in several regions: {', '.join(sorted(names))}"


def _constant_sizes(graph: Graph, plan: Plan) -> tuple[dict[int, int], int]:
    """The bytes of each constant that a kernel reads, of all its different packed arrays, aligned; and that alignment."""
    arrays: dict[int, dict[bytes, int]] = {}
    elements = {buffer.alignment for buffer in plan.buffers}
    for view, call in zip(graph.views, graph.calls, strict=True):
        for tensor in view.row_tensors:
            if tensor.is_constant:
                arrays.setdefault(tensor.index, {})[b"rows"] = tensor.type.size_bytes
                elements.add(tensor.type.dtype.size_bytes)
        operands = dict(view.operands)
        for name, data in call.constants.items():
            constant = operands.get(name)
            if constant is not None and constant.is_constant:
                key = data.dtype.str.encode() + data.tobytes()
                arrays.setdefault(constant.index, {})[key] = data.nbytes
                elements.add(data.itemsize)
    alignment = max({_alignment(plan), *elements})
    sizes = {index: sum(-(-size // alignment) * alignment for size in its.values()) for index, its in arrays.items()}
    return sizes, alignment


def _alignment(plan: Plan) -> int:
    try:
        return target(plan.target).arena_alignment_bytes
    except TargetError:  # another check names it
        return 1
