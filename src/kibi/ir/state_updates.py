"""Next versions of variables: which steps must run before a step may overwrite bytes of the previous version.

A variable and its next versions are stored in the same bytes. The graph says only which nodes make and read each of them. An
order follows from that: all reads and writes of a version's rows must be done before another node overwrites these rows with
the next version.
"""

from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush

from kibi.errors import Problem
from kibi.ir.early_exit import stop_waits
from kibi.ir.graph import Graph, Node, NodeView
from kibi.ir.tensor import Tensor

Overwrites = tuple[tuple[int, tuple[int, ...]], ...]
"""Pairs of a node to wait for and, for each step of the node that waits, how many of the other's steps must have run."""


def overwrites(graph: Graph) -> tuple[Overwrites, ...]:
    """Returns, for each node, the nodes that its steps must wait for because they use bytes that it overwrites.

    It adds the nodes to wait for because one of the two may end the inference (`stop_waits`).
    """
    exits = stop_waits(graph)
    if all(tensor.updates is None for tensor in graph.tensors):
        return exits
    users: dict[int, list[int]] = {}
    for number, node in enumerate(graph.nodes):
        for index in dict.fromkeys((*node.inputs, *node.outputs)):
            if index is not None and graph.tensors[index].is_state:
                users.setdefault(index, []).append(number)
    return tuple((*_waits(graph, number, users), *exits[number]) for number in range(len(graph.nodes)))


def overwrite_problems(graph: Graph) -> Iterator[Problem]:
    """Yields the problems of next versions in a graph whose nodes are valid one by one."""
    for number, (node, waits) in enumerate(zip(graph.nodes, overwrites(graph), strict=True)):
        for other, wanted in waits:
            if other > number and any(wanted):
                name = graph.tensors[node.outputs[0]].name
                what = f"it overwrites what {graph.nodes[other].label} still uses"
                yield Problem(what, "Let the variable be read before it is assigned", node.source, name)
        for output, index in enumerate(node.outputs):
            if graph.tensors[index].updates is not None:
                yield from _own_problems(graph, node, output)


def version_problems(graph: Graph) -> Iterator[Problem]:
    """Yields the problems of the next versions themselves; indices are in range."""
    followed: set[int] = set()
    made = {index for node in graph.nodes for index in node.outputs}
    for tensor in graph.tensors:
        before = tensor.updates
        if before is None:
            continue
        if tensor.is_variable or tensor.is_constant or tensor.is_external or tensor.index not in made:
            yield Problem("a next version of a variable must be made by an operator", tensor=tensor.name)
        elif not _leads_to_a_variable(graph, before):
            what = f"it is the next version of tensor {before}, which leads to no variable"
            yield Problem(what, tensor=tensor.name)
        elif graph.tensors[before].type.size_bytes != tensor.type.size_bytes:
            size_bytes = graph.tensors[before].type.size_bytes
            what = f"it has {tensor.type.size_bytes} bytes, the variable that is assigned has {size_bytes}"
            yield Problem(what, tensor=tensor.name)
        elif before in followed:
            yield Problem("the variable has two next versions", tensor=graph.tensors[before].name)
        else:
            followed.add(before)


def _leads_to_a_variable(graph: Graph, index: int) -> bool:
    """True if a tensor is a variable, or its chain of earlier versions ends at a variable."""
    following: int | None = index
    for _ in graph.tensors:
        if following is None or not 0 <= following < len(graph.tensors):
            return False
        if graph.tensors[following].is_variable:
            return True
        following = graph.tensors[following].updates
    return False


def _waits(graph: Graph, number: int, users: dict[int, list[int]]) -> Iterator[tuple[int, tuple[int, ...]]]:
    view = graph.views[number]
    for index in view.node.outputs:
        before = graph.tensors[index].updates
        if before is None:
            continue
        old = graph.tensors[before]
        output = view.node.outputs.index(index)
        places = [_rows_in(old, *_bytes(view, step, output)) for step in range(view.steps)]
        for other in users.get(before, []):
            if other != number:
                last = _last_uses(graph.views[other], old)
                yield other, tuple(max((last[row] + 1 for row in rows), default=0) for rows in places)


