"""Precedence of nodes, and the bytes that live between them: the ground on which orders of operators are searched.

A set of nodes is an integer with a bit for each. A set is closed when it holds all that its nodes wait for; what can have
run at some moment is a closed set, and which bytes live then depends on the set alone, not on the order within it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kibi.errors import PlanError
from kibi.ir import Graph, overwrites


@dataclass(frozen=True, slots=True)
class Precedence:
    """Nodes, what they wait for, and the bytes that they make and read.

    Attributes:
        before, after: for each node, the nodes that it waits for, and those that wait for it.
        ancestors, descendants: the same through others, the node itself left out.
        reads: for each node, the tensors that it reads as (bytes, all their readers); bit `count` is the caller, who reads
            the model's outputs in the end.
        tensors: every tensor that somebody reads as (maker or -1 for the model's inputs, bytes, readers as in `reads`).
        need_bytes: for each node, the bytes that its outputs and its scratch take while it runs.
        kept_bytes: for each node, the bytes of its outputs that somebody reads.
        first_bytes: bytes of the model's inputs that live at the beginning.
        unread_bytes: bytes of inputs that nobody reads; they live while the first node runs.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    ancestors: tuple[int, ...]
    descendants: tuple[int, ...]
    reads: tuple[tuple[tuple[int, int], ...], ...]
    tensors: tuple[tuple[int, int, int], ...]
    need_bytes: tuple[int, ...]
    kept_bytes: tuple[int, ...]
    first_bytes: int
    unread_bytes: int

    @property
    def count(self) -> int:
        """Number of nodes."""
        return len(self.before)

    @property
    def everything(self) -> int:
        """The set of all nodes."""
        return (1 << self.count) - 1

    def run(self, done: int, live: int, node: int) -> tuple[int, int]:
        """The bytes that live while a node runs after the set `done`, in which `live` bytes live; and those after it."""
        need = live + self.need_bytes[node] + (0 if done else self.unread_bytes)
        left = ~(done | 1 << node)
        live += self.kept_bytes[node]
        for size, users in self.reads[node]:
            if not users & left:
                live -= size
        return need, live

    def ready(self, done: int, end: int) -> list[int]:
        """The nodes of the set `end` that can run after `done`, ascending."""
        return [node for node in members(end & ~done) if not self.before[node] & ~done]

    def live_after(self, done: int, end: int, live: int) -> int:
        """The bytes that live after the closed set `end`, which holds `done`, after which `live` bytes live."""
        for node in members(end & ~done):
            _, live = self.run(done, live, node)
            done |= 1 << node
        return live

    def costs(self, order: Iterable[int], done: int, live: int) -> list[int]:
        """The bytes that live while each node of an order runs, from a closed set on."""
        found = []
        for node in order:
            need, live = self.run(done, live, node)
            done |= 1 << node
            found.append(need)
        return found


def members(nodes: int) -> Iterator[int]:
    """The nodes of a set, ascending."""
    while nodes:
        low = nodes & -nodes
        yield low.bit_length() - 1
        nodes ^= low


def precedence(
    graph: Graph, *, scratch: bool = True, granule_bytes: int = 1, before: Sequence[tuple[int, int]] = ()
) -> Precedence:
    """Returns what a graph's nodes wait for and what they take.

    Args:
        graph: a verified graph.
        scratch: true if kernels' scratch counts.
        granule_bytes: sizes of tensors and scratch are rounded up to a multiple of it.
        before: pairs of nodes of which the first runs before the second, though no tensor says so.

    Raises:
        PlanError: a pair contradicts the graph's order of nodes, which must stay possible.
    """
    count = len(graph.nodes)
    outputs, computed = set(graph.outputs), {index for node in graph.nodes for index in node.outputs}
    computed.update(graph.given)
    planned = {index: graph.tensors[index].type.size_bytes for index in computed if graph.tensors[index].is_planned}
    sizes = {index: _rounded(planned.get(index, 0), granule_bytes) for index in computed}
    users = dict.fromkeys(computed, 0)
    operands = [tuple(dict.fromkeys(i for i in node.inputs if i in computed)) for node in graph.nodes]
    for number, read in enumerate(operands):
        for index in read:
            users[index] |= 1 << number
    for index in outputs & computed:
        users[index] |= 1 << count
    maker = {index: number for number, node in enumerate(graph.nodes) for index in node.outputs}
    direct, ancestors = _before(graph, maker, operands, before)
    after, descendants = [0] * count, [0] * count
    for node in reversed(range(count)):
        for other in members(direct[node]):
            after[other] |= 1 << node
            descendants[other] |= 1 << node | descendants[node]
    made = [sum(sizes[index] for index in node.outputs) for node in graph.nodes]
    extra = [call.scratch_bytes for call in graph.calls] if scratch else [0] * count
    return Precedence(
        before=tuple(direct),
        after=tuple(after),
        ancestors=tuple(ancestors),
        descendants=tuple(descendants),
        reads=tuple(tuple((sizes[i], users[i]) for i in read if sizes[i]) for read in operands),
        tensors=tuple((maker.get(i, -1), sizes[i], users[i]) for i in sorted(computed) if sizes[i] and users[i]),
        need_bytes=tuple(own + _rounded(more, granule_bytes) for own, more in zip(made, extra, strict=True)),
        kept_bytes=tuple(sum(sizes[index] for index in node.outputs if users[index]) for node in graph.nodes),
        first_bytes=sum(sizes[index] for index in graph.stored_inputs if users[index]),
        unread_bytes=sum(sizes[index] for index in graph.stored_inputs if not users[index]),
    )


def _before(
    graph: Graph, maker: dict[int, int], operands: Sequence[tuple[int, ...]], pairs: Sequence[tuple[int, int]]
) -> tuple[list[int], list[int]]:
    """Returns for each node the nodes that it waits for, directly and through others."""
    direct = [sum({1 << maker[i] for i in read if i in maker}) for read in operands]
    for node, others in enumerate(overwrites(graph)):
        for other, _ in others:
            direct[node] |= 1 << other
    for first, second in pairs:
        if not 0 <= first < second < len(direct):
            what = f"node {first} is to run before node {second}, but the graph does not have them in this order"
            raise PlanError(
                f"{graph.source}: {what}. Name two nodes by their places in the graph, the earlier one first."
            )
        direct[second] |= 1 << first
    ancestors: list[int] = []
    for waits in direct:
        reached = waits
        for other in members(waits):
            reached |= ancestors[other]
        ancestors.append(reached)
    return direct, ancestors


def _rounded(size_bytes: int, granule_bytes: int) -> int:
    return -(-size_bytes // granule_bytes) * granule_bytes
