"""How a model is planned, compiled and measured in a sweep: one setting, and all combinations of several."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from kibi.errors import InputError, KibiError
from kibi.planner import granularity_named
from kibi.planner.weights_option import weights_named
from kibi.selection import goal_named
from kibi.targets import target as target_named
from kibi.targets import targets as all_targets
from kibi.toolchain.compilers import COMPILERS

LEVELS = ("0", "1", "2", "3", "s")
_LARGEST_SEED = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to put a model on a device.

    Attributes:
        target: the name of an emulated target.
        goal, weights, granularity: as for `kibi.plan`; weights are `flash` or `rice`.
        level, compiler, seed: as for `kibi.measure`.
    """

    target: str
    goal: str = "balanced"
    level: str = "s"
    weights: str = "flash"
    granularity: str = "row"
    compiler: str = "zig"
    seed: int = 0

    @property
    def text(self) -> str:
        """The setting for people: weights and granularity if they are not the usual ones."""
        further = [each for each in (self.weights, self.granularity) if each not in ("flash", "row")]
        return ", ".join([self.target, self.goal, f"-O{self.level}", *further])


@dataclass(frozen=True, slots=True)
class Grid:
    """All settings of a sweep: each target with each goal, level, way of storing weights, and granularity.

    Attributes:
        targets, goals, levels, weights, granularities: at least one of each, none twice.
        compiler, seed: of all settings.

    Raises:
        InputError: a value does not exist, or is not for sweeps; the text lists all that is wrong.
    """

    targets: tuple[str, ...] = ("cortex-m4",)
    goals: tuple[str, ...] = ("balanced",)
    levels: tuple[str, ...] = ("s",)
    weights: tuple[str, ...] = ("flash",)
    granularities: tuple[str, ...] = ("row",)
    compiler: str = "zig"
    seed: int = 0

    def __post_init__(self) -> None:
        if problems := [*self._problems()]:
            raise InputError("; ".join(problems))

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The settings; the last listed axis varies fastest."""
        combined = product(self.targets, self.goals, self.weights, self.granularities, self.levels)
        return tuple(
            Setting(target, goal, level, weights, granularity, self.compiler, self.seed)
            for target, goal, weights, granularity, level in combined
        )

    def _problems(self) -> Iterator[str]:
        for axis in ("targets", "goals", "levels", "weights", "granularities"):
            values = getattr(self, axis)
            if not values:
                yield f"{axis} is empty. Give one at least, or leave it out"
            if len({*values}) < len(values):
                yield f"{axis} has a value twice. Give each once"
            for value in values:
                problem = _problem(axis, value)
                if problem:
                    yield f"{axis}: {problem}"
        if self.compiler not in COMPILERS:
            yield f"compiler: there is no {self.compiler!r}. Compilers are: {', '.join(COMPILERS)}"
        if not 0 <= self.seed <= _LARGEST_SEED:
            yield f"seed: {self.seed} is out of range. Give a whole number from 0 to {_LARGEST_SEED}"


def _problem(axis: str, value: str) -> str:
    """Says what is wrong with a value of an axis; empty if nothing is."""
    try:
        if axis == "targets" and not target_named(value).is_emulated:
            known = ", ".join(each.name for each in all_targets() if each.is_emulated)
            return f"{value!r} is not emulated, so nothing can be measured on it. Take one of: {known}"
        if axis == "goals":
            goal_named(value)
        if axis == "granularities":
            granularity_named(value)
        if axis == "weights":
            weights_named(value)
            if value.startswith("read:"):
                return f"{value!r} needs a function of yours. Give flash or rice; `kibi measure` takes read:NAME"
        if axis == "levels" and value not in LEVELS:
            return f"there is no {value!r}. Levels are: {', '.join(LEVELS)}"
    except KibiError as error:
        return str(error).rstrip(".")
    return ""
