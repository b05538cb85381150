"""RAM against instructions and flash: the costs of each way of planning and compiling a model, and the best of them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to put a model on a device, measured.

    Attributes:
        variant: the way of planning, in words.
        level: the compiler's level: 0, 1, 2, 3 or s.
        arena_bytes, lower_bound_bytes: bytes of the plan's arena, and its lower bound.
        proven_optimal: True if no placement in the plan's order is smaller.
        ram_bytes: arena, state, stack and data.
        flash_bytes: code, tables and weights.
        instructions: the instructions of one inference.
        cycles_estimate: None if there is no estimate for the core.
        solve_seconds: how long planning took.
    """

    variant: str
    level: str
    arena_bytes: int
    lower_bound_bytes: int
    proven_optimal: bool
    ram_bytes: int
    flash_bytes: int
    instructions: int
    cycles_estimate: int | None
    solve_seconds: float

    @property
    def name(self) -> str:
        """Variant and level in words."""
        return f"{self.variant}, -O{self.level}"

    @property
    def costs(self) -> tuple[int, int, int]:
        """The costs: RAM, flash, instructions."""
        return self.ram_bytes, self.flash_bytes, self.instructions


def is_dominated(choice: Choice, by: Choice) -> bool:
    """True if another choice costs no more in RAM, flash and instructions, and less in at least one of them."""
    return by.costs != choice.costs and all(b <= c for b, c in zip(by.costs, choice.costs, strict=True))


def pareto_optimal(choices: Sequence[Choice]) -> tuple[bool, ...]:
    """Returns, for each choice, true if no other dominates it."""
    return tuple(not any(is_dominated(choice, other) for other in choices) for choice in choices)


def pareto_record(model: str, target: str, choices: Sequence[Choice]) -> dict[str, Any]:
    """The choices for JSON; `pareto_optimal` is true for the best."""
    best = pareto_optimal(choices)
    listed = [{**asdict(choice), "pareto_optimal": is_best} for choice, is_best in zip(choices, best, strict=True)]
    return {"model": model, "target": target, "choices": listed}
