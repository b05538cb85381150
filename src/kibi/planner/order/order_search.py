"""The order of operators with the smallest peak between two closed sets: exact search, with what it may leave out.

Notation of the proofs: L(D) are the bytes that live after the closed set D; | is union, & intersection. A tensor lives when
its maker is in D and not all its readers are, so L is a sum over tensors of [maker in D] minus [maker and all readers in D].
The first is modular, the second supermodular, so L is submodular: L(X | Q) + L(X & Q) <= L(X) + L(Q) for closed X and Q.
The bytes that live while v runs after D are L(D) + need(v).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush, nsmallest
from typing import NamedTuple, TypeAlias

from kibi.planner.order.precedence import Precedence, members

_MOST_MOVES = 150_000
"""That a beam tries; models that we know are ordered without. Beyond are graphs with very many nodes side by side."""


@dataclass(frozen=True)
class Stretch:
    """The part of an order between two closed sets, one within the other, both of which the order passes through.

    Attributes:
        problem: the graph's precedence.
        begin, end: the sets.
        live: bytes that live after `begin`.
    """

    problem: Precedence
    begin: int
    end: int
    live: int

    @property
    def nodes(self) -> tuple[int, ...]:
        """The nodes in between, in the graph's order."""
        return tuple(members(self.end & ~self.begin))

    @cached_property
    def tensors(self) -> tuple[tuple[int, int, int], ...]:
        """The problem's tensors that are made before the end and read after the beginning, in the problem's order."""
        made, left = self.end, ~self.begin
        return tuple(each for each in self.problem.tensors if each[2] & left and (each[0] < 0 or made >> each[0] & 1))

    @property
    def live_after(self) -> int:
        """Bytes that live after `end`; the last node sees at least as many."""
        return self.problem.live_after(self.begin, self.end, self.live)

    def within(self, first: Iterable[int], nodes: Iterable[int]) -> "Stretch":
        """The part of the stretch that holds `nodes`, after the nodes `first` of its beginning."""
        begin = self.begin
        for node in first:
            begin |= 1 << node
        return Stretch(
            self.problem,
            begin,
            begin | sum(1 << node for node in nodes),
            self.problem.live_after(self.begin, begin, self.live),
        )


@dataclass(frozen=True, slots=True)
class Found:
    """An order of a stretch.

    Attributes:
        nodes: the order, or None where nothing better than what was known is found.
        bound_bytes: no order of the stretch has a smaller peak than this, or than what was known.
    """

    nodes: tuple[int, ...] | None
    bound_bytes: int


_Ways: TypeAlias = dict[int, tuple[int, int, tuple[int, ...]]]
"""For each closed set that was reached: its peak, the set before it, and the nodes in between."""


_GREEDY_WORK = 100_000
"""Nodes that a greedy order weighs."""


def search(stretch: Stretch, floor: int, known: int, state_limit: int) -> Found:
    """The order with the smallest peak, by best-first search over closed sets.

    A state is a closed set with the smallest peak at which it was reached; that of the smallest peak goes on first, of
    equal ones that with the most nodes done. So the first order that is complete is the best one, and while the search
    lasts no order beats the smallest peak among the states that wait.

    Args:
        stretch: what is to be ordered.
        floor: peaks up to this one are all the same; at least it is needed anyway.
        known: peak of an order that is known; only smaller ones are looked for.
        state_limit: how many states may be made before the search gives up.
    """
    moves = Moves(stretch)
    came: _Ways = {moves.first.done: (floor, -1, ())}
    waiting = [(floor, 0, moves.first)]
    while waiting:
        peak, _, before = heappop(waiting)
        if came[before.done][0] < peak:
            continue
        state, path = moves.forced(before, peak)
        if path:
            if state.done in came and came[state.done][0] <= peak:
                continue
            came[state.done] = (peak, before.done, path)
        if state.done == stretch.end:
            return Found(_trace(came, state.done), peak)
        if len(came) > state_limit:
            return Found(None, peak)
        for need, after, nodes in moves.of(state, known):
            high = max(peak, need)
            if after.done not in came or high < came[after.done][0]:
                came[after.done] = (high, state.done, nodes)
                heappush(waiting, (high, -after.done.bit_count(), after))
    return Found(None, known)


