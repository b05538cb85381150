"""Progress of a search: what it knows, and at which capacity it should look next."""

from dataclasses import dataclass

from kibi.planner.placement.problem import Bytes, PlacementProblem


@dataclass(slots=True)
class Progress:
    """The facts that are known so far.

    Attributes:
        offsets: the best placement, or None.
        peak_bytes: its peak; beyond all offsets if none is known.
        lower_bound_bytes: no placement has a lower peak.
    """

    offsets: Bytes | None
    peak_bytes: int
    lower_bound_bytes: int

    def keep(self, offsets: Bytes, peak_bytes: int) -> None:
        """Remember a placement if it is the best."""
        if peak_bytes < self.peak_bytes:
            self.offsets, self.peak_bytes = offsets, peak_bytes

    def is_done(self, capacity: int | None) -> bool:
        """True if there is nothing left to find out: optimal; fits the capacity; nothing fits the capacity."""
        if self.offsets is None or self.lower_bound_bytes >= self.peak_bytes:
            return self.offsets is not None
        return capacity is not None and (self.peak_bytes <= capacity or self.lower_bound_bytes > capacity)


def step_bytes(problem: PlacementProblem) -> int:
    """By how much peaks that are worth looking at differ at least."""
    return problem.granularity_bytes if problem.is_aligned_anyway else 1


class Capacity:
    """The capacity to search at, in one round: the lower bound, then half way between what failed and what is known.

    Between these comes what would be needed without rules: where there are many, the lower bound is far below it.

    The round is over where these are closer than a share of the lower bound.
    """

    def __init__(
        self,
        problem: PlacementProblem,
        progress: Progress,
        capacity: int | None,
        *,
        coarse: float = 0.0,
        is_above: bool = False,
    ) -> None:
        """Begin a round.

        Args:
            problem: what to place.
            progress: what is known, read whenever a capacity is asked for.
            capacity: the only one of interest, or None.
            coarse: the share of the lower bound.
            is_above: true to leave out the lower bound itself.
        """
        self.step = step_bytes(problem)
        self._least = int(progress.lower_bound_bytes * coarse)
        self._hint = problem.unshared_bytes + -problem.unshared_bytes % self.step
        self._progress = progress
        self._capacity = capacity
        self._failed = progress.lower_bound_bytes if is_above and capacity is None else -1

    @property
    def bytes(self) -> int | None:
        """The capacity to search at next; None: the round is over."""
        progress = self._progress
        if self._capacity is not None:
            return self._capacity - self._capacity % self.step if self._failed < 0 else None
        lowest = max(progress.lower_bound_bytes, self._failed + self.step)
        lowest += -lowest % self.step
        highest = progress.peak_bytes - 1
        highest -= highest % self.step
        if highest < lowest:
            return None
        if self._failed < progress.lower_bound_bytes:
            return lowest
        if lowest <= self._hint <= highest:
            return self._hint
        if highest - lowest < self._least:
            return None
        return lowest + (highest - lowest) // 2 // self.step * self.step

    def give_up(self, at: int) -> None:
        """Nothing was found at that capacity, with this round's patience."""
        self._failed = at
