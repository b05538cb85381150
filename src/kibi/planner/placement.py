"""Placement: an offset for every buffer, so that the peak is as low as it can be."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kibi.errors import PlanError
from kibi.planner.branch_and_bound import improve
from kibi.planner.first_fit import first_fit, orders
from kibi.planner.plan import Buffer
from kibi.planner.sections import Instance

_SECTIONS_PER_SECOND = 4_000_000
"""How much the search gets through on a small desktop core; a node of it costs about as many as all buffers live in."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Placed buffers.

    Attributes:
        buffers: the buffers in the order in which they were given, each at its offset.
        peak_bytes: one behind the last byte that any of them uses.
        lower_bound_bytes: no placement has a lower peak; raised to the peak where the search proved it.
    """

    buffers: tuple[Buffer, ...]
    peak_bytes: int
    lower_bound_bytes: int

    @property
    def proven_optimal(self) -> bool:
        """Whether no placement has a lower peak."""
        return self.peak_bytes == self.lower_bound_bytes


def place(buffers: Sequence[Buffer], *, time_limit_seconds: float = 1.0) -> Placement:
    """Give each buffer an offset such that buffers that live together share no byte, and the peak is low.

    Greedy orders first; where none meets the lower bound, exact search.

    Args:
        buffers: sizes, alignments and lifetimes; their offsets are ignored.
        time_limit_seconds: about how long the exact search may take. It is turned into an amount of work, so that the
            same buffers get the same offsets on every machine.

    Returns:
        The best placement found, with its distance from the optimum.

    Raises:
        PlanError: a buffer has a negative size, no alignment or an empty lifetime.
    """
    for place_in_list, buffer in enumerate(buffers):
        if buffer.size_bytes < 0 or buffer.alignment < 1 or buffer.start >= buffer.end:
            raise PlanError(
                f"buffer {place_in_list} has {buffer.size_bytes} bytes, alignment {buffer.alignment}, and lives from "
                f"step {buffer.start} to {buffer.end}. Sizes must not be negative, alignments at least 1, lifetimes "
                "not empty."
            )
    solid = [index for index, buffer in enumerate(buffers) if buffer.size_bytes]
    instance = Instance.of([buffers[index] for index in solid])
    offsets, bound = _solve(instance, time_limit_seconds)
    at = dict(zip(solid, offsets, strict=True))
    placed = tuple(replace(buffer, offset=at.get(index, 0)) for index, buffer in enumerate(buffers))
    return Placement(placed, instance.peak_bytes(offsets), bound)


def _solve(instance: Instance, time_limit_seconds: float) -> tuple[tuple[int, ...], int]:
    """Offsets and a lower bound on the peak."""
    bound = instance.lower_bound_bytes
    best: tuple[int, ...] | None = None
    for order in orders(instance):
        offsets = first_fit(instance, order)
        if best is None or instance.peak_bytes(offsets) < instance.peak_bytes(best):
            best = offsets
        if instance.peak_bytes(best) == bound:
            return best, bound
    cost = sum(instance.last) - sum(instance.first) + instance.sections
    node_limit = int(time_limit_seconds * _SECTIONS_PER_SECOND / max(cost, 1))
    best, ended = improve(instance, best or (), bound, node_limit)
    return best, instance.peak_bytes(best) if ended else bound