def beam(stretch: Stretch, floor: int, width: int, effort: int = 1) -> tuple[int, ...] | None:
    """A good order: of all states with equally many moves after them the `width` with the smallest peaks go on.

    None where so many nodes can run next that it takes more moves than `_MOST_MOVES`, times the effort.
    """
    tried = 0
    moves = Moves(stretch)
    came: _Ways = {moves.first.done: (floor, -1, ())}
    front = [(floor, moves.first)]
    while True:
        reached: dict[int, tuple[int, State]] = {}
        for peak, before in front:
            state, path = moves.forced(before, peak)
            if path:
                came[state.done] = (peak, before.done, path)
            if state.done == stretch.end:
                return _trace(came, state.done)
            for need, after, nodes in moves.of(state, 1 << 62):
                high, tried = max(peak, need), tried + 1
                if after.done not in reached or high < reached[after.done][0]:
                    came[after.done] = (high, state.done, nodes)
                    reached[after.done] = (high, after)
            if tried > effort * _MOST_MOVES:
                return None
        front = nsmallest(width, reached.values())


def _trace(came: _Ways, done: int) -> tuple[int, ...]:
    """The order that led to a state."""
    parts = []
    while done >= 0:
        _, done, path = came[done]
        parts.append(path)
    return tuple(node for path in reversed(parts) for node in path)


class State(NamedTuple):
    """A closed set; compared by its bytes first.

    Attributes:
        live: bytes that live after it.
        done: the nodes in it.
        ready: the nodes of the stretch that can run next.
    """

    live: int
    done: int
    ready: int


