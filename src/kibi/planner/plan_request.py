"""A request for a plan: what is asked for, the plans that are made for it, and which of them is the better one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kibi.planner.granularity import Granularity
from kibi.planner.in_place import in_place_rules
from kibi.planner.lifetimes import lifetimes
from kibi.planner.limits import why_whole
from kibi.planner.order.by_row import plan_by_row
from kibi.planner.order.orders import completed
from kibi.planner.order.row_order import OrderSearch
from kibi.planner.placement.placing import place
from kibi.planner.placing_by_parts import placed_by_parts
from kibi.planner.plan import Plan, Run
from kibi.planner.read_ahead import Room
from kibi.planner.regions.file import Region
from kibi.planner.regions.planning import cheapest_in_regions
from kibi.planner.scratch_by_run import least_by_run
from kibi.selection import Goal, LoweredGraph
from kibi.targets import Target

LIVE_SHARES = (1.0, 0.95, 0.85)
"""Of the bytes that are allowed, what may live at once: placement may need a little more."""
_SEARCH_SECONDS = 1.0
"""About how long placement of whole tensors may search with the usual effort; an amount of work."""
_LARGE_SECONDS = 0.35
"""The same for graphs that are too large to be ordered by rows."""
_LEAST_SETTLED = 1024
"""Bytes of the smallest arena for which another order with the same peak is looked for."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What is asked of a plan: a graph with its kernels, and arguments of `plan`.

    Attributes:
        graph: with its kernels, and with scratch for subgraphs.
        target: the processor.
        runs: the order of row steps; None: the best that is found.
        scratch: true if the arena holds the kernels' scratch.
        granularity: what is placed, tensors or rows.
        goal: what the code is to be good at.
        ram_bytes: the most bytes of the arena; None: no limit.
        regions: the memories of the board; None: one arena.
        place_weights: true if constants are assigned to regions, too.
        is_striped: true if stages are computed stripe by stripe.
        by_run: as for `plan_by_row`.
    """

    graph: LoweredGraph
    target: Target
    runs: tuple[Run, ...] | None
    scratch: bool
    granularity: Granularity
    goal: Goal
    ram_bytes: int | None
    regions: Sequence[Region] | None
    place_weights: bool
    is_striped: bool
    by_run: bool

    def rank(self, made: Plan) -> tuple[float, ...]:
        """Ranks plans, the better one lower: in regions the cheaper one; with a limit the one that fits, in fewer runs."""
        whole = bool(made.limited)
        if self.regions is not None:
            return (made.cost, made.arena_bytes, whole)
        if self.ram_bytes is not None and made.arena_bytes <= self.ram_bytes:
            return (0, len(made.runs), made.arena_bytes, whole)
        return (1, made.arena_bytes, whole)

    def planned(self, effort: int) -> Plan:
        """The plan that an effort finds."""
        orders, runs = OrderSearch(self.graph, effort), self.runs
        is_fast = self.goal is Goal.SPEED and self.ram_bytes is None
        if runs is not None and self.granularity is Granularity.ROW:
            best = plan_by_row(self.graph, self.target, runs=runs, effort=effort, by_run=self.by_run)
        elif runs is not None or self.granularity is Granularity.TENSOR or is_fast:
            best = self.whole_tensors(orders)
        else:
            best = self._smallest(orders)
        if self.is_striped and self.regions is None:
            best = placed_by_parts(self.graph, best, effort)
        if self.regions is not None:
            made = [best]
            if self.granularity is Granularity.ROW and runs is None and self.goal is not Goal.SPEED:
                made.append(self.whole_tensors(orders))
            best = cheapest_in_regions(self.graph, self.target, made, self.regions, place_weights=self.place_weights)
        return best

    def reordered(self, made: Plan, runs: tuple[Run, ...], room: Room) -> Plan:
        """Returns the plan of an order that was made from that of another plan, by the row if that one is, with its effort.

        Args:
            made: the other plan.
            runs: the order, of this graph's nodes.
            room: how many bytes are enough.
        """
        tensors, alternates = self.graph.tensors, len({run.node for run in made.runs}) < len(made.runs)
        held = [each for each in made.buffers if each.tensor is not None]
        if alternates or any(each.rows < tensors[each.tensor or 0].type.rows for each in held):
            found = plan_by_row(
                self.graph, self.target, runs=runs, floor=room.floor_bytes, enough=room.enough_bytes, effort=made.effort
            )
        else:
            found = replace(self, runs=runs).whole_tensors(OrderSearch(self.graph, made.effort), room.enough_bytes)
        return replace(found, effort=made.effort, limited=made.limited)

    def settled(self, made: Plan) -> Plan | None:
        """The plan of an order with fewer bytes near the peak, if it may be placed in fewer bytes; None for small arenas, too."""
        alternates = len({run.node for run in made.runs}) < len(made.runs)
        if not (self.by_run and self.runs is None and alternates) or made.arena_bytes < _LEAST_SETTLED:
            return None
        runs = OrderSearch(self.graph, made.effort).settled(made.runs)
        if runs == made.runs or least_by_run(self.graph, runs) >= least_by_run(self.graph, made.runs):
            return None
        calm = plan_by_row(self.graph, self.target, runs=runs, effort=made.effort, by_run=True)
        return replace(
            calm,
            effort=made.effort,
            limited=made.limited,
            order_bound_bytes=made.order_bound_bytes,
            least_bytes=made.least_bytes,
        )

    def _smallest(self, orders: OrderSearch) -> Plan:
        """The plan by the row, unless whole tensors, which are faster, need no more or fit as well, or rows are too many."""
        limited = why_whole(self.graph, orders.effort)
        if limited:
            return replace(self.whole_tensors(orders, self.ram_bytes, _LARGE_SECONDS), limited=limited)
        if self.ram_bytes is not None:
            fast = self._fastest_first(orders, self.ram_bytes)
            fitting = next((plan for plan in fast if plan.arena_bytes <= self.ram_bytes), None)
            if fitting is not None:
                return fitting
        by_row = plan_by_row(self.graph, self.target, orders=orders, effort=orders.effort, by_run=self.by_run)
        by_tensor = self.whole_tensors(orders, by_row.arena_bytes)
        if by_tensor.arena_bytes <= by_row.arena_bytes and not by_tensor.proven_optimal:
            by_tensor = self.whole_tensors(orders)  # the search ended where it fitted
        best = by_row if by_row.arena_bytes < by_tensor.arena_bytes else by_tensor
        return replace(best, least_bytes=min(by_row.least_bytes, by_tensor.least_bytes))

    def _fastest_first(self, orders: OrderSearch, ram_bytes: int) -> Iterator[Plan]:
        """Plans that may fit: whole tensors; then by the row, but with as few runs as the bytes allow."""
        yield self.whole_tensors(orders, ram_bytes)
        for share in LIVE_SHARES:
            allowed = int(ram_bytes * share)
            order = orders.within(allowed)
            if order is not None:
                yield plan_by_row(
                    self.graph, self.target, runs=order.runs, floor=allowed, effort=orders.effort, by_run=self.by_run
                )

    def whole_tensors(self, orders: OrderSearch, capacity: int | None = None, seconds: float = _SEARCH_SECONDS) -> Plan:
        """The plan of whole tensors, in the order that is asked for or the best one."""
        graph, effort = self.graph, orders.effort
        best = None if self.runs is not None else orders.whole
        order = tuple(self.runs or ()) if best is None else completed(graph, best.nodes)
        buffers = lifetimes(graph, order, scratch=self.scratch)
        rules = in_place_rules(graph, order, buffers, effort)
        placement = place(buffers, rules=rules, capacity=capacity, time_limit_seconds=effort * seconds)
        bound = 0 if best is None else best.lower_bound_bytes
        return placement.plan(graph.name, self.target.name, order, order_bound_bytes=bound)