def _last_uses(view: NodeView, tensor: Tensor) -> list[int]:
    """Returns, for each row of a tensor, the last step of a node that reads or makes it; -1 if none does."""
    last = [-1] * tensor.type.rows
    accesses = zip(view.row_tensors, view.accesses, strict=True)
    read = [access for operand, access in accesses if operand.index == tensor.index]
    made = [output for output, index in enumerate(view.node.outputs) if index == tensor.index]
    for step in range(view.steps):
        for row in (
            *(row for access in read for row in access.needs(step)),
            *(row for output in made for row in view.made_rows(step, output)),
        ):
            last[row] = step
    return last


def _bytes(view: NodeView, step: int, output: int) -> tuple[int, int]:
    """Returns the range of bytes that a step writes of an output, given by its number; half-open."""
    rows, row_bytes = view.made_rows(step, output), view.outputs[output].type.row_bytes
    return rows.start * row_bytes, rows.stop * row_bytes


def _rows_in(tensor: Tensor, first: int, end: int) -> range:
    """The rows of a tensor that have a byte in a range."""
    row_bytes = tensor.type.row_bytes
    return range(first // row_bytes, -(-end // row_bytes)) if end > first else range(0)


def _own_problems(graph: Graph, node: Node, output: int) -> Iterator[Problem]:
    """Yields a problem for each input that a node still reads after an output has overwritten it."""
    view = NodeView.of(graph, node)
    made = view.outputs[output]
    variable = graph.variable_of(made.index)
    read = [place for place, tensor in enumerate(view.row_tensors) if tensor.is_state]
    for place in (place for place in read if graph.variable_of(view.row_tensors[place].index) == variable):
        overlaps = view.op.kernel_call(view).inplace_distance_bytes or (None,) * len(view.row_tensors)
        is_old = view.row_tensors[place].index != made.updates
        if is_old or not can_overwrite(view, place, overlaps[place], output):
            what = f"{node.op.name}: it overwrites rows of the variable that it still reads"
            yield Problem(what, "Let it write a tensor of its own, which is assigned", node.source, made.name)


def can_overwrite(view: NodeView, place: int, overlap: int | None, output: int = 0) -> bool:
    """True if a node may make an output in the bytes of one of its inputs, byte for byte at the same place.

    Args:
        view: the node.
        place: of the input among those that are read by the row.
        overlap: the kernel's distance for that input: see `KernelCall.inplace_distance_bytes`.
        output: its number.
    """
    tensor, access = view.row_tensors[place], view.accesses[place]
    if view.row_tensors.count(tensor) > 1:
        return False  # no rule says how two reads of one tensor meet
    reads = _last_uses(view, tensor)
    for step in range(view.steps):
        first, end = _bytes(view, step, output)
        overwritten = _rows_in(tensor, first, end)
        if any(reads[row] > step for row in overwritten):
            return False
        lows = [row * tensor.type.row_bytes for row in access.needs(step) if row in overwritten]
        if lows and (overlap is None or min(lows) - first < overlap):
            return False
    return True


def in_order(tensors: Mapping[int, Tensor] | Sequence[Tensor], nodes: Sequence[Node]) -> tuple[Node, ...] | None:
    """Orders nodes so that each reads only tensors made before, and no node uses bytes that another has overwritten.

    Of all that can run, the one that stood first comes first: where the order was possible, it stays.

    Args:
        tensors: by index.
        nodes: in any order.

    Returns:
        The nodes; None where there is no such order.
    """
    makers = {index: number for number, node in enumerate(nodes) for index in node.outputs}
    users: dict[int, set[int]] = {}
    for number, node in enumerate(nodes):
        for index in (*node.inputs, *node.outputs):
            if index is not None:
                users.setdefault(index, set()).add(number)
    before: list[set[int]] = []
    for number, node in enumerate(nodes):
        waits = {makers[index] for index in node.inputs if index in makers}
        for old in (tensors[index].updates for index in node.outputs):
            waits |= users.get(old, set()) if old is not None else set()
        before.append(waits - {number})
    order = _first_ready(before)
    return tuple(nodes[number] for number in order) if len(order) == len(nodes) else None


def _first_ready(before: Sequence[set[int]]) -> list[int]:
    """Returns the numbers in order: each after those that it waits for, the least first. Numbers in a cycle are missing."""
    after: dict[int, list[int]] = {}
    for number, waits in enumerate(before):
        for other in waits:
            after.setdefault(other, []).append(number)
    missing = [len(waits) for waits in before]
    ready = [number for number, count in enumerate(missing) if not count]
    order = []
    while ready:
        order.append(heappop(ready))
        for number in after.get(order[-1], ()):
            missing[number] -= 1
            if not missing[number]:
                heappush(ready, number)
    return order