class Moves:
    """The moves from a state: nodes that need not be tried apart run together, nodes that can only help run at once."""

    def __init__(self, stretch: Stretch) -> None:
        self.problem = stretch.problem
        self.end = stretch.end
        self.inside = stretch.end & ~stretch.begin
        ready = sum(1 << node for node in self.problem.ready(stretch.begin, stretch.end))
        self.first = State(stretch.live, stretch.begin, ready)
        self.groups = self._groups()

    def of(self, state: State, known: int) -> Iterator[tuple[int, State, tuple[int, ...]]]:
        """Each group that can run: its peak, below `known`, the state after it, and its nodes."""
        problem, tried = self.problem, 0
        for first in members(state.ready):
            group, waits, nodes = self.groups[first]
            if tried & group or waits & ~state.done:
                continue
            tried |= group
            high, live, done = 0, state.live, state.done
            left = tuple(node for node in nodes if not done >> node & 1) if done & group else nodes
            for node in left:
                need, live = problem.run(done, live, node)
                done |= 1 << node
                high = max(high, need)
            if high < known:
                yield high, State(live, done, self._ready(state.ready, done, left)), left

    def _ready(self, ready: int, done: int, ran: Iterable[int]) -> int:
        """Returns the nodes that can run when some nodes have run, the last of `done`."""
        for node in ran:
            for follower in members(self.problem.after[node] & self.end & ~done & ~ready):
                if not self.problem.before[follower] & ~done:
                    ready |= 1 << follower
        return ready & ~done

    def forced(self, state: State, peak: int) -> tuple[State, tuple[int, ...]]:
        """Run what can only help: the state after it, and what was run.

        The rule: let nodes v1, v2, … each wait for the one before it, run from D on without exceeding `peak`, and let X be
        the first set on their way with L(X) <= L(D). Then some best order that goes through D goes through X next.
        Proof: let Q be any set that a best order reaches after D. The closed sets from D to X are those on the way, so
        X & Q is one of them and L(X & Q) >= L(X). Hence L(X | Q) <= L(X) + L(Q) - L(X & Q) <= L(Q): with X run first, the
        nodes that are left run in the same order and none of them sees more bytes than before.
        (Inputs that nobody reads live during the first node alone; L does not count them, so nothing is forced there.)
        """
        path: list[int] = []
        if not state.done and self.problem.unread_bytes:
            return state, ()
        waiting = state.ready
        while waiting:
            node = (waiting & -waiting).bit_length() - 1
            waiting &= waiting - 1
            chain, live, done = self._chain(state, peak, node)
            if chain:
                path += chain
                # What was tried before may have become the last reader of something: all are tried again.
                state = State(live, done, self._ready(state.ready, done, chain))
                waiting = state.ready
        return state, tuple(path)

    def _chain(self, state: State, peak: int, node: int) -> tuple[list[int], int, int]:
        """Nodes from `node` on, each waiting for the last, until no more bytes live than now; none where the way is shut.

        With them the live bytes and the set after them.
        """
        problem, chain = self.problem, []
        live, done, _ = state
        while True:
            need, live = problem.run(done, live, node)
            if need > peak:
                return [], live, done
            done |= 1 << node
            chain.append(node)
            if live <= state.live:
                return chain, live, done
            for follower in members(problem.after[node] & self.end):
                if not problem.before[follower] & ~done:
                    node = follower
                    break
            else:
                return [], live, done

    def _groups(self) -> dict[int, tuple[int, int, tuple[int, ...]]]:
        """Returns for each node the group that runs with it, one right after the other: the set, what it waits for, the order.

        The rule: let all nodes that wait for v be w or wait for w. If v never lowers L (what it keeps is no less than all
        that it reads) and need(v) <= kept(v) - read(v) + need(w), then v may as well run right before w. Proof: between
        the old place of v and the new one no node waits for v, and each sees L lower by what v adds, which is at least
        kept(v) - read(v) >= 0. At its new place, after D, v sees L(D) + need(v), and w sees at least
        L(D) + kept(v) - read(v) + need(w), which is no less. Several such nodes gather before one w, and w itself may be
        gathered elsewhere: the proof holds with the others in between, for none of them lowers L.
        """
        problem, host = self.problem, {}
        orders: dict[int, list[int]] = {}
        for node in members(self.inside):
            follower = None if problem.unread_bytes else self._host(node)
            if follower is not None:
                host[node] = follower
        for node in members(self.inside):  # ascending, which is a possible order
            last = node
            while last in host:
                last = host[last]
            orders.setdefault(last, []).append(node)
        found = {}
        for order in orders.values():
            group, waits = sum(1 << node for node in order), 0
            for node in order:
                waits |= problem.before[node]
            found.update(dict.fromkeys(order, (group, waits & ~group, tuple(order))))
        return found

    def _host(self, node: int) -> int | None:
        """The node before which a node may as well run, or None."""
        problem = self.problem
        gain = problem.kept_bytes[node] - sum(size for size, _ in problem.reads[node])
        after = problem.after[node] & self.inside
        if gain < 0 or not after:
            return None
        first = next(members(after))
        if after & ~(problem.descendants[first] | 1 << first):
            return None
        return first if problem.need_bytes[node] <= gain + problem.need_bytes[first] else None


def greedy(stretch: Stretch, *, sparing: bool) -> tuple[int, ...]:
    """An order that always runs the node that leaves the fewest bytes; or, where `sparing`, that sees the fewest."""
    problem, done, live = stretch.problem, stretch.begin, stretch.live
    order: list[int] = []
    ready, weighed = problem.ready(done, stretch.end), 0
    while ready:
        weighed += len(ready)
        candidates = ready if weighed <= _GREEDY_WORK else [min(ready)]  # the graph's own order from there on
        choices = [(*problem.run(done, live, node), node) for node in candidates]
        _, live, node = min(choices) if sparing else min(choices, key=lambda choice: (choice[1], choice[0], choice[2]))
        order.append(node)
        done |= 1 << node
        ready.remove(node)
        ready += [n for n in members(problem.after[node] & stretch.end) if not problem.before[n] & ~done]
    return tuple(order)
