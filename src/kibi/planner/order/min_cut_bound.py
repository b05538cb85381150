"""The fewest bytes that can live beside an operator, in any order: minimum cuts.

When node v runs, a closed set that holds its ancestors and neither v nor its descendants has run. What lives after a set is
a sum over tensors of [maker in the set, some reader outside], so the set with the fewest live bytes is a minimum cut of the
graph in which each tensor is an edge from its maker to all its readers together. No order can do better at v, so the
largest such figure over all nodes bounds every order's peak.
"""

from typing import NamedTuple

from kibi.planner.order.order_search import Stretch
from kibi.planner.order.precedence import members

_SOURCE, _SINK = 0, 1
_UNBOUNDED = 1 << 60
_FLOW_WORK = 1 << 19
"""Edges that one flow looks at."""


class Context(NamedTuple):
    """The nodes that run before a node where the fewest bytes live beside it.

    Attributes:
        least_bytes: no order has fewer while the node runs.
        before: a closed set before it with which they are as few.
        work: how many edges were looked at to find it.
    """

    least_bytes: int
    before: int
    work: int


def least_context(stretch: Stretch, node: int, effort: int = 1) -> Context:
    """The fewest bytes that can live while a node of the stretch runs.

    Args:
        stretch: what is ordered.
        node: a node of it.
        effort: how many times the usual work may be done.
    """
    problem = stretch.problem
    below = stretch.begin | problem.ancestors[node]
    above = problem.descendants[node] | 1 << node | ~stretch.end
    flow = _Flow(effort * _FLOW_WORK)
    vertex: dict[int, int] = {}
    free = list(members(stretch.end & ~below & ~above))
    for other in free:
        vertex[other] = flow.add_vertex()
    for other in free:
        for waits in members(problem.before[other] & ~below):
            flow.add_edge(vertex[other], vertex[waits], _UNBOUNDED)
    constant = 0
    for maker, size, users in stretch.tensors:
        if maker >= 0 and above >> maker & 1:
            continue
        tail = _SOURCE if maker < 0 or below >> maker & 1 else vertex[maker]
        if users & above:  # the caller, who reads outputs in the end, is outside every stretch
            if tail == _SOURCE:
                constant += size
            else:
                flow.add_edge(tail, _SINK, size)
            continue
        heads = [vertex[user] for user in members(users & ~below)] if users & ~below else []
        if len(heads) == 1:
            flow.add_edge(tail, heads[0], size)
        elif heads:
            joint = flow.add_vertex()
            flow.add_edge(tail, joint, size)
            for head in heads:
                flow.add_edge(joint, head, _UNBOUNDED)
    value = flow.run()
    side = flow.source_side()
    chosen = below | sum(1 << other for other in free if side[vertex[other]])
    return Context(constant + value + problem.need_bytes[node], chosen, flow.work)


class _Flow:
    """Maximum flow by Dinic's algorithm: shortest augmenting paths, level by level.

    Work is limited: a flow that is not finished is a lower bound all the same, and the side that its source reaches a closed set.
    """

    def __init__(self, most_work: int) -> None:
        self.most_work = most_work
        self.work = 0
        self.edges: list[list[int]] = [[], []]
        self.head: list[int] = []
        self.room: list[int] = []

    def add_vertex(self) -> int:
        self.edges.append([])
        return len(self.edges) - 1

    def add_edge(self, tail: int, head: int, capacity: int) -> None:
        """An edge, and after it the one that takes flow back."""
        for start, end, room in ((tail, head, capacity), (head, tail, 0)):
            self.edges[start].append(len(self.head))
            self.head.append(end)
            self.room.append(room)

    def run(self) -> int:
        """The largest flow from source to sink."""
        total = 0
        while self.work < self.most_work and (level := self._levels())[_SINK] >= 0:
            following = [0] * len(self.edges)
            total += self._push(level, following)
        return total

    def source_side(self) -> list[bool]:
        """After `run`: the vertices that the source still reaches, a minimum cut's one side."""
        return [each >= 0 for each in self._levels()]

    def _levels(self) -> list[int]:
        level = [-1] * len(self.edges)
        level[_SOURCE] = 0
        self.work += len(self.head)
        front = [_SOURCE]
        while front:
            fresh = []
            for vertex in front:
                for edge in self.edges[vertex]:
                    end = self.head[edge]
                    if self.room[edge] and level[end] < 0:
                        level[end] = level[vertex] + 1
                        fresh.append(end)
            front = fresh
        return level

    def _push(self, level: list[int], following: list[int]) -> int:
        """Pushes all flow that ascending levels let through: after each path the search goes on at its first full edge."""
        path: list[int] = []
        vertex, total = _SOURCE, 0
        edges, head, room = self.edges, self.head, self.room
        for work in range(self.work + 1, self.most_work + 1):
            self.work = work
            if vertex == _SINK:
                pushed = min(room[edge] for edge in path)
                total += pushed
                full = len(path)
                for place in reversed(range(len(path))):
                    room[path[place]] -= pushed
                    room[path[place] ^ 1] += pushed
                    full = full if room[path[place]] else place
                vertex = head[path[full] ^ 1]
                del path[full:]
            elif following[vertex] < len(edges[vertex]):
                edge = edges[vertex][following[vertex]]
                if room[edge] and level[head[edge]] == level[vertex] + 1:
                    path.append(edge)
                    vertex = head[edge]
                else:
                    following[vertex] += 1
            elif path:
                vertex = head[path.pop() ^ 1]
                following[vertex] += 1
            else:
                break
        return total
